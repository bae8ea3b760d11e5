"""What is measured on held-out rows: predictions, loss, attention support, and the time of a plain pass."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from bench.model import CompactClassifier
from normalizers import entropy, peak, per_head, support_share

BATCH = 256
"""Rows at a time; changes no result beyond rounding."""


@dataclass(frozen=True)
class Measured:
    """Results on some rows: accuracy and macro-F1 in [0, 1], mean cross-entropy, predicted classes (rows,)."""

    accuracy: float
    macro_f1: float
    loss: float
    predictions: NDArray[np.int64]
    seconds: float


@torch.inference_mode()
def predict(model: CompactClassifier, x: Tensor, y: Tensor) -> Measured:
    """One inference pass over rows `x` with classes `y`; `seconds` is that of the pass alone."""
    from sklearn.metrics import f1_score

    model.eval()
    start = time.perf_counter()
    scores = torch.cat([model(batch)[0] for batch in x.split(BATCH)]).float()
    loss = F.cross_entropy(scores, y).item()
    seconds = time.perf_counter() - start
    predictions, truth = scores.argmax(-1).cpu().numpy(), y.cpu().numpy()
    return Measured(
        accuracy=float((predictions == truth).mean()),
        macro_f1=float(f1_score(truth, predictions, average="macro", zero_division=0)),
        loss=loss,
        predictions=predictions,
        seconds=seconds,
    )


STATISTICS: dict[str, Callable[[Tensor], Tensor]] = {"support": support_share, "entropy": entropy, "peak": peak}
"""What is said of the attention rows of a model, by the name it has in a record; see `normalizers.statistics`."""


@torch.inference_mode()
def attention_statistics(model: CompactClassifier, x: Tensor) -> dict[str, list[list[float]]]:
    """Each of `STATISTICS` per block and head, mean over rows `x` and all queries."""
    model.eval()
    total = {name: torch.zeros(model.shape.blocks, model.shape.heads, dtype=torch.float64) for name in STATISTICS}
    for batch in x.split(BATCH):
        _, weights = model(batch, full_rows=True)
        for block, block_weights in enumerate(weights):
            for name, statistic in STATISTICS.items():
                total[name][block] += per_head(statistic(block_weights.float())).cpu() * len(batch)
    return {name: (value / len(x)).tolist() for name, value in total.items()}
