"""α-entmax: p_i = [(α-1) z_i - τ]₊^{1/(α-1)} (Peters, Niculae, Martins 2019; Blondel, Martins, Niculae 2020).

Domain: any scores, any α ≥ 1, one for all rows or one per row. α = 1 is softmax, α = 2 sparsemax.

The threshold is found in the variable λ with τ = (α-1) λ - 1 for scores whose maximum is 0. Then
log p_i = log1p((α-1)(z_i - λ)) / (α-1), which keeps all digits as α → 1, where λ becomes log Σ exp z.
"""

import torch
from torch import Tensor

from .base import Normalizer
from .bisection import Gradient, entmax_through_bisection
from .entmax15 import entmax15
from .implicit import implicit
from .rows import centred, kept, on_rows, per_row
from .softmax import softmax
from .sparsemax import sparsemax

Alpha = float | Tensor
MAX_STEPS = 80
"""Halvings that exhaust float64; Newton needs about five."""


def solve_entmax(rows: Tensor, alpha: Tensor) -> Tensor:
    """α-entmax weights of rows (..., n); see `normalizers.implicit.Solver`.

    Newton's method on the norm ‖[(α-1) z - τ]₊‖ of order 1/(α-1), which is convex in τ for α ≤ 2 and so approached
    from one side; halving of the bracket wherever Newton's step leaves it, and throughout for α > 2.

    Raises ValueError where an α is below 1.
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
    if bool((alpha < 1).any()):
        raise ValueError(f"alpha must be at least 1, got {alpha.min().item()}")
    z, a = centred(rows), alpha - 1
    slots = kept(rows)
    soft = a == 0
    safe = torch.where(soft, 1.0, a)
    convex = a <= 1

    def weights(lam: Tensor) -> Tensor:
        x = (z - lam) * a
        inside = slots & ((x > -1) | x.isnan())
        log = torch.where(soft, z - lam, torch.log1p(torch.where(inside, x, 0.0)) / safe)
        return torch.where(inside, log.exp(), 0.0)

    low = torch.zeros_like(z[..., :1])
    count = slots.sum(-1, keepdim=True).clamp(min=1).to(z.dtype)
    high = torch.where(soft, count.log(), -torch.expm1(-a * count.log()) / safe) * (1 + 4 * torch.finfo(z.dtype).eps)
    lam = low
    for _ in range(MAX_STEPS):
        p = weights(lam)
        total = p.sum(-1, keepdim=True)
        low, high = torch.where(total >= 1, lam, low), torch.where(total <= 1, lam, high)
        log_total = torch.where(total > 0, total, 1.0).log()
        slope = torch.where(p > 0, p, 1.0) ** (1 - a)
        slope = torch.where(p > 0, slope, 0.0).sum(-1, keepdim=True)
        newton = torch.where(soft, log_total, torch.expm1(a * log_total) / safe)
        newton = lam + newton * torch.exp((1 - a) * log_total) / torch.where(slope > 0, slope, 1.0)
        usable = convex & (newton >= low) & (newton <= high) & (total > 0)
        after = torch.where(usable, newton, (low + high) / 2)
        moved = (after - lam).abs() > 2 * torch.finfo(z.dtype).eps * (1 + lam)
        lam = after
        if not bool(moved.any()):
            break
    p = weights(lam)
    return p / p.sum(-1, keepdim=True).where(p.amax(-1, keepdim=True) != 0, 1.0)


def entmax(scores: Tensor, alpha: Alpha, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """α-entmax of `scores` along `dim`, in their shape and dtype.

    Args:
        scores: floating-point tensor of any shape with at least one dimension.
        alpha: a number ≥ 1, or a tensor of them that broadcasts to `scores` with size 1 along `dim`
            (one per head of (batch, heads, queries, keys): shape (heads, 1, 1)); differentiable.
        dim: the dimension along which weights are formed.
        mask: boolean, broadcastable to `scores`; True keeps a slot.

    Raises ValueError for α < 1 or of another shape, else as `normalizers.rows.on_rows` does.

    >>> entmax(torch.tensor([-2.0, 0.0, 0.5]), 1.25)
    tensor([0.0053, 0.3521, 0.6426])
    """
    if not isinstance(alpha, Tensor):
        if not 1 <= alpha < float("inf"):
            raise ValueError(f"alpha must be a finite number of at least 1, got {alpha}")
        exact = {1.0: softmax, 1.5: entmax15, 2.0: sparsemax}.get(float(alpha))
        if exact is not None:
            return exact(scores, dim=dim, mask=mask)
        alpha = torch.tensor(alpha, dtype=torch.float64, device=scores.device)

    def row_map(rows: Tensor) -> Tensor:
        shaped = per_row(alpha, scores, dim, "alpha") if alpha.ndim else alpha
        return implicit(solve_entmax, rows, shaped.to(rows.dtype))

    return on_rows(row_map, scores, dim, mask)


class Entmax(Normalizer):
    """α-entmax over keys with a fixed α."""

    def __init__(self, heads: int, *, alpha: float, gradient: Gradient = "exact") -> None:
        super().__init__(heads)
        if not 1 <= alpha < float("inf"):
            raise ValueError(f"alpha must be a finite number of at least 1, got {alpha}")
        if gradient == "through_bisection" and alpha == 1:
            raise ValueError("alpha=1 (softmax) has no threshold to bisect: use gradient=exact")
        self.alpha = alpha
        self.gradient = gradient

    def forward(self, scores: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.gradient == "through_bisection":
            return entmax_through_bisection(scores, self.alpha, mask=mask)
        return entmax(scores, self.alpha, mask=mask)
