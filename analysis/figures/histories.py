"""What only the record files hold: curves over epochs, attention per block and head, predicted classes."""

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.errors import InputError
from analysis.frame import Runs
from bench.records import RecordError, read

Cell = tuple[str, str]
Values = dict[str, NDArray[np.float64]]

MANY, FEW = 5000, 20
"""Of more runs than MANY, only the first FEW seeds of each cell are read."""
CURVES = ("train_loss", "validation_accuracy", "alpha")
ATTENTION = ("support",)
ENCODING = "base64 zlib <u2"
"""Of the predicted classes: little-endian uint16, zlib, base64."""


@dataclass(frozen=True)
class Histories:
    """By (data set, normalizer): arrays with one entry per seed, in ascending order of the seeds that have them.

    `curves`: (seeds, epochs) or, for `alpha`, (seeds, epochs, blocks, heads). `attention`: (seeds, blocks, heads).
    `classes` counts the classes of a data set that any of its runs predicted; `maps` gives the map of a normalizer,
    which may have another name. `note` says what was not read, or is empty.
    """

    curves: dict[Cell, Values] = field(default_factory=dict)
    attention: dict[Cell, Values] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    maps: dict[str, str] = field(default_factory=dict)
    note: str = ""


def load(runs: Runs) -> Histories:
    """The histories of the completed runs whose path is a record file.

    Raises InputError for a record that can no longer be read, for values that are not numbers of one shape per cell and
    for predictions that cannot be decoded.
    """
    few = len(runs.frame) > MANY
    result = Histories(note=f"The first {FEW} seeds of each normalizer and data set." if few else "")
    cells = runs.frame[["dataset", "normalizer"]].drop_duplicates()
    for where in cells.itertuples(index=False, name=None):
        paths = [Path(text) for text in runs.cell(*where)["path"].iloc[: FEW if few else None]]
        records = [(path, _read(path)) for path in paths if path.suffix == ".json" and path.is_file()]
        curves = _stacked([(path, "curves", record.curves) for path, record in records], CURVES)
        attention = _stacked([(path, "attention", record.attention) for path, record in records], ATTENTION)
        dataset, normalizer = where
        found = [_classes(path, record.predictions) for path, record in records if record.predictions]
        if any(found):
            result.classes[dataset] = max(result.classes.get(dataset, 0), *found)
        for _, record in records[:1]:
            result.maps[normalizer] = str(record.config.get("normalizer", {}).get("map", normalizer))
        result.curves.update({where: curves} if curves else {})
        result.attention.update({where: attention} if attention else {})
    return result


def _read(path: Path) -> Any:
    try:
        return read(path)
    except RecordError as error:
        raise InputError(f"records: {error}") from error


def _classes(path: Path, predictions: Mapping[str, Any]) -> int:
    """The number of the highest predicted class, counted from 1; 0 where predictions have another encoding."""
    if predictions.get("encoding") != ENCODING:
        return 0
    try:
        classes = np.frombuffer(zlib.decompress(base64.b64decode(predictions["classes"])), dtype="<u2")
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise InputError(
            f"{path}: predictions cannot be decoded ({error}); make this run again with force=true"
        ) from error
    return int(classes.max()) + 1 if classes.size else 0


def _stacked(found: Sequence[tuple[Path, str, dict[str, Any]]], wanted: Sequence[str]) -> Values:
    stacks: Values = {}
    for name in wanted:
        arrays: list[NDArray[np.float64]] = []
        for path, part, content in found:
            if name not in content:
                continue
            try:
                arrays.append(np.asarray(content[name], dtype=np.float64))
            except (TypeError, ValueError) as error:
                raise InputError(f"{path}: {part}.{name} is not an array of numbers ({error})") from error
            if not np.isfinite(arrays[-1]).all():
                raise InputError(f"{path}: {part}.{name} holds a value that is no finite number")
            if arrays[-1].shape != arrays[0].shape:
                raise InputError(
                    f"{path}: {part}.{name} has shape {arrays[-1].shape}, other seeds of this cell have "
                    f"{arrays[0].shape}; make this run again with force=true"
                )
        if arrays and arrays[0].size:
            stacks[name] = np.stack(arrays)
    return stacks
