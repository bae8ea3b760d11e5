"""Paired statistics as pure functions over arrays; no names, no files, no frames.

scipy.special rather than scipy.stats: the same distribution functions, and an import that is a second faster.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

Outcome = Literal["ok", "identical", "degenerate", "too few"]
Interval = tuple[float, float]

NO_INTERVAL: Interval = (float("nan"), float("nan"))

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
    x = np.asarray(values, dtype=np.float64)
    return (float(x.mean()) if x.size else float("nan"), float(x.std(ddof=1)) if x.size > 1 else float("nan"))


def t_interval(values: ArrayLike, confidence: float) -> Interval:
    """Student's confidence interval of the mean of `values`, shape (n,); NaN below n = 2."""
    x = np.asarray(values, dtype=np.float64)
    if x.size < 2:
        return NO_INTERVAL
    mean, sd = mean_sd(x)
    half = float(stdtrit(x.size - 1, 0.5 + confidence / 2)) * sd / np.sqrt(x.size)
    return float(mean - half), float(mean + half)


def simultaneous(confidence: float, m: int) -> float:
    """The level at which each of `m` intervals is taken so that all hold together with `confidence` (Bonferroni)."""
    return 1 - (1 - confidence) / m


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
    nan, d = float("nan"), a - b
    mean = float(d.mean()) if d.size else nan
    tolerance = ROUNDING * float(np.maximum(np.abs(a), np.abs(b)).max(initial=0.0))
    if d.size < 2:
        return PairedT("too few", d.size, mean, NO_INTERVAL, nan, nan, nan)
    if np.abs(d).max() <= tolerance:
        return PairedT("identical", d.size, 0.0, NO_INTERVAL, nan, nan, nan)
    if np.ptp(d) <= tolerance:
        return PairedT("degenerate", d.size, mean, NO_INTERVAL, nan, nan, nan)
    df = float(d.size - 1)
    t = mean / (float(d.std(ddof=1)) / d.size**0.5)
    return PairedT("ok", d.size, mean, t_interval(d, confidence), t, df, float(2 * stdtr(df, -abs(t))))


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
