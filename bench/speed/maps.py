"""What each normalizer costs, measured side by side.

Beside every timing of a map stands one of `torch.softmax` on the same scores in the same round, so that whatever slows
the machine slows both; a ratio is the median over rounds of the ratio within a round. The `entmax` package and this
project's own maps in plain torch are compared in the same way.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from bench.speed.package import entmax_package
from bench.speed.timing import Map, paired, setting, write
from normalizers import REGISTRY, build, native

OPTIONS: dict[str, dict[str, object]] = {
    "entmax": {"alpha": 1.25},
    "topk": {"ratio": 0.25},
    "bottomk": {"ratio": 0.25},
    "constrained_sparsemax": {"upper": 0.5},
}
"""Options of the maps that need some; the others are timed as they come."""
KERNELS = ("sparsemax", "entmax15", "entmax", "hae", "topk")
"""Maps with a native kernel, timed in plain torch as well."""
HEADS, HEAD_WIDTH = 4, 16
SHAPES = {17: (96, 17), 97: (16, 97), 512: (1, 256), 2048: (1, 64)}
"""Row length n -> (batch, queries); scores are (batch, 4 heads, queries, n)."""
ROUNDS = 9


@dataclass(frozen=True)
class Row:
    """One line of the table: milliseconds of one thread, and ratios; None where there is nothing to compare with."""

    n: int
    normalizer: str
    forward_ms: float
    forward_to_softmax: float
    both_ms: float
    both_to_softmax: float
    entmax_package_to_ours: float | None
    plain_torch_to_ours: float | None


def time_maps(out: Path, rounds: int = ROUNDS) -> None:
    """Time every normalizer, print the table and write `out`/normalizers.csv and .md."""
    package = entmax_package()
    rows = []
    for n in SHAPES:
        print(f"\n{HEADER}", flush=True)
        for row in _measure(n, rounds, package):
            print(_line(row), flush=True)
            rows.append(row)
    write(out / "normalizers", "What each normalizer costs", _legend(rounds), rows, [HEADER, RULE, *map(_line, rows)])


HEADER = (
    "|    n | normalizer            | forward ms | to softmax | + backward ms | to softmax | entmax pkg | plain torch |"
)
RULE = (
    "| ---: | :-------------------- | ---------: | ---------: | ------------: | ---------: | ---------: | ----------: |"
)


def _line(row: Row) -> str:
    def ratio(value: float | None, width: int) -> str:
        return f"{'-' if value is None else f'{value:.2f}x':>{width}}"

    return (
        f"| {row.n:>4} | {row.normalizer:<21} | {row.forward_ms:>10.2f} | {ratio(row.forward_to_softmax, 10)} "
        f"| {row.both_ms:>13.2f} | {ratio(row.both_to_softmax, 10)} "
        f"| {ratio(row.entmax_package_to_ours, 10)} | {ratio(row.plain_torch_to_ours, 11)} |"
    )


def _legend(rounds: int) -> str:
    return (
        f"{setting()}; medians of {rounds} rounds, each beside the map it is compared with. `to softmax` is the time "
        "over that of `torch.softmax`; `entmax pkg` and `plain torch` are the time of that package, and of this "
        "project's own map without its kernel, over ours (forward + backward)."
    )


def _measure(n: int, rounds: int, package: dict[str, Map]) -> Iterator[Row]:
    batch, queries = SHAPES[n]
    generator = torch.Generator().manual_seed(n)
    scores = torch.randn(batch, HEADS, queries, n, generator=generator)
    grad = torch.randn(scores.shape, generator=generator)
    vectors = torch.randn(batch, HEADS, queries, HEAD_WIDTH, generator=generator)
    softmax = _softmax
    for name in REGISTRY:
        module = build(name, HEADS, HEAD_WIDTH, **OPTIONS.get(name, {}))

        def ours(z: Tensor, module: torch.nn.Module = module) -> Tensor:
            weights: Tensor = module(z, None, vectors)
            return weights

        def plain(z: Tensor, ours: Map = ours) -> Tensor:
            with native.switched_off():
                return ours(z)

        forward_ms, forward_ratio = paired(_forward(ours, scores), _forward(softmax, scores), rounds)
        both = _both(ours, scores, grad)
        both_ms, both_ratio = paired(both, _both(softmax, scores, grad), rounds)
        others: list[float | None] = []
        for other in (package.get(name), plain if name in KERNELS else None):
            ratio = None if other is None else 1 / paired(both, _both(other, scores, grad, plain is other), rounds)[1]
            others.append(ratio)
        yield Row(n, name, forward_ms, forward_ratio, both_ms, both_ratio, *others)


def _softmax(scores: Tensor) -> Tensor:
    return torch.softmax(scores, dim=-1)


def _forward(map_: Map, scores: Tensor) -> Callable[[], None]:
    def call() -> None:
        with torch.no_grad():
            map_(scores)

    return call


def _both(map_: Map, scores: Tensor, grad: Tensor, plain: bool = False) -> Callable[[], None]:
    leaf = scores.clone().requires_grad_()

    def call() -> None:
        leaf.grad = None
        weights = map_(leaf)
        if plain:
            with native.switched_off():
                weights.backward(grad)
        else:
            weights.backward(grad)

    return call
