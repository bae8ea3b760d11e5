"""The marker task: find one token in a row of random ids. Generated; nothing is downloaded.

The published task (Canay 2026) marks a place and asks for the token after it: with as many ids as it has, hardly any
answer of the test rows was ever an answer in training, so every model stays near chance. `answer="marked"` is the
learnable variant: the marked token itself, and alone, carries the answer.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from datasets.arrays import Arrays, Rows

MARKER = 1  # id 0 pads
FIRST_ID = 2
CLASSES = 10
TRAIN_ROWS, TEST_ROWS = 60_000, 10_000
# One pool for all runs: a run's seed draws its subset from it, as from any other data set.
POOL_SEED = 20_260

Ids = NDArray[np.int64]


def build(
    root: Path,  # noqa: ARG001 (every source is built from a root)
    *,
    vocabulary: int = 20_000,
    length: int = 96,
    answer: Literal["next", "marked"] = "next",
) -> Arrays:
    """60,000 train and 10,000 test rows of ids (n, length) int32 below `vocabulary`, 10 classes.

    next: ids are uniform in 2 … vocabulary-1; one uniform place of the first length-1 holds id 1, the marker, and the
    label is the following id mod 10.
    marked: ids are uniform in the lower half of 2 … vocabulary-1; at one uniform place stands a uniform id of the upper
    half (every id there is the marked form of the one (vocabulary-2)//2 below it), and the label is that id mod 10.
    Raises ValueError, naming key, value and remedy, for an impossible option.
    """
    draw, smallest = _rule(answer)
    if vocabulary < smallest:
        raise ValueError(
            f"vocabulary={vocabulary} cannot give all {CLASSES} answers with answer={answer!r}; "
            f"set it to {smallest} or more"
        )
    if length < 2:
        raise ValueError(f"length={length} leaves nothing to search; set it to 2 or more")
    train, test = (
        draw(np.random.default_rng([POOL_SEED, part]), rows, vocabulary, length)
        for part, rows in enumerate((TRAIN_ROWS, TEST_ROWS))
    )
    return Arrays(train, test, classes=CLASSES, vocabulary=vocabulary)


def _rule(answer: str) -> tuple[Callable[[np.random.Generator, int, int, int], Rows], int]:
    """How rows of this form are drawn, and the smallest vocabulary in which every class has an id."""
    if answer == "next":
        return _draw_next, FIRST_ID + CLASSES
    if answer == "marked":
        return _draw_marked, FIRST_ID + 2 * CLASSES
    raise ValueError(f"answer={answer!r} is unknown; choose 'next' or 'marked'")


def _draw_next(generator: np.random.Generator, n: int, vocabulary: int, length: int) -> Rows:
    ids: Ids = generator.integers(FIRST_ID, vocabulary, size=(n, length))
    places: Ids = generator.integers(0, length - 1, size=n)
    every = np.arange(n)
    ids[every, places] = MARKER
    return Rows(ids.astype(np.int32), ids[every, places + 1] % CLASSES)


def _draw_marked(generator: np.random.Generator, n: int, vocabulary: int, length: int) -> Rows:
    plain = (vocabulary - FIRST_ID) // 2
    ids: Ids = generator.integers(FIRST_ID, FIRST_ID + plain, size=(n, length))
    places: Ids = generator.integers(0, length, size=n)
    every = np.arange(n)
    ids[every, places] += plain
    return Rows(ids.astype(np.int32), ids[every, places] % CLASSES)
