"""Head-wise adaptive entmax (HAE): α-entmax with one learned α per head, α_h = 1.05 + 0.90 σ(a_h) (Canay 2026).

a_h = 0 at the start, so α = 1.5; α stays within (1.05, 1.95). After Correia, Niculae, Martins 2019.
"""

import torch
from torch import Tensor, nn

from .base import Normalizer
from .bisection import Gradient, entmax_through_bisection
from .entmax import entmax


class HeadwiseAdaptiveEntmax(Normalizer):
    """α-entmax over keys with a learned α per head."""

    def __init__(self, heads: int, head_width: int | None = None, *, gradient: Gradient = "exact") -> None:
        super().__init__(heads, head_width)
        self.gradient = gradient
        self.a = nn.Parameter(torch.zeros(heads))

    @property
    def alpha(self) -> Tensor:
        """The α of each head, shape (heads,), differentiable."""
        return 1.05 + 0.90 * torch.sigmoid(self.a)

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        apply = entmax_through_bisection if self.gradient == "through_bisection" else entmax
        return apply(scores, self.alpha.view(-1, 1, 1), mask=mask)

    def learned(self) -> dict[str, Tensor]:
        return {"alpha": self.alpha}
