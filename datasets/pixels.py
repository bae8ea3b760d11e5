"""Images as the model sees them: patches, and the channel statistics that the option `standardize` needs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVELS = 256  # a uint8 pixel


def patches(images: NDArray[np.uint8], patch: int) -> NDArray[np.uint8]:
    """Non-overlapping square patches of `images` (n, H, W, C), as (n, H/patch · W/patch, patch · patch · C).

    Patches are ordered row by row from the top left, and so are the pixels in each, channels last.
    Raises ValueError, naming `patch`, where it does not divide H and W.
    """
    n, height, width, channels = images.shape
    if patch < 1 or height % patch or width % patch:
        both = [size for size in range(1, min(height, width) + 1) if height % size == 0 and width % size == 0]
        raise ValueError(f"patch={patch} does not divide images of {height}x{width}; choose one of {both}")
    rows, columns = height // patch, width // patch
    grid = images.reshape(n, rows, patch, columns, patch, channels).transpose(0, 1, 3, 2, 4, 5)
    return grid.reshape(n, rows * columns, patch * patch * channels)


def channel_statistics(images: NDArray[Any], scale: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation, each (C,), of the channels of uint8 `images` (n, H, W, C) divided by `scale`.

    Counted from exact histograms, so the result does not depend on the order of the rows.
    """
    levels = np.arange(LEVELS) / scale
    channels = images.shape[-1]
    counts = np.stack([np.bincount(images[..., c].ravel(), minlength=LEVELS) for c in range(channels)])
    pixels = images[..., 0].size
    mean = counts @ levels / pixels
    variance = (counts * (levels - mean[:, None]) ** 2).sum(axis=1) / pixels
    return mean, np.sqrt(variance)
