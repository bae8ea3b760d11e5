"""Run records as one checked frame: what may be compared is together, what may not is refused with files named."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from analysis import published
from analysis.errors import InputError, near
from bench.records import Record, scan

METRICS = (
    *("accuracy", "macro_f1", "test_loss", "support", "train_seconds", "inference_seconds"),
    *("wall_seconds", "peak_memory_mb", "parameters", "alpha_mean"),
)
PROVENANCE = (
    *("code_version", "code_dirty", "torch", "python", "numpy", "cpu", "threads", "kernel", "device", "data_hash"),
)
KEY = ["dataset", "normalizer", "seed"]


@dataclass(frozen=True)
class Runs:
    """What was read.

    `frame`: one row per completed run, sorted by data set, normalizer and seed, with the columns KEY, METRICS (float,
    NaN where absent; seconds, MiB), PROVENANCE (text, None where absent), setting, cell, fingerprint, notes and path.
    `failed`: keys of runs that were tried and gave no result. `warnings`: files left out, one message each.
    """

    frame: pd.DataFrame
    failed: frozenset[tuple[str, str, int]]
    warnings: tuple[str, ...]

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
        return self.completed(dataset, normalizer) | {
            seed for where, which, seed in self.failed if (where, which) == (dataset, normalizer)
        }

    def normalizers(self, dataset: str) -> set[str]:
        """Normalizers that have a run of this data set, completed or not."""
        done = set(self.frame.loc[self.frame["dataset"] == dataset, "normalizer"])
        return done | {which for where, which, _ in self.failed if where == dataset}

    @property
    def datasets(self) -> set[str]:
        """Data sets that have a run, completed or not."""
        return set(self.frame["dataset"]) | {where for where, _, _ in self.failed}


def load(sources: Sequence[Path]) -> Runs:
    """All runs below the folders and in the CSV files of `sources`.

    Raises InputError for a source that is not there, for no completed run at all, and for runs that cannot stand in one
    frame: two of one key, or different settings or cells where equal ones are needed.
    """
    folders, found = [], []
    for source in sources:
        if source.is_dir():
            folders.append(source)
        elif source.is_file() and source.suffix == ".csv":
            found += published.read(source)
        else:
            raise InputError(f"records: {_wrong_source(source)}")
    in_folders, broken = scan(folders)
    # One folder may be named twice or lie in another; the same file is the same run.
    unique = {path.resolve(): (path, record) for path, record in reversed([*found, *in_folders])}
    places = {error.path.resolve(): f"{error}; left out" for error in broken}
    return from_records(unique.values(), places.values(), ", ".join(map(str, sources)))


def from_records(pairs: Iterable[tuple[Path, Record]], warnings: Iterable[str] = (), where: str = "records") -> Runs:
    """The checked frame of (path, record) pairs; `where` names their source in errors, which are as for `load`."""
    rows, failed, said = [], set(), list(warnings)
    for path, record in sorted(pairs, key=lambda pair: (*pair[1].key, str(pair[0]))):
        reason = _unusable(record)
        if reason is None:
            rows.append(_row(path, record))
        else:
            failed.add(record.key)
            said.append(f"{path}: {reason}; counted as a missing seed, not as a zero")
    if not rows:
        raise InputError(f"records: no completed run in {where}" + "".join(f"\n  {text}" for text in said[:5]))
    frame = pd.DataFrame(rows)
    frame = frame.astype(dict.fromkeys(METRICS, "float64") | dict.fromkeys((*PROVENANCE, "notes"), "object"))
    _refuse_doubles(frame)
    _refuse_mixtures(frame, ["dataset"], "setting", "one data set was run with different settings")
    _refuse_mixtures(frame, ["dataset", "normalizer"], "cell", "one normalizer was run in different configurations")
    completed = set(frame[KEY].itertuples(index=False, name=None))
    return Runs(frame, frozenset(failed - completed), tuple(said))


def _unusable(record: Record) -> str | None:
    if record.status != "completed":
        message = str((record.error or {}).get("message", "")).strip().splitlines()
        what = "this run failed" if record.status == "failed" else "this run was interrupted"
        return f"{what}: {message[0]}" if message else what
    return None if record.metrics.get("accuracy") is not None else "completed, but without an accuracy"


def _row(path: Path, record: Record) -> dict[str, Any]:
    facts = record.provenance
    return {
        **dict(zip(KEY, record.key, strict=True)),
        **{name: record.metrics.get(name) for name in METRICS},
        **{name: None if facts.get(name) is None else str(facts[name]) for name in PROVENANCE},
        **{"setting": record.setting, "cell": record.cell, "fingerprint": record.fingerprint},
        **{"notes": tuple(record.notes), "path": str(path)},
    }


def _refuse_doubles(frame: pd.DataFrame) -> None:
    double = frame[frame.duplicated(KEY, keep=False)]
    if len(double):
        dataset, normalizer, seed = double[KEY].iloc[0]
        same = (double["dataset"] == dataset) & (double["normalizer"] == normalizer) & (double["seed"] == seed)
        more = len(double[KEY].drop_duplicates()) - 1
        raise InputError(
            f"records: more than one completed run of {dataset}, {normalizer}, seed {seed}:\n"
            + "\n".join(f"  {file}" for file in double.loc[same, "path"])
            + (f"\n  and {more} more keys with more than one run" if more else "")
            + "\nKeep one of them, or give folders that do not overlap."
        )


def _refuse_mixtures(frame: pd.DataFrame, by: list[str], column: str, what: str) -> None:
    for _, group in frame.groupby(by, sort=True):
        kinds = group.drop_duplicates(column)
        if len(kinds) > 1:
            name = " ".join(str(kinds[key].iloc[0]) for key in by)
            counts = group[column].value_counts()
            lines = [
                f"  {row[column]} ({counts[row[column]]} runs), such as {row['path']}" for _, row in kinds.iterrows()
            ]
            raise InputError(
                f"records: {what}: {name} has {len(kinds)} values of `{column}`, which are never pooled:\n"
                + "\n".join(lines)
                + "\nThe `config` of these files says what differs. Analyse them apart, each from a folder of its own."
            )


def _wrong_source(source: Path) -> str:
    if source.exists():
        return f"{source} is neither a folder of run records nor a .csv file of published runs"
    siblings = [str(path) for path in source.parent.iterdir()] if source.parent.is_dir() else []
    return f"no such folder or file: {source}{near(str(source), siblings)}"
