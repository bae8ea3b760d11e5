"""Sweeps of hundreds and thousands of runs: a process that makes them does not grow, and each is planned once.

What is counted, objects, bytes, files and calls, is the same on a slow machine and a fast one.
"""

import cProfile
import ctypes
import gc
import pstats
from pathlib import Path
from typing import ClassVar

import pytest

from bench.plan import Job, plan
from bench.work import carry_out
from tests.bench.helpers import PUBLISHED, raw

WARM = 3 * len(PUBLISHED)
"""Runs after which every library is loaded and every buffer allocated."""
MORE = 4 * len(PUBLISHED)
LEAK = 2048
"""Bytes of a run: less than the gradient of one layer, more than the allocator's own unrest."""

ALLOCATED = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class _Allocated(ctypes.Structure):
    """What glibc's `mallinfo2` tells."""

    _fields_: ClassVar = [(name, ctypes.c_size_t) for name in ALLOCATED]


def held() -> tuple[int, int, int]:
    """Python objects, bytes that the C library has handed out, and open files of this process."""
    gc.collect()
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = _Allocated
    allocated = mallinfo()
    return len(gc.get_objects()), allocated.uordblks + allocated.hblkhd, len(list(Path("/proc/self/fd").iterdir()))


def jobs(tiny: tuple[str, ...], folder: Path, runs: int) -> list[Job]:
    kinds = [raw(*tiny, f"results_dir={folder}", normalizer=name) for name in PUBLISHED]
    return plan([kinds[seed % len(kinds)] | {"seed": seed} for seed in range(runs)]).jobs


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="asks glibc what it has handed out")
def test_a_process_that_makes_run_after_run_keeps_objects_memory_and_files(
    tiny: tuple[str, ...], tmp_path: Path
) -> None:
    planned = jobs(tiny, tmp_path / "r", WARM + MORE)
    for job in planned[:WARM]:
        assert carry_out(job, wait=True).status == "completed"
    before = held()
    for job in planned[WARM:]:
        assert carry_out(job, wait=True).status == "completed"
    more_objects, more_memory, more_files = (now - then for now, then in zip(held(), before, strict=True))
    assert more_objects < MORE  # not one for each run
    assert more_memory < MORE * LEAK
    assert more_files == 0


def calls(tiny: tuple[str, ...], folder: Path, runs: int) -> int:
    """How many functions are called to plan a sweep of so many runs."""
    kinds = [raw(*tiny, f"results_dir={folder}", normalizer=name) for name in PUBLISHED[:5]]
    raws = [kind | {"seed": seed} for kind in kinds for seed in range(runs // 5)]
    with cProfile.Profile() as profile:
        planned = plan(raws)
    assert len({job.identity.fingerprint for job in planned.jobs}) == runs
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined,no-any-return]


def test_planning_a_run_takes_no_more_in_a_sweep_of_many(tiny: tuple[str, ...], tmp_path: Path) -> None:
    plan([raw(*tiny)])  # what is done once in a process
    few, many = calls(tiny, tmp_path / "r", 50), calls(tiny, tmp_path / "r", 500)
    assert many <= 10 * few
