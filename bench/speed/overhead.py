"""What the harness itself costs around a run: start-up of a sweep, planning, records."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import ROOT, records
from bench.speed.timing import setting, write

RUNS = 6
SWEEP = ("-m", "bench", "-m", "dataset=digits", "normalizer=softmax", f"seed=range({RUNS})", "parallel=1")


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
    """Time a sweep of digits and the same command again, print the table and write `out`/overhead.csv and .md."""
    with tempfile.TemporaryDirectory() as folder:
        first, again = _seconds(folder), _seconds(folder)
        metrics = [record.metrics for _, record in records.scan([Path(folder)])[0]]
    measured = sum((m["train_seconds"] or 0) + (m["inference_seconds"] or 0) for m in metrics) / len(metrics)
    run = (first - again) / len(metrics)
    row = Row(again, run, measured, run - measured, (run - measured) / run)
    line = (
        f"| {row.start_up:>21.1f} | {row.run:>7.2f} | {row.measured:>31.2f} | {row.harness:>9.2f} | {row.share:>4.1%} |"
    )
    print(f"\n{HEADER}\n{line}")
    legend = (
        f"{setting()}; `python {' '.join(SWEEP)}` from empty, and again, when every run is recorded: that is the "
        "start-up. A run is the difference by the number of runs; the harness is what is left of it without the "
        "training loop and the pass over the test rows: data, initial weights, attention statistics, the record."
    )
    write(out / "overhead", "What the harness costs", legend, [row], [HEADER, RULE, line])


def _seconds(folder: str) -> float:
    start = time.perf_counter()
    command = [sys.executable, *SWEEP, f"results_dir={folder}"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return time.perf_counter() - start
