"""Tests with the Slurm and the Ray that `make cluster-tests` starts; without them they are skipped."""

import os
from pathlib import Path

import pytest
from filelock import FileLock

from bench.sweep import sweep
from tests.bench.conftest import command, data_root, process_state, tiny
from tests.bench.helpers import changed
from tests.bench.launchers.conftest import Runs, runs
from tests.cluster.helpers import Results, made

__all__ = ["command", "data_root", "process_state", "runs", "tiny"]
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder is one of the cluster's."""
    skip = pytest.mark.skipif("NORMBENCH_CLUSTER" not in os.environ, reason="no test cluster; see make cluster-tests")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            item.add_marker(skip)


@pytest.fixture(scope="session")
def serial(runs: Runs) -> Results:
    """What the four runs give, made one after the other in this process, or in that of another worker of the tests."""
    folder = Path(os.environ["NORMBENCH_CLUSTER"]) / "serial"
    with FileLock(f"{folder}.lock"):
        assert sweep([changed(content, "parallel", 1) for content in runs(folder)]) == 0
    return made(folder)
