"""What records say of each length that a model was tested at: `attention.by_length`, checked, as one tidy frame."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.errors import InputError
from bench.records import Record

RESULTS = ("exact_match", "token_accuracy")
"""Shares of a length's rows and of its answer tokens, one number per length."""
ATTENTION = ("entropy", "peak", "support")
"""Numbers per length, block and head; entropy in nats, the others are shares."""
COLUMNS = (
    *("dataset", "normalizer", "seed", "length", "rows"),
    *RESULTS,
    *ATTENTION,
    *("trained_from", "trained_to", "path"),
)
TRAINING = ("train_shortest", "train_longest")
NUMBERS = ("rows", *RESULTS, *ATTENTION, "trained_from", "trained_to")

NAPE = "nape"
"""The choice of positions that gives the first half of the heads a bias and the others none."""
HEADS = "over the heads without positions where positions are nape, else over all heads"
ROUNDING = 1e-6
"""What a share in float32 may lie beyond 0 and 1, and by which two roundings of one accuracy may differ."""
AGAIN = "; make this run again with force=true"
NONE = "no lengths at all"

Array = NDArray[np.float64]
Row = tuple[Any, ...]


def rows(path: Path, record: Record) -> list[Row]:
    """The values of COLUMNS for each test length of `record`, attention as its mean over blocks and heads
    (see `_attention`).

    Empty for a record without lengths. Raises InputError naming the file for a part that is missing, has another shape
    than the lengths ask for or holds what cannot be, and for an accuracy that is not the exact match at the longest.
    """
    content = record.attention.get("by_length")
    if content is None:
        return []
    where = f"{path}: attention.by_length"
    if not isinstance(content, dict):
        raise InputError(f"{where} holds a {type(content).__name__}, not an object{AGAIN}")
    length = _lengths(where, content)
    rows_of_length = _array(where, content, "rows", length.shape)
    results = [_shares(where, name, _array(where, content, name, length.shape)) for name in RESULTS]
    attention = _attention(where, content, length.size, record.config.get("model", {}).get("positions"))
    accuracy, last = record.metrics.get("accuracy"), float(results[0][-1])
    if accuracy is None or abs(accuracy - last) > ROUNDING:
        raise InputError(
            f"{path}: metrics.accuracy is {accuracy}, and {where.rpartition(' ')[2]}.exact_match is {last:g} at the "
            f"longest length, {length[-1]:g}; these must be one number{AGAIN}"
        )
    training = _training(path, record)
    columns = zip(length, rows_of_length, *results, *attention, strict=True)
    return [(*record.key, int(first), *map(float, rest), *training, str(path)) for first, *rest in columns]


def none() -> pd.DataFrame:
    """The frame of runs without test lengths."""
    return pd.DataFrame(columns=list(COLUMNS))


def gathered(found: Sequence[Row], runs: pd.DataFrame) -> pd.DataFrame:
    """All rows as one frame with COLUMNS, sorted by data set, normalizer, seed and length.

    `runs` has a row per completed run with its `dataset` and `path`. Raises InputError where one data set was tested at
    different lengths, or at lengths in some runs only, naming a file of each kind.
    """
    frame = pd.DataFrame(sorted(found), columns=list(COLUMNS)).astype(dict.fromkeys(NUMBERS, "float64"))
    tested = {path: tuple(group) for path, group in frame.groupby("path", sort=False)["length"]}
    for dataset, paths in runs[runs["dataset"].isin(frame["dataset"])].groupby("dataset")["path"]:
        kinds: dict[tuple[int, ...], list[str]] = {}
        for path in sorted(paths):
            kinds.setdefault(tested.get(path, ()), []).append(path)
        if len(kinds) > 1:
            lines = (
                f"  {', '.join(map(str, lengths)) or NONE} ({len(files)} run{'s' if len(files) > 1 else ''}), "
                f"such as {files[0]}"
                for lengths, files in kinds.items()
            )
            raise InputError(
                f"records: {dataset} was tested at different lengths, which are never pooled:\n"
                + "\n".join(lines)
                + "\nAnalyse them apart, each from a folder of its own."
            )
    return frame


