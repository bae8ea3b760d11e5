"""Exact derivatives of the α-entmax family by implicit differentiation, from the weights alone.

With p the weights of a row and s_i = p_i^(2-α) on the support, 0 off it (Peters, Niculae, Martins 2019, prop. 2)

    ∂p/∂z = diag(s) - s sᵀ / Σs.

For ∂p/∂α (Correia, Niculae, Martins 2019) write T(v) = v - s Σv / Σs and L = log p. Since T(s) = 0, terms in s may be
added freely, and their formula becomes

    ∂p/∂α = -T(p L² φ((α-1) L)),   φ(x) = (e⁻ˣ - 1 + x) / x² = 1/2 - x/6 + x²/24 - ...,

which needs no threshold, loses no digits as α → 1 and equals the known limit there.
"""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from . import native

Alpha = float | Tensor
Solver = Callable[[Tensor, Any], Tensor]
"""(rows (..., n) with -inf in dropped slots, α a number, (..., 1) or 0-d) -> weights (..., n), 0 in dropped slots."""


def implicit(solve: Solver, rows: Tensor, alpha: Alpha) -> Tensor:
    """Weights `solve(rows, alpha)` with exact derivatives of every order in `rows` and `alpha`.

    Works under `vmap`, `jvp` and `jacrev`, and inside `torch.compile(fullgraph=True)`, which refuses functions with
    rules of their own for `vmap` and `jvp`, so that it gets the class without them.
    """
    if isinstance(alpha, Tensor) and alpha.ndim:
        alpha = alpha.expand(*rows.shape[:-1], 1)
    function = _Implicit if torch.compiler.is_compiling() else _TransformableImplicit
    weights: Tensor = function.apply(rows, alpha, solve)
    return weights


def slopes(p: Tensor, alpha: Alpha) -> Tensor:
    """s = p^(2-α) on the support and 0 off it, shape of `p`; differentiable in both."""
    fixed = alpha if isinstance(alpha, float) else None
    if fixed == 1.0:
        return p
    if fixed == 2.0:
        return p.sign()  # and not p > 0, which would leave a gradient that cannot be differentiated again
    support = p > 0
    on_support = torch.where(support, p, 1.0)
    if fixed == 1.5:
        return torch.where(support, on_support.sqrt(), 0.0)
    return torch.where(support, on_support ** (2 - alpha), 0.0)


def tangent(p: Tensor, alpha: Alpha, v: Tensor) -> Tensor:
    """J v for each row: s ⊙ (v - Σ s v / Σ s); J is symmetric, so this is the backward product as well."""
    s = slopes(p, alpha)
    return s * (v - _mean(v, s))


def alpha_derivative(p: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
    """(v, s) of shape of `p` with ∂p/∂α = v - s Σv / Σs."""
    support = p > 0
    log = torch.where(support, p, 1.0).log()
    x = (alpha - 1) * log
    small = x.abs() < 0.05
    y = torch.where(small, 1.0, x)
    # Below 0.05 seven terms reach float64 accuracy, where the quotient would cancel.
    series = 1 / 2 - x / 6 * (1 - x / 4 * (1 - x / 5 * (1 - x / 6 * (1 - x / 7 * (1 - x / 8 * (1 - x / 9))))))
    phi = torch.where(small, series, (torch.expm1(-y) + y) / y**2)
    return torch.where(support, -p * log**2 * phi, 0.0), slopes(p, alpha)


def backward_product(grad: Tensor, p: Tensor, alpha: Alpha) -> tuple[Tensor, Tensor | None]:
    """J grad, shape of `p`, and Σ grad ⊙ ∂p/∂α per row, shape (..., 1), where α is a tensor; differentiable."""
    s = slopes(p, alpha)
    deviation = grad - _mean(grad, s)
    per_row = None
    if isinstance(alpha, Tensor):
        per_row = (alpha_derivative(p, alpha)[0] * deviation).sum(-1, keepdim=True)
    return s * deviation, per_row


def _mean(v: Tensor, s: Tensor) -> Tensor:
    """Σ s v / Σ s per row, 0 for a row without support."""
    total = s.sum(-1, keepdim=True)
    return (s * v).sum(-1, keepdim=True) / torch.where(total > 0, total, 1.0)


def _saved(ctx: Any) -> tuple[Tensor, Any]:
    p, *alpha = ctx.saved_tensors
    return p, alpha[0] if alpha else ctx.alpha


class _Implicit(Function):
    @staticmethod
    def forward(rows: Tensor, alpha: Alpha, solve: Solver) -> Tensor:
        return solve(rows, alpha)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Alpha, Solver], output: Tensor) -> None:
        alpha = inputs[1]
        ctx.alpha = None if isinstance(alpha, Tensor) else alpha
        saved = (output, alpha) if isinstance(alpha, Tensor) else (output,)
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        p, alpha = _saved(ctx)
        (grad,) = grads
        # A kernel leaves no graph, so it serves only where none is asked for.
        fast = None if torch.is_grad_enabled() else native.backward(grad, p, alpha)
        grad_rows, per_row = fast or backward_product(grad, p, alpha)
        if per_row is not None and not alpha.ndim:
            per_row = per_row.sum()
        return grad_rows, per_row, None


# Function.apply asks for this in every call, and working it out anew takes as long as a small map.
_Implicit.forward.__signature__ = inspect.signature(_Implicit.forward)  # type: ignore[attr-defined]


class _TransformableImplicit(_Implicit):
    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        p, alpha = _saved(ctx)
        rows_tangent, alpha_tangent, _ = tangents
        result = torch.zeros_like(p)
        if rows_tangent is not None:
            result = result + tangent(p, alpha, rows_tangent)
        if alpha_tangent is not None:
            v, s = alpha_derivative(p, alpha)
            total = s.sum(-1, keepdim=True)
            result = result + alpha_tangent * (v - s * v.sum(-1, keepdim=True) / torch.where(total > 0, total, 1.0))
        return result

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], rows: Tensor, alpha: Any, solve: Solver) -> Any:
        # Every solver works on rows of any shape, so a mapped dimension is one more leading dimension.
        rows_dim, alpha_dim, _ = in_dims
        rows = rows.movedim(rows_dim, 0) if rows_dim is not None else rows.expand(info.batch_size, *rows.shape)
        if alpha_dim is not None:
            alpha = alpha.movedim(alpha_dim, 0)
            alpha = alpha.reshape(-1, *(1,) * (rows.ndim - alpha.ndim), *alpha.shape[1:])
        return implicit(solve, rows, alpha), 0
