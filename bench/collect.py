"""`python -m bench collect`: bring the finished records of several folders, or machines, together in one.

Each record goes to the path at which a run would write it. A run that is there with other content, were it only
another clock, is a conflict: which of the two is wanted is not for a program to say.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from filelock import Timeout

from bench import records
from bench.records import Record, RecordError, UnreadableError, record_path
from bench.schema import ConfigError

INTO = "results/records"
IDENTICAL = "skipped as identical"
LEFT_OUT = BROKEN, CONFLICT, BUSY = "broken", "in conflict", "being made by a sweep"
"""What ends in exit code 1."""

Found = tuple[Path, Record]


def collect(arguments: Sequence[str]) -> int:
    """Copy the completed records below the folders among `arguments` into the folder that `into=DIR` names.

    Returns the exit code: 1 where something is named and left out, which is all of it if there is a conflict.
    Raises ConfigError where a folder is not there or the target cannot be written.
    """
    into, sources = _places(arguments)
    found, broken = records.scan(sources)
    done = Counter({BROKEN: len(broken)})
    for error in broken:
        _say(f"{error}; left out")
    wanted: dict[Path, Found] = {}
    for path, record in found:
        target = record_path(into, *record.key, record.fingerprint)
        if record.status != "completed":
            done["not completed"] += 1
            continue
        rivals = [wanted[target]] if target in wanted else _finished(target)
        done[CONFLICT] += _conflict((path, record), rivals)
        done[IDENTICAL] += target in wanted
        wanted.setdefault(target, (path, record))
    if done[CONFLICT]:
        _say("nothing was copied; leave one record of each run, or name another folder with into=DIR")
        return 1
    for target, source in wanted.items():
        done[_copy(source, target, into)] += 1
    print(f"{into}: {', '.join(f'{number} {what}' for what, number in done.items() if number) or 'no record found'}")
    return 1 if any(done[what] for what in LEFT_OUT) else 0


def _places(arguments: Sequence[str]) -> tuple[Path, list[Path]]:
    into = [word.removeprefix("into=") for word in arguments if word.startswith("into=")]
    sources = [Path(word) for word in arguments if not word.startswith("into=")]
    if not sources or len(into) > 1 or "" in into:
        raise ConfigError("collect needs folders of records: python -m bench collect A B ... [into=DIR]")
    for folder in sources:
        if not folder.is_dir():
            raise ConfigError(f"collect: {folder} is no folder of records")
    return Path(into[0] if into else INTO), sources


def _finished(target: Path) -> list[Found]:
    """The record at `target`, if there is one and it is completed: any other may be set aside.

    Raises ConfigError where that cannot be told.
    """
    try:
        record = records.read(target)
    except UnreadableError as error:
        raise ConfigError(f"{error}; it may be whole, so that nothing takes its place") from error
    except RecordError:
        return []
    return [(target, record)] if record.status == "completed" else []


def _conflict(source: Found, rivals: Sequence[Found]) -> bool:
    """Whether one of `rivals` has other content than `source`, and say so."""
    path, record = source
    for rival, other in rivals:
        differing = [name for name in Record.model_fields if getattr(record, name) != getattr(other, name)]
        if differing:
            _say(f"conflict: {path} and {rival} are records of one run and differ in {', '.join(differing)}")
            return True
    return False


def _copy(source: Found, target: Path, into: Path) -> str:
    """Copy `source` to `target`, under the lock of the run; returns what was done."""
    path, record = source
    try:
        with records.lock(into, record.fingerprint, wait=False):
            there = _finished(target)
            if _conflict(source, there):  # a sweep has just made it
                return CONFLICT
            if there:
                return IDENTICAL
            if target.exists():
                _say(f"notice: what lay at {target} and is no finished record is set aside in {into / records.ARCHIVE}")
            records.write(target, record, into)
            return "copied"
    except Timeout:
        _say(f"{path}: a sweep is making this run in {into}; left out")
        return BUSY
    except OSError as error:
        raise ConfigError(f"into={into} cannot be written ({error.strerror or error})") from error


def _say(text: str) -> None:
    print(text, file=sys.stderr)
