"""α-entmax as the published study computed it: 18 bisection steps, differentiated through the bisection.

With y = (α-1) z - max, every threshold that bisection visits is a fixed convex combination of its first bracket,
lo = min(y) - 1 and hi = -n^(1-α). Differentiating through the loop is therefore the same as differentiating

    p = [y - τ]₊^{1/(α-1)} / Σ,   τ = w lo + (1-w) hi,   w held constant,

which needs no graph of the loop; a native kernel carries it out where there is one. Nor does it need the loop:
bisection halves its bracket around the exact threshold, which the exact weights tell, and so where it ends is known.
Against the exact Jacobian this gradient is off: it is kept for comparison.
Domain: α > 1.
"""

from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd import Function

from . import native
from .implicit import implicit
from .newton import solve_entmax
from .rows import check_number, check_tensor, kept, on_rows, per_row, transformed

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
    that does not fit, TypeError for neither number nor tensor, else as `normalizers.rows.on_rows` does.
    """
    if not isinstance(alpha, Tensor):
        check_number(alpha, "alpha", or_tensor=True)
        check_tensor(scores, "scores")
        if not 1 < alpha < float("inf"):
            raise ValueError(f"alpha must be a finite number above 1, got {alpha}")
        alpha = torch.tensor(alpha, dtype=torch.float64, device=scores.device)

    def row_map(rows: Tensor) -> Tensor:
        shaped = per_row(alpha, scores, dim, "alpha") if alpha.ndim else alpha
        shaped = shaped.to(rows.dtype)
        if transformed() or not native.serves(rows):
            return _rows_through_bisection(rows, shaped - 1, steps)
        weights: Tensor = _ByKernel.apply(rows, shaped.expand(*rows.shape[:-1], 1), steps)
        return weights

    return on_rows(row_map, scores, dim, mask)


class _ByKernel(Function):
    """`_rows_through_bisection` by a kernel, which keeps no graph; by itself where α is out of a kernel's reach."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, alpha: Tensor, steps: int) -> Tensor:
        ctx.steps = steps
        result = native.bisected_forward(rows, alpha, steps)
        if result is None:
            ctx.save_for_backward(rows, alpha)
            return _rows_through_bisection(rows, alpha - 1, steps)
        ctx.save_for_backward(rows, alpha, *result)
        return result[0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rows, alpha, *made = ctx.saved_tensors
        again = torch.is_grad_enabled()  # someone wants to differentiate this too
        fast = native.bisected_backward(grads[0], rows, alpha, ctx.steps, *made) if made and not again else None
        if fast is not None:
            return *fast, None
        wanted = ctx.needs_input_grad[:2]
        with torch.enable_grad():
            if not again:
                rows, alpha = (
                    x.detach().requires_grad_(needed) for x, needed in zip((rows, alpha), wanted, strict=True)
                )
            p = _rows_through_bisection(rows, alpha - 1, ctx.steps)
        inputs = [x for x, needed in zip((rows, alpha), wanted, strict=True) if needed]
        made_again = iter(torch.autograd.grad(p, inputs, grads, create_graph=again, materialize_grads=True))
        return *(next(made_again) if needed else None for needed in wanted), None


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
        share = _share(implicit(solve_entmax, rows, a + 1), a, low, high, steps)
    p = _power(y - (share * low + (1 - share) * high), slots, a)
    total = p.sum(-1, keepdim=True)
    return p / torch.where(total == 0, 1.0, total)


def _share(p: Tensor, a: Tensor, low: Tensor, high: Tensor, steps: int) -> Tensor:
    """w of the upper end of the bracket that bisection is left with: the first cell end above the threshold.

    The largest score is 0, so that the threshold of the exact weights `p` is -(max p)^a.
    """
    width = torch.where(high > low, high - low, 1.0)  # one kept slot alone leaves a bracket of width 0
    cells = 2.0**steps
    cell = ((-(p.amax(-1, keepdim=True) ** a) - low) / width * cells).floor().clamp(0, cells - 1)
    return torch.where(high > low, 1 - (cell + 1) / cells, 0.0)


def _power(u: Tensor, slots: Tensor, a: Tensor) -> Tensor:
    """[u]₊^{1/a} in kept slots, 0 elsewhere, with a zero gradient wherever the value is 0."""
    inside = slots & ((u > 0) | u.isnan())
    return torch.where(inside, torch.where(inside, u, 1.0) ** (1 / a), 0.0)
