"""`python -m bench speed`: what normalizers, training steps, the harness around them and its launchers cost."""

from pathlib import Path

import torch

from bench.allocator import keep_memory
from bench.speed.maps import time_maps
from bench.speed.overhead import time_launchers, time_overhead, time_tracking
from bench.speed.steps import time_steps


def speed(out: Path) -> int:
    """Measure all of them, print the tables and write them into `out`; returns the exit code."""
    torch.set_num_threads(1)
    keep_memory()
    time_maps(out)
    time_steps(out)
    time_overhead(out)
    time_launchers(out)
    time_tracking(out)
    return 0
