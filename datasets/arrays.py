"""What every data set becomes: rows of numpy arrays with their labels, and what must be known to feed a model."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["image", "tokens"]


class DataError(RuntimeError):
    """Data that is missing, damaged or cannot be stored; the message names the file, what is wrong and the remedy."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one split in the official order.

    x: images (n, H, W, C) uint8, or token ids (n, length) int32 with padding id 0. y: labels (n,) int64.
    """

    x: NDArray[Any]
    y: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Arrays:
    """What the `build` of a source returns.

    classes: number of labels, 0 … classes-1. vocabulary (tokens only): number of embedding rows, so every id is
    below it. scale (images only): the largest pixel value there can be, so x / scale lies in [0, 1].
    note: "" or what must be said wherever a figure made from these rows is shown.
    """

    train: Rows
    test: Rows
    classes: int
    vocabulary: int | None = None
    scale: float | None = None
    note: str = ""

    def named(self) -> dict[str, NDArray[Any]]:
        """The four arrays by the names that they are stored under."""
        return {"train_x": self.train.x, "train_y": self.train.y, "test_x": self.test.x, "test_y": self.test.y}


@dataclass(frozen=True, eq=False)
class Prepared(Arrays):
    """Verified arrays, memory-mapped from `folder`.

    hash: content hash of the four arrays (16 hexadecimal digits), the same wherever and whenever they were prepared.
    """

    kind: Kind = "image"
    hash: str = ""
    folder: Path = Path()


@dataclass(frozen=True)
class Source:
    """One data set: its kind, and `build(root, *, option=default, ...)`, which reads or makes its arrays.

    The options of the source are exactly the keyword-only arguments of `build`, annotated with plain types.
    """

    kind: Kind
    build: Callable[..., Arrays]


def check(kind: Kind, arrays: Arrays) -> None:
    """Raise ValueError unless `arrays` keeps the promises of this module; guards new sources, not users' files."""
    dtype, dimensions = (np.uint8, 4) if kind == "image" else (np.int32, 2)
    limit = arrays.scale if kind == "image" else arrays.vocabulary and arrays.vocabulary - 1
    if limit is None:
        raise ValueError(f"{kind} arrays need {'scale' if kind == 'image' else 'vocabulary'}")
    for split, rows in (("train", arrays.train), ("test", arrays.test)):
        if rows.x.dtype != dtype or rows.x.ndim != dimensions:
            raise ValueError(f"{split}.x is {rows.x.dtype} {rows.x.shape}, not {np.dtype(dtype)} of rank {dimensions}")
        if rows.y.dtype != np.int64 or rows.y.shape != rows.x.shape[:1] or not len(rows):
            raise ValueError(f"{split}.y is {rows.y.dtype} {rows.y.shape}, not int64 {rows.x.shape[:1]} with rows")
        if rows.x.min() < 0 or rows.x.max() > limit:
            raise ValueError(f"{split}.x lies outside 0 … {limit}")
        if rows.y.min() < 0 or rows.y.max() >= arrays.classes:
            raise ValueError(f"{split}.y lies outside 0 … {arrays.classes - 1}")
