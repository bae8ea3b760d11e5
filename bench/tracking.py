"""Trackers watch a run and change nothing in it: a record is the same with one or without."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bench.attention_model import AttentionModel
from bench.logged import by_head
from bench.measure import attention_statistics, predict
from bench.records import Record
from bench.schema import RunConfig

WATCHED_ROWS = 256
"""Rows on which attention is measured after each epoch."""
DRAWN_ROWS = 4
"""Test rows whose attention maps are shown: the first of the run, which are the same for all normalizers of a seed."""


@dataclass
class Seen:
    """What a record does not hold: true and predicted classes (rows,), and attention maps (queries, keys) by name."""

    truth: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    predictions: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    maps: dict[str, NDArray[np.float32]] = field(default_factory=dict)


class Tracker(Protocol):
    """What is told of a run. One that fails says so once and is silent from then on."""

    watches: bool
    """Whether anything is to be measured for it."""

    def epoch(self, number: int, values: Mapping[str, float]) -> None:
        """What epoch `number`, from 1, came to."""

    def end(self, record: Record, seen: Seen) -> None:
        """The record, whatever came of the run."""


class NoTracker:
    """Watches nothing."""

    watches = False

    def epoch(self, number: int, values: Mapping[str, float]) -> None:
        """Nothing to do."""

    def end(self, record: Record, seen: Seen) -> None:
        """Nothing to do."""


def open_tracker(config: RunConfig, heading: Mapping[str, Any]) -> Tracker:
    """The tracker of `config` for the run that `heading` describes (see `bench.run.heading`).

    One that is disabled would log nothing, so that nothing is measured for it.
    """
    if config.tracker.kind == "none" or config.tracker.mode == "disabled":
        return NoTracker()
    from bench.wandb_tracker import WandbTracker

    return WandbTracker(config, heading)


def watched(model: AttentionModel, rows: tuple[Tensor, Tensor], name: str) -> dict[str, float]:
    """Accuracy, macro-F1 and loss of `model` on `rows`, called `name`, and its attention on the first of them."""
    measured = predict(model, *rows)
    values = {
        f"{name}/accuracy": measured.accuracy,
        f"{name}/macro_f1": measured.macro_f1,
        f"{name}/loss": measured.loss,
    }
    for statistic, per_block in attention_statistics(model, rows[0][:WATCHED_ROWS]).items():
        values |= by_head(f"attention/{statistic}", per_block)
    return values


@torch.inference_mode()
def attention_maps(model: AttentionModel, x: Tensor) -> dict[str, NDArray[np.float32]]:
    """The weights (queries, keys) of every block and head on the first `DRAWN_ROWS` of `x`: `row1/block1/head2`."""
    model.eval()
    return dict(_maps(model(x[:DRAWN_ROWS], full_rows=True)[1]))


def _maps(weights: list[Tensor]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    for row, of_row in enumerate(zip(*weights, strict=True), start=1):
        for block, of_block in enumerate(of_row, start=1):
            for head, matrix in enumerate(of_block, start=1):
                yield f"row{row}/block{block}/head{head}", matrix.float().cpu().numpy()
