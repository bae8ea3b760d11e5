"""What the page's curves and matrices are made of, computed by the library: one dictionary, embedded as JSON."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from normalizers import (
    asentmax,
    block_mask,
    causal_mask,
    cluster_mask,
    entmax,
    entmax_loss,
    entropy,
    global_mask,
    local_mask,
    nearest_centroid,
    peak,
    random_mask,
    scalable_softmax,
    softmax,
    sparsemax,
    strided_mask,
    topk_softmax,
)

DIGITS, DECIMALS = 6, 12
"""Significant digits of every embedded number, and the most that stand after its point.

Enough for the drawings, and far from the last digits, about the 13th, in which processors differ.
"""
LENGTHS = [2**power for power in range(3, 15)]
SPREADS = [1.0, 2.0, 4.0, 8.0]
LEADS = [0.5 * step for step in range(9)]
ALPHAS = [1.0, 1.25, 1.5, 2.0]
MARGINS = [-2 + 0.1 * step for step in range(81)]
CLASSES = [2, 10, 100]
TOKENS = 24
CLUSTERS = 4
SIZES = list(range(1, 9))
SEED = 7


def grids() -> dict[str, Any]:
    """Everything embedded: `length` (context), `loss` (margin), `pattern` (connectivity), `points` (regression)."""
    return {"length": _length(), "loss": _loss(), "pattern": _pattern(), "points": _points()}


def _rounded(values: Tensor) -> Any:
    """`values` as nested lists of numbers with DIGITS significant digits and at most DECIMALS decimals."""
    if values.ndim:
        return [_rounded(value) for value in values]
    return round(float(f"{values.item():.{DIGITS}g}"), DECIMALS) + 0.0  # no -0.0


def _length() -> dict[str, Any]:
    """Peak weight and entropy [map][spread][lead][length].

    The scores are evenly spaced from 0 to `spread`, and one key more leads the best of them by `lead`.
    """
    maps: dict[str, Callable[[Tensor], Tensor]] = {
        "softmax": softmax,
        "scalable softmax (s = 1)": lambda z: scalable_softmax(z, 1.0),
        "top-k (k = 8)": lambda z: topk_softmax(z, k=8),
        "entmax-1.5": lambda z: entmax(z, 1.5),
        "ASEntmax (1.5, β = γ = 1)": lambda z: asentmax(z, 1.5, beta=1.0, gamma=1.0),
        "sparsemax": sparsemax,
    }
    shape = (len(LENGTHS), len(SPREADS), len(LEADS))
    rows = [torch.stack([_leading(spread, lead, n) for spread in SPREADS for lead in LEADS]) for n in LENGTHS]
    curves = []
    for name, map_ in maps.items():
        weights = [map_(of_length) for of_length in rows]
        peaks, entropies = (torch.stack(list(map(statistic, weights))) for statistic in (peak, entropy))
        found = {"peak": peaks, "entropy": entropies}
        curves.append({"name": name, **{kind: _rounded(v.view(shape).permute(1, 2, 0)) for kind, v in found.items()}})
    return {"lengths": LENGTHS, "spreads": SPREADS, "leads": LEADS, "curves": curves}


def _leading(spread: float, lead: float, n: int) -> Tensor:
    others = torch.linspace(0.0, spread, n - 1, dtype=torch.float64)
    return torch.cat([others, others.new_tensor([spread + lead])])


def _loss() -> dict[str, Any]:
    """Loss [classes][α][margin] of scores (margin, 0, ..., 0) for the first class."""
    margins = torch.tensor(MARGINS, dtype=torch.float64)
    values = torch.empty(len(CLASSES), len(ALPHAS), len(MARGINS), dtype=torch.float64)
    for place, classes in enumerate(CLASSES):
        scores = torch.zeros(len(MARGINS), classes, dtype=torch.float64)
        scores[:, 0] = margins
        target = torch.zeros(len(MARGINS), dtype=torch.int64)
        for index, alpha in enumerate(ALPHAS):
            values[place, index] = entmax_loss(scores, target, alpha, reduction="none")
    return {"margins": _rounded(margins), "classes": CLASSES, "alphas": ALPHAS, "values": _rounded(values)}


def _pattern() -> dict[str, Any]:
    """A matrix of scores, and for each pattern and size its mask: per row a number whose bit j is key j."""
    generator = torch.Generator().manual_seed(SEED)
    centroids = 2.2 * torch.nn.functional.normalize(
        torch.randn(CLUSTERS, 8, generator=generator, dtype=torch.float64), dim=-1
    )
    meant = torch.randint(CLUSTERS, (TOKENS,), generator=generator)
    vectors = centroids[meant] + 0.45 * torch.randn(TOKENS, 8, generator=generator, dtype=torch.float64)
    drawn = [random_mask(TOKENS, size, generator=torch.Generator().manual_seed(SEED)) for size in SIZES]
    places = [range(size) for size in SIZES]
    everything = torch.ones(TOKENS, TOKENS, dtype=torch.bool)
    diagonal = local_mask(TOKENS, 0)
    # The first `size` tokens stand for centroids, so that every size divides the tokens in another way.
    labels = [nearest_centroid(vectors, vectors[:size]) for size in SIZES]
    masks = {
        "dense": [everything for _ in SIZES],
        "local": [local_mask(TOKENS, size) for size in SIZES],
        "strided": [strided_mask(TOKENS, size) for size in SIZES],
        "global": [global_mask(TOKENS, first) for first in places],
        "random": [mask | diagonal for mask in drawn],
        "block": [block_mask(TOKENS, size) for size in SIZES],
        "clusters": [cluster_mask(label) for label in labels],
        "longformer": [local_mask(TOKENS, size) | global_mask(TOKENS, [0, 1]) for size in SIZES],
        "bigbird": [
            local_mask(TOKENS, size) | global_mask(TOKENS, [0, 1]) | mask
            for size, mask in zip(SIZES, drawn, strict=True)
        ],
    }
    return {
        "scores": _rounded(vectors @ vectors.T / 8**0.5),
        "sizes": SIZES,
        "masks": {name: [_bits(mask) for mask in of_sizes] for name, of_sizes in masks.items()},
        "causal": _bits(causal_mask(TOKENS)),
    }


def _bits(mask: Tensor) -> list[int]:
    return [sum(1 << key for key, kept in enumerate(row) if kept) for row in mask.tolist()]


def _points() -> dict[str, Any]:
    """Data for regression on [0, 1]: evenly spread places, a smooth curve with a step, and noise."""
    generator = torch.Generator().manual_seed(SEED)
    x = torch.linspace(0.02, 0.98, 36, dtype=torch.float64)
    noise = torch.randn(len(x), generator=generator, dtype=torch.float64)
    y = 0.6 * torch.sin(7 * x) + (x > 0.62).double() + 0.12 * noise
    return {"x": _rounded(x), "y": _rounded(y)}
