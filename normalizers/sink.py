"""Sink softmax: softmax over [z, s] with the column of the sink s dropped, p_i = exp(z_i) / (exp(s) + Σ_j exp(z_j)).

gpt-oss (OpenAI 2025) learns one s per head; s = 0 is softmax-1 (Miller 2023, "Attention is off by one"). A row gives
less than 1 in all, and nearly nothing where every score is far below s. Domain: any scores; full support. Not
shift-invariant, for s stays where it is.
"""

import torch
from torch import Tensor, nn

from .base import Normalizer
from .rows import on_rows
from .slots import Parameter, on_rows_of
from .softmax import softmax_rows


def sink_softmax(scores: Tensor, sink: Parameter, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Softmax of `scores` beside `sink` along `dim`, in their shape and dtype.

    `sink` is a number or a tensor that broadcasts to `scores` with size 1 along `dim` (one per head of (batch, heads,
    queries, keys): shape (heads, 1, 1)); differentiable. Raises ValueError for another shape, else as
    `normalizers.rows.on_rows` does.

    >>> sink_softmax(torch.tensor([2.0, 1.0, 0.5, 0.0]), 0.7)
    tensor([0.5003, 0.1840, 0.1116, 0.0677])
    """

    def row_map(rows: Tensor) -> Tensor:
        column = torch.zeros_like(rows[..., :1]) + on_rows_of(sink, rows, scores, dim, "sink")
        # A row without a kept slot has its sink alone, so that no case needs looking at.
        return softmax_rows(torch.cat([rows, column], dim=-1))[..., :-1]

    return on_rows(row_map, scores, dim, mask)


def softmax1(scores: Tensor, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Softmax-1 of `scores` along `dim`: exp(z) / (1 + Σ exp(z)); raises as `normalizers.rows.on_rows` does.

    >>> softmax1(torch.tensor([2.0, 1.0, 0.5, 0.0]))
    tensor([0.5371, 0.1976, 0.1199, 0.0727])
    """
    return sink_softmax(scores, 0.0, dim=dim, mask=mask)


class SinkSoftmax(Normalizer):
    """Softmax over keys beside a learned sink per head, 0 at the start."""

    is_distribution = False
    is_shift_invariant = False

    def __init__(self, heads: int, head_width: int | None = None) -> None:
        super().__init__(heads, head_width)
        self.sink = nn.Parameter(torch.zeros(heads))

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return sink_softmax(scores, self.sink.view(-1, 1, 1), mask=mask)

    def learned(self) -> dict[str, Tensor]:
        return {"sink": self.sink}


class SoftmaxOne(Normalizer):
    """Softmax-1 over keys."""

    is_distribution = False
    is_shift_invariant = False

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return softmax1(scores, mask=mask)
