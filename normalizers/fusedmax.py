"""Fusedmax: sparsemax of the scores after total variation with weight λ has fused neighbours (Niculae, Blondel 2017).

p = sparsemax(x), x = argmin ½‖x - z‖² + λ Σ|x_{j+1} - x_j|, exactly (see `normalizers.total_variation`): neighbouring
slots tend to get equal weights. A dropped slot is no neighbour, so the slots around it become neighbours. Domain: any
scores, any λ ≥ 0; λ = 0 is sparsemax, a large λ uniform. Not permutation-equivariant, for neighbourhood counts.
"""

import torch
from torch import Tensor

from .base import Normalizer
from .rows import check_number, on_rows
from .slots import Parameter, from_top, on_rows_of, refuse_where
from .sparsemax import sparsemax
from .total_variation import total_variation_prox


def fusedmax(scores: Tensor, lam: Parameter = 0.1, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Fusedmax of `scores` along `dim`, in their shape and dtype.

    `lam` is a number ≥ 0 or a tensor of them that broadcasts to `scores` with size 1 along `dim` (one per head of
    (batch, heads, queries, keys): shape (heads, 1, 1)); differentiable. Raises ValueError for λ < 0 or of another
    shape, else as `normalizers.rows.on_rows` does.

    >>> fusedmax(torch.tensor([2.0, 1.0, 0.5, 0.0]), 0.25)
    tensor([0.8750, 0.1250, 0.0000, 0.0000])
    """
    if isinstance(lam, Tensor):
        refuse_where(~(lam >= 0) | lam.isinf(), "lam must be finite and at least 0")
    else:
        check_lam(lam)

    def row_map(rows: Tensor) -> Tensor:
        z, slots = from_top(rows)
        weight = torch.zeros_like(z[..., :1]) + on_rows_of(lam, rows, scores, dim, "lam")
        # No slot moves by more than 2λ, so none below -4λ - 1 can reach the support, and none does from -4λ - 2.
        low = torch.maximum(z, -4 * weight.detach() - 2).masked_fill(~slots, -torch.inf)
        return sparsemax(total_variation_prox(low, weight))

    return on_rows(row_map, scores, dim, mask)


def check_lam(lam: float) -> None:
    """Raise TypeError where `lam` is no number, ValueError where it is not finite or below 0."""
    check_number(lam, "lam", or_tensor=True)
    if not 0 <= lam < float("inf"):
        raise ValueError(f"lam must be a finite number of at least 0, got {lam}")


class Fusedmax(Normalizer):
    """Fusedmax over keys with a fixed λ."""

    is_permutation_equivariant = False

    def __init__(self, heads: int, head_width: int | None = None, *, lam: float = 0.1) -> None:
        super().__init__(heads, head_width)
        check_lam(lam)
        self.lam = lam

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return fusedmax(scores, self.lam, mask=mask)
