"""Where the tokens of a causal model stand: a bias on its scores, a rotation of queries and keys, or nothing at all.

nope   no positions: the causal mask alone (Kazemnejad et al. 2023)
alibi  the score of key j for query i gets slope · (j - i), slope 1/h in head h = 1, 2, … (Press et al. 2022)
rope   queries and keys are rotated by angles that grow with their place (Su et al. 2021)
nape   alibi in the first half of the heads, nope in the others (Vasylenko et al. 2025)
"""

from typing import Literal

import torch
from torch import Tensor

Positions = Literal["nope", "alibi", "rope", "nape"]
ROPE_BASE = 10_000.0


def slopes(positions: Positions, heads: int) -> Tensor | None:
    """The slope of each head's bias, shape (heads,), 0 in heads without one; None where no head has one."""
    biased = {"alibi": heads, "nape": heads // 2}.get(positions, 0)
    if not biased:
        return None
    return torch.tensor([1 / (head + 1) if head < biased else 0.0 for head in range(heads)])


def bias(slopes: Tensor, tokens: int) -> Tensor:
    """What is added to the scores of all queries and keys: slope · (key - query), shape (heads, tokens, tokens)."""
    places = torch.arange(tokens, device=slopes.device, dtype=slopes.dtype)
    return slopes[:, None, None] * (places - places[:, None])


def scaled_heads(positions: Positions, heads: int) -> list[bool]:
    """In which heads a map may scale its scores by the length of a row: not in those of nape that have a bias."""
    return [positions != "nape" or head >= heads // 2 for head in range(heads)]


def rotated(x: Tensor) -> Tensor:
    """`x` (..., tokens, width) with each pair (i, i + width/2) turned by place · base^(-2i/width)."""
    tokens, half = x.shape[-2], x.shape[-1] // 2
    rates = ROPE_BASE ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    angles = torch.arange(tokens, device=x.device, dtype=torch.float32)[:, None] * rates
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
