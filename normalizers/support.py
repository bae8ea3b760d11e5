"""Attention support: how much of a row a map uses. The one definition that the harness and its figures share."""

from torch import Tensor

PUBLISHED_THRESHOLD = 1e-7
"""A weight counts where it is above this (Canay 2026)."""


def support_share(weights: Tensor, *, threshold: float = PUBLISHED_THRESHOLD) -> Tensor:
    """Share of the keys of each row whose weight is above `threshold`.

    `weights` (..., keys) -> (...), in float32. Masked keys count in the denominator, as in the published study.
    """
    return (weights > threshold).float().mean(-1)
