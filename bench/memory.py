"""How much memory a run takes at its peak."""

import resource
from pathlib import Path

import torch


def reset_peak(device: torch.device) -> None:
    """Forget the high-water mark of earlier runs in this process, where the system can."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return
    try:  # Linux
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def peak_mb(device: torch.device) -> float:
    """MiB: memory allocated on the device, or on a CPU the resident memory of the whole process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next(float(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 2**10
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
