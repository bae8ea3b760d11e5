"""Connectivity patterns: which keys a query may look at, as the `mask` that every normalizer takes.

Each pattern is a boolean tensor (queries, keys), True where the pair is kept; it broadcasts over batch and heads.
Patterns combine with `&` and `|`: local | global is the pattern of Longformer (Beltagy, Peters, Cohan 2020), local |
global | random that of BigBird (Zaheer et al. 2020), and `& causal_mask(n)` keeps any of them from looking ahead.
A pattern says where weight may go, a normalizer how it is shared out there; under a sparse one, part of what a pattern
keeps gets exact zeros still. The masks are dense: they show and test a pattern, they save no arithmetic.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

Device = torch.device | str | None


def causal_mask(n: int, *, device: Device = None) -> Tensor:
    """Keys up to the query itself: j ≤ i, shape (n, n). Raises ValueError for n < 1, as do all patterns.

    >>> causal_mask(3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    return _distance(n, device) >= 0


def local_mask(n: int, reach: int, *, device: Device = None) -> Tensor:
    """Keys at most `reach` places away: |i - j| ≤ reach, shape (n, n); reach 0 is the diagonal.

    The sliding window of Child et al. 2019 and Beltagy, Peters, Cohan 2020. Raises ValueError for reach < 0.

    >>> local_mask(4, 1).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 1, 0],
            [0, 1, 1, 1],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    _at_least("reach", reach, 0)
    return _distance(n, device).abs() <= reach


def strided_mask(n: int, stride: int, *, device: Device = None) -> Tensor:
    """Keys a whole number of strides away: i - j divisible by `stride`, shape (n, n); stride 1 keeps all.

    The strided part of Child et al. 2019. Raises ValueError for stride < 1.

    >>> strided_mask(4, 2).int()
    tensor([[1, 0, 1, 0],
            [0, 1, 0, 1],
            [1, 0, 1, 0],
            [0, 1, 0, 1]], dtype=torch.int32)
    """
    _at_least("stride", stride, 1)
    return _distance(n, device) % stride == 0


def global_mask(n: int, tokens: Sequence[int], *, device: Device = None) -> Tensor:
    """`tokens` (places 0..n-1) see every key and are seen by every query, shape (n, n); all else is dropped.

    A row outside `tokens` keeps `tokens` only, none where there are none. Source: Beltagy, Peters, Cohan 2020. Raises
    ValueError for a place outside 0..n-1.

    >>> global_mask(3, [0]).int()
    tensor([[1, 1, 1],
            [1, 0, 0],
            [1, 0, 0]], dtype=torch.int32)
    """
    _at_least("n", n, 1)
    outside = [token for token in tokens if not 0 <= token < n]
    if outside:
        raise ValueError(f"tokens must be in 0..{n - 1}, got {outside}")
    chosen = torch.zeros(n, dtype=torch.bool, device=device)
    chosen[list(tokens)] = True
    return chosen[:, None] | chosen


def random_mask(n: int, keys: int, *, generator: torch.Generator | None = None, device: Device = None) -> Tensor:
    """`keys` different keys for each query, drawn evenly, shape (n, n): the random part of Zaheer et al. 2020.

    `generator` belongs to `device`; torch's own is used where it is None. Raises ValueError for keys outside 0..n.

    >>> random_mask(4, 2, generator=torch.Generator().manual_seed(0)).sum(-1)
    tensor([2, 2, 2, 2])
    """
    _at_least("n", n, 1)
    if not 0 <= keys <= n:
        raise ValueError(f"keys must be in 0..{n}, got {keys}")
    drawn = torch.rand(n, n, generator=generator, device=device, dtype=torch.float64).argsort(-1)[:, :keys]
    return torch.zeros(n, n, dtype=torch.bool, device=device).scatter(-1, drawn, True)


def block_mask(n: int, size: int, *, device: Device = None) -> Tensor:
    """Keys of the query's own block of `size` neighbours, shape (n, n); the last block may be shorter.

    The block-diagonal pattern of Qiu et al. 2020. Raises ValueError for size < 1.

    >>> block_mask(3, 2).int()
    tensor([[1, 1, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    _at_least("size", size, 1)
    _at_least("n", n, 1)
    return cluster_mask(torch.arange(n, device=device) // size)


def cluster_mask(queries: Tensor, keys: Tensor | None = None) -> Tensor:
    """Keys of the query's own cluster, given labels: (..., queries) and (..., keys) to (..., queries, keys).

    `keys` are labelled as `queries` where they are None. With labels that come from the content, by
    `nearest_centroid`, this is the pattern of Roy et al. 2021. A query whose label no key has keeps nothing.

    >>> cluster_mask(torch.tensor([0, 1, 0])).int()
    tensor([[1, 0, 1],
            [0, 1, 0],
            [1, 0, 1]], dtype=torch.int32)
    """
    return queries[..., :, None] == (queries if keys is None else keys)[..., None, :]


def nearest_centroid(vectors: Tensor, centroids: Tensor) -> Tensor:
    """Label of each of `vectors` (..., n, width): the one of `centroids` (clusters, width) at the smallest angle.

    Ties go to the lowest label. Source: Roy et al. 2021, whose vectors and centroids have length 1.

    >>> nearest_centroid(torch.tensor([[2.0, 0.1], [0.0, 0.3]]), torch.eye(2))
    tensor([0, 1])
    """
    unit = torch.nn.functional.normalize(centroids, dim=-1)
    return (vectors @ unit.mT).argmax(-1)


def _distance(n: int, device: Device) -> Tensor:
    """i - j for queries i and keys j, shape (n, n)."""
    _at_least("n", n, 1)
    places = torch.arange(n, device=device)
    return places[:, None] - places


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
