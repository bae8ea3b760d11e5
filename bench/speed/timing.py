"""Timing side by side, and the files that hold what came of it."""

import csv
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from bench import provenance
from normalizers import native

Map = Callable[[Tensor], Tensor]


def paired(measured: Callable[[], None], baseline: Callable[[], None], rounds: int) -> tuple[float, float]:
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


def setting() -> str:
    """Where and how is measured, as a table says it."""
    origin = provenance.machine()
    return f"One thread, float32, {origin['cpu']}, torch {origin['torch']}, kernels: {native.variant()}"


def write(path: Path, title: str, legend: str, rows: Sequence[Any], table: Sequence[str]) -> None:
    """Write dataclass `rows` to `path`.csv and the lines of `table` to `path`.md, and say so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(rows[0])])
        writer.writerows([_cell(value) for value in astuple(row)] for row in rows)
    path.with_suffix(".md").write_text("\n".join([f"# {title}", "", legend, "", *table, ""]), encoding="utf-8")
    print(f"\n{legend}\nWritten to {path}.csv and .md", flush=True)


def _cell(value: object) -> object:
    return f"{value:.4f}" if isinstance(value, float) else "" if value is None else value
