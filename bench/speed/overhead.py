"""What the harness itself costs around a run: start-up of a sweep, planning, records, launchers."""

import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import ROOT, records
from bench.speed.timing import setting, write

FEW, MANY = 2, 8
"""Runs of a short and of a longer sweep; what one run more costs is the difference by the number of runs more."""
SWEEP = ("-m", "bench", "-m", "dataset=digits", "normalizer=softmax")
LAUNCHERS = {
    "pool": (),
    "submitit_local": ("hydra/launcher=submitit_local",),
    "submitit_local, 4 runs a job": ("hydra/launcher=submitit_local", "hydra.launcher.runs_per_job=4"),
    "ray": ("hydra/launcher=ray",),
}
WORKERS = 2
"""Of each launcher."""


@dataclass(frozen=True)
class Row:
    """Seconds. `share` is that of the harness in a run of the sweep."""

    start_up: float
    run: float
    measured: float
    harness: float
    share: float


@dataclass(frozen=True)
class LauncherRow:
    """Seconds. `run` is what one run more takes a worker, `itself` what the run is, `beyond` what is between."""

    launcher: str
    start_up: float
    run: float
    itself: float
    beyond: float


HEADER = "| start-up of a sweep s | a run s | of it training and evaluation s | harness s | share |"
RULE = "| --------------------: | ------: | ------------------------------: | --------: | ----: |"

LAUNCHER_HEADER = "| launcher                     | start-up of a sweep s | a run s | the run itself s | beyond it s |"
LAUNCHER_RULE = "| ---------------------------- | --------------------: | ------: | ---------------: | ----------: |"


def time_overhead(out: Path) -> None:
    """Time two sweeps of digits, print the table and write `out`/overhead.csv and .md."""
    (few, few_metrics), (many, many_metrics) = _sweep(FEW, "parallel=1"), _sweep(MANY, "parallel=1")
    run = (many - few) / (MANY - FEW)
    measured = (_measured(many_metrics) - _measured(few_metrics)) / (MANY - FEW)
    row = Row(few - FEW * run, run, measured, run - measured, (run - measured) / run)
    line = (
        f"| {row.start_up:>21.1f} | {row.run:>7.2f} | {row.measured:>31.2f} | {row.harness:>9.2f} | {row.share:>4.1%} |"
    )
    print(f"\n{HEADER}\n{line}")
    legend = (
        f"{setting()}; `python {' '.join(SWEEP)} parallel=1` with {FEW} and with {MANY} seeds. A run is what one seed "
        "more takes; the harness is what is left of it without the training loop and the pass over the test rows: "
        "data, initial weights, attention statistics, the record. Start-up is what a sweep takes besides its runs, "
        "mostly imports."
    )
    write(out / "overhead", "What the harness costs", legend, [row], [HEADER, RULE, line])


def time_launchers(out: Path) -> None:
    """Time two sweeps of digits by each launcher, print the table and write `out`/launchers.csv and .md."""
    rows: list[LauncherRow] = []
    print(f"\n{LAUNCHER_HEADER}")
    for name, words in LAUNCHERS.items():
        few, _ = _sweep(FEW * WORKERS, f"parallel={WORKERS}", *words)
        many, metrics = _sweep(MANY * WORKERS, f"parallel={WORKERS}", *words)
        run = (many - few) / (MANY - FEW)
        itself = rows[0].itself if rows else statistics.median(m["wall_seconds"] or 0.0 for m in metrics)
        rows.append(LauncherRow(name, few - FEW * run, run, itself, run - itself))
        print(_launcher_line(rows[-1]), flush=True)
    legend = (
        f"{setting()}; `python {' '.join(SWEEP)} parallel={WORKERS}` with {FEW * WORKERS} and with {MANY * WORKERS} "
        f"seeds. A run is what one run more takes each of the {WORKERS} workers. The run itself is the median time in "
        "the records of the pool, whose workers have all imported; beyond it lie handing the run over, and the start "
        "of a process and its imports where the run has one of its own."
    )
    lines = [LAUNCHER_HEADER, LAUNCHER_RULE, *map(_launcher_line, rows)]
    write(out / "launchers", "What launchers cost", legend, rows, lines)


def _launcher_line(row: LauncherRow) -> str:
    return (
        f"| {row.launcher:<28} | {row.start_up:>21.1f} | {row.run:>7.2f} | {row.itself:>16.2f} | {row.beyond:>11.2f} |"
    )


TRACKERS = {
    "none": (),
    "W&B, disabled": ("tracker=wandb", "tracker.mode=disabled"),
    "W&B, offline": ("tracker=wandb", "tracker.mode=offline"),
}


@dataclass(frozen=True)
class Tracked:
    """Seconds of a run with a tracker, and how many more than without one; `share` is that of the time without."""

    tracker: str
    run: float
    more: float
    share: float


TRACKED_HEADER = "| tracker       | a run s | more s | share |"
TRACKED_RULE = "| :------------ | ------: | -----: | ----: |"


def time_tracking(out: Path) -> None:
    """Time sweeps of digits with each of `TRACKERS`, print the table and write `out`/tracking.csv and .md."""
    runs = {}
    for name, words in TRACKERS.items():
        few, many = _sweep(FEW, "parallel=1", *words)[0], _sweep(MANY, "parallel=1", *words)[0]
        runs[name] = (many - few) / (MANY - FEW)
    alone = runs["none"]
    rows = [Tracked(name, run, run - alone, run / alone - 1) for name, run in runs.items()]
    lines = [f"| {row.tracker:<13} | {row.run:>7.2f} | {row.more:>6.2f} | {row.share:>4.1%} |" for row in rows]
    print("\n" + "\n".join([TRACKED_HEADER, *lines]))
    legend = (
        f"{setting()}; `python {' '.join(SWEEP)} parallel=1` with {FEW} and with {MANY} seeds. A run is what one seed "
        "more takes: with a tracker that logs also a pass over the test rows and attention statistics after every "
        "epoch, and at the end the confusion matrix and attention maps. A disabled one does nothing, so that its row "
        "is how far the machine lets such times be told."
    )
    write(out / "tracking", "What watching a run costs", legend, rows, [TRACKED_HEADER, TRACKED_RULE, *lines])


Metrics = dict[str, float | None]


def _measured(metrics: list[Metrics]) -> float:
    """Seconds of training and inference."""
    return sum((m["train_seconds"] or 0) + (m["inference_seconds"] or 0) for m in metrics)


def _sweep(runs: int, *words: str) -> tuple[float, list[Metrics]]:
    """Seconds of a sweep of that many runs, and the metrics of its records."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, *SWEEP, *words, f"seed=range({runs})", f"results_dir={folder}"]
        start = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        return seconds, [record.metrics for _, record in records.scan([Path(folder)])[0]]
