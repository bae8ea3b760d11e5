"""Run records: one self-contained JSON file per run, written whole or not at all.

A record lies at `<results_dir>/<dataset>/<normalizer>/seed=<seed>-<fingerprint>.json`. Nothing is ever overwritten:
what lies at that path when a new record is written, or what cannot be read, moves to `<results_dir>/.archive/`.
This module imports neither torch nor the rest of the harness, so that the analysis starts fast.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

if TYPE_CHECKING:
    from filelock import FileLock

SCHEMA = 1
ARCHIVE = ".archive"
LOCKS = ".locks"
LEVELS = 20
"""How deep a record may be nested: more than any is, and less than what a recursive function can follow."""
NAME_PATTERN = r"^[a-z0-9][a-z0-9_.+-]*$"

Status = Literal["completed", "failed", "interrupted"]


class RecordError(ValueError):
    """A record file that is not a whole, valid record; the message names the file and what is wrong with it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class Record(BaseModel):
    """One benchmark run, complete in itself.

    `fingerprint` identifies everything that changes the result; `setting` the same without seed and normalizer, so
    records of one data set may be compared only where their `setting` is equal; `cell` the same without the seed, so
    records may be averaged over seeds only where their `cell` is equal.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    schema_version: Literal[1] = Field(alias="schema")
    dataset: str = Field(pattern=NAME_PATTERN)
    normalizer: str = Field(pattern=NAME_PATTERN)
    seed: int = Field(ge=0, lt=2**63)
    fingerprint: str = Field(pattern=r"^[^/\\]+$")
    setting: str
    cell: str
    status: Status
    notes: list[str] = []
    config: dict[str, Any]
    metrics: dict[str, float | None] = {}
    attention: dict[str, Any] = {}
    curves: dict[str, list[Any]] = {}
    predictions: dict[str, Any] = {}
    provenance: dict[str, Any] = {}
    error: dict[str, str] | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """The matched-pairs key (data set, normalizer, seed)."""
        return self.dataset, self.normalizer, self.seed


def record_path(results_dir: Path, dataset: str, normalizer: str, seed: int, fingerprint: str) -> Path:
    """Where the record of this run lies, a path that a person can read."""
    return results_dir / dataset / normalizer / f"seed={seed}-{fingerprint}.json"


def read(path: Path) -> Record:
    """The record in `path`.

    Raises RecordError, naming the file, where it is not a whole record of this schema.
    """
    try:
        content = json.loads(
            path.read_text(encoding="utf-8"),
            parse_constant=_refuse_number,
            parse_float=_finite,
            object_pairs_hook=_each_key_once,
        )
    except UnicodeDecodeError as error:
        raise RecordError(path, f"not UTF-8 text ({error.reason} at byte {error.start})") from error
    except _ContentError as error:
        raise RecordError(path, f"holds {error}") from error
    except OSError as error:
        raise RecordError(path, f"cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(path, f"not whole JSON ({error})") from error
    if not isinstance(content, dict):
        raise RecordError(path, f"holds a JSON {type(content).__name__}, not an object")
    if content.get("schema") != SCHEMA or content["schema"] is True:
        raise RecordError(path, f"has schema {content.get('schema')!r}; this version reads schema {SCHEMA}")
    if _is_deep(content):
        raise RecordError(path, f"is nested more than {LEVELS} levels deep")
    try:
        return Record.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RecordError(path, f"field {where}: {first['msg']}") from error


class _ContentError(Exception):
    """What JSON allows and a record does not."""


def _refuse_number(text: str) -> NoReturn:
    raise _ContentError(f"{text}, which is no number of a result")


def _finite(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _refuse_number(text)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise _ContentError(f"a key twice, among {', '.join(content)}")
    return content


def _is_deep(content: Any) -> bool:
    level = [content]
    for _ in range(LEVELS):
        parts = (part.values() if isinstance(part, dict) else part for part in level)
        level = [value for values in parts for value in values if isinstance(value, dict | list)]
    return bool(level)


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
    return path.rename(next(target for target in targets if not target.exists()))  # a folder as well as a file


def lock(results_dir: Path, fingerprint: str, *, wait: bool) -> "FileLock":
    """The lock of a run, held while what lies at its path is looked at and replaced.

    Taking it raises filelock.Timeout where another process has it and it may not `wait`.
    """
    from filelock import FileLock  # here, because whoever only reads needs none

    (results_dir / LOCKS).mkdir(parents=True, exist_ok=True)
    return FileLock(results_dir / LOCKS / f"{fingerprint}.lock", timeout=-1 if wait else 0)


def files(folder: Path) -> Iterator[Path]:
    """Every record file below `folder`, sorted; hidden files and folders (parts, archive, locks) are left out."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".json") and not name.startswith("."):
                yield Path(root) / name


def scan(folders: Iterable[Path]) -> tuple[list[tuple[Path, Record]], list[RecordError]]:
    """All records below `folders`, each with its path, and an error for each file that is none."""
    found: list[tuple[Path, Record]] = []
    broken: list[RecordError] = []
    for folder in folders:
        for path in files(folder):
            try:
                found.append((path, read(path)))
            except RecordError as error:
                broken.append(error)
    return found, broken
