from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from datasets.arrays import Arrays, Kind, Rows, check


def rows(x: Any, y: Any = (0, 1), dtype: Any = np.int32) -> Rows:
    return Rows(np.asarray(x, dtype=dtype), np.asarray(y, dtype=np.int64))


TOKENS = rows([[2, 0], [3, 4]])
TEXT = Arrays(TOKENS, TOKENS, classes=2, vocabulary=5)
IMAGES = rows(np.full((2, 4, 4, 1), 16), dtype=np.uint8)
PICTURES = Arrays(IMAGES, IMAGES, classes=2, scale=16.0)


VECTORS = rows(np.zeros((2, 3, 4)), dtype=np.float32)
MARKED = replace(VECTORS, marks=np.ones((2, 3), dtype=np.bool_))
POINTS = Arrays(MARKED, MARKED, classes=2)


def test_whole_arrays_pass_and_know_their_length() -> None:
    check("tokens", TEXT)
    check("image", PICTURES)
    check("vectors", POINTS)
    check("vectors", Arrays(VECTORS, VECTORS, classes=2))
    assert len(TEXT.train) == 2


@pytest.mark.parametrize(
    ("kind", "arrays", "message"),
    [
        ("tokens", replace(TEXT, vocabulary=None), "need vocabulary"),
        ("image", replace(PICTURES, scale=None), "need scale"),
        ("tokens", replace(TEXT, test=rows([[2, 0], [3, 5]])), r"test.x lies outside 0 … 4"),
        ("tokens", replace(TEXT, train=rows([[2, -1], [3, 4]])), "train.x lies outside"),
        ("tokens", replace(TEXT, train=rows([[2, 0], [3, 4]], dtype=np.int64)), "train.x is int64"),
        ("tokens", replace(TEXT, test=rows([[2, 0], [3, 4]], (0, 2))), r"test.y lies outside 0 … 1"),
        ("tokens", replace(TEXT, test=rows([[2, 0], [3, 4]], (0,))), r"test.y is int64 \(1,\)"),
        ("tokens", replace(TEXT, test=rows(np.zeros((0, 2)), ())), "with rows"),
        ("image", replace(PICTURES, scale=15.0), r"train.x lies outside 0 … 15"),
        ("image", replace(PICTURES, test=rows(np.zeros((2, 4, 4)), dtype=np.uint8)), "test.x is uint8"),
        ("vectors", replace(POINTS, train=rows(np.zeros((2, 3, 4)), dtype=np.float64)), "train.x is float64"),
        ("vectors", replace(POINTS, test=rows(np.full((2, 3, 4), np.inf), dtype=np.float32)), "test.x holds a value"),
        ("vectors", replace(POINTS, test=replace(MARKED, marks=np.ones((2, 4), np.bool_))), r"not bool \(2, 3\)"),
        ("vectors", replace(POINTS, test=replace(MARKED, marks=np.ones((2, 3), np.int8))), "test.marks is int8"),
    ],
)
def test_a_new_source_that_breaks_a_promise_is_told_which(kind: Kind, arrays: Arrays, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(kind, arrays)
