"""Named random streams: a run's seed gives each purpose its own generator.

Whatever one purpose draws, the others are not shifted by it: for one seed, every normalizer sees the same rows, the
same initial weights, the same batches and the same dropout masks, however many numbers it draws for itself.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def stream_seed(seed: int, name: str) -> int:
    """The seed of stream `name`, a 63-bit number that depends on both and on nothing else."""
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def stream(seed: int, name: str, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator on `device` for stream `name` of a run with this seed."""
    return torch.Generator(device).manual_seed(stream_seed(seed, name))


@contextmanager
def global_stream(seed: int, name: str) -> Iterator[None]:
    """Torch's global generator set to stream `name` inside the block and put back after it.

    For code that takes no generator, such as the initialization of `torch.nn` layers.
    """
    with torch.random.fork_rng(devices=[]):
        torch.random.manual_seed(stream_seed(seed, name))
        yield
