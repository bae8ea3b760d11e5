"""The weights of α-entmax for any α ≥ 1, by Newton's method.

The threshold is found in the variable λ with τ = (α-1) λ - 1 for scores whose maximum is 0. Then
log p_i = log1p((α-1)(z_i - λ)) / (α-1), which keeps all digits as α → 1, where λ becomes log Σ exp z.
"""

import torch
from torch import Tensor

from . import native
from .rows import centred, extremes, kept

MAX_STEPS = 80
"""Halvings that exhaust float64; Newton needs about five."""


def solve_entmax(rows: Tensor, alpha: Tensor) -> Tensor:
    """α-entmax weights of rows (..., n); see `normalizers.implicit.Solver`.

    Newton's method on the norm ‖[(α-1) z - τ]₊‖ of order 1/(α-1), which is convex in τ for α ≤ 2 and so approached
    from one side; halving of the bracket wherever Newton's step leaves it, and throughout for α > 2.

    Raises ValueError where an α is below 1 or infinite.
    """
    if torch.compiler.is_compiling():
        weights: Tensor = _opaque_to_the_compiler(rows, alpha)
        return weights
    return _solve(rows, alpha)


@torch.library.custom_op("normalizers::solve_entmax", mutates_args=())
def _opaque_to_the_compiler(rows: Tensor, alpha: Tensor) -> Tensor:
    """`_solve` as one node of a compiled graph, which could not hold a loop that ends when the data say so."""
    return _solve(rows, alpha).contiguous()


@_opaque_to_the_compiler.register_fake
def _(rows: Tensor, _alpha: Tensor) -> Tensor:
    return rows.new_empty(rows.shape)


def _solve(rows: Tensor, alpha: Tensor) -> Tensor:
    least, largest = extremes(alpha)
    if least < 1 or largest == float("inf"):  # a NaN is no mistake of the caller's: it reaches its rows
        raise ValueError(f"alpha must be a finite number of at least 1, got {least if least < 1 else largest}")
    weights = native.entmax_forward(rows, alpha)
    if weights is not None:
        return weights
    if largest <= 2 or rows.dtype == torch.float64 or rows.device.type == "mps":
        return _newton(rows, alpha)
    # Above 2 the threshold comes within n^(1-α) of the largest score, which is less than float32 can tell from it.
    precise = _newton(rows.double(), alpha.double()).to(rows.dtype)
    return precise if least > 2 else torch.where(alpha > 2, precise, _newton(rows, alpha.clamp(max=2)))


def _newton(rows: Tensor, alpha: Tensor) -> Tensor:
    z, a = centred(rows), alpha - 1
    eps = torch.finfo(z.dtype).eps
    soft = a == 0
    some_soft = bool(soft.any())
    safe = torch.where(soft, 1.0, a)

    def log_weights(lam: Tensor) -> Tensor:
        z_lam = z - lam
        log = torch.log1p((z_lam * a).clamp(min=-1.0)) / safe  # log 0 = -inf off the support, and so weight 0
        return torch.where(soft, z_lam, log) if some_soft else log

    def from_zero(x: Tensor) -> Tensor:
        """(exp(a x) - 1) / a, which is x for a = 0."""
        return torch.where(soft, x, torch.expm1(a * x) / safe)

    # At λ = 0 the largest weight alone is 1; at the other end even n equal scores would give no more than 1.
    low = lam = torch.zeros_like(z[..., :1])
    high = -from_zero(-kept(rows).sum(-1, keepdim=True).clamp(min=1).to(z.dtype).log()) * (1 + 4 * eps)
    settled = torch.zeros_like(lam, dtype=torch.bool)  # a row that is done stays as it is while others go on
    for _ in range(MAX_STEPS):
        log = log_weights(lam)
        total = log.exp().sum(-1, keepdim=True)
        low, high = torch.where(total >= 1, lam, low), torch.where(total <= 1, lam, high)
        slope = (log * (1 - a)).exp().sum(-1, keepdim=True)
        log_total = total.log()
        newton = lam + from_zero(log_total) * (log_total * (1 - a)).exp() / slope
        usable = (a < 1) & (newton >= low) & (newton <= high)
        after = torch.where(usable, newton, (low + high) / 2)
        # Newton's error after a step is about the square of that step.
        unsettled = (after - lam).abs() > torch.where(usable, eps**0.5 / 8, 2 * eps) * (1 + lam)
        lam = torch.where(settled, lam, after)
        settled = settled | ~unsettled
        if bool(settled.all()):
            break
    log = log_weights(lam)
    p = log.exp()
    # λ is too coarse where many scores lie close together: the rest of its way is gone on the weights, whose derivative
    # in it is -p^(2-α).
    slope = torch.where(p > 0, (log * (1 - a)).exp(), 0.0)
    total = slope.sum(-1, keepdim=True)
    p = (p - slope * (p.sum(-1, keepdim=True) - 1) / torch.where(total > 0, total, 1.0)).clamp(min=0.0)
    return p / p.sum(-1, keepdim=True).where(p.amax(-1, keepdim=True) != 0, 1.0)
