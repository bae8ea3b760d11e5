"""The C library's allocator, told to keep the memory that training uses again in every step.

By default glibc maps each large tensor afresh and returns it at once, so that every step pays for zeroed pages again.
The numbers a run gives are the same either way.
"""

import ctypes
import sys
from functools import cache

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
SETTINGS = ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, 2**31 - 1), (M_TOP_PAD, 64 * 2**20))


@cache
def keep_memory() -> bool:
    """Apply the settings to this process; returns whether its C library took them (glibc does)."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(name, value) == 1 for name, value in SETTINGS)
