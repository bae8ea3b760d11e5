"""What every data set becomes: rows of numpy arrays with their labels, and what must be known to feed a model."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["image", "tokens", "vectors", "sequences"]


FORMS: dict[Kind, tuple[type[np.generic], int]] = {
    "image": (np.uint8, 4),
    "tokens": (np.int32, 2),
    "vectors": (np.float32, 3),
    "sequences": (np.int32, 2),
}
"""Kind -> dtype and rank of x."""


class DataError(RuntimeError):
    """Data that is missing, damaged or cannot be stored; the message names the file, what is wrong and the remedy."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one split in the official order.

    x: images (n, H, W, C) uint8, token ids (n, length) int32 with padding id 0, or tokens that are vectors
    (n, length, width) float32. y: labels (n,) int64. marks, where the source knows which tokens of a row carry its
    answer: (n, length) bool. Of sequences, y is the length of each row and marks are the tokens that are its answer.
    """

    x: NDArray[Any]
    y: NDArray[np.int64]
    marks: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Arrays:
    """What the `build` of a source returns.

    classes: number of labels, 0 … classes-1. vocabulary (tokens, sequences): number of embedding rows, so every id is
    below it. scale (images only): the largest pixel value there can be, so x / scale lies in [0, 1].
    note: "" or what must be said wherever a figure made from these rows is shown. raw: the files that were read, and
    those that would have been read in their place had they been there.
    """

    train: Rows
    test: Rows
    classes: int
    vocabulary: int | None = None
    scale: float | None = None
    note: str = ""
    raw: tuple[Path, ...] = ()

    def named(self) -> dict[str, NDArray[Any]]:
        """The arrays by the names that they are stored under: four, and the marks of both splits where it has any."""
        four = {"train_x": self.train.x, "train_y": self.train.y, "test_x": self.test.x, "test_y": self.test.y}
        marks = {"train_marks": self.train.marks, "test_marks": self.test.marks}
        return four | {name: array for name, array in marks.items() if array is not None}


@dataclass(frozen=True, eq=False)
class Prepared(Arrays):
    """Verified arrays, memory-mapped from `folder`.

    hash: content hash of the arrays (16 hexadecimal digits), the same wherever and whenever they were prepared.
    built_by: what `prepare` was told of the source code that built them; "" where it was told nothing.
    """

    kind: Kind = "image"
    hash: str = ""
    built_by: str = ""
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
    dtype, dimensions = FORMS[kind]
    limit = arrays.scale if kind == "image" else arrays.vocabulary and arrays.vocabulary - 1
    if limit is None and kind != "vectors":
        raise ValueError(f"{kind} arrays need {'scale' if kind == 'image' else 'vocabulary'}")
    for split, rows in (("train", arrays.train), ("test", arrays.test)):
        if rows.x.dtype != dtype or rows.x.ndim != dimensions:
            raise ValueError(f"{split}.x is {rows.x.dtype} {rows.x.shape}, not {np.dtype(dtype)} of rank {dimensions}")
        if rows.y.dtype != np.int64 or rows.y.shape != rows.x.shape[:1] or not len(rows):
            raise ValueError(f"{split}.y is {rows.y.dtype} {rows.y.shape}, not int64 {rows.x.shape[:1]} with rows")
        if limit is None and not np.isfinite(rows.x).all():
            raise ValueError(f"{split}.x holds a value that is no finite number")
        if limit is not None and (rows.x.min() < 0 or rows.x.max() > limit):
            raise ValueError(f"{split}.x lies outside 0 … {limit}")
        if rows.marks is None and kind == "sequences":
            raise ValueError(f"{split}.marks is missing: sequences need to say which of their tokens are answers")
        if rows.marks is not None and (rows.marks.dtype != np.bool_ or rows.marks.shape != rows.x.shape[:2]):
            raise ValueError(f"{split}.marks is {rows.marks.dtype} {rows.marks.shape}, not bool {rows.x.shape[:2]}")
        if rows.y.min() < 0 or rows.y.max() >= arrays.classes:
            raise ValueError(f"{split}.y lies outside 0 … {arrays.classes - 1}")
