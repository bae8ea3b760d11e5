"""What is measured on held-out rows: predictions, loss, attention support, and the time of a plain pass."""

import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from bench.model import CompactClassifier
from normalizers import support_share

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
    scores = torch.cat([model(batch)[0] for batch in x.split(BATCH)])
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


@torch.inference_mode()
def attention_support(model: CompactClassifier, x: Tensor) -> list[list[float]]:
    """Support (see `normalizers.support`) per block and head, mean over rows `x` and all queries."""
    model.eval()
    blocks, heads = model.shape.blocks, model.shape.heads
    total = torch.zeros(blocks, heads, dtype=torch.float64, device=x.device)
    for batch in x.split(BATCH):
        _, weights = model(batch, full_rows=True)
        for block, block_weights in enumerate(weights):
            total[block] += support_share(block_weights).double().mean(-1).sum(0)
    share: list[list[float]] = (total / len(x)).tolist()
    return share
