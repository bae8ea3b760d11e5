"""The generated task of attention pooling: what is where, and how far apart."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datasets import DataError, prepare
from datasets.informative_tokens import build

ROOT = Path()  # nothing is read


def test_informative_tokens_are_noise_around_class_and_marker() -> None:
    arrays = build(ROOT, length=8)
    for rows, count in ((arrays.train, 8_192), (arrays.test, 8_000)):
        assert rows.marks is not None
        assert (rows.x.shape, rows.x.dtype, rows.marks.shape) == ((count, 8, 16), np.float32, (count, 8))
        assert (rows.marks.sum(1) == 3).all()
        assert (np.bincount(rows.y, minlength=4) > 0.23 * count).all()
        noise = rows.x[~rows.marks]
        assert noise.mean(0) == pytest.approx(np.zeros(16), abs=0.03)
        assert noise.std(0) == pytest.approx(np.ones(16), abs=0.03)
        for label in range(4):
            expected = np.zeros(16)
            expected[[label, 4]] = 2.5
            chosen = rows.x[rows.y == label][rows.marks[rows.y == label]]
            assert chosen.mean(0) == pytest.approx(expected, abs=0.07)
            assert chosen.std(0) == pytest.approx(np.ones(16), abs=0.05)


def test_every_place_is_informative_as_often_as_any_other() -> None:
    marks = build(ROOT, length=8).train.marks
    assert marks is not None
    assert marks.mean(0) == pytest.approx(np.full(8, 3 / 8), abs=0.02)


def test_scales_and_number_are_options() -> None:
    arrays = build(ROOT, length=5, informative=1, signal=0.0, marker=10.0)
    assert arrays.train.marks is not None
    assert np.array_equal(arrays.train.x[:, :, 4].argmax(1), arrays.train.marks.argmax(1))
    assert arrays.train.x[:, :, :4].mean() == pytest.approx(0, abs=0.02)


def test_the_pool_is_the_same_each_time_and_its_splits_differ() -> None:
    first, again = build(ROOT), build(ROOT)
    assert np.array_equal(first.train.x, again.train.x)
    assert not np.array_equal(first.train.x[:8_000], first.test.x)


def test_marks_are_stored_hashed_and_read_again(tmp_path: Path) -> None:
    prepared, built = prepare("informative_tokens", tmp_path, length=4), build(ROOT, length=4)
    assert prepared.test.marks is not None
    assert built.test.marks is not None
    assert np.array_equal(prepared.test.marks, built.test.marks)
    path = prepared.folder / "test_marks.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x02")
    with pytest.raises(DataError, match=r"test_marks\.npy is damaged"):
        prepare("informative_tokens", tmp_path, length=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 2}, "length=2 has no room for informative=3 tokens"),
        ({"informative": 0}, "informative=0 .*set it to 1"),
        ({"signal": float("nan")}, "signal=nan is no finite scale"),
        ({"marker": float("inf")}, "marker=inf is no finite scale"),
    ],
)
def test_impossible_options_are_named_with_value_and_remedy(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(ROOT, **options)
