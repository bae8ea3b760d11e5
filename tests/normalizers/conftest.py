"""The maps that every clause of the contract is tested on: the whole registry, with the options each needs."""

import ctypes
import platform
from collections.abc import Callable
from functools import cache

import pytest
import torch
from torch import Tensor, nn

from normalizers import REGISTRY, Normalizer, build, native
from normalizers.native.build import extra_flags, load

OPTIONS: dict[str, list[dict[str, object]]] = {
    "entmax15": [{}, {"gradient": "through_bisection"}],
    "entmax": [{"alpha": 1.0}, {"alpha": 1.1}, {"alpha": 1.75}, {"alpha": 2.5}],
    "hae": [{}, {"gradient": "through_bisection"}],
    "topk": [{"k": 2}, {"ratio": 0.5}],
    "bottomk": [{"k": 2}, {"ratio": 0.5}],
    "bounded_entmax": [{}, {"per_head": True}],
    "asentmax": [{}, {"alpha": None}],
    "fusedmax": [{"lam": 0.3}],
    "constrained_sparsemax": [{"upper": 0.4}],
}
WIDTHS = {16: "", 8: "-mno-avx512f", 4: "-march=x86-64"} if platform.machine() == "x86_64" else {4: ""}
"""Lanes of a native kernel, and the compiler flag that makes them on a processor that has more."""
CASES = [(name, options) for name in REGISTRY for options in OPTIONS.get(name, [{}])]
HEADS = 3
HEAD_WIDTH = 2
REASONS = {
    "is_distribution": "is no distribution",
    "is_shift_invariant": "is not shift-invariant",
    "is_permutation_equivariant": "is not permutation-equivariant",
}


@pytest.fixture(scope="package", autouse=True)
def _one_thread():
    """Rows this small gain nothing from threads, and test workers that share cores lose a lot."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class WithQueries(nn.Module):
    """A map of the scores alone, with fixed queries that differ by head and query."""

    def __init__(self, normalizer: Normalizer) -> None:
        super().__init__()
        self.normalizer = normalizer
        generator = torch.Generator().manual_seed(11)
        self.queries = torch.randn(HEADS, 4, HEAD_WIDTH, dtype=torch.float64, generator=generator)

    def forward(self, scores: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.normalizer(scores, mask, self.queries[:, : scores.shape[-2]])


def through_bisection(case: tuple[str, dict[str, object]]) -> bool:
    return case[1].get("gradient") == "through_bisection"


def has(name: str, attribute: str) -> bool:
    """Whether the mathematics of the map `name` has the property `attribute`."""
    return getattr(REGISTRY[name], attribute)


def require(name: str, attribute: str) -> None:
    """Skip, with the reason, where the mathematics of the map `name` lacks the property `attribute`."""
    if not has(name, attribute):
        pytest.skip(f"{name} {REASONS[attribute]}")


def make(case: tuple[str, dict[str, object]]) -> Callable[..., Tensor]:
    """The module of `case` in evaluation, in float64, its learned parameters moved off their start."""
    module = build(case[0], HEADS, HEAD_WIDTH, **case[1]).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.linspace(-1, 1, parameter.numel()).double().view(parameter.shape))
    return WithQueries(module) if module.needs_queries else module


@cache
def kernels_of(lanes: int) -> ctypes.CDLL | str:
    """The kernels compiled to `lanes`, under the flags of the environment too, or why they cannot be had here."""
    flags = extra_flags()
    kernels = load((*flags, *WIDTHS[lanes].split()))
    if kernels.lanes() == lanes:
        return kernels
    return " ".join(["this processor has kernels of", str(kernels.lanes()), "lanes at most", *flags])


@pytest.fixture(params=WIDTHS, ids="{} lanes".format)
def lanes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The test runs with the kernels of each width that this processor has, in the place of its own."""
    if native.variant() == "torch":
        pytest.skip("the native kernels are switched off, or there is no C compiler")
    kernels = kernels_of(request.param)
    if isinstance(kernels, str):
        pytest.skip(kernels)
    monkeypatch.setattr(native, "library", lambda: kernels)
    return request.param


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
