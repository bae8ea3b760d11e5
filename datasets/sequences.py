"""Sequence tasks for causal models, which train on short sequences and are tested on longer ones. All generated.

The tasks are in `sequence_tasks`; flip-flop is that of Liu et al. 2023 (arXiv:2306.00946).

Training sequences are drawn anew for every batch, test sequences from a pool for each test length. The training rows
among the prepared arrays are a sample of what training draws, so that the content hash tells generators apart.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from datasets.arrays import Arrays, Rows
from datasets.sequence_tasks import FIRST_SYMBOL, TASKS, Generator, Sequences

Name = Literal["flip_flop", "two_back", "associative_recall", "copy", "reverse", "sort"]
POOL = 1_024
"""Test sequences of each length, of which a run's seed draws its own."""
SAMPLE = 32
"""Training sequences of each length that the prepared arrays hold."""
POOL_SEED = 20_262


@dataclass(frozen=True)
class Maker:
    """What draws the sequences of one task."""

    task: str
    vocabulary: int
    queries: int = 1

    def draw(self, generator: Generator, n: int, length: int) -> Sequences:
        """`n` sequences of `length`, all of as many tokens, with ids below `vocabulary`."""
        return TASKS[self.task].draw(generator, n, length, self.vocabulary - FIRST_SYMBOL, self.queries)


def build(
    root: Path,  # noqa: ARG001 (every source is built from a root)
    *,
    task: Name = "flip_flop",
    vocabulary: int = 16,
    queries: int = 1,
    train_shortest: int = 4,
    train_longest: int = 16,
    test_shortest: int = 16,
    test_longest: int = 256,
) -> Arrays:
    """Rows of ids (n, tokens) int32 below `vocabulary`, with 0 behind the shorter ones; y is the length of each row.

    1,024 test rows of each of `doublings`; marks are True for answers. Raises ValueError, naming key, value and
    remedy, for an impossible option.
    """
    for split, low, high in (("train", train_shortest, train_longest), ("test", test_shortest, test_longest)):
        _check_lengths(split, low, high, TASKS[task].shortest, task)
    maker = Maker(task, vocabulary, queries)
    _check_sizes(maker, min(train_shortest, test_shortest))
    train = _rows(maker, 0, SAMPLE, range(train_shortest, train_longest + 1))
    test = _rows(maker, 1, POOL, doublings(test_shortest, test_longest))
    return Arrays(train, test, classes=max(train_longest, test_longest) + 1, vocabulary=vocabulary)


def doublings(shortest: int, longest: int) -> list[int]:
    """`shortest`, twice that, and so on, as long as it is no more than `longest`.

    >>> doublings(16, 100)
    [16, 32, 64]
    """
    found = []
    while shortest <= longest:
        found.append(shortest)
        shortest *= 2
    return found


def _rows(maker: Maker, split: int, n: int, lengths: Iterable[int]) -> Rows:
    drawn = {length: maker.draw(np.random.default_rng([POOL_SEED, split, length]), n, length) for length in lengths}
    tokens = max(part.ids.shape[1] for part in drawn.values())
    ids, answers = (
        np.concatenate([np.pad(array, ((0, 0), (0, tokens - array.shape[1]))) for array in arrays])
        for arrays in zip(*((part.ids, part.answers) for part in drawn.values()), strict=True)
    )
    return Rows(ids.astype(np.int32), np.repeat(np.array([*drawn], dtype=np.int64), n), answers)


def _check_lengths(split: str, low: int, high: int, least: int, task: str) -> None:
    if low < least:
        raise ValueError(f"{split}_shortest={low} is too short for task={task}; set it to {least} or more")
    if low > high:
        raise ValueError(f"{split}_longest={high} is below {split}_shortest={low}; set it to that or more")


def _check_sizes(maker: Maker, shortest: int) -> None:
    task = TASKS[maker.task]
    needed = FIRST_SYMBOL + task.symbols(maker.queries)
    if maker.vocabulary < needed:
        raise ValueError(
            f"vocabulary={maker.vocabulary} is too small for task={maker.task}; set it to {needed} or more"
        )
    if maker.queries != 1 and not task.many_queries:
        raise ValueError(f"queries={maker.queries} means nothing for task={maker.task}; leave it at 1")
    if not 1 <= maker.queries <= shortest:
        raise ValueError(
            f"queries={maker.queries} must lie between 1 and the {shortest} pairs of the shortest sequence"
        )
