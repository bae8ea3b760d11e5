"""`python -m bench speed`: what each normalizer costs, measured side by side.

Beside every timing of a map stands one of `torch.softmax` on the same scores in the same round, so that whatever slows
the machine slows both; a ratio is the median over rounds of the ratio within a round. The `entmax` package and this
project's own maps in plain torch are compared in the same way.
"""

import csv
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import torch
from torch import Tensor

from bench import provenance
from bench.allocator import keep_memory
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

Map = Callable[[Tensor], Tensor]


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


def speed(out: Path, rounds: int = ROUNDS) -> int:
    """Time every normalizer, print the table and write `out`/normalizers.csv and .md; returns the exit code."""
    torch.set_num_threads(1)
    keep_memory()
    package = _entmax_package()
    if not package:
        print("notice: the entmax package is not installed, so nothing is compared with it")
    rows = []
    for n in SHAPES:
        print(f"\n{HEADER}", flush=True)
        for row in _measure(n, rounds, package):
            print(_line(row), flush=True)
            rows.append(row)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "normalizers.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Row)])
        writer.writerows([_cell(value) for value in astuple(row)] for row in rows)
    page = "\n".join(["# What each normalizer costs", "", _legend(rounds), "", HEADER, RULE, *map(_line, rows), ""])
    (out / "normalizers.md").write_text(page, encoding="utf-8")
    print(f"\n{_legend(rounds)}\nWritten to {out}/normalizers.csv and .md")
    return 0


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


def _cell(value: object) -> object:
    return f"{value:.4f}" if isinstance(value, float) else "" if value is None else value


def _legend(rounds: int) -> str:
    origin = provenance.machine()
    return (
        f"One thread, float32, {origin['cpu']}, torch {origin['torch']}, kernels: {native.variant()}; medians of "
        f"{rounds} rounds, each beside the map it is compared with. `to softmax` is the time over that of "
        "`torch.softmax`; `entmax pkg` and `plain torch` are the time of that package, and of this project's own map "
        "without its kernel, over ours (forward + backward)."
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

        forward_ms, forward_ratio = _paired(_forward(ours, scores), _forward(softmax, scores), rounds)
        both = _both(ours, scores, grad)
        both_ms, both_ratio = _paired(both, _both(softmax, scores, grad), rounds)
        others: list[float | None] = []
        for other in (package.get(name), plain if name in KERNELS else None):
            ratio = None if other is None else 1 / _paired(both, _both(other, scores, grad, plain is other), rounds)[1]
            others.append(ratio)
        yield Row(n, name, forward_ms, forward_ratio, both_ms, both_ratio, *others)


def _paired(measured: Callable[[], None], baseline: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Median milliseconds of `measured`, and median ratio to `baseline` within a round; the first round warms up."""
    times: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        pair: dict[Callable[[], None], float] = {}
        for call in (baseline, measured) if number % 2 else (measured, baseline):
            start = time.perf_counter()
            call()
            pair[call] = time.perf_counter() - start
        times.append((pair[measured], pair[baseline]))
    timed = times[1:]
    return statistics.median(a for a, _ in timed) * 1e3, statistics.median(a / b for a, b in timed)


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


def _entmax_package() -> dict[str, Map]:
    """The maps of the entmax package by the names of ours, where it is installed."""
    try:
        import entmax
    except ImportError:
        return {}
    alpha = torch.full((1, HEADS, 1, 1), 1.5, requires_grad=True)
    return {
        "sparsemax": lambda z: entmax.sparsemax(z, dim=-1),
        "entmax15": lambda z: entmax.entmax15(z, dim=-1),
        "entmax": lambda z: entmax.entmax_bisect(z, alpha=1.25, dim=-1),
        "hae": lambda z: entmax.entmax_bisect(z, alpha=alpha, dim=-1),
    }
