"""Softmax: p_i = exp(z_i) / Σ_j exp(z_j).

Domain: any scores; full support. The α → 1 end of α-entmax.
"""

import torch
from torch import Tensor

from .base import Normalizer
from .implicit import implicit
from .rows import kept, on_rows

LONG = 4096
"""From here on torch's float32 softmax may sum to 1 only to a few 1e-6 on a CPU, so its rows are scaled once more."""


def solve_softmax(rows: Tensor, _alpha: float) -> Tensor:
    """Softmax weights of rows (..., n); see `normalizers.implicit.Solver`. Its α is 1."""
    p = torch.softmax(rows, dim=-1)
    if rows.shape[-1] >= LONG:
        p = p / p.sum(-1, keepdim=True)
    # A row without a kept slot is NaN from its first slot on: looking there spares every other row the repair.
    if torch.compiler.is_compiling() or bool(p[..., 0].isnan().any()):
        p = p.masked_fill(~kept(rows).any(-1, keepdim=True), 0.0)
    return p


def softmax_rows(rows: Tensor) -> Tensor:
    """Softmax of rows (..., n) with -inf in dropped slots; a row without a kept slot gives zeros."""
    return implicit(solve_softmax, rows, 1.0)


def softmax(scores: Tensor, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Softmax of `scores` along `dim`, in their shape and dtype; raises as `normalizers.rows.on_rows` does.

    >>> softmax(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    return on_rows(softmax_rows, scores, dim, mask)


class Softmax(Normalizer):
    """Softmax over keys."""

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return softmax(scores, mask=mask)
