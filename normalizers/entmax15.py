"""Entmax-1.5: p_i = [z_i/2 - τ]₊² (Peters, Niculae, Martins 2019).

τ follows exactly from the sorted scores: on a support S of size k with mean m and summed squared deviation v of z/2,
τ = m - √((1 - v) / k). Domain: any scores. α-entmax with α = 1.5.
"""

import torch
from torch import Tensor

from . import native
from .base import Normalizer
from .bisection import Gradient, entmax_through_bisection
from .implicit import implicit
from .rows import centred, kept, on_rows


def solve_entmax15(rows: Tensor, _alpha: float) -> Tensor:
    """Entmax-1.5 weights of rows (..., n); see `normalizers.implicit.Solver`. Its α is 1.5."""
    weights = native.forward("entmax15", rows)
    if weights is not None:
        return weights
    # With the maximum at 0 the threshold lies in [-1, -1/√n]; clamping below it changes no weight and keeps sums small.
    z = (centred(rows) / 2).clamp(min=-2.0)
    top = z.sort(dim=-1, descending=True).values
    # In float64: sums of squares cancel, and a coarse threshold would be off for many scores in the same direction.
    top = top.double()
    count = torch.arange(1, z.shape[-1] + 1, dtype=torch.float64, device=z.device)
    mean = top.cumsum(-1) / count
    spread = (top**2).cumsum(-1) - count * mean**2
    threshold = mean - ((1 - spread) / count).clamp(min=0.0).sqrt()
    size = (threshold <= top).sum(-1, keepdim=True).clamp(min=1)
    p = torch.where(kept(rows), (z - threshold.gather(-1, size - 1)).clamp(min=0.0) ** 2, 0.0)
    p = p.to(rows.dtype)
    return p / p.sum(-1, keepdim=True).where(p.amax(-1, keepdim=True) != 0, 1.0)


def entmax15(scores: Tensor, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Entmax-1.5 of `scores` along `dim`, in their shape and dtype; raises as `normalizers.rows.on_rows` does.

    >>> entmax15(torch.tensor([-2.0, 0.0, 0.5]))
    tensor([0.0000, 0.3260, 0.6740])
    """
    return on_rows(lambda rows: implicit(solve_entmax15, rows, 1.5), scores, dim, mask)


class Entmax15(Normalizer):
    """Entmax-1.5 over keys, with its exact gradient or the published one through 18 bisection steps."""

    def __init__(self, heads: int, head_width: int | None = None, *, gradient: Gradient = "exact") -> None:
        super().__init__(heads, head_width)
        self.gradient = gradient

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        if self.gradient == "through_bisection":
            return entmax_through_bisection(scores, 1.5, mask=mask)
        return entmax15(scores, mask=mask)
