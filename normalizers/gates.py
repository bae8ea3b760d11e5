"""Stochastic gates on softmax: p_i = g_i exp(z_i) / Σ_j g_j exp(z_j) with gates g_i in [0, 1], exactly 0 at times.

The gate of slot i depends on ℓ_i = z_i - max_j z_j + b, so that a slot b below the largest score is as likely open as
not, and no shift of the scores matters. A distribution on (0, 1) with location ℓ_i is stretched to (-0.1, 1.1) and
clipped, which makes 0 and 1 likely values (Louizos, Welling, Kingma 2018; Bastings, Aziz, Titov 2019). Training draws
g; evaluation takes its median, which is 0 exactly where 0 is more likely than not. A row whose gates are all closed
keeps the softmax of its kept slots, which is the limit of equal gates going to 0, so every row is a distribution.
"""

from abc import abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .base import Normalizer
from .rows import centred, kept, on_rows
from .slots import Parameter, on_rows_of, per_slot
from .softmax import softmax_rows

Quantile = Callable[[Tensor, Tensor], Tensor]
"""(ℓ (..., n), u in (0, 1) of that shape) -> the quantile u of the gate's distribution on [0, 1] at location ℓ."""

LOW, HIGH = -0.1, 1.1
START = 2.0
"""The bias at the start: open down to about two below the largest score."""


def gated_softmax(
    scores: Tensor, quantile: Quantile, bias: Parameter, noise: Tensor | None, dim: int, mask: Tensor | None
) -> Tensor:
    """Gated softmax of `scores` along `dim`; `noise` is uniform on (0, 1) and broadcasts to `scores`, None is ½."""

    def row_map(rows: Tensor) -> Tensor:
        slots = kept(rows)
        location = torch.where(slots, centred(rows), 0.0) + on_rows_of(bias, rows, scores, dim, "bias")
        eps = torch.finfo(rows.dtype).eps
        half = torch.full_like(rows, 0.5)
        u = half if noise is None else per_slot(noise, scores, dim, "noise").to(rows.dtype).clamp(eps, 1 - eps)
        gate = (LOW + (HIGH - LOW) * quantile(location, u)).clamp(0.0, 1.0)
        shut = (gate == 0) | ~slots
        opened = torch.where(shut, -torch.inf, rows + torch.where(shut, 1.0, gate).log())
        return softmax_rows(torch.where(shut.all(-1, keepdim=True), rows, opened))

    return on_rows(row_map, scores, dim, mask)


class GatedSoftmax(Normalizer):
    """Softmax over keys behind stochastic gates with a learned bias b per head."""

    is_stochastic = True

    def __init__(self, heads: int, head_width: int | None = None) -> None:
        super().__init__(heads, head_width)
        self.bias = nn.Parameter(torch.full((heads,), START))

    @abstractmethod
    def apply_gates(self, scores: Tensor, bias: Tensor, noise: Tensor | None, mask: Tensor | None) -> Tensor:
        """The functional form on `scores`."""

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        noise = None
        if self.training:
            dtype = torch.float64 if scores.dtype == torch.float64 else torch.float32
            noise = torch.rand(scores.shape, dtype=dtype, device=scores.device)
        return self.apply_gates(scores, self.bias.view(-1, 1, 1), noise, mask)

    def learned(self) -> dict[str, Tensor]:
        return {"bias": self.bias}
