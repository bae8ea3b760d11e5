"""How the figures of a claim are written: short, published and own in one form, empty where there are none."""

import math
from collections.abc import Callable, Iterable, Mapping

from analysis.table import fixed, p_value, signed


def range_of(values: Iterable[float], show: Callable[[float], str]) -> str:
    """`least to largest` of the values that are known, one of them where they look the same, empty without any."""
    known = sorted(value for value in values if not math.isnan(value))
    return " to ".join(dict.fromkeys(show(value) for value in (known[0], known[-1]))) if known else ""


def decimals(value: float) -> str:
    """An accuracy with the three decimals of the published tables."""
    return fixed(value, 3)


def ranking(gains: Mapping[str, float], digits: int) -> str:
    """The three largest of `gains` by display name, the largest first; those that are NaN do not count."""
    known = sorted((-gain, name) for name, gain in gains.items() if not math.isnan(gain))
    return " > ".join(f"{name} {signed(-gain, digits)}" for gain, name in known[:3])


def differences(rows: Iterable[tuple[float, float]]) -> str:
    """The range of (difference, p) rows and the least p."""
    pairs = list(rows)
    shown = range_of((difference for difference, _ in pairs), signed)
    tests = [p for _, p in pairs if not math.isnan(p)]
    return f"{shown}, least p {p_value(min(tests))}" if tests else shown


def alphas(means: Iterable[float], seeds: Iterable[float]) -> str:
    """The range of mean α over the data sets, and over all seeds."""
    shown = [range_of(values, lambda alpha: fixed(alpha, 4)) for values in (means, seeds)]
    return f"mean {shown[0]}, seeds {shown[1]}" if shown[0] else ""


def times(ratio: float) -> str:
    """A ratio of times."""
    return fixed(ratio, 2, "x")
