"""Matched seeds: for one seed every normalizer sees the same rows, initial weights, batches and dropout masks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import bench.classification
import bench.train
from bench.model import Dropout
from bench.schema import validate
from normalizers import REGISTRY, Normalizer, softmax
from tests.bench.helpers import PUBLISHED, raw, results, run

OVERRIDES = ("train.epochs=2", "train.batch_size=25")


class Noisy(Normalizer):
    """Draws from torch's global generator when it is built and in every pass of training."""

    is_stochastic = True

    def __init__(self, heads: int) -> None:
        super().__init__(heads)
        self.own = nn.Parameter(torch.randn(heads, 1, 1))

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        noise = torch.randn_like(scores) if self.training else 0.0
        return softmax(scores * self.own + noise, mask=mask)


@dataclass
class Seen:
    """What one run was given."""

    rows: list[Tensor] = field(default_factory=list)
    weights: dict[str, Tensor] = field(default_factory=dict)
    batches: list[Tensor] = field(default_factory=list)
    masks: list[Tensor] = field(default_factory=list)


def watched(content: dict[str, Any]) -> Seen:
    """What the run of this configuration is given, from its start to its end."""
    seen = Seen()
    train, batches, forward = bench.classification.train, bench.train.batches, Dropout.forward

    def watch_train(model: nn.Module, call: Callable[..., Any], x: Tensor, y: Tensor, *rest: Any) -> Any:
        seen.rows = [x, y]
        seen.weights = {k: p.detach().clone() for k, p in model.named_parameters() if ".normalizer." not in k}
        return train(model, call, x, y, *rest)

    def watch_batches(*arguments: Any) -> Any:
        for batch in batches(*arguments):
            seen.batches.append(batch)
            yield batch

    def watch_dropout(layer: Dropout, x: Tensor) -> Tensor:
        mask = forward(layer, torch.ones_like(x))
        if layer.training:
            seen.masks.append(mask)
        return x * mask

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.classification, "train", watch_train)
        patch.setattr(bench.train, "batches", watch_batches)
        patch.setattr(Dropout, "forward", watch_dropout)
        assert run(validate(content)).status == "completed"
    return seen


@pytest.fixture(scope="module")
def first(tiny: tuple[str, ...]) -> Seen:
    return watched(raw(*tiny, *OVERRIDES))


@pytest.fixture
def noisy(monkeypatch: pytest.MonkeyPatch, tiny: tuple[str, ...]) -> dict[str, Any]:
    """The configuration of a run with the noisy normalizer."""
    monkeypatch.setitem(REGISTRY, "noisy", Noisy)
    return raw(*tiny, *OVERRIDES) | {"normalizer": {"name": "noisy", "map": "noisy"}}


@pytest.mark.parametrize("name", [*PUBLISHED[1:], "noisy"])
def test_every_normalizer_is_given_the_same(
    first: Seen, noisy: dict[str, Any], tiny: tuple[str, ...], name: str
) -> None:
    seen = watched(noisy if name == "noisy" else raw(*tiny, *OVERRIDES, normalizer=name))
    assert len(first.batches) == 2 * 3
    assert len(first.masks) == 2 * 3 * 6
    assert len(first.weights) == 30
    torch.testing.assert_close(vars(seen), vars(first), rtol=0, atol=0)


@pytest.mark.parametrize("what", ["rows", "weights", "batches", "masks"])
def test_another_seed_is_given_something_else(first: Seen, tiny: tuple[str, ...], what: str) -> None:
    other = watched(raw(*tiny, *OVERRIDES, "seed=1"))
    values = [list(v.values()) if isinstance(v, dict) else v for v in (getattr(first, what), getattr(other, what))]
    drawn = [one for one, two in zip(*values, strict=True) if not torch.equal(one, two)]
    assert len(drawn) >= len(values[0]) / 2  # biases and gains of norms start alike


def test_dropout_masks_and_batches_differ_from_one_to_the_next(first: Seen) -> None:
    same_shape = first.masks[::6][:2]
    assert not torch.equal(*same_shape)
    assert not torch.equal(first.batches[0], first.batches[3])


def test_a_normalizer_that_draws_numbers_gives_the_same_run_again(noisy: dict[str, Any]) -> None:
    torch.manual_seed(1)
    one = run(validate(noisy))
    assert one.status == "completed"
    torch.manual_seed(2)
    two = run(validate(noisy))
    assert results(one) == results(two)
