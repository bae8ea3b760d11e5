"""What tests with real clusters share: four runs of digits, and the records that they make in one process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.sweep import sweep
from tests.bench.helpers import changed, raw, recorded, results

Runs = Callable[[Path], list[dict[str, Any]]]
LONG = 40
"""Epochs of the first seed's runs, enough to be hit while they train."""


@pytest.fixture(scope="session")
def runs(tiny: tuple[str, ...]) -> Runs:
    """Softmax and HAE with two seeds, into a folder; the two runs of seed 0 are the longer ones, and begin."""

    def make(folder: Path) -> list[dict[str, Any]]:
        ones = [raw(*tiny, f"results_dir={folder}", "parallel=2", normalizer=name) for name in ("softmax", "hae")]
        return [
            changed(changed(one, "seed", seed), "train.epochs", 1 if seed else LONG) for one in ones for seed in (0, 1)
        ]

    return make


@pytest.fixture(scope="session")
def serial(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, int], dict[str, Any]]:
    """What the four runs give, by key, made one after the other in this process."""
    folder = tmp_path_factory.mktemp("serial")
    assert sweep([changed(content, "parallel", 1) for content in runs(folder)]) == 0
    return {key: results(record) for key, record in recorded(folder).items()}
