"""Tests with the Slurm and the Ray that `make cluster-tests` starts; without them they are skipped."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from bench.sweep import sweep
from tests.bench.conftest import command, data_root, fresh_wandb, process_state, tiny
from tests.bench.helpers import changed, raw
from tests.cluster.helpers import Results, made

__all__ = ["command", "data_root", "fresh_wandb", "process_state", "tiny"]
Runs = Callable[[Path], list[dict[str, Any]]]
LONG = 40
"""Epochs of the first seed's runs, enough to be hit while they train."""
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder is one of the cluster's."""
    skip = pytest.mark.skipif("NORMBENCH_CLUSTER" not in os.environ, reason="no test cluster; see make cluster-tests")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            item.add_marker(skip)


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
def serial(runs: Runs) -> Results:
    """What the four runs give, made one after the other in this process, or in that of another worker of the tests."""
    folder = Path(os.environ["NORMBENCH_CLUSTER"]) / "serial"
    with FileLock(f"{folder}.lock"):
        assert sweep([changed(content, "parallel", 1) for content in runs(folder)]) == 0
    return made(folder)
