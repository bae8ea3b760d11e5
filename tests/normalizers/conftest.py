"""The maps that every clause of the contract is tested on: the whole registry, with the options each needs."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from normalizers import REGISTRY, build

OPTIONS: dict[str, list[dict[str, object]]] = {
    "entmax15": [{}, {"gradient": "through_bisection"}],
    "entmax": [{"alpha": 1.0}, {"alpha": 1.1}, {"alpha": 1.75}, {"alpha": 2.5}],
    "hae": [{}, {"gradient": "through_bisection"}],
    "topk": [{"k": 2}, {"ratio": 0.5}],
}
CASES = [(name, options) for name in REGISTRY for options in OPTIONS.get(name, [{}])]
HEADS = 3


def through_bisection(case: tuple[str, dict[str, object]]) -> bool:
    return case[1].get("gradient") == "through_bisection"


def make(case: tuple[str, dict[str, object]]) -> Callable[..., Tensor]:
    """The module of `case`, in float64, its learned parameters moved off their start."""
    module = build(case[0], HEADS, **case[1]).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.linspace(-1, 1, parameter.numel()).double().view(parameter.shape))
    return module


@pytest.fixture(params=CASES, ids=lambda case: "-".join([case[0], *(f"{k}={v}" for k, v in case[1].items())]))
def case(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return request.param


@pytest.fixture
def normalizer(case: tuple[str, dict[str, object]]) -> Callable[..., Tensor]:
    return make(case)


@pytest.fixture
def scores() -> Tensor:
    """Scores (batch 2, heads 3, queries 4, keys 6) in float64, spread so that sparse maps have zeros."""
    return torch.randn(2, HEADS, 4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(7)) * 1.5
