"""ASEntmax: α-entmax of scores scaled by δ + β (log n)^γ, which adapts to the length of a row (Vasylenko et al. 2025).

δ = 1, β = softplus(w_β·x + b_β) > 0 and γ = 2 tanh(w_γ·x + b_γ) in (-2, 2) per head and query, x the query vector of
the head; n counts the kept slots of the row. w and b start at 0, so that β = log 2 and γ = 0 for every query. Domain:
any scores, α ≥ 1, β and γ finite. A row of one kept slot gives it 1 whatever the scale.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .base import Normalizer
from .entmax import check_alpha, entmax
from .rows import on_rows
from .slots import Parameter, count, from_top, on_rows_of


def asentmax(
    scores: Tensor,
    alpha: Parameter = 1.5,
    *,
    beta: Parameter,
    gamma: Parameter,
    delta: Parameter = 1.0,
    dim: int = -1,
    mask: Tensor | None = None,
) -> Tensor:
    """α-entmax of `scores` times delta + beta·(log n)^gamma along `dim`, in their shape and dtype.

    `alpha` (≥ 1), `beta`, `gamma` and `delta` are numbers or tensors that broadcast to `scores` with size 1 along
    `dim` (one per head and query of (batch, heads, queries, keys): shape (batch, heads, queries, 1)); differentiable.
    Raises ValueError for another shape or α < 1, else as `normalizers.rows.on_rows` does.

    >>> asentmax(torch.tensor([1.0, 0.5, 0.0]), beta=1.0, gamma=0.0)
    tensor([0.8307, 0.1693, 0.0000])
    """

    def row_map(rows: Tensor) -> Tensor:
        a, b, c, d = (
            on_rows_of(value, rows, scores, dim, name)
            for value, name in ((alpha, "alpha"), (beta, "beta"), (gamma, "gamma"), (delta, "delta"))
        )
        z, slots = from_top(rows)
        n = count(rows)
        scaled = z * (d + b * torch.where(n > 1, n.log(), 1.0) ** c)
        return entmax(scaled.masked_fill(~slots, -torch.inf), a)

    return on_rows(row_map, scores, dim, mask)


class ASEntmax(Normalizer):
    """ASEntmax over keys, with a fixed `alpha` or, where that is None, one learned per head as HAE learns it."""

    needs_queries = True

    def __init__(self, heads: int, head_width: int | None = None, *, alpha: float | None = 1.5) -> None:
        super().__init__(heads, head_width)
        if alpha is not None:  # None: α is learned
            check_alpha(alpha)
        self.fixed = alpha
        self.a = nn.Parameter(torch.zeros(heads)) if alpha is None else None
        self.slopes = nn.Parameter(torch.zeros(2, heads, head_width or 0))
        self.offsets = nn.Parameter(torch.zeros(2, heads))
        self.register_buffer("scaled", torch.ones(heads, 1, 1), persistent=False)

    def scale_by_length_in(self, heads: Sequence[bool]) -> None:
        """In the other heads β = 0, so that their scores stay as they are."""
        self.scaled = torch.tensor(heads, dtype=torch.float32, device=self.offsets.device).view(-1, 1, 1)

    @property
    def alpha(self) -> Tensor | float:
        """The fixed α, or that of each head, shape (heads,), differentiable."""
        return self.fixed if self.a is None else 1.05 + 0.90 * torch.sigmoid(self.a)  # type: ignore[return-value]

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        if queries is None:
            raise ValueError("ASEntmax needs queries (batch, heads, queries, head width) besides the scores")
        beta, gamma = (
            ((queries * slope[:, None]).sum(-1) + offset[:, None])[..., None]
            for slope, offset in zip(self.slopes, self.offsets, strict=True)
        )
        alpha = self.alpha.view(-1, 1, 1) if isinstance(self.alpha, Tensor) else self.alpha
        beta = F.softplus(beta) * self.scaled
        return asentmax(scores, alpha, beta=beta, gamma=2 * torch.tanh(gamma), mask=mask)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, head_width={self.head_width}, alpha={self.fixed}"

    def learned(self) -> dict[str, Tensor]:
        return {"alpha": self.alpha} if isinstance(self.alpha, Tensor) else {}
