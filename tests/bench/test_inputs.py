from pathlib import Path

import numpy as np
import pytest
import torch

from bench import inputs
from bench.schema import ConfigError
from tests.bench.helpers import config

CPU = torch.device("cpu")


@pytest.fixture
def root(data_root: Path) -> str:
    return f"data.root={data_root}"


def test_a_run_takes_the_rows_of_the_protocol_in_their_order(root: str) -> None:
    typed = config(root, "dataset.train_limit=50", "dataset.test_limit=20", "dataset.validation=30", "seed=4")
    prepared = inputs.arrays(typed)
    data = inputs.tensors(typed, prepared, CPU)
    order = np.random.default_rng(4).permutation(len(prepared.train))
    test = np.random.default_rng(10_004).permutation(len(prepared.test))[:20]
    assert data.train[1].tolist() == prepared.train.y[order[:50]].tolist()
    assert data.validation[1].tolist() == prepared.train.y[order[50:80]].tolist()
    assert data.test[1].tolist() == prepared.test.y[test].tolist()
    assert [len(part[0]) for part in (data.train, data.validation, data.test)] == [50, 30, 20]


def test_images_become_patches_in_0_to_1_and_nothing_else(root: str) -> None:
    typed = config(root, "dataset.train_limit=null", "dataset.test_limit=null")
    prepared = inputs.arrays(typed)
    x, y = inputs.tensors(typed, prepared, CPU).test
    assert (x.dtype, x.shape, y.dtype) == (torch.float32, (500, 16, 4), torch.int64)
    row = inputs.rows(typed, prepared).test[7]
    image = torch.from_numpy(prepared.test.x[row, :, :, 0].astype(np.float32)) / 16
    assert torch.equal(x[7, 6], image[2:4, 4:6].flatten())  # row 1, column 2 of the 4x4 patches
    assert (x.min().item(), x.max().item()) == (0.0, 1.0)


def test_standardizing_uses_the_runs_own_training_rows_for_every_part(root: str) -> None:
    words = (root, "dataset.train_limit=40", "dataset.test_limit=30", "dataset.validation=20")
    plain, standard = (config(*words, f"dataset.standardize={flag}") for flag in ("false", "true"))
    prepared = inputs.arrays(plain)
    before, after = inputs.tensors(plain, prepared, CPU), inputs.tensors(standard, prepared, CPU)
    assert after.train[0].mean().item() == pytest.approx(0, abs=1e-5)
    assert after.train[0].std(correction=0).item() == pytest.approx(1, abs=1e-5)
    mean, std = before.train[0].mean(), before.train[0].std(correction=0)
    for part in ("validation", "test"):
        torch.testing.assert_close(getattr(after, part)[0], (getattr(before, part)[0] - mean) / std)


def test_the_shape_follows_the_data(root: str) -> None:
    typed = config(root, "dataset.patch=4")
    shape = inputs.shape(typed, inputs.arrays(typed))
    assert (shape.inputs, shape.tokens, shape.classes, shape.tokens_are_ids) == (16, 4, 10, False)
    text = config(root, dataset="marker_learnable")
    shape = inputs.shape(text, inputs.arrays(text))
    assert (shape.inputs, shape.tokens, shape.tokens_are_ids, shape.mask_padding) == (192, 12, True, False)
    assert inputs.tensors(text, inputs.arrays(text), CPU).train[0].dtype == torch.int64


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("dataset.patch=3", r"dataset.patch=3 does not divide images of 8x8; choose one of \[1, 2, 4, 8\]"),
        ("dataset.train_limit=1298", "dataset.train_limit=1298 must lie between 1 and the 1297 rows"),
        ("dataset.test_limit=501", "dataset.test_limit=501 must lie between 1 and the 500 rows"),
        ("dataset.validation=298", "dataset.train_limit=1000 and validation=298 together exceed the 1297 "),
        ("dataset.validation=1297", "dataset.validation=1297 must be at least 0 and below the 1297"),
    ],
)
def test_what_does_not_fit_the_data_is_refused_by_its_key(root: str, word: str, message: str) -> None:
    typed = config(root, word)
    with pytest.raises(ConfigError, match=message):
        inputs.shape(typed, inputs.arrays(typed))


def test_a_process_verifies_a_data_set_once(root: str) -> None:
    typed = config(root)
    assert inputs.arrays(typed) is inputs.arrays(config(root, "seed=3", "dataset.test_limit=7", normalizer="hae"))
