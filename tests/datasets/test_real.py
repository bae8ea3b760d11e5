"""The real data sets, where they are: sizes, pixel statistics and labels that their authors and others published."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datasets import Prepared, channel_statistics, prepare

pytestmark = pytest.mark.real_data

NEEDED = {
    "fashion_mnist": "FashionMNIST/raw",
    "kmnist": "KMNIST/raw",
    "cifar10": "cifar-10-batches-*/data_batch_5*",
    "twenty_newsgroups": "20news-bydate_py3.pkz",
}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory, real_root: Path) -> Path:
    """A root whose raw files are the real ones and whose prepared folder is this test's own."""
    root = tmp_path_factory.mktemp("real")
    for path in real_root.glob("*"):
        if path.name != "prepared" and not path.name.startswith("."):
            (root / path.name).symlink_to(path.resolve())
    return root


def real(scratch: Path, source: str, **options: Any) -> Prepared:
    if not any(scratch.glob(NEEDED[source])):
        pytest.skip(f"NORMBENCH_DATA (or data/) holds no {NEEDED[source]}")
    return prepare(source, scratch, **options)


@pytest.mark.parametrize(
    ("source", "train", "test"),
    [("fashion_mnist", (0.28604, 0.35302), (0.28685, 0.35244)), ("kmnist", (0.19176, 0.34834), (0.18456, 0.34161))],
)
def test_grey_images_have_the_published_statistics(
    scratch: Path, source: str, train: tuple[float, float], test: tuple[float, float]
) -> None:
    prepared = real(scratch, source)
    assert prepared.scale == 255.0
    for rows, n, expected in ((prepared.train, 60_000, train), (prepared.test, 10_000, test)):
        assert rows.x.shape == (n, 28, 28, 1)
        assert np.bincount(rows.y).tolist() == [n // 10] * 10
        found = [value.item() for value in channel_statistics(rows.x, 255.0)]
        assert found == pytest.approx(expected, abs=1e-5)


def test_cifar10_held_out_is_batch_5_against_the_other_four(scratch: Path) -> None:
    prepared = real(scratch, "cifar10", split="heldout")
    assert prepared.note == "test = official batch 5"
    assert prepared.train.x.shape == (40_000, 32, 32, 3)
    assert np.bincount(prepared.test.y).tolist() == [1014, 1014, 952, 1016, 997, 1025, 980, 977, 1003, 1022]
    every = np.concatenate([prepared.train.x, prepared.test.x])
    assert np.bincount(np.concatenate([prepared.train.y, prepared.test.y])).tolist() == [5_000] * 10
    mean, std = channel_statistics(every, 255.0)
    np.testing.assert_allclose(mean, [0.49140, 0.48216, 0.44653], atol=1e-5)
    np.testing.assert_allclose(std, [0.24703, 0.24349, 0.26159], atol=1e-5)


def test_twenty_newsgroups_is_whole(scratch: Path) -> None:
    prepared = real(scratch, "twenty_newsgroups")
    assert (len(prepared.train), len(prepared.test)) == (11_314, 7_532)
    assert prepared.train.y[:10].tolist() == [7, 4, 4, 1, 14, 16, 13, 3, 2, 4]
    counts = np.bincount(prepared.train.y)
    assert (counts[0], counts[10], counts[19]) == (480, 600, 377)
    assert prepared.train.x.dtype == np.int32
    assert (prepared.train.x.min(), 1 in prepared.train.x) == (0, False)
    padded = prepared.train.x == 0
    assert not (padded[:, :-1] & ~padded[:, 1:]).any()  # padding only at the end
