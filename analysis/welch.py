"""Welch's comparison of two independent means, from their summary figures alone; no names, no files, no frames."""

import math
from dataclasses import dataclass

from scipy.special import stdtr, stdtrit


@dataclass(frozen=True)
class Sample:
    """Mean and standard deviation (ddof 1) of n values."""

    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class Difference:
    """a - b: its value, its standard error and Welch's degrees of freedom; what cannot be estimated is NaN."""

    value: float
    error: float
    df: float


def difference(a: Sample, b: Sample) -> Difference:
    """The difference of two independent means, without assuming equal variances.

    Error and df are NaN below two values on either side and where neither side varies. Source: Welch (1947),
    Biometrika 34; df of Satterthwaite (1946), Biometrics Bulletin 2.
    """
    value = a.mean - b.mean
    if min(a.n, b.n) < 2 or not (a.sd > 0 or b.sd > 0):
        return Difference(value, math.nan, math.nan)
    parts = [(sample.sd**2 / sample.n, sample.n) for sample in (a, b)]
    variance = sum(part for part, _ in parts)
    return Difference(value, math.sqrt(variance), variance**2 / sum(part**2 / (n - 1) for part, n in parts))


def interval(d: Difference, confidence: float) -> tuple[float, float]:
    """The t interval of the difference."""
    # From the lower tail: the upper level would be rounded to 1 where the confidence is high.
    half = -float(stdtrit(d.df, (1 - confidence) / 2)) * d.error
    return d.value - half, d.value + half


def two_sided(d: Difference) -> float:
    """The p of `the means are equal`."""
    return float(2 * stdtr(d.df, -abs(d.value) / d.error))


def equivalence(d: Difference, margin: float) -> float:
    """The p of `the means lie at least margin apart`: the larger of the two one-sided p values.

    Source: Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15. Raises ValueError where the margin
    is not positive.
    """
    if not margin > 0:
        raise ValueError(f"margin must be positive, not {margin}")
    # Both one-sided tests share the error, so the one with the nearer bound is the larger.
    return float(stdtr(d.df, (abs(d.value) - margin) / d.error))
