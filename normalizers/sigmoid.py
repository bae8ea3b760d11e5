"""Sigmoid attention: p_i = σ(z_i + b), b = -log n (Ramapuram et al. 2025).

n counts the kept slots of the row, so that n equal scores of 0 give about 1 in all; no slot competes with another.
Domain: any scores; full support. Neither a distribution nor shift-invariant.
"""

import math

import torch
from torch import Tensor

from .base import Normalizer
from .rows import check_number, on_rows
from .slots import Parameter, count, nan_as_rows, on_rows_of


def sigmoid_attention(
    scores: Tensor, bias: Parameter | None = None, *, dim: int = -1, mask: Tensor | None = None
) -> Tensor:
    """Sigmoid of `scores` plus `bias`, in their shape and dtype; `dim` is where slots are counted and masked.

    `bias` is a number or a tensor that broadcasts to `scores` with size 1 along `dim` (one per head of (batch, heads,
    queries, keys): shape (heads, 1, 1)), differentiable; None is -log n. Raises ValueError for another shape or a
    number that is not finite, else as `normalizers.rows.on_rows` does.

    >>> sigmoid_attention(torch.tensor([2.0, 1.0, 0.5, 0.0]))
    tensor([0.6488, 0.4046, 0.2919, 0.2000])
    """
    check_bias(bias)

    def row_map(rows: Tensor) -> Tensor:
        b = -count(rows).log() if bias is None else on_rows_of(bias, rows, scores, dim, "bias")
        return nan_as_rows(torch.sigmoid(rows + b), rows)

    return on_rows(row_map, scores, dim, mask)


def check_bias(bias: Parameter | None) -> None:
    """Raise TypeError where `bias` is neither None, number nor tensor, ValueError for a number that is not finite."""
    if bias is None or isinstance(bias, Tensor):
        return
    check_number(bias, "bias", or_tensor=True)
    if not math.isfinite(bias):
        raise ValueError(f"bias must be finite, got {bias}")


class SigmoidAttention(Normalizer):
    """Sigmoid attention over keys with a fixed bias, or -log n where it is None."""

    is_distribution = False
    is_shift_invariant = False

    def __init__(self, heads: int, head_width: int | None = None, *, bias: float | None = None) -> None:
        super().__init__(heads, head_width)
        check_bias(bias)
        self.bias = bias

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return sigmoid_attention(scores, self.bias, mask=mask)
