"""α-entmax as slow as it is plain: bisection on the threshold in float64. Only tests may use it."""

import torch
from torch import Tensor

STEPS = 200


def entmax_by_bisection(scores: Tensor, alpha: float) -> Tensor:
    """α-entmax of `scores` (..., n), α > 1, in float64. The bracket is [-1, -n^(1-α)] for centred (α-1)·scores."""
    z = scores.double()
    z = (alpha - 1) * (z - z.amax(-1, keepdim=True))
    low = torch.full_like(z[..., :1], -1.0)
    high = torch.full_like(low, -(z.shape[-1] ** (1.0 - alpha)))
    for _ in range(STEPS):
        middle = (low + high) / 2
        enough = ((z - middle).clamp(min=0) ** (1 / (alpha - 1))).sum(-1, keepdim=True) >= 1
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    p = (z - low).clamp(min=0) ** (1 / (alpha - 1))
    return p / p.sum(-1, keepdim=True)
