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
    """What a reader of results made from `frame` must know: unequal provenance within a data set, and record notes.

    Each is said once, with all the data sets that it holds for. Maps without a kernel may be recorded apart, so kernels
    are compared among the records of one normalizer.
    """
    # What is said -> where it holds, and the records there.
    found: dict[tuple[str, frozenset[str]], list[tuple[str, pd.DataFrame]]] = {}
    for name in LABELS:
        by = ["dataset", "normalizer"] if name == "kernel" else ["dataset"]
        for key, group in frame.groupby(by, sort=True):
            values = frozenset(counted(group[name]))
            if len(values) > 1:
                found.setdefault((name, values), []).append((" ".join(map(str, key)), group))
    lines = []
    for (name, _), groups in found.items():
        where, counts = _joined(groups)[0], counted(value for _, group in groups for value in group[name])
        lines.append(f"{where}: the records differ in {LABELS[name]}: {_values(counts)}")
    return lines + _notes(frame)


def _notes(frame: pd.DataFrame) -> list[str]:
    """The notes that records hold, each with its data sets and the number of their records that have it."""
    groups = [(str(dataset), group) for dataset, group in frame.groupby("dataset", sort=True)]
    texts = dict.fromkeys(note for _, group in groups for notes in group["notes"] for note in notes)
    lines = []
    for text in sorted(texts):
        where, records = _joined([(name, group) for name, group in groups if any(text in n for n in group["notes"])])
        count = sum(text in notes for notes in records["notes"])
        lines.append(f"{where}: {text} ({'all' if count == len(records) else count} of {len(records)} records)")
    return lines


def _joined(groups: Sequence[tuple[str, pd.DataFrame]]) -> tuple[str, pd.DataFrame]:
    """The names of `groups` in one text, and all their records."""
    return ", ".join(name for name, _ in groups), pd.concat([group for _, group in groups])


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
