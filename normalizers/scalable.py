"""Scalable softmax (SSMax): softmax(s log(n) z), so that attention does not flatten as rows grow (Nakanishi 2025).

n counts the kept slots of the row, s is learned per head; 0.43 is the paper's fit. Domain: any scores, any finite s;
full support.
"""

import math

import torch
from torch import Tensor, nn

from .base import Normalizer
from .rows import check_number, on_rows
from .slots import Parameter, count, from_top, on_rows_of
from .softmax import softmax_rows

PUBLISHED_SCALE = 0.43


def scalable_softmax(
    scores: Tensor, s: Parameter = PUBLISHED_SCALE, *, dim: int = -1, mask: Tensor | None = None
) -> Tensor:
    """Softmax of `scores` times s·log n along `dim`, in their shape and dtype.

    `s` is a number or a tensor that broadcasts to `scores` with size 1 along `dim` (one per head of (batch, heads,
    queries, keys): shape (heads, 1, 1)); differentiable. Raises ValueError for another shape or a number that is not
    finite, else as `normalizers.rows.on_rows` does.

    >>> scalable_softmax(torch.tensor([2.0, 1.0, 0.5, 0.0]), 1.0)
    tensor([0.6957, 0.1739, 0.0870, 0.0435])
    """
    if not isinstance(s, Tensor):
        check_number(s, "s", or_tensor=True)
        if not math.isfinite(s):
            raise ValueError(f"s must be finite, got {s}")

    def row_map(rows: Tensor) -> Tensor:
        z, slots = from_top(rows)
        scaled = z * (on_rows_of(s, rows, scores, dim, "s") * count(rows).log())
        return softmax_rows(scaled.masked_fill(~slots, -torch.inf))

    return on_rows(row_map, scores, dim, mask)


class ScalableSoftmax(Normalizer):
    """Scalable softmax over keys with a learned s per head, `start` at the start."""

    def __init__(self, heads: int, head_width: int | None = None, *, start: float = PUBLISHED_SCALE) -> None:
        super().__init__(heads, head_width)
        check_number(start, "start")
        if not math.isfinite(start):
            raise ValueError(f"start must be finite, got {start}")
        self.start = start
        self.s = nn.Parameter(torch.full((heads,), start))

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return scalable_softmax(scores, self.s.view(-1, 1, 1), mask=mask)

    def learned(self) -> dict[str, Tensor]:
        return {"s": self.s}
