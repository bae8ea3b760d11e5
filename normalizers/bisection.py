"""α-entmax as the published study computed it: 18 bisection steps, differentiated through the bisection.

With y = (α-1) z - max, every threshold that bisection visits is a fixed convex combination of its first bracket,
lo = min(y) - 1 and hi = -n^(1-α). Differentiating through the loop is therefore the same as differentiating

    p = [y - τ]₊^{1/(α-1)} / Σ,   τ = w lo + (1-w) hi,   w held constant,

which needs no graph of the loop. Against the exact Jacobian this gradient is off: it is kept for comparison.
Domain: α > 1.
"""

from typing import Literal

import torch
from torch import Tensor

from .rows import kept, on_rows, per_row

Gradient = Literal["exact", "through_bisection"]
PUBLISHED_STEPS = 18


def entmax_through_bisection(
    scores: Tensor,
    alpha: float | Tensor,
    *,
    dim: int = -1,
    mask: Tensor | None = None,
    steps: int = PUBLISHED_STEPS,
) -> Tensor:
    """α-entmax of `scores` along `dim` by bisection, with the gradient of the bisection itself (Canay 2026).

    `alpha` is a number > 1 or a tensor of them, shaped as for `entmax`. Raises ValueError for a number ≤ 1 or a shape
    that does not fit, else as `normalizers.rows.on_rows` does.
    """
    if not isinstance(alpha, Tensor):
        if not 1 < alpha < float("inf"):
            raise ValueError(f"alpha must be a finite number above 1, got {alpha}")
        alpha = torch.tensor(alpha, dtype=torch.float64, device=scores.device)

    def row_map(rows: Tensor) -> Tensor:
        shaped = per_row(alpha, scores, dim, "alpha") if alpha.ndim else alpha
        return _rows_through_bisection(rows, shaped.to(rows.dtype) - 1, steps)

    return on_rows(row_map, scores, dim, mask)


def _rows_through_bisection(rows: Tensor, a: Tensor, steps: int) -> Tensor:
    slots = kept(rows)
    dead = ~slots.any(-1, keepdim=True)
    # Dropped slots and dead rows get a finite stand-in, so that neither sends NaN into a gradient.
    y = torch.where(slots, rows, 0.0) * a
    y = y - torch.where(dead, 0.0, torch.where(slots, y, -torch.inf).amax(-1, keepdim=True))
    low = torch.where(dead, -2.0, torch.where(slots, y, torch.inf).amin(-1, keepdim=True) - 1)
    count = slots.sum(-1, keepdim=True).clamp(min=1).to(y.dtype)
    high = -(count**-a)

    with torch.no_grad():
        left, right = low, high
        for _ in range(steps):
            middle = (left + right) / 2
            enough = _power(y - middle, slots, a).sum(-1, keepdim=True) >= 1
            left, right = torch.where(enough, middle, left), torch.where(enough, right, middle)
        # One kept slot alone leaves a bracket of width 0, which already is the threshold.
        share = (high - right) / torch.where(high > low, high - low, 1.0)

    p = _power(y - (share * low + (1 - share) * high), slots, a)
    total = p.sum(-1, keepdim=True)
    return p / torch.where(total == 0, 1.0, total)


def _power(u: Tensor, slots: Tensor, a: Tensor) -> Tensor:
    """[u]₊^{1/a} in kept slots, 0 elsewhere, with a zero gradient wherever the value is 0."""
    inside = slots & ((u > 0) | u.isnan())
    return torch.where(inside, torch.where(inside, u, 1.0) ** (1 / a), 0.0)
