from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from datasets.digits import build


def test_every_scan_is_in_exactly_one_split_with_its_label() -> None:
    arrays = build(Path())
    assert arrays.train.x.shape == (1_297, 8, 8, 1)
    assert arrays.test.x.shape == (500, 8, 8, 1)
    x = np.concatenate([arrays.train.x, arrays.test.x]).reshape(1_797, 64)
    y = np.concatenate([arrays.train.y, arrays.test.y])
    official = load_digits()
    found = sorted((*map(int, row), int(label)) for row, label in zip(x, y, strict=True))
    assert found == sorted((*map(int, row), int(label)) for row, label in zip(*official_pairs(official), strict=True))


def official_pairs(official: object) -> tuple[np.ndarray, np.ndarray]:
    return official.data, official.target  # type: ignore[attr-defined]


def test_pixels_fill_the_scale_and_both_splits_hold_every_class() -> None:
    arrays = build(Path())
    assert (arrays.scale, arrays.classes) == (16.0, 10)
    assert (arrays.train.x.min(), arrays.train.x.max()) == (0, 16)
    assert set(arrays.train.y.tolist()) == set(arrays.test.y.tolist()) == set(range(10))
