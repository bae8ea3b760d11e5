"""Softpick: p_i = relu(e^{z_i} - 1) / (Σ_j |e^{z_j} - 1| + ε) (Zuhri et al. 2025).

Scores ≤ 0 get exact zeros, but those below 0 still weigh in the denominator, so a row gives at most 1 in all. Both
sides are divided by e^m with m the larger of 0 and the row's maximum, which changes nothing and overflows nowhere. ε
belongs to the formula and is divided too; it only matters where all scores are about 0 (the authors' code adds 1e-8
after the division). Domain: any scores, with a kink at 0. Neither a distribution nor shift-invariant.
"""

import torch
from torch import Tensor

from .base import Normalizer
from .rows import check_number, on_rows
from .slots import filled

EPSILON = 1e-12


def softpick(scores: Tensor, *, eps: float = EPSILON, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Softpick of `scores` along `dim`, in their shape and dtype.

    Raises ValueError where `eps` is not a finite number ≥ 0, else as `normalizers.rows.on_rows` does.

    >>> softpick(torch.tensor([2.0, 1.0, 0.5, 0.0]))
    tensor([0.7297, 0.1962, 0.0741, 0.0000])
    """
    check_eps(eps)
    return on_rows(lambda rows: _softpick_rows(rows, eps), scores, dim, mask)


def check_eps(eps: float) -> None:
    """Raise TypeError where `eps` is no number, ValueError where it is not finite or below 0."""
    check_number(eps, "eps")
    if not 0 <= eps < float("inf"):
        raise ValueError(f"eps must be a finite number of at least 0, got {eps}")


def _softpick_rows(rows: Tensor, eps: float) -> Tensor:
    z, slots = filled(rows)
    m = rows.detach().amax(-1, keepdim=True).clamp(min=0.0)
    unit = torch.exp(-m)
    # expm1 keeps the digits of small scores, the difference does not overflow for large ones.
    excess = torch.where(z < 1, unit * torch.expm1(z.clamp(max=1.0)), torch.exp(z - m) - unit)
    excess = torch.where(slots, excess, 0.0)
    total = excess.abs().sum(-1, keepdim=True) + eps * unit
    return excess.relu() / torch.where(total == 0, 1.0, total)


class Softpick(Normalizer):
    """Softpick over keys."""

    is_distribution = False
    is_shift_invariant = False

    def __init__(self, heads: int, head_width: int | None = None, *, eps: float = EPSILON) -> None:
        super().__init__(heads, head_width)
        check_eps(eps)
        self.eps = eps

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return softpick(scores, eps=self.eps, mask=mask)
