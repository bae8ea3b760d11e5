"""Tests with the Slurm and the Ray that `make cluster-tests` starts; without them they are skipped."""

import os
from pathlib import Path

import pytest

from tests.bench.conftest import command, data_root, process_state, tiny
from tests.bench.launchers.conftest import runs, serial

__all__ = ["command", "data_root", "process_state", "runs", "serial", "tiny"]
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder is one of the cluster's."""
    skip = pytest.mark.skipif("NORMBENCH_CLUSTER" not in os.environ, reason="no test cluster; see make cluster-tests")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            item.add_marker(skip)
