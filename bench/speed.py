"""`python -m bench speed`: what each normalizer costs beside `torch.softmax`, measured side by side.

Every round times the baseline and the map one after the other on the same scores, so that whatever slows the machine
slows both; the ratio is the median over rounds of the ratio within a round.
"""

import csv
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from bench import provenance
from bench.allocator import keep_memory
from normalizers import REGISTRY, Normalizer, build

CASES: dict[str, tuple[str, dict[str, object]]] = {
    "softmax": ("softmax", {}),
    "sparsemax": ("sparsemax", {}),
    "entmax15": ("entmax15", {}),
    "entmax15_bisection": ("entmax15", {"gradient": "through_bisection"}),
    "entmax (alpha 1.25)": ("entmax", {"alpha": 1.25}),
    "hae": ("hae", {}),
    "hae_bisection": ("hae", {"gradient": "through_bisection"}),
    "topk_025": ("topk", {"ratio": 0.25}),
}
HEADS = 4
LENGTHS = {17: 96, 97: 32}
"""Row length n -> batch, so that a call works on rows of (batch, 4 heads, n queries, n keys)."""
ROUNDS = 15


def speed(out: Path, rounds: int = ROUNDS) -> int:
    """Time every normalizer, print the table and write `out`/normalizers.csv; returns the exit code."""
    unmeasured = set(REGISTRY) - {name for name, _ in CASES.values()}
    if unmeasured:
        raise ValueError(f"no case in bench.speed for {', '.join(sorted(unmeasured))}")
    torch.set_num_threads(1)
    keep_memory()
    rows = [row for n, batch in LENGTHS.items() for row in _measure(n, batch, rounds)]
    out.mkdir(parents=True, exist_ok=True)
    target = out / "normalizers.csv"
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["n", "normalizer", "forward_ms", "forward_ratio", "both_ms", "both_ratio"])
        writer.writerows(rows)
    origin = provenance.machine()
    print(f"\nOne thread, float32, {origin['cpu']}, torch {origin['torch']}; median of {rounds} rounds.")
    print(f"Ratios are to torch.softmax in the same round. Written to {target}")
    return 0


def _measure(n: int, batch: int, rounds: int) -> list[list[object]]:
    print(f"\nn = {n}, scores ({batch}, {HEADS}, {n}, {n})")
    print(f"{'normalizer':22} {'forward ms':>11} {'ratio':>7} {'+ backward ms':>14} {'ratio':>7}")
    generator = torch.Generator().manual_seed(n)
    scores = torch.randn(batch, HEADS, n, n, generator=generator)
    grad = torch.randn(batch, HEADS, n, n, generator=generator)
    rows: list[list[object]] = []
    for label, (name, options) in CASES.items():
        normalizer = build(name, HEADS, **options)
        forward = _paired(_forward(_softmax, scores), _forward(normalizer, scores), rounds)
        both = _paired(_both(_softmax, scores, grad), _both(normalizer, scores, grad), rounds)
        print(f"{label:22} {forward[0]:11.2f} {forward[1]:6.2f}x {both[0]:14.2f} {both[1]:6.2f}x", flush=True)
        rows.append([n, label, *(f"{value:.4f}" for value in (*forward, *both))])
    return rows


def _paired(baseline: Callable[[], None], measured: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Median milliseconds of `measured`, and median ratio to `baseline` within a round; the first round warms up."""
    times: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        pair: dict[Callable[[], None], float] = {}
        for call in (baseline, measured) if number % 2 else (measured, baseline):
            start = time.perf_counter()
            call()
            pair[call] = time.perf_counter() - start
        times.append((pair[baseline], pair[measured]))
    timed: Sequence[tuple[float, float]] = times[1:]
    return statistics.median(b for _, b in timed) * 1e3, statistics.median(b / a for a, b in timed)


def _softmax(scores: Tensor) -> Tensor:
    return torch.softmax(scores, dim=-1)


def _forward(map_: Normalizer | Callable[[Tensor], Tensor], scores: Tensor) -> Callable[[], None]:
    def call() -> None:
        with torch.no_grad():
            map_(scores)

    return call


def _both(map_: Normalizer | Callable[[Tensor], Tensor], scores: Tensor, grad: Tensor) -> Callable[[], None]:
    leaf = scores.clone().requires_grad_()

    def call() -> None:
        leaf.grad = None
        map_(leaf).backward(grad)

    return call
