"""Bounded-q entmax: α-entmax with a learned α = q = 1.1 + 1.7 σ(r), r = -1 at the start (the parametrization of qjax).

q starts at 1.557 and stays within (1.1, 2.8), past sparsemax; one q serves all heads, or each head has its own. The
gradient is exact, or that of bisection, as qjax had it before version 0.1.2.
"""

import torch
from torch import Tensor, nn

from .base import Normalizer
from .bisection import Gradient, entmax_through_bisection
from .entmax import entmax


def bounded_q(r: Tensor) -> Tensor:
    """q = 1.1 + 1.7 σ(r), shape of `r`.

    >>> bounded_q(torch.tensor(-1.0))
    tensor(1.5572)
    """
    return 1.1 + 1.7 * torch.sigmoid(r)


class BoundedEntmax(Normalizer):
    """α-entmax over keys with a learned, bounded α: one for all heads, or one `per_head`."""

    def __init__(
        self, heads: int, head_width: int | None = None, *, per_head: bool = False, gradient: Gradient = "exact"
    ) -> None:
        super().__init__(heads, head_width)
        self.per_head = per_head
        self.gradient = gradient
        self.r = nn.Parameter(torch.full((heads if per_head else 1,), -1.0))

    @property
    def alpha(self) -> Tensor:
        """The α of each head, shape (heads,), differentiable."""
        return bounded_q(self.r).expand(self.heads)

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        apply = entmax_through_bisection if self.gradient == "through_bisection" else entmax
        return apply(scores, self.alpha.view(-1, 1, 1), mask=mask)

    def learned(self) -> dict[str, Tensor]:
        return {"alpha": self.alpha}
