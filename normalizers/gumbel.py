"""Gumbel gates on softmax: the gate is a stretched, clipped binary concrete variable (Jang et al. 2017; Maddison et al.
2017; stretched by Louizos, Welling, Kingma 2018).

G = σ((ℓ + log u - log(1-u)) / T) with u uniform, the difference of two Gumbel variables beside ℓ, and temperature T;
how gates are formed and combined is said in `normalizers.gates`. Domain: any scores, T > 0.
"""

import torch
from torch import Tensor

from .gates import START, GatedSoftmax, gated_softmax
from .rows import check_number
from .slots import Parameter

PUBLISHED_TEMPERATURE = 2 / 3
"""That of Louizos, Welling, Kingma 2018."""


def gumbel_gated_softmax(
    scores: Tensor,
    bias: Parameter = START,
    *,
    temperature: float = PUBLISHED_TEMPERATURE,
    noise: Tensor | None = None,
    dim: int = -1,
    mask: Tensor | None = None,
) -> Tensor:
    """Softmax of `scores` along `dim` behind Gumbel gates, in their shape and dtype.

    `bias` is a number or a tensor that broadcasts to `scores` with size 1 along `dim` (one per head of (batch, heads,
    queries, keys): shape (heads, 1, 1)); differentiable. `noise` is uniform on (0, 1) and broadcasts to `scores`; None
    takes the median gate. Raises ValueError for a temperature that is not a finite number above 0 or for other shapes,
    else as `normalizers.rows.on_rows` does.

    >>> gumbel_gated_softmax(torch.tensor([2.0, 1.0, -1.0, -2.0]))
    tensor([0.7518, 0.2437, 0.0045, 0.0000])
    """
    check_temperature(temperature)

    def quantile(location: Tensor, u: Tensor) -> Tensor:
        return torch.sigmoid((location + u.log() - torch.log1p(-u)) / temperature)

    return gated_softmax(scores, quantile, bias, noise, dim, mask)


def check_temperature(temperature: float) -> None:
    """Raise TypeError where `temperature` is no number, ValueError where it is not finite or not above 0."""
    check_number(temperature, "temperature")
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature must be a finite number above 0, got {temperature}")


class GumbelGates(GatedSoftmax):
    """Softmax over keys behind Gumbel gates, with a learned bias per head and a fixed temperature."""

    def __init__(
        self, heads: int, head_width: int | None = None, *, temperature: float = PUBLISHED_TEMPERATURE
    ) -> None:
        super().__init__(heads, head_width)
        check_temperature(temperature)
        self.temperature = temperature

    def apply_gates(self, scores: Tensor, bias: Tensor, noise: Tensor | None, mask: Tensor | None) -> Tensor:
        return gumbel_gated_softmax(scores, bias, temperature=self.temperature, noise=noise, mask=mask)
