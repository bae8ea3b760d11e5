"""What records say about where they come from: a summary, and the notices that belong under tables."""

from collections import Counter
from collections.abc import Iterable, Sequence

import pandas as pd

from analysis.matched import Comparison

LABELS = {
    "code_version": "code version",
    "code_dirty": "uncommitted changes",
    "torch": "torch version",
    "python": "Python version",
    "numpy": "numpy version",
    "cpu": "CPU",
    "threads": "threads",
    "kernel": "kernel",
    "compiled": "torch.compile",
    "device": "device",
    "data_hash": "data hash",
}


def counted(column: Iterable[str | None]) -> dict[str, int]:
    """How many rows hold each value, the most frequent first; `not recorded` stands for None."""
    counts: Counter[str] = Counter()
    for value, count in Counter(column).items():
        counts["not recorded" if value is None else str(value)] += count
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def summary(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """(what, values with their number of records) for everything that any record says about its origin."""
    lines = []
    for name, label in LABELS.items():
        if name not in ("kernel", "data_hash") and any(value is not None for value in frame[name]):
            lines.append((label, _values(counted(frame[name]))))
    return lines


def notices(frame: pd.DataFrame) -> list[str]:
    """What a reader of a table made from `frame` must know: unequal provenance within a data set, and record notes.

    Maps without a kernel may be recorded apart, so kernels are compared among the records of one normalizer.
    """
    lines = []
    for dataset, group in frame.groupby("dataset", sort=True):
        for name, label in LABELS.items():
            if name != "kernel" and len(counts := counted(group[name])) > 1:
                lines.append(f"{dataset}: the records differ in {label}: {_values(counts)}")
        for normalizer, cell in group.groupby("normalizer", sort=True):
            if len(counts := counted(cell["kernel"])) > 1:
                lines.append(f"{dataset} {normalizer}: the records differ in kernel: {_values(counts)}")
        for text, count in counted(note for notes in group["notes"] for note in notes).items():
            lines.append(f"{dataset}: {text} ({'all' if count == len(group) else count} of {len(group)} records)")
    return lines


def of_rows(frame: pd.DataFrame, rows: Sequence[Comparison]) -> pd.DataFrame:
    """The runs of `frame` that the comparisons `rows` are made of."""
    used = {(row.dataset, name) for row in rows for name in (row.normalizer, row.control)}
    keys = pd.MultiIndex.from_frame(frame[["dataset", "normalizer"]])
    return frame[keys.isin(used)]


def machine(frame: pd.DataFrame) -> str:
    """The devices, processors and thread counts that the times of `frame` were taken on, in words."""
    kinds = []
    for device, cpu, threads in zip(frame["device"], frame["cpu"], frame["threads"], strict=True):
        on = [
            f"device {device}" if device else "",
            f"CPU {cpu}" if cpu else "",
            f"{threads} threads" if threads else "",
        ]
        kinds.append(", ".join(part for part in on if part) or "a machine that the records do not name")
    return _values(counted(kinds))


def _values(counts: dict[str, int]) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{value} ({count} record{'s' if count > 1 else ''})" for value, count in counts.items())
