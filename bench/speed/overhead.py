"""What the harness itself costs around a run: start-up of a sweep, planning, records."""

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
SWEEP = ("-m", "bench", "-m", "dataset=digits", "normalizer=softmax", "parallel=1")


@dataclass(frozen=True)
class Row:
    """Seconds. `share` is that of the harness in a run of the sweep."""

    start_up: float
    run: float
    measured: float
    harness: float
    share: float


HEADER = "| start-up of a sweep s | a run s | of it training and evaluation s | harness s | share |"
RULE = "| --------------------: | ------: | ------------------------------: | --------: | ----: |"


def time_overhead(out: Path) -> None:
    """Time two sweeps of digits, print the table and write `out`/overhead.csv and .md."""
    (few, few_measured), (many, many_measured) = _sweep(FEW), _sweep(MANY)
    run, measured = ((after - before) / (MANY - FEW) for before, after in ((few, many), (few_measured, many_measured)))
    row = Row(few - FEW * run, run, measured, run - measured, (run - measured) / run)
    line = (
        f"| {row.start_up:>21.1f} | {row.run:>7.2f} | {row.measured:>31.2f} | {row.harness:>9.2f} | {row.share:>4.1%} |"
    )
    print(f"\n{HEADER}\n{line}")
    legend = (
        f"{setting()}; `python {' '.join(SWEEP)}` with {FEW} and with {MANY} seeds. A run is what one seed more takes; "
        "the harness is what is left of it without the training loop and the pass over the test rows: data, initial "
        "weights, attention statistics, the record. Start-up is what a sweep takes besides its runs, mostly imports."
    )
    write(out / "overhead", "What the harness costs", legend, [row], [HEADER, RULE, line])


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
        few, many = _sweep(FEW, *words)[0], _sweep(MANY, *words)[0]
        runs[name] = (many - few) / (MANY - FEW)
    alone = runs["none"]
    rows = [Tracked(name, run, run - alone, run / alone - 1) for name, run in runs.items()]
    lines = [f"| {row.tracker:<13} | {row.run:>7.2f} | {row.more:>6.2f} | {row.share:>4.1%} |" for row in rows]
    print("\n" + "\n".join([TRACKED_HEADER, *lines]))
    legend = (
        f"{setting()}; `python {' '.join(SWEEP)}` with {FEW} and with {MANY} seeds. A run is what one seed more takes: "
        "with a tracker also a pass over the test rows and attention statistics after every epoch, and at the end the "
        "confusion matrix and attention maps."
    )
    write(out / "tracking", "What watching a run costs", legend, rows, [TRACKED_HEADER, TRACKED_RULE, *lines])


def _sweep(runs: int, *words: str) -> tuple[float, float]:
    """Seconds of a sweep of that many runs, and those of training and inference in its records."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, *SWEEP, f"seed=range({runs})", f"results_dir={folder}", *words]
        start = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        metrics = [record.metrics for _, record in records.scan([Path(folder)])[0]]
    return seconds, sum((m["train_seconds"] or 0) + (m["inference_seconds"] or 0) for m in metrics)
