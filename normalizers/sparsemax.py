"""Sparsemax: the Euclidean projection of the scores onto the simplex, p_i = [z_i - τ]₊ (Martins, Astudillo 2016).

τ = (Σ_S z - 1) / |S| over the support S, found by sorting. Domain: any scores. α-entmax with α = 2.
"""

import torch
from torch import Tensor

from . import native
from .base import Normalizer
from .implicit import implicit
from .rows import centred, kept, on_rows


def solve_sparsemax(rows: Tensor, _alpha: float) -> Tensor:
    """Sparsemax weights of rows (..., n); see `normalizers.implicit.Solver`. Its α is 2."""
    weights = native.forward("sparsemax", rows)
    if weights is not None:
        return weights
    # With the maximum at 0 the threshold lies in [-1, -1/n]; clamping below it changes no weight and keeps sums small.
    z = centred(rows).clamp(min=-2.0)
    top = z.sort(dim=-1, descending=True).values
    # In float64: a threshold as coarse as float32 would be off for many scores in the same direction.
    excess = top.cumsum(-1, dtype=torch.float64) - 1
    count = torch.arange(1, z.shape[-1] + 1, dtype=torch.float64, device=z.device)
    size = (count * top > excess).sum(-1, keepdim=True).clamp(min=1)
    tau = excess.gather(-1, size - 1) / size
    p = torch.where(kept(rows), (z - tau).clamp(min=0.0), 0.0).to(rows.dtype)
    return p / p.sum(-1, keepdim=True).where(p.amax(-1, keepdim=True) != 0, 1.0)


def sparsemax(scores: Tensor, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Sparsemax of `scores` along `dim`, in their shape and dtype; raises as `normalizers.rows.on_rows` does.

    >>> sparsemax(torch.tensor([-2.0, 0.0, 0.5]))
    tensor([0.0000, 0.2500, 0.7500])
    """
    return on_rows(lambda rows: implicit(solve_sparsemax, rows, 2.0), scores, dim, mask)


class Sparsemax(Normalizer):
    """Sparsemax over keys."""

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return sparsemax(scores, mask=mask)
