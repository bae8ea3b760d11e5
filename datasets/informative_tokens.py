"""Attention pooling: K informative tokens among L, of which the rest is noise. Generated; nothing is downloaded.

A token is a vector of width 16 with N(0, 1) noise. An informative one adds the prototype of the row's class, `signal`
on axis c of the first four, and a mark that all classes share, `marker` on axis 4; a distractor is noise alone. Where
the informative ones stand is drawn anew for each row: the places of the K largest of L uniform numbers.

Source: the attention-pooling examples of qjax (PyPI, MIT licence), with the sizes and scales that they state.
"""

from pathlib import Path

import numpy as np

from datasets.arrays import Arrays, Rows

WIDTH, CLASSES = 16, 4
MARKER_AXIS = CLASSES
TRAIN_ROWS, TEST_ROWS = 8_192, 8_000
# One pool for all runs: a run's seed draws its rows from it, as from any other data set.
POOL_SEED = 20_261


def build(
    root: Path,  # noqa: ARG001 (every source is built from a root)
    *,
    length: int = 16,
    informative: int = 3,
    signal: float = 2.5,
    marker: float = 2.5,
) -> Arrays:
    """8,192 train and 8,000 test rows of vectors (n, length, 16) float32, 4 classes, with marks (n, length).

    A mark is True where the token is informative. Raises ValueError, naming key, value and remedy, for an impossible
    option.
    """
    if informative < 1:
        raise ValueError(f"informative={informative} leaves no answer to find; set it to 1 or more")
    if length < informative:
        raise ValueError(f"length={length} has no room for informative={informative} tokens; set it to that or more")
    for name, scale in (("signal", signal), ("marker", marker)):
        if not np.isfinite(scale):
            raise ValueError(f"{name}={scale} is no finite scale; set it to a number such as 2.5")
    train, test = (
        _draw(np.random.default_rng([POOL_SEED, part]), rows, length, informative, (signal, marker))
        for part, rows in enumerate((TRAIN_ROWS, TEST_ROWS))
    )
    return Arrays(train, test, classes=CLASSES)


def _draw(generator: np.random.Generator, n: int, length: int, informative: int, scales: tuple[float, float]) -> Rows:
    y = generator.integers(0, CLASSES, size=n)
    places = generator.random((n, length)).argsort(axis=1)[:, -informative:]
    marks = np.zeros((n, length), dtype=np.bool_)
    np.put_along_axis(marks, places, True, axis=1)
    x = generator.standard_normal((n, length, WIDTH), dtype=np.float32)
    signal, marker = scales
    added = np.zeros((n, WIDTH), dtype=np.float32)
    added[np.arange(n), y] = signal
    added[:, MARKER_AXIS] += marker
    x += marks[..., np.newaxis] * added[:, np.newaxis]
    return Rows(x, y, marks)
