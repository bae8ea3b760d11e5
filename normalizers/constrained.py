"""Constrained sparsemax: p_i = clip(z_i - τ, 0, u_i), no slot above its bound u_i (Malaviya et al. 2018).

The Euclidean projection onto the part of the simplex below u. The mass Σ clip(z - τ, 0, u) is piecewise linear in τ
with breaks at z_i and z_i - u_i; sorting them finds the piece that holds τ in O(n log n), and with it the sets U at
their bound and A strictly between. On A, with means over A,

    p_i = z_i - mean z + (1 - Σ_U u) / |A|,

whose derivatives in z and u are the exact ones. Domain: any scores; u ≥ 0 with Σu ≥ 1 over the kept slots of a row.
"""

import torch
from torch import Tensor

from .base import Normalizer
from .rows import check_number, check_tensor, on_rows, transformed
from .slots import Parameter, from_top, nan_as_rows, per_slot, precise, refuse_where, with_zero_curvature

SLACK = 1e-6
"""How far rounding may leave Σu below 1."""
FAR = -1e4
"""Further below the largest score, z_i - u_i in float64 would round u_i to less than 12 decimals."""


def constrained_sparsemax(scores: Tensor, upper: Parameter, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Constrained sparsemax of `scores` along `dim`, in their shape and dtype.

    `upper` is a number or a tensor that broadcasts to `scores`, like a mask: one bound per slot, row or head;
    differentiable. Raises ValueError for a negative bound, a shape that does not broadcast, or a row whose kept slots
    have bounds of less than 1 in all (inside `torch.compile` such a row gives its bounds), else as
    `normalizers.rows.on_rows` does.

    >>> constrained_sparsemax(torch.tensor([2.0, 1.0, 0.5, 0.0]), 0.4)
    tensor([0.4000, 0.4000, 0.2000, 0.0000])
    """
    if not isinstance(upper, Tensor):
        check_upper(upper)
        check_tensor(scores, "scores")
        upper = torch.tensor(float(upper), dtype=torch.float64, device=scores.device)

    def row_map(rows: Tensor) -> Tensor:
        return _constrained_rows(rows, per_slot(upper, scores, dim, "upper").to(rows.dtype))

    return on_rows(row_map, scores, dim, mask)


def check_upper(upper: float) -> None:
    """Raise TypeError where `upper` is no number, ValueError where no row could have it as the bound of its slots."""
    check_number(upper, "upper", or_tensor=True)
    if not 0 < upper < float("inf"):
        raise ValueError(f"upper must be a finite number above 0, got {upper}")


def _constrained_rows(rows: Tensor, upper: Tensor) -> Tensor:
    z, slots = from_top(rows)
    refuse_where(~(upper >= 0), "upper must be at least 0 everywhere")
    u = torch.where(slots, upper, 0.0)
    short = (u.sum(-1) < 1 - SLACK) & slots.any(-1)
    refuse_where(short, "upper must sum to at least 1 over the kept slots of each row, or no weights fit below it")
    between, full = _sets(_without_wide_gaps(precise(z)), precise(u))
    between, full = between & slots, full & slots
    size = between.sum(-1, keepdim=True).clamp(min=1)
    rest = (1 - torch.where(full, u, 0.0).sum(-1, keepdim=True)) / size
    # Scores in A lie within 1 of each other: against one of them their mean keeps its digits.
    near = z - torch.where(between, z.detach(), -torch.inf).amax(-1, keepdim=True).clamp(min=torch.finfo(z.dtype).min)
    mean = torch.where(between, near, 0.0).sum(-1, keepdim=True) / size
    inner = torch.minimum((near - mean + rest).clamp(min=0.0), u.detach())
    weights = torch.where(between, inner, torch.where(full, u, 0.0))
    return nan_as_rows(with_zero_curvature(weights, z, u), rows)


def _without_wide_gaps(z: Tensor) -> Tensor:
    """Scores with the same weights as `z` (..., n), at most 0, but so near to 0 that z_i - u_i keeps the digits of u_i.

    Of two neighbours in the sorted row that lie more than 1 apart, the lower one gets weight only once the upper one is
    at its bound, however far apart they are. So every gap above 2 may become 2; rows without one stay as they are.
    """
    if not transformed() and not bool((z < FAR).any()):  # the usual case, which needs no other sort
        return z
    ordered, order = z.sort(dim=-1, descending=True)
    gaps = ordered[..., :-1] - ordered[..., 1:]
    closer = torch.cat([ordered[..., :1], ordered[..., :1] - gaps.clamp(max=2.0).cumsum(-1)], -1)
    below_a_wide_gap = torch.cat([torch.zeros_like(ordered[..., :1]), (gaps > 2.0).cumsum(-1)], -1) > 0
    return z.scatter(-1, order, torch.where(below_a_wide_gap, closer, ordered))


def _sets(z: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """Which slots end strictly between 0 and their bound, and which at it; both boolean, shape of `z`."""
    enter, leave = z, z - u
    breaks = torch.cat([enter, leave], dim=-1)
    turn = torch.cat([torch.ones_like(z), -torch.ones_like(z)], dim=-1)
    breaks, order = breaks.sort(dim=-1, descending=True, stable=True)
    slope = turn.gather(-1, order).cumsum(-1)
    gained = slope[..., :-1] * (breaks[..., :-1] - breaks[..., 1:])
    mass = gained.cumsum(-1)
    # The piece that holds τ is the first by whose lower end the mass reaches 1, or all there is.
    place = (mass < mass[..., -1:].clamp(max=1.0)).sum(-1, keepdim=True).clamp(max=mass.shape[-1] - 1)
    above, below = breaks.gather(-1, place), breaks.gather(-1, place + 1)
    return (enter >= above) & (leave <= below), leave >= above


class ConstrainedSparsemax(Normalizer):
    """Constrained sparsemax over keys, no key above `upper`."""

    def __init__(self, heads: int, head_width: int | None = None, *, upper: float) -> None:
        super().__init__(heads, head_width)
        check_upper(upper)
        self.upper = upper

    def check_length(self, n: int) -> None:
        if n * self.upper < 1 - SLACK:
            raise ValueError(f"upper={self.upper} times the {n} slots of a row is below 1; use upper >= {1 / n:.4g}")

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return constrained_sparsemax(scores, self.upper, mask=mask)
