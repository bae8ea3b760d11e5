"""HardKuma gates on softmax: the gate is a stretched, clipped Kumaraswamy variable (Bastings, Aziz, Titov 2019).

K = (1 - (1-u)^{1/b})^{1/a} with u uniform, a = softplus(ℓ + c), b = softplus(-ℓ + c), c = log(e - 1), so that K is
uniform at ℓ = 0; how gates are formed and combined is said in `normalizers.gates`. |ℓ| is held at 10, where a gate is
shut or open but for one in ten thousand. Domain: any scores.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from .gates import START, GatedSoftmax, gated_softmax
from .slots import Parameter

UNIFORM = math.log(math.e - 1)
"""softplus of this is 1."""


def hardkuma_softmax(
    scores: Tensor,
    bias: Parameter = START,
    *,
    noise: Tensor | None = None,
    dim: int = -1,
    mask: Tensor | None = None,
) -> Tensor:
    """Softmax of `scores` along `dim` behind HardKuma gates, in their shape and dtype.

    `bias` is a number or a tensor that broadcasts to `scores` with size 1 along `dim` (one per head of (batch, heads,
    queries, keys): shape (heads, 1, 1)); differentiable. `noise` is uniform on (0, 1) and broadcasts to `scores`; None
    takes the median gate. Raises ValueError for other shapes, else as `normalizers.rows.on_rows` does.

    >>> hardkuma_softmax(torch.tensor([2.0, 1.0, 0.0, -2.0]))
    tensor([0.7108, 0.2411, 0.0481, 0.0000])
    """
    return gated_softmax(scores, _quantile, bias, noise, dim, mask)


def _quantile(location: Tensor, u: Tensor) -> Tensor:
    held = location.clamp(-10.0, 10.0)
    a, b = -F.logsigmoid(-held - UNIFORM), -F.logsigmoid(held - UNIFORM)
    return torch.exp(torch.log(-torch.expm1(torch.log1p(-u) / b)) / a)


class HardKumaGates(GatedSoftmax):
    """Softmax over keys behind HardKuma gates, with a learned bias per head."""

    def apply_gates(self, scores: Tensor, bias: Tensor, noise: Tensor | None, mask: Tensor | None) -> Tensor:
        return hardkuma_softmax(scores, bias, noise=noise, mask=mask)
