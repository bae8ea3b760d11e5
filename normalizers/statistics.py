"""What attention weights look like: support, entropy, peak. The one definition of each, for harness and figures.

Every function takes weights (..., keys) and gives one value per row, shape (...), in float32 (float64 for float64
weights); weights of masked keys are 0 already. `mask` is boolean, broadcastable to the weights, True = kept. A row in
which nothing is kept has the value 0. `per_head` averages.
"""

import torch
from torch import Tensor

from .rows import broadcast, check_tensor

PUBLISHED_THRESHOLD = 1e-7
"""A weight counts where it is above this (Canay 2026)."""


def support_size(weights: Tensor, *, threshold: float = 0.0) -> Tensor:
    """Number of keys of each row whose weight is above `threshold`.

    0 counts the zeros that the map itself sets. Maps with full support set none until a weight underflows, so a
    comparison with those takes `PUBLISHED_THRESHOLD`.

    >>> support_size(torch.tensor([0.75, 0.25, 0.0, 0.0]))
    tensor(2.)
    """
    dtype = _working(weights)
    return (weights > threshold).to(dtype).sum(-1)


def support_share(weights: Tensor, *, threshold: float = PUBLISHED_THRESHOLD, mask: Tensor | None = None) -> Tensor:
    """Share of the keys of each row whose weight is above `threshold`.

    Masked keys count in the denominator, as in the published study, unless `mask` says which are kept.

    >>> support_share(torch.tensor([0.75, 0.25, 0.0, 0.0]))
    tensor(0.5000)
    """
    dtype = _working(weights)
    above = (weights > threshold).to(dtype)
    if mask is None:
        return above.mean(-1)
    keep = broadcast(mask, weights)
    return (above * keep).sum(-1) / keep.sum(-1).clamp(min=1)


def entropy(weights: Tensor) -> Tensor:
    """Entropy of each row in nats; a row that does not sum to 1 is divided by its sum first.

    >>> entropy(torch.tensor([0.5, 0.5, 0.0]))
    tensor(0.6931)
    """
    dtype = _working(weights)
    w = weights.to(dtype)
    total = w.sum(-1, keepdim=True)
    p = w / torch.where(total == 0, 1.0, total)
    return -torch.where(p == 0, 0.0, p * torch.where(p == 0, 1.0, p).log()).sum(-1)


def peak(weights: Tensor) -> Tensor:
    """Largest weight of each row, as it is.

    >>> peak(torch.tensor([0.75, 0.25, 0.0]))
    tensor(0.7500)
    """
    dtype = _working(weights)
    return weights.to(dtype).amax(-1)


def per_head(values: Tensor, *, rows: Tensor | None = None) -> Tensor:
    """Mean of `values` (batch, heads, queries) for each head: (heads,), in float64.

    `rows`, boolean and broadcastable to `values`, says which queries count; all do where it is None. A head none of
    whose queries count gets NaN.

    >>> per_head(torch.tensor([[[1.0, 3.0], [2.0, 2.0]]]))
    tensor([2., 2.], dtype=torch.float64)
    """
    check_tensor(values, "values")
    if values.ndim != 3:
        raise ValueError(f"values must be (batch, heads, queries), got shape {tuple(values.shape)}")
    values = values.double()
    if rows is None:
        return values.mean((0, 2))
    counts = broadcast(rows, values)
    return torch.where(counts, values, 0.0).sum((0, 2)) / counts.sum((0, 2))


def _working(weights: Tensor) -> torch.dtype:
    check_tensor(weights, "weights")
    return torch.float64 if weights.dtype == torch.float64 else torch.float32
