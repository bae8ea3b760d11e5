"""The sign-flip test: under no difference every paired difference could as well have had the other sign.

It assumes symmetry and no distribution. Source: Fisher (1935), The Design of Experiments, section 21.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

EXACT = 20
"""Up to this n all 2^n sign vectors are taken; above it, DRAWS random ones."""

DRAWS = 100_000
SEED = 20_260_101
TIES = 1e-9
"""Relative to the sum of all magnitudes: sums of the same numbers differ by less, those of other numbers by more."""


def sign_flip_p(difference: ArrayLike) -> float:
    """The two-sided p of the mean of `difference`, shape (n,): the share of sign vectors with a |mean| as large.

    Up to n = EXACT the share of all 2^n. Above, (1 + hits) / (1 + DRAWS) over draws from a generator with a fixed seed,
    so the same differences always give the same p; source of the correction: Phipson and Smyth (2010), Statistical
    Applications in Genetics and Molecular Biology 9. NaN at n = 0.
    """
    d = np.asarray(difference, dtype=np.float64)
    if not d.size:
        return float("nan")
    exact = d.size <= EXACT
    sums = _all_sums(d) if exact else _random_sums(d)
    hits = np.count_nonzero(np.abs(sums) >= abs(d.sum()) - TIES * np.abs(d).sum())
    return hits / sums.size if exact else (1 + hits) / (1 + sums.size)


def least_p(n: int) -> float:
    """The least p that `sign_flip_p` can give for `n` differences: 2 / 2^n, or that of the draws."""
    return 2.0 ** (1 - n) if n <= EXACT else 1 / (1 + DRAWS)


def _all_sums(d: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of `d`, shape (n,), under every sign vector: shape (2^n,)."""
    sums = np.zeros(1)
    for value in d:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _random_sums(d: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of `d` under DRAWS random sign vectors: a random byte picks the signs of eight differences at once."""
    generator = np.random.default_rng(SEED)
    sums = np.zeros(DRAWS)
    for start in range(0, d.size, 8):
        table = _all_sums(d[start : start + 8])
        sums += table[generator.integers(table.size, size=DRAWS, dtype=np.uint8)]
    return sums
