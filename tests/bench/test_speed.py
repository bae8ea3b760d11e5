import csv
from pathlib import Path

import pytest

from bench import speed
from normalizers import REGISTRY


def test_every_normalizer_is_timed_beside_softmax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "SHAPES", {5: (2, 3)})
    assert speed.speed(tmp_path / "speed", rounds=1) == 0
    with (tmp_path / "speed" / "normalizers.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["normalizer"] for row in rows] == list(REGISTRY)
    assert all(row["n"] == "5" for row in rows)
    assert all(float(row["forward_ms"]) > 0 and float(row["both_ms"]) > 0 for row in rows)
