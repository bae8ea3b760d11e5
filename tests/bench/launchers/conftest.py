"""What the tests of launchers share: two runs of digits, and the records that they make in one process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.sweep import sweep
from tests.bench.helpers import changed, raw, recorded, results

Runs = Callable[[Path], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def runs(tiny: tuple[str, ...]) -> Runs:
    """Softmax and HAE, of an epoch each, into a folder."""

    def make(folder: Path) -> list[dict[str, Any]]:
        return [raw(*tiny, f"results_dir={folder}", "parallel=1", normalizer=name) for name in ("softmax", "hae")]

    return make


@pytest.fixture(scope="session")
def serial(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, int], dict[str, Any]]:
    """What the runs give, by key, made one after the other in this process."""
    folder = tmp_path_factory.mktemp("serial")
    assert sweep([changed(content, "parallel", 1) for content in runs(folder)]) == 0
    return {key: results(record) for key, record in recorded(folder).items()}
