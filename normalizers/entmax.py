"""α-entmax: p_i = [(α-1) z_i - τ]₊^{1/(α-1)} (Peters, Niculae, Martins 2019; Blondel, Martins, Niculae 2020).

Domain: any scores, any α ≥ 1, one for all rows or one per row. α = 1 is softmax, α = 2 sparsemax.
"""

import torch
from torch import Tensor

from .base import Normalizer
from .bisection import Gradient, entmax_through_bisection
from .entmax15 import entmax15
from .implicit import Alpha, implicit
from .newton import solve_entmax
from .rows import check_number, check_tensor, on_rows, per_row
from .softmax import softmax
from .sparsemax import sparsemax


def entmax(scores: Tensor, alpha: Alpha, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """α-entmax of `scores` along `dim`, in their shape and dtype.

    Args:
        scores: floating-point tensor of any shape with at least one dimension.
        alpha: a number ≥ 1, or a tensor of them that broadcasts to `scores` with size 1 along `dim`
            (one per head of (batch, heads, queries, keys): shape (heads, 1, 1)); differentiable.
        dim: the dimension along which weights are formed.
        mask: boolean, broadcastable to `scores`; True keeps a slot.

    Raises TypeError where `alpha` is neither number nor tensor, ValueError for an infinite α, for α < 1 or for a shape
    that does not fit, else as `normalizers.rows.on_rows` does.

    >>> entmax(torch.tensor([-2.0, 0.0, 0.5]), 1.25)
    tensor([0.0053, 0.3521, 0.6426])
    """
    if not isinstance(alpha, Tensor):
        check_alpha(alpha, or_tensor=True)
        check_tensor(scores, "scores")
        exact = {1.0: softmax, 1.5: entmax15, 2.0: sparsemax}.get(float(alpha))
        if exact is not None:
            return exact(scores, dim=dim, mask=mask)
        alpha = torch.tensor(alpha, dtype=torch.float64, device=scores.device)

    def row_map(rows: Tensor) -> Tensor:
        shaped = per_row(alpha, scores, dim, "alpha") if alpha.ndim else alpha
        return implicit(solve_entmax, rows, shaped.to(rows.dtype))

    return on_rows(row_map, scores, dim, mask)


def check_alpha(alpha: float, *, or_tensor: bool = False) -> None:
    """Raise TypeError where `alpha` is no number, ValueError where it is below 1 or not finite.

    `or_tensor` says whether the message should name a tensor as another choice.
    """
    check_number(alpha, "alpha", or_tensor=or_tensor)
    if not 1 <= alpha < float("inf"):
        raise ValueError(f"alpha must be a finite number of at least 1, got {alpha}")


class Entmax(Normalizer):
    """α-entmax over keys with a fixed α."""

    def __init__(
        self, heads: int, head_width: int | None = None, *, alpha: float, gradient: Gradient = "exact"
    ) -> None:
        super().__init__(heads, head_width)
        check_alpha(alpha)
        if gradient == "through_bisection" and alpha == 1:
            raise ValueError("alpha=1 (softmax) has no threshold to bisect: use gradient=exact")
        self.alpha = alpha
        self.gradient = gradient

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        if self.gradient == "through_bisection":
            return entmax_through_bisection(scores, self.alpha, mask=mask)
        return entmax(scores, self.alpha, mask=mask)
