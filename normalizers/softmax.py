"""Softmax: p_i = exp(z_i) / Σ_j exp(z_j).

Domain: any scores; full support. The α → 1 end of α-entmax.
"""

import torch
from torch import Tensor

from .base import Normalizer
from .rows import on_rows


def softmax_rows(rows: Tensor) -> Tensor:
    """Softmax of rows (..., n) with -inf in dropped slots; a row without a kept slot gives zeros."""
    dead = rows.amax(-1, keepdim=True) == -torch.inf
    # Zeros in place of a dead row keep NaN out of its gradient too.
    return torch.softmax(torch.where(dead, 0.0, rows), dim=-1).masked_fill(dead, 0.0)


def softmax(scores: Tensor, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Softmax of `scores` along `dim`, in their shape and dtype; raises as `normalizers.rows.on_rows` does.

    >>> softmax(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    return on_rows(softmax_rows, scores, dim, mask)


class Softmax(Normalizer):
    """Softmax over keys."""

    def forward(self, scores: Tensor, mask: Tensor | None = None) -> Tensor:
        return softmax(scores, mask=mask)
