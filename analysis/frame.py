"""Run records as one checked frame: what may be compared is together, what may not is refused with files named."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from sys import intern
from typing import Any

import pandas as pd

from analysis import lengths, mixtures, published
from analysis.errors import InputError, near
from bench.records import ImpossibleError, Record, RecordError, files, read

METRICS = (
    *("accuracy", "macro_f1", "test_loss", "validation_accuracy", "support"),
    *("train_seconds", "train_cpu_seconds", "inference_seconds", "wall_seconds"),
    *("peak_memory_mb", "parameters", "alpha_mean", "informative_mass"),
)
PROVENANCE = (
    *("code_version", "code_dirty", "torch", "python", "numpy", "cpu", "threads", "kernel", "compiled", "device"),
    *("data_hash", *mixtures.SOURCES),
)
KEY = ["dataset", "normalizer", "seed"]
COLUMNS = [*KEY, *METRICS, *PROVENANCE, "setting", "cell", "fingerprint", "notes", "path"]

SHOWN = 5
"""Files named in an error before the others are only counted."""

EMPTY = ": there is no .json file below it; runs are written to the results_dir of `python -m bench`"


@dataclass(frozen=True)
class Runs:
    """What was read.

    `frame`: one row per completed run, sorted by data set, normalizer and seed, with the columns KEY, METRICS (float,
    NaN where absent; seconds, MiB), PROVENANCE (text, None where absent), setting, cell, fingerprint, notes and path.
    `failed`: keys of runs that were tried and gave no result. `warnings`: files left out, one message each, and runs
    of one cell, or of two that are compared, that other source code made.
    `by_length`: one row per run and test length, with the columns lengths.COLUMNS; empty where no record has lengths.
    """

    frame: pd.DataFrame
    failed: frozenset[tuple[str, str, int]]
    warnings: tuple[str, ...]
    by_length: pd.DataFrame = field(default_factory=lengths.none)

    def cell(self, dataset: str, normalizer: str) -> pd.DataFrame:
        """The completed runs of one data set and normalizer, indexed by seed in ascending order."""
        found = self._cells.get((dataset, normalizer))
        return self.frame.iloc[:0].set_index("seed") if found is None else found

    @cached_property
    def _cells(self) -> dict[tuple[str, str], pd.DataFrame]:
        grouped = self.frame.groupby(["dataset", "normalizer"], sort=False)
        return {(str(key[0]), str(key[1])): cell.set_index("seed").sort_index() for key, cell in grouped}

    def completed(self, dataset: str, normalizer: str) -> set[int]:
        """Seeds that have a completed run of this data set and normalizer."""
        return {int(seed) for seed in self.cell(dataset, normalizer).index}

    def attempted(self, dataset: str, normalizer: str) -> set[int]:
        """Seeds that have a run of this data set and normalizer, completed or not."""
        return self.completed(dataset, normalizer) | self._failed.get((dataset, normalizer), set())

    @cached_property
    def _failed(self) -> dict[tuple[str, str], set[int]]:
        found: dict[tuple[str, str], set[int]] = {}
        for dataset, normalizer, seed in self.failed:
            found.setdefault((dataset, normalizer), set()).add(seed)
        return found

    def normalizers(self, dataset: str) -> set[str]:
        """Normalizers that have a run of this data set, completed or not."""
        return {which for where, which in (*self._cells, *self._failed) if where == dataset}

    @property
    def datasets(self) -> set[str]:
        """Data sets that have a run, completed or not."""
        return {where for where, _ in (*self._cells, *self._failed)}


def load(sources: Sequence[Path]) -> Runs:
    """All runs below the folders and in the CSV files of `sources`.

    Raises InputError for a source that is not there, for no completed run at all, and for runs that cannot stand in one
    frame: two of one key, or different settings, cells or test lengths where equal ones are needed.
    """
    broken: list[RecordError] = []
    found = _each(sources, broken)
    return from_records(found, (), ", ".join(map(str, sources)), broken)


def from_records(
    pairs: Iterable[tuple[Path, Record]],
    warnings: Iterable[str] = (),
    where: str = "records",
    broken: Iterable[RecordError] = (),
) -> Runs:
    """The checked frame of (path, record) pairs; `where` names their source in errors, which are as for `load`.

    `broken` is read after `pairs`, so that whoever makes the pairs can fill it.
    """
    rows, failed = [], []
    tested: list[lengths.Row] = []
    configs: dict[tuple[str, str], dict[str, Any]] = {}
    # One by one: a record in memory is a hundred times its row.
    for path, record in pairs:
        reason = _unusable(record)
        if reason is None:
            rows.append(_row(path, record))
            tested += lengths.rows(path, record)
            configs.setdefault((record.setting, record.cell), record.config)
        else:
            failed.append((record.key, str(path), reason))
    said = [*warnings, *(f"{error}; left out" for error in broken)]
    said += [f"{path}: {reason}; counted as a missing seed, not as a zero" for _, path, reason in sorted(failed)]
    if not rows:
        shown = "".join(f"\n  {text}" for text in said[:SHOWN])
        more = f"\n  and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
        raise InputError(f"records: no completed run in {where}{shown}{more}" + ("" if said else EMPTY))
    frame = pd.DataFrame(sorted(rows, key=itemgetter(0, 1, 2, -1)), columns=COLUMNS)
    frame = frame.astype(dict.fromkeys(METRICS, "float64") | dict.fromkeys((*PROVENANCE, "notes"), "object"))
    # Mixtures first: two runs of one key are most often runs of two settings.
    mixtures.refuse(frame, configs)
    mixtures.refuse_doubles(frame, KEY)
    completed = set(frame[KEY].itertuples(index=False, name=None))
    lost = frozenset({key for key, _, _ in failed} - completed)
    said += mixtures.source_warnings(frame)
    return Runs(frame, lost, tuple(said), lengths.gathered(tested, frame))


def _each(sources: Sequence[Path], broken: list[RecordError]) -> Iterator[tuple[Path, Record]]:
    """Every record of the sources once, whatever overlaps; what cannot be read goes to `broken`."""
    seen: set[object] = set()
    for source in sources:
        if source.is_dir():
            paths = files(source, broken.append)
        elif source.is_file() and source.suffix == ".csv":
            paths = iter([source])
        else:
            raise InputError(f"records: {_wrong_source(source)}")
        for path in paths:
            same = _same_file(path)
            if same in seen:
                continue
            seen.add(same)
            try:
                yield from published.read(path) if path.suffix == ".csv" else [(path, read(path))]
            except ImpossibleError as error:
                raise InputError(f"{error}") from error
            except RecordError as error:
                broken.append(error)


def _same_file(path: Path) -> object:
    """Equal for two paths of one file, by whatever links or folders."""
    try:
        place = path.stat()
    except OSError:  # a link to nothing: reading it says so
        return path
    return place.st_dev, place.st_ino


def _unusable(record: Record) -> str | None:
    if record.status != "completed":
        message = str((record.error or {}).get("message", "")).strip().splitlines()
        what = "this run failed" if record.status == "failed" else "this run was interrupted"
        return f"{what}: {message[0]}" if message else what
    return None if record.metrics.get("accuracy") is not None else "completed, but without an accuracy"


def _row(path: Path, record: Record) -> tuple[Any, ...]:
    """The values of COLUMNS; text that many records share is one object, which keeps 100,000 of them small."""
    facts = [record.provenance.get(name) for name in PROVENANCE]
    return (
        *record.key,
        *(record.metrics.get(name) for name in METRICS),
        *(None if fact is None else intern(str(fact)) for fact in facts),
        *(intern(record.setting), intern(record.cell), record.fingerprint, tuple(map(intern, record.notes)), str(path)),
    )


def _wrong_source(source: Path) -> str:
    if source.exists():
        return f"{source} is neither a folder of run records nor a .csv file of published runs"
    siblings = [str(path) for path in source.parent.iterdir()] if source.parent.is_dir() else []
    return f"no such folder or file: {source}{near(str(source), siblings)}"
