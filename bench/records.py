"""Run records: one self-contained JSON file per run, written whole or not at all.

A record lies at `<results_dir>/<dataset>/<normalizer>/seed=<seed>-<fingerprint>.json`. Nothing is ever overwritten:
what lies at that path when a new record is written, or what cannot be read, moves to `<results_dir>/.archive/`.
This module imports neither torch nor the rest of the harness, so that the analysis starts fast.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator

from bench import finite_json
from bench.domains import Metrics, check_attention
from bench.domains import check_metrics as check_metrics  # for whoever reads results from elsewhere

if TYPE_CHECKING:
    from filelock import FileLock

SCHEMA = 1
ARCHIVE = ".archive"
LOCKS = ".locks"
LEVELS = 20
"""How deep a record may be nested: more than any is, and less than what a recursive function can follow."""
NAME_PATTERN = r"^[a-z0-9][a-z0-9_.+-]{0,127}$"
"""What a name may be made of, and how long: it becomes that of a folder."""

Status = Literal["completed", "failed", "interrupted"]


class RecordError(ValueError):
    """A record file that is not a whole, valid record; the message names the file and what is wrong with it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class UnreadableError(RecordError):
    """A record file that the system does not let be read, for want of a right or for a fault: it may well be whole."""


class ImpossibleError(RecordError):
    """A record that is whole and holds a number that cannot be, such as an accuracy of 83."""


class Record(BaseModel):
    """One benchmark run, complete in itself. Its metrics lie in the domains of `bench.domains`.

    `fingerprint` identifies everything that changes the result; `setting` the same without seed and normalizer, so
    records of one data set may be compared only where their `setting` is equal; `cell` the same without the seed, so
    records may be averaged over seeds only where their `cell` is equal.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    schema_version: Literal[1] = Field(alias="schema")
    dataset: str = Field(pattern=NAME_PATTERN)
    normalizer: str = Field(pattern=NAME_PATTERN)
    seed: int = Field(ge=0, lt=2**63)
    fingerprint: str = Field(pattern=r"^[ -.0-\[\]-~]{1,220}$")
    setting: str
    cell: str
    status: Status
    notes: list[Annotated[str, Field(pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]] = []
    config: dict[str, Any]
    metrics: Annotated[Metrics, AfterValidator(check_metrics)] = {}
    attention: Annotated[dict[str, Any], AfterValidator(check_attention)] = {}
    curves: dict[str, list[Any]] = {}
    predictions: dict[str, Any] = {}
    provenance: dict[str, Any] = {}
    error: dict[str, str] | None = None

    @field_validator("error")
    @classmethod
    def _says_what(cls, error: dict[str, str] | None) -> dict[str, str] | None:
        if error is not None and not {"type", "message"} <= set(error):
            raise ValueError("an error has a type and a message")
        return error

    @property
    def key(self) -> tuple[str, str, int]:
        """The matched-pairs key (data set, normalizer, seed)."""
        return self.dataset, self.normalizer, self.seed


def record_path(results_dir: Path, dataset: str, normalizer: str, seed: int, fingerprint: str) -> Path:
    """Where the record of this run lies, a path that a person can read."""
    return results_dir / dataset / normalizer / f"seed={seed}-{fingerprint}.json"


def read(path: Path) -> Record:
    """The record in `path`.

    Raises RecordError, naming the file, where it is not a whole record of this schema, ImpossibleError where a number
    is outside its domain, and UnreadableError where that cannot be told.
    """
    try:
        content = finite_json.parse(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise RecordError(path, f"not UTF-8 text ({error.reason} at byte {error.start})") from error
    except finite_json.ContentError as error:
        raise RecordError(path, f"holds {error}") from error
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise RecordError(path, f"cannot be read ({error.strerror})") from error
    except OSError as error:
        raise UnreadableError(path, f"cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(path, f"not whole JSON ({error})") from error
    if not isinstance(content, dict):
        raise RecordError(path, f"holds a JSON {type(content).__name__}, not an object")
    if content.get("schema") != SCHEMA or content["schema"] is True:
        raise RecordError(path, f"has schema {content.get('schema')!r}; this version reads schema {SCHEMA}")
    if finite_json.is_deeper(content, LEVELS):
        raise RecordError(path, f"is nested more than {LEVELS} levels deep")
    try:
        return Record.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        if where in ("metrics", "attention") and first["type"] == "value_error":
            raise ImpossibleError(path, f"{where}.{first['ctx']['error']}") from error
        raise RecordError(path, f"field {where}: {first['msg']}") from error


def write(path: Path, record: Record, results_dir: Path) -> None:
    """Write `record` to `path` in one step; what lies there is archived first.

    A reader sees the old file, no file, or the whole new one, never a part. Raises OSError where the disk refuses.
    """
    text = json.dumps(record.model_dump(by_alias=True), allow_nan=False, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            archive(path, results_dir)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def archive(path: Path, results_dir: Path) -> Path:
    """Move what lies at `path` under `<results_dir>/.archive`, keeping its readable path; returns where it lies now.

    Whoever may not be alone holds the `lock` of the run, to which the names under the archive belong.
    """
    folder = results_dir / ARCHIVE / path.parent.relative_to(results_dir)
    folder.mkdir(parents=True, exist_ok=True)
    targets = (folder / f"{path.stem}.{number}{path.suffix}" for number in count(1))
    target = next(target for target in targets if not target.exists())
    shutil.move(path, target)  # a folder as well as a file, and from another disk where a folder is a link
    return target


def lock(results_dir: Path, fingerprint: str, *, wait: bool) -> "FileLock":
    """The lock of a run, held while what lies at its path is looked at and replaced.

    Taking it raises filelock.Timeout where another process has it and it may not `wait`.
    """
    from filelock import FileLock  # here, because whoever only reads needs none

    (results_dir / LOCKS).mkdir(parents=True, exist_ok=True)
    return FileLock(results_dir / LOCKS / f"{fingerprint}.lock", timeout=-1 if wait else 0)


def apart(record: Record, path: Path, results_dir: Path) -> Path:
    """Write `record` under `<results_dir>/.archive`, as if it had lain at `path`; returns where it lies."""
    aside = path.with_name(f".{path.stem}.apart{path.suffix}")
    write(aside, record, results_dir)
    return archive(aside, results_dir)


def files(folder: Path, unreadable: Callable[[RecordError], None] | None = None) -> Iterator[Path]:
    """Every record file below `folder`, sorted; hidden files and folders (parts, archive, locks) are left out.

    Links are followed, each folder once. `unreadable` is told of a folder that cannot be listed; RecordError without.
    """

    def refuse(error: OSError) -> None:
        if isinstance(error, FileNotFoundError):
            return  # no folder, no records
        found = UnreadableError(Path(error.filename), f"cannot be listed ({error.strerror})")
        if unreadable is None:
            raise found
        unreadable(found)

    seen = set()
    for root, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        place = Path(root).stat()
        if (place.st_dev, place.st_ino) in seen:
            folders.clear()
            continue
        seen.add((place.st_dev, place.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".json") and not name.startswith("."):
                yield Path(root) / name


def scan(folders: Iterable[Path]) -> tuple[list[tuple[Path, Record]], list[RecordError]]:
    """All records below `folders`, each with its path, and an error for each file that is none."""
    found: list[tuple[Path, Record]] = []
    broken: list[RecordError] = []
    for folder in folders:
        for path in files(folder, broken.append):
            try:
                found.append((path, read(path)))
            except RecordError as error:
                broken.append(error)
    return found, broken
