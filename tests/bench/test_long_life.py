"""Sweeps of hundreds and thousands of runs: a worker does not grow, and planning stays short."""

import multiprocessing
import os
import sys
import time
from pathlib import Path

import pytest

from bench.plan import plan
from bench.pool import in_workers
from tests.bench.helpers import PUBLISHED, raw

RUNS = 200
WARM = 50
"""Runs after which a worker has every library loaded and every buffer allocated."""


def held(process: int) -> tuple[float, int]:
    """Resident memory (MB) and open files of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, len(list(Path(f"/proc/{process}/fd").iterdir()))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes through /proc")
def test_two_hundred_runs_in_one_worker_keep_memory_and_files(tiny: tuple[str, ...], tmp_path: Path) -> None:
    words = (*tiny, f"results_dir={tmp_path / 'r'}")
    kinds = [raw(*words, normalizer=name) for name in PUBLISHED]
    jobs = plan([kinds[seed % len(kinds)] | {"seed": seed} for seed in range(RUNS)]).jobs
    seen = []
    for _, outcome, _ in in_workers(jobs, 1):
        assert outcome.status == "completed"
        [worker] = multiprocessing.active_children()
        assert worker.pid is not None
        seen.append(held(worker.pid))
    memory, files = zip(*seen, strict=True)
    assert len(seen) == RUNS
    assert max(memory[WARM:]) - memory[WARM] < 0.03 * memory[WARM]
    assert set(files[WARM:]) == {files[WARM]}


@pytest.mark.slow
def test_five_thousand_runs_are_planned_in_seconds(tiny: tuple[str, ...], tmp_path: Path) -> None:
    kinds = [raw(*tiny, f"results_dir={tmp_path / 'r'}", normalizer=name) for name in PUBLISHED[:5]]
    raws = [kind | {"seed": seed} for kind in kinds for seed in range(1000)]
    start = time.process_time()
    planned = plan(raws)
    seconds = time.process_time() - start
    assert len(planned.jobs) == len({job.identity.fingerprint for job in planned.jobs}) == 5000
    assert seconds < 15, f"{seconds} s of processor time"
