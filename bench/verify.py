"""`python -m bench verify`: make a recorded run again and compare it with its record.

On the kind of machine that made the record, every number must be the same, bit for bit. Elsewhere last digits differ
and training makes more of them, so the result must lie within `bench.tolerance`.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench import inputs, parts, provenance, records, tolerance
from bench.fingerprint import identify
from bench.launcher import composed
from bench.records import Record, RecordError
from bench.run import perform
from bench.schema import ConfigError, RunConfig, validate
from datasets import DataError

MEASURED_TIME = {
    *("train_seconds", "train_cpu_seconds", "inference_seconds", "wall_seconds"),
    *("peak_memory_mb", "seconds", "cpu_seconds"),
}
"""What no repetition gives again."""
COMPARED = ("status", "notes", "metrics", "attention", "curves", "predictions")
KIND = ("cpu", "kernel", "device", "torch", "numpy", "threads", "compiled")
"""What makes a kind of machine, and how it computed: where one of them differs, last digits may."""
ORIGIN = ("code_version", *parts.NAMES, *KIND)
"""What is named beside a difference."""
ALLOWED = ("data.root", "device", "threads", "compile")
"""How a run is carried out, which its record does not fix."""
RECORDED = ("dataset", "normalizer", "model", "train", "seed")
"""What a record says of its configuration; whatever else it holds sets nothing here."""
SHOWN = 20
SAME, CLOSE, DIFFERENT, REFUSED = "identical", "close", "differs", "refused"


def verify(arguments: Sequence[str], conf: Path) -> int:
    """Repeat the runs recorded in the files among `arguments`; words with `=` are overrides, such as data.root=DIR.

    Returns the exit code: 1 where a number differs, or lies outside the tolerance on another kind of machine, or where
    one of several runs cannot be made. Raises ConfigError for what is no record of a completed run, and for one run
    that cannot be made.
    """
    overrides = [word for word in arguments if "=" in word and not Path(word).exists()]
    for word in overrides:
        if word.partition("=")[0] not in ALLOWED:
            raise ConfigError(f"{word}: a record is verified as it was made; what may be set is {', '.join(ALLOWED)}")
    olds = list(_recorded([Path(word) for word in arguments if word not in overrides]))
    if not olds:
        raise ConfigError("verify needs at least one record: python -m bench verify results/.../seed=0-....json")
    found: Counter[str] = Counter()
    for path, old in olds:
        try:
            verdict, faults = _repeat(old, overrides, conf)
        except ConfigError as error:
            if len(olds) == 1:
                raise
            verdict, faults = REFUSED, [str(error)]
        found[verdict] += 1
        print(f"{verdict:<9} {path}", *faults[:SHOWN], sep="\n  ", flush=True)
        if len(faults) > SHOWN:
            print(f"  and {len(faults) - SHOWN} more")
    print(f"{found[SAME]} of {len(olds)} records are repeated to the bit")
    if found[CLOSE]:
        print(f"{found[CLOSE]} of another kind of machine are repeated within the tolerance: {tolerance.STATED}")
    return 1 if found[DIFFERENT] or found[REFUSED] else 0


def _recorded(paths: Sequence[Path]) -> Iterator[tuple[Path, Record]]:
    """The records of the files, and those of completed runs below the folders; what is left out is said."""
    for path in paths:
        if not path.is_dir():
            yield path, _completed(path)
            continue
        for file in records.files(path, lambda error: print(f"notice: left out: {error}", file=sys.stderr)):
            try:
                yield file, _completed(file)
            except ConfigError as error:
                print(f"notice: left out: {error}", file=sys.stderr)


def differences(old: Record, new: Record) -> list[str]:
    """Every number and text of a result that two records of one run do not share, times and memory left aside."""
    one, two = dict(_leaves(old)), dict(_leaves(new))
    return [
        f"{name}: recorded {one.get(name, 'nothing')}, now {two.get(name, 'nothing')}"
        for name in (*one, *(name for name in two if name not in one))
        if one.get(name) != two.get(name)
    ]


def _leaves(record: Record) -> Iterator[tuple[str, Any]]:
    content = record.model_dump(include=set(COMPARED))
    pending: list[tuple[str, Any]] = [(name, content[name]) for name in reversed(COMPARED)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            inner = [(f"{name}.{key}", part) for key, part in value.items() if key not in MEASURED_TIME]
        elif isinstance(value, list):
            inner = [(f"{name}.{place}", part) for place, part in enumerate(value)]
        else:
            yield name, value
            continue
        pending += reversed(inner)


def _completed(path: Path) -> Record:
    try:
        record = records.read(path)
    except RecordError as error:
        raise ConfigError(str(error)) from error
    if record.status != "completed":
        raise ConfigError(f"{path}: this run is {record.status}, there is no result to verify")
    return record


def _repeat(old: Record, overrides: list[str], conf: Path) -> tuple[str, list[str]]:
    """The verdict on a repetition of the run, and what there is to say of it, a line each."""
    config = _configuration(old, overrides, conf)
    try:
        data_hash = inputs.arrays(config).hash
    except DataError as error:
        raise ConfigError(f"the data of {config.label} are not available: {error}") from error
    identity = identify(config, data_hash)
    if identity.fingerprint != old.fingerprint:
        recorded = f"recorded {old.fingerprint} on data {old.provenance.get('data_hash')}"
        now = f"now {identity.fingerprint} on data {data_hash}: not the same run any more"
        return DIFFERENT, [f"fingerprint: {recorded}, {now}"]
    new = perform(config, identity, provenance.code_version())
    if new.status == "interrupted":
        raise KeyboardInterrupt
    if new.error:
        return DIFFERENT, [f"{new.error['type']}: {new.error['message']}", *_changed(old, new, ORIGIN)]
    faults = differences(old, new)
    if not faults:
        return SAME, []
    if not _changed(old, new, KIND):
        return DIFFERENT, [*faults, *_changed(old, new, ORIGIN)]
    beyond = tolerance.exceeded(old, new)
    return (DIFFERENT if beyond else CLOSE), [*beyond, *_changed(old, new, ORIGIN)]


def _changed(old: Record, new: Record, names: Iterable[str]) -> list[str]:
    """One line for each of `names` that the provenance of the two records does not share.

    Which source the parts had is left out where the old record, of before it was recorded, does not say it.
    """
    names = [name for name in names if name not in parts.NAMES or name in old.provenance]
    return [
        f"({name}: recorded with {old.provenance.get(name)}, now {new.provenance.get(name)})"
        for name in names
        if old.provenance.get(name) != new.provenance.get(name)
    ]


def _configuration(old: Record, overrides: list[str], conf: Path) -> RunConfig:
    """The run's own configuration, with device, threads and compilation as they were and the rest as by default."""
    origin = old.provenance
    how = {"threads": origin.get("threads", 1), "compile": origin.get("compiled", False)}
    how["device"] = "cpu" if origin.get("device") == "cpu" else "auto"
    words = ["dataset=digits", "normalizer=softmax", *(f"{key}={value}" for key, value in how.items()), *overrides]
    return validate(composed(conf, *words) | {name: old.config[name] for name in RECORDED if name in old.config})
