"""Power of the paired t test: how many seeds a planned comparison needs. Pure functions over numbers."""

import math

from scipy.special import nctdtr, stdtrit

LARGEST = 1_000_000
"""No search for more seeds than this."""


def power(effect: float, n: int, alpha: float) -> float:
    """The probability that a two-sided paired t test at level `alpha` rejects, with `n` pairs.

    `effect` is the true mean difference over the true sd of differences. NaN below n = 2. Source: the noncentral t
    distribution, Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 2.
    """
    if n < 2 or math.isnan(effect):
        return float("nan")
    shift, critical = abs(effect) * math.sqrt(n), float(stdtrit(n - 1, alpha / 2))
    # Both tails as lower tails, since 1 - F would lose a small one; where scipy cannot compute one it is 0, or 1 where
    # the effect is beyond the critical value.
    upper, lower = float(nctdtr(n - 1, -shift, critical)), float(nctdtr(n - 1, shift, critical))
    if math.isnan(upper):
        return float(shift > -critical)
    return min(1.0, upper + (0.0 if math.isnan(lower) else lower))


def pairs_needed(effect: float, target: float, alpha: float) -> int | None:
    """The least n with `power(effect, n, alpha)` of at least `target`; None above LARGEST or without an effect."""
    if not abs(effect) > 0 or power(effect, LARGEST, alpha) < target:
        return None
    low, high = 1, 2
    while power(effect, high, alpha) < target:
        low, high = high, min(2 * high, LARGEST)
    # Power grows with n, so the least n lies in (low, high].
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(effect, middle, alpha) >= target else (middle, high)
    return high
