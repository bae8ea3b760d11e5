"""From a run's configuration to its sequences: batches drawn anew for training, and rows of each length to test on."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bench.schema import RunConfig
from bench.streams import stream_seed
from bench.train import Schedule
from datasets import Maker, Prepared, counts, subset

NO_ANSWER = -100
"""The class of tokens that are not to be written: what cross-entropy leaves out."""


def maker(config: RunConfig) -> Maker:
    """What draws the sequences of the run's task."""
    options = config.dataset_options()
    return Maker(options["task"], options["vocabulary"], options["queries"])


class Batches:
    """The training batches of a run, from a generator of its own: each of one length, drawn evenly from its range.

    A call gives those of the next epoch: inputs (batch, tokens - 1), the ids, and classes of the same shape, what
    follows each of them where that is an answer.
    """

    def __init__(self, config: RunConfig, schedule: Schedule, device: torch.device) -> None:
        options = config.dataset_options()
        self.rows = config.dataset.train_limit or 0
        self.size = schedule.batch_size or self.rows
        self.passes, self.steps = schedule.passes, schedule.steps(self.rows)
        self.lengths = options["train_shortest"], options["train_longest"] + 1
        self.maker, self.device = maker(config), device
        self.generator = np.random.default_rng(stream_seed(config.seed, "sequences"))

    def __call__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for _ in range(self.passes):
            for drawn in range(0, self.rows, self.size):
                yield self._batch(min(self.size, self.rows - drawn))

    def _batch(self, size: int) -> tuple[Tensor, Tensor]:
        drawn = self.maker.draw(self.generator, size, int(self.generator.integers(*self.lengths)))
        ids = torch.from_numpy(drawn.ids)
        follow = ids[:, 1:].masked_fill(~torch.from_numpy(drawn.answers[:, 1:].copy()), NO_ANSWER)
        return ids[:, :-1].to(self.device), follow.to(self.device)


@dataclass(frozen=True)
class Lot:
    """Test sequences of one length: ids (rows, tokens) and which of them are answers (rows, tokens)."""

    length: int
    ids: Tensor
    answers: Tensor


def check_rows(config: RunConfig, prepared: Prepared) -> None:
    """Raise ValueError, naming the key, where the pool has not as many test rows of a length as the run wants."""
    length, rows = (int(values[0]) for values in np.unique(prepared.test.y, return_counts=True))
    try:
        counts(1, rows, train_limit=None, test_limit=config.dataset.test_limit)
    except ValueError as error:
        raise ValueError(f"{error} (of length {length}, as of any other)") from error


def lots(config: RunConfig, prepared: Prepared, device: torch.device) -> list[Lot]:
    """The test rows that the run's seed draws from the pool of each length, the shortest length first."""
    pool = prepared.test
    assert pool.marks is not None
    found = []
    for length in np.unique(pool.y).tolist():
        numbers = np.flatnonzero(pool.y == length)
        chosen = subset(1, len(numbers), seed=config.seed, train_limit=None, test_limit=config.dataset.test_limit).test
        ids, answers = pool.x[numbers[chosen]], pool.marks[numbers[chosen]]
        tokens = int((ids[0] != 0).sum())
        found.append(
            Lot(
                length,
                torch.from_numpy(ids[:, :tokens].astype(np.int64)).to(device),
                torch.from_numpy(answers[:, :tokens].copy()).to(device),
            )
        )
    return found
