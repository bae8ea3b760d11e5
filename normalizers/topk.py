"""Top-k softmax: softmax over the k largest scores of a row, 0 elsewhere.

k is given, or k = max(1, ⌈ratio · n⌉) with n the kept slots of the row. Exactly k slots are kept, ties going to the
lowest index on every device. Domain: any scores; the selection itself has no gradient.
"""

import torch
from torch import Tensor

from . import native
from .base import Normalizer
from .implicit import implicit
from .rows import check_number, kept, on_rows
from .softmax import solve_softmax


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

    def solve(rows: Tensor, _alpha: float) -> Tensor:
        return solve_topk(rows, k, ratio)

    # The selection is constant, so derivatives are those of softmax, whose formula needs the weights alone.
    return on_rows(lambda rows: implicit(solve, rows, 1.0), scores, dim, mask)


def solve_topk(rows: Tensor, k: int | None, ratio: float | None) -> Tensor:
    """Softmax over the k largest of rows (..., n), which hold -inf in dropped slots; errors as for `sizes`."""
    if k is not None:
        check_k(k, rows.shape[-1])
    weights = native.topk_forward(rows, k, ratio)
    if weights is not None:
        return weights
    return solve_softmax(rows.masked_fill(ranks(rows, descending=True) >= sizes(rows, k, ratio), -torch.inf), 1.0)


def ranks(rows: Tensor, *, descending: bool) -> Tensor:
    """The place of each slot of rows (..., n) in their order, from 0, equal scores by index."""
    order = rows.argsort(dim=-1, descending=descending, stable=True)
    places = torch.arange(rows.shape[-1], device=rows.device).expand(rows.shape)
    return torch.empty_like(order).scatter(-1, order, places)


def sizes(rows: Tensor, k: int | None, ratio: float | None) -> Tensor:
    """How many slots of each row are kept, int32 (..., 1). Raises ValueError where rows have no `k` slots."""
    if k is not None:
        check_k(k, rows.shape[-1])
        return torch.full_like(rows[..., :1], k, dtype=torch.int32)
    # The ratio is read as the decimal it was written as: 0.1 of 30 is 3.
    share = kept(rows).sum(-1, keepdim=True).double() * (ratio or 1.0)
    return (share - 1e-9).ceil().clamp(min=1).int()


def check_selection(k: int | None, ratio: float | None) -> None:
    """Raise ValueError where `k` and `ratio` do not name one selection, TypeError where one is no number."""
    if (k is None) == (ratio is None):
        raise ValueError(f"give exactly one of k and ratio, got k={k}, ratio={ratio}")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int)):
        raise TypeError(f"k must be a whole number, got k={k!r}; a share of the row is ratio=")
    if k is not None and k < 1:
        raise ValueError(f"k must be at least 1, got k={k}")
    if ratio is None:
        return
    check_number(ratio, "ratio")
    if not 0 < ratio <= 1:
        raise ValueError(f"ratio must be in (0, 1], got ratio={ratio}")


def check_k(k: int, n: int) -> None:
    """Raise ValueError where rows of `n` slots have no `k` to keep."""
    if k > n:
        raise ValueError(f"k={k} is more than the {n} slots of a row; use k <= {n}, or ratio=")


class TopKSoftmax(Normalizer):
    """Softmax over the k largest scores, or the share `ratio` of a row's kept slots."""

    function = staticmethod(topk_softmax)

    def __init__(
        self, heads: int, head_width: int | None = None, *, k: int | None = None, ratio: float | None = None
    ) -> None:
        super().__init__(heads, head_width)
        check_selection(k, ratio)
        self.k = k
        self.ratio = ratio

    def check_length(self, n: int) -> None:
        if self.k is not None:
            check_k(self.k, n)

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return self.function(scores, k=self.k, ratio=self.ratio, mask=mask)
