"""This project beside the qjax package, where it is installed."""

import csv
from pathlib import Path

import pytest
import torch

pytest.importorskip("qjax", reason="qjax is not installed: pip install 'normbench[qjax]'")

from bench.speed import qjax

FAR = {"float32": (2e-6, 1e-4, 1e-4), "float64": (1e-12, 1e-11, 1e-10)}
"""dtype -> how far weights, products with ∂/∂scores and those with ∂/∂q, summed over all rows, may be apart."""


@pytest.mark.parametrize("dtype", FAR)
def test_weights_and_both_gradients_are_those_of_qjax(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qjax, "LENGTHS", (16,))
    found = list(qjax.agreement(dtype))
    assert [row.q for row in found] == list(qjax.INDICES)
    for row in found:
        weights, scores, index = FAR[dtype]
        assert row.weights <= weights
        assert row.scores_gradient <= scores
        assert row.q_gradient <= index


@pytest.mark.parametrize("name", ["bounded_entmax", "sparsemax"])
def test_both_steps_train_alike(name: str) -> None:
    model, x, y = qjax.start(name, 8)
    ours, theirs = qjax.our_step(model, x, y), qjax.qjax_step(model, x, y)
    losses = torch.tensor([[float(ours()), float(theirs())] for _ in range(20)])
    torch.testing.assert_close(losses[:, 0], losses[:, 1], rtol=1e-4, atol=1e-5)
    assert losses[-1, 0] < losses[0, 0]


def test_both_tables_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qjax, "LENGTHS", (4,))
    monkeypatch.setattr(qjax, "INDICES", (1.5,))
    assert qjax.compare(tmp_path, rounds=1) == 0
    with (tmp_path / "qjax_steps.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["q"] for row in rows] == ["learned", "2"]
    assert all(float(row["step_ms"]) > 0 and float(row["qjax_to_ours"]) > 0 for row in rows)
    assert (tmp_path / "qjax.md").read_text(encoding="utf-8").count("\n|") == 2 + 2
