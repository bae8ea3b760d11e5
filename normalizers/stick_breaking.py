"""Stick-breaking attention: A_j = σ(z_j) Π_{k>j} (1 - σ(z_k)), the last key being the most recent (Tan et al. 2025).

From the last key back, each takes the share σ(z) of what is left of a stick of length 1; what remains goes to nobody.
In log space, log A_j = log σ(z_j) + Σ_{k>j} log σ(-z_k), which neither under- nor overflows. Domain: any scores; full
support. No distribution, not shift-invariant, and by intent not permutation-equivariant. The keys are those before the
query: a mask has to say which those are.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from .base import Normalizer
from .rows import on_rows
from .slots import filled, nan_as_rows


def stick_breaking(scores: Tensor, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    """Stick-breaking weights of `scores` along `dim`, in their shape and dtype; raises as `on_rows` does.

    >>> stick_breaking(torch.tensor([2.0, 1.0, 0.5, 0.0]))
    tensor([0.0447, 0.1380, 0.3112, 0.5000])
    """
    return on_rows(_stick_breaking_rows, scores, dim, mask)


def _stick_breaking_rows(rows: Tensor) -> Tensor:
    z, slots = filled(rows)
    left = torch.where(slots, F.logsigmoid(-z), 0.0)
    # The sum over later keys leaves the key itself out by shifting: taking it off a full sum would cancel.
    later = torch.cat([left[..., 1:], torch.zeros_like(left[..., :1])], dim=-1).flip(-1).cumsum(-1).flip(-1)
    return nan_as_rows(torch.where(slots, torch.exp(F.logsigmoid(z) + later), 0.0), rows)


class StickBreaking(Normalizer):
    """Stick-breaking over keys, the last one first."""

    is_distribution = False
    is_shift_invariant = False
    is_permutation_equivariant = False
    weighs_own_key = False

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        return stick_breaking(scores, mask=mask)