def series(frame: pd.DataFrame, dataset: str, normalizer: str, column: str) -> dict[int, pd.Series]:
    """Test length (ascending) -> `column` of one data set and normalizer, indexed by seed in ascending order."""
    cell = frame[(frame["dataset"] == dataset) & (frame["normalizer"] == normalizer)].set_index("seed")
    return {int(length): cell.loc[cell["length"] == length, column] for length in cell["length"].unique()}


def training(frame: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Data set -> the shortest and longest length that its models were trained at, where its records say so."""
    known = frame[frame["trained_to"].notna()].drop_duplicates("dataset")
    columns = known[["dataset", "trained_from", "trained_to"]].itertuples(index=False, name=None)
    return {dataset: (int(low), int(high)) for dataset, low, high in columns}


def notices(frame: pd.DataFrame) -> list[str]:
    """What accuracy means for data sets with test lengths, one sentence per longest length."""
    longest: dict[int, list[str]] = {}
    for dataset, most in frame.groupby("dataset")["length"].max().items():
        longest.setdefault(int(most), []).append(str(dataset))
    return [f"{', '.join(names)}: accuracy is the exact match at length {most}." for most, names in longest.items()]


def _lengths(where: str, content: dict[str, Any]) -> Array:
    length = _array(where, content, "length")
    whole = length.ndim == 1 and length.size > 0 and bool((length == np.floor(length)).all()) and length[0] > 0
    if not whole or any(b <= a for a, b in pairwise(length)):
        raise InputError(f"{where}.length is {content['length']}, not ascending whole numbers above 0{AGAIN}")
    return length


def _attention(where: str, content: dict[str, Any], lengths: int, positions: object) -> list[Array]:
    """The means over blocks and heads of ATTENTION, each of shape (lengths,).

    Of nape, over the second half of the heads: what the others do far away is the doing of their bias.
    """
    found = {name: _array(where, content, name) for name in ATTENTION}
    shape = found[ATTENTION[0]].shape
    for name, values in found.items():
        if values.ndim != 3 or len(values) != lengths or values.shape != shape:
            wanted = "lengths x blocks x heads" if values.ndim != 3 or len(values) != lengths else f"{shape} of entropy"
            raise InputError(f"{where}.{name} has shape {values.shape}, not {wanted} for {lengths} lengths{AGAIN}")
    for name in ATTENTION[1:]:
        _shares(where, name, found[name])
    first = shape[2] // 2 if positions == NAPE else 0
    return [values[:, :, first:].mean(axis=(1, 2)) for values in found.values()]


def _array(where: str, content: dict[str, Any], name: str, shape: tuple[int, ...] | None = None) -> Array:
    """Finite numbers, of `shape` where one is given."""
    if name not in content:
        raise InputError(f"{where} has no {name} (it has {', '.join(content)}){AGAIN}")
    try:
        values = np.asarray(content[name], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}.{name} is not an array of numbers ({error}){AGAIN}") from error
    if shape is not None and values.shape != shape:
        raise InputError(f"{where}.{name} has shape {values.shape}, and length has {shape}{AGAIN}")
    if not values.size or not np.isfinite(values).all():
        raise InputError(f"{where}.{name} is empty or holds a value that is no finite number{AGAIN}")
    return values


def _shares(where: str, name: str, values: Array) -> Array:
    beyond = values[(values < -ROUNDING) | (values > 1 + ROUNDING)]
    if beyond.size:
        raise InputError(f"{where}.{name} holds {beyond[0]:g}, which is no share of 1{AGAIN}")
    return values


def _training(path: Path, record: Record) -> tuple[float, float]:
    """The shortest and the longest sequences that config.dataset names for training; NaN where the record does not."""
    dataset = record.config.get("dataset", {})
    ends = tuple(dataset.get(name) for name in TRAINING)
    if ends == (None, None):
        return np.nan, np.nan
    match ends:
        case (int(low), int(high)) if 0 < low <= high:
            return low, high
    raise InputError(f"{path}: {' and '.join(TRAINING)} of config.dataset are {ends[0]} and {ends[1]}, no range")
