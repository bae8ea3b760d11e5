"""Top-k softmax: softmax over the k largest scores of a row, 0 elsewhere.

k is given, or k = max(1, ⌈ratio · n⌉) with n the kept slots of the row. Exactly k slots are kept, ties going to the
lowest index on every device. Domain: any scores; the selection itself has no gradient.
"""

import math

import torch
from torch import Tensor

from .base import Normalizer
from .rows import kept, on_rows
from .softmax import softmax_rows


def topk_softmax(
    scores: Tensor, *, k: int | None = None, ratio: float | None = None, dim: int = -1, mask: Tensor | None = None
) -> Tensor:
    """Softmax over the `k` largest of `scores` along `dim`, or over the share `ratio` of the kept slots of each row.

    A row with fewer than `k` kept slots keeps them all. Raises ValueError where not exactly one of `k` and `ratio` is
    given, k is not in 1..n or ratio not in (0, 1], else as `normalizers.rows.on_rows` does.

    >>> topk_softmax(torch.tensor([2.0, 1.0, 0.5, 0.0]), k=2)
    tensor([0.7311, 0.2689, 0.0000, 0.0000])
    """
    check_selection(k, ratio)

    def row_map(rows: Tensor) -> Tensor:
        if k is not None:
            check_k(k, rows.shape[-1])
        size = k if k is not None else _share(kept(rows).sum(-1, keepdim=True), ratio or 1.0)
        order = rows.detach().argsort(dim=-1, descending=True, stable=True)
        places = torch.arange(rows.shape[-1], device=rows.device).expand(rows.shape)
        rank = torch.empty_like(order).scatter(-1, order, places)
        return softmax_rows(rows.masked_fill(rank >= size, -torch.inf))

    return on_rows(row_map, scores, dim, mask)


def check_selection(k: int | None, ratio: float | None) -> None:
    """Raise ValueError where `k` and `ratio` do not name one selection."""
    if (k is None) == (ratio is None):
        raise ValueError(f"give exactly one of k and ratio, got k={k}, ratio={ratio}")
    if k is not None and k < 1:
        raise ValueError(f"k must be at least 1, got k={k}")
    if ratio is not None and not 0 < ratio <= 1:
        raise ValueError(f"ratio must be in (0, 1], got ratio={ratio}")


def check_k(k: int, n: int) -> None:
    """Raise ValueError where rows of `n` slots have no `k` to keep."""
    if k > n:
        raise ValueError(f"k={k} is more than the {n} slots of a row; use k <= {n}, or ratio=")


def selected(n: int, ratio: float) -> int:
    """k = max(1, ⌈ratio · n⌉), with ratio read as the decimal it was written as (0.1 · 30 is 3)."""
    return max(1, math.ceil(ratio * n - 1e-9))


def _share(count: Tensor, ratio: float) -> Tensor:
    """`selected` for a tensor of counts."""
    return (count.double() * ratio - 1e-9).ceil().clamp(min=1).long()


class TopKSoftmax(Normalizer):
    """Softmax over the k largest scores, or the share `ratio` of a row's kept slots."""

    def __init__(self, heads: int, *, k: int | None = None, ratio: float | None = None) -> None:
        super().__init__(heads)
        check_selection(k, ratio)
        self.k = k
        self.ratio = ratio

    def check_length(self, n: int) -> None:
        if self.k is not None:
            check_k(self.k, n)

    def forward(self, scores: Tensor, mask: Tensor | None = None) -> Tensor:
        return topk_softmax(scores, k=self.k, ratio=self.ratio, mask=mask)
