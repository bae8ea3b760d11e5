"""Paired statistics as pure functions over arrays; no names, no files, no frames.

scipy.special rather than scipy.stats: the same distribution functions, and an import that is a second faster.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, stdtr, stdtrit

Outcome = Literal["ok", "identical", "degenerate", "too few"]
Interval = tuple[float, float]

NAN = float("nan")
NO_INTERVAL: Interval = (NAN, NAN)

ROUNDING = 1e-12
"""Relative to the larger operand: 0.801 - 0.8 and 0.401 - 0.4 differ by less than this, real differences by more."""


@dataclass(frozen=True)
class PairedT:
    """A paired two-sided t test; what a status other than `ok` leaves undefined is NaN."""

    status: Outcome
    n: int
    mean: float
    interval: Interval
    t: float
    df: float
    p: float


def mean_sd(values: ArrayLike) -> tuple[float, float]:
    """Mean and standard deviation (ddof 1) of `values`, shape (n,); NaN where n does not allow them."""
    x, exponent = _scaled(values)
    mean = float(np.ldexp(_mean(x), exponent)) if x.size else NAN
    return mean, float(np.ldexp(x.std(ddof=1), exponent)) if x.size > 1 else NAN


def t_interval(values: ArrayLike, confidence: float, m: int = 1) -> Interval:
    """Student's confidence interval of the mean of `values`, shape (n,); NaN below n = 2.

    With `m` above 1 it is one of m intervals that all hold together with `confidence` (Bonferroni).
    """
    x, exponent = _scaled(values)
    if x.size < 2:
        return NO_INTERVAL
    # From the lower tail: 1 - (1 - confidence) / m would be rounded to 1 where the confidence is high.
    half = -float(stdtrit(x.size - 1, (1 - confidence) / m / 2)) * standard_error(x)
    return float(np.ldexp(_mean(x) - half, exponent)), float(np.ldexp(_mean(x) + half, exponent))


def standard_error(values: ArrayLike) -> float:
    """The standard error of the mean of `values`, shape (n,); NaN below n = 2."""
    x = np.asarray(values, dtype=np.float64)
    return mean_sd(x)[1] / math.sqrt(max(x.size, 1))


def paired_t(treatment: ArrayLike, control: ArrayLike, confidence: float = 0.95) -> PairedT:
    """The paired t test of treatment - control, both of shape (n,) and matched by position.

    Differences that are all zero give `identical`, all the same `degenerate` (both up to ROUNDING, because a constant
    difference of floats varies in its last bits and would give p = 0), fewer than two `too few`. Raises ValueError for
    shapes that do not match and for values that are not finite.
    """
    a, b = np.asarray(treatment, dtype=np.float64), np.asarray(control, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"matched values must have one common shape (n,), not {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("matched values must be finite")
    d = a - b
    tolerance = ROUNDING * float(np.maximum(np.abs(a), np.abs(b)).max(initial=0.0))
    if d.size < 2:
        return PairedT("too few", d.size, mean_sd(d)[0], NO_INTERVAL, NAN, NAN, NAN)
    if np.abs(d).max() <= tolerance:
        return PairedT("identical", d.size, 0.0, NO_INTERVAL, NAN, NAN, NAN)
    if np.ptp(d) <= tolerance:
        return PairedT("degenerate", d.size, mean_sd(d)[0], NO_INTERVAL, NAN, NAN, NAN)
    df, x = float(d.size - 1), _scaled(d)[0]
    t = _mean(x) / standard_error(x)
    return PairedT("ok", d.size, mean_sd(d)[0], t_interval(d, confidence), t, df, float(2 * stdtr(df, -abs(t))))


def cohen_dz(difference: ArrayLike) -> float:
    """The standardized mean of paired differences, shape (n,): mean / sd. NaN where there is no spread."""
    mean, sd = mean_sd(_scaled(difference)[0])
    return mean / sd if sd > 0 else NAN


def hedges_g(difference: ArrayLike) -> float:
    """`cohen_dz` without its bias in small samples: times gamma(v/2) / (sqrt(v/2) gamma((v-1)/2)), v = n - 1.

    NaN below n = 3, where that factor is 0. Source: Hedges (1981), Journal of Educational Statistics 6.
    """
    v = np.size(difference) - 1
    if v < 2:
        return NAN
    # Logarithms, because the gamma function overflows from n = 345 on.
    return cohen_dz(difference) * math.exp(gammaln(v / 2) - gammaln((v - 1) / 2)) / math.sqrt(v / 2)


def wins(treatment: ArrayLike, control: ArrayLike) -> tuple[int, int, int]:
    """(wins, ties, losses) of the treatment over matched values, both of shape (n,); ties up to ROUNDING."""
    a, b = np.asarray(treatment, dtype=np.float64), np.asarray(control, dtype=np.float64)
    d, tie = a - b, np.abs(a - b) <= ROUNDING * np.maximum(np.abs(a), np.abs(b))
    return int(np.sum((d > 0) & ~tie)), int(np.sum(tie)), int(np.sum((d < 0) & ~tie))


def tost(difference: ArrayLike, margin: float) -> float:
    """p of equivalence: two one-sided t tests that the mean of `difference`, shape (n,), lies within +-`margin`.

    The larger of the two p; NaN where there is no spread or n is below 2. Source: Schuirmann (1987), Journal of
    Pharmacokinetics and Biopharmaceutics 15.
    """
    mean, error = mean_sd(difference)[0], standard_error(difference)
    if not error > 0:
        return NAN
    # Differences far below the margin may give an infinite t, whose p is 0.
    with np.errstate(over="ignore"):
        t = np.array([margin + mean, margin - mean]) / error
    return float(stdtr(np.size(difference) - 1, -t).max())


def _mean(x: NDArray[np.float64]) -> float:
    """The mean of a sum that is rounded once: a mean on the half of a printed digit then falls on its true side."""
    return math.fsum(x) / x.size


def _scaled(values: ArrayLike) -> tuple[NDArray[np.float64], int]:
    """`values` times a power of two that brings the largest near 1, and the exponent that takes it back.

    Exact, and squares of values of 1e-300 are then no longer 0.
    """
    x = np.asarray(values, dtype=np.float64)
    exponent = int(np.frexp(np.abs(x).max(initial=0.0))[1])
    return np.ldexp(x, -exponent), exponent


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjusted p values of one family, shape (m,) -> (m,) in the same order.

    NaN marks a planned test without a result: it stays NaN and still counts in m. Source: Holm (1979), Scandinavian
    Journal of Statistics 6.
    """
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(raw))
    ascending = tested[np.argsort(raw[tested], kind="stable")]
    steps = raw[ascending] * (raw.size - np.arange(ascending.size))
    adjusted[ascending] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted
