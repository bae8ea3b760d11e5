"""What is measured on held-out rows: predictions, loss, attention support, and the time of a plain pass."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from bench.attention_model import AttentionModel
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
def predict(model: AttentionModel, x: Tensor, y: Tensor) -> Measured:
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


MASS = "informative_mass"
"""The share of the weights that lies on the tokens that carry the answer."""
MAP_ROWS = 18
"""Rows whose weights a record holds."""


@torch.inference_mode()
def attention_statistics(model: AttentionModel, x: Tensor, marks: Tensor | None = None) -> dict[str, list[list[float]]]:
    """Each of `STATISTICS` per block and head, mean over rows `x` and all queries.

    `MASS` is among them where `marks` (rows, tokens), boolean, say which tokens carry the answer.
    """
    model.eval()
    names = [*STATISTICS, *([] if marks is None else [MASS])]
    total = {name: torch.zeros(model.shape.blocks, model.shape.heads, dtype=torch.float64) for name in names}
    answers = None if marks is None else of_keys(marks, model.shape.keys)[:, None, None]
    for start in range(0, len(x), BATCH):
        batch = x[start : start + BATCH]
        _, weights = model(batch, full_rows=True)
        for block, block_weights in enumerate(weights):
            for name, statistic in STATISTICS.items():
                total[name][block] += per_head(statistic(block_weights.float())).cpu() * len(batch)
            if answers is not None:
                mass = (block_weights.float() * answers[start : start + BATCH]).sum(-1)
                total[MASS][block] += per_head(mass).cpu() * len(batch)
    return {name: (value / len(x)).tolist() for name, value in total.items()}


@torch.inference_mode()
def attention_map(model: AttentionModel, x: Tensor, marks: Tensor) -> dict[str, list[Any]]:
    """What the class scores of the first `MAP_ROWS` of `x` are read with, small enough for a record.

    `weights` (rows, keys): of the first query of the last block, mean over heads, three decimals; `marks`: the keys of
    each row that carry the answer.
    """
    model.eval()
    weights = model(x[:MAP_ROWS])[1][-1][:, :, 0].float().mean(1)
    rows = [[round(value, 3) for value in row] for row in weights.tolist()]
    answers = of_keys(marks[:MAP_ROWS], model.shape.keys)
    return {"weights": rows, "marks": [row.nonzero().flatten().tolist() for row in answers]}


def of_keys(marks: Tensor, keys: int) -> Tensor:
    """`marks` (rows, tokens) for the `keys` of a model, of which the last are the tokens: (rows, keys)."""
    return F.pad(marks, (keys - marks.shape[1], 0))
