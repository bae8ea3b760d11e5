"""Welch's figures against scipy.stats, and where there are none."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis import welch
from analysis.welch import Sample

CASES = [
    (Sample(0.382, 0.019, 10), Sample(0.397, 0.012, 10)),
    (Sample(12.5, 3.1, 7), Sample(9.75, 0.4, 23)),
    (Sample(-1.0, 0.0, 4), Sample(0.5, 2.0, 2)),
]


def test_student_sleep() -> None:
    # R: t.test(extra ~ group, data = sleep)
    d = welch.difference(Sample(0.75, 1.789010, 10), Sample(2.33, 2.002249, 10))
    assert d.value / d.error == pytest.approx(-1.8608, abs=5e-5)
    assert d.df == pytest.approx(17.776, abs=5e-4)
    assert welch.two_sided(d) == pytest.approx(0.07939, abs=5e-6)
    assert welch.interval(d, 0.95) == pytest.approx((-3.3654832, 0.2054832), abs=1e-5)


@pytest.mark.parametrize(("a", "b"), CASES)
def test_against_scipy(a: Sample, b: Sample) -> None:
    sides = (a.mean, a.sd, a.n, b.mean, b.sd, b.n)
    oracle = stats.ttest_ind_from_stats(*sides, equal_var=False)
    d = welch.difference(a, b)
    assert d.value / d.error == pytest.approx(oracle.statistic)
    assert welch.two_sided(d) == pytest.approx(oracle.pvalue)
    for margin in (0.01, 0.5, 5.0):
        # Each one-sided test is the test of a mean moved by the margin.
        below = stats.ttest_ind_from_stats(a.mean + margin, *sides[1:], equal_var=False, alternative="greater").pvalue
        above = stats.ttest_ind_from_stats(a.mean - margin, *sides[1:], equal_var=False, alternative="less").pvalue
        assert welch.equivalence(d, margin) == pytest.approx(max(below, above))


def test_interval_against_scipy_on_values() -> None:
    generator = np.random.default_rng(5)
    x, y = generator.normal(0.4, 0.02, 10), generator.normal(0.41, 0.01, 6)
    d = welch.difference(*(Sample(v.mean(), v.std(ddof=1), v.size) for v in (x, y)))
    oracle = stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.9)
    assert welch.interval(d, 0.9) == pytest.approx((oracle.low, oracle.high))


@pytest.mark.parametrize("margin", [0.002, 0.01, 0.03])
def test_equivalence_agrees_with_the_interval_at_twice_the_level(margin: float) -> None:
    for shift in np.linspace(-0.03, 0.03, 25):
        d = welch.difference(Sample(0.4 + shift, 0.01, 10), Sample(0.4, 0.012, 10))
        low, high = welch.interval(d, 0.90)
        assert (welch.equivalence(d, margin) <= 0.05) == (-margin <= low and high <= margin)


@pytest.mark.parametrize("other", [Sample(0.4, math.nan, 1), Sample(0.4, 0.0, 10)])
def test_no_test_without_spread_or_with_one_run(other: Sample) -> None:
    d = welch.difference(Sample(0.5, 0.0, 10), other)
    assert d.value == pytest.approx(0.1)
    undefined = (d.error, d.df, welch.two_sided(d), welch.equivalence(d, 0.01), *welch.interval(d, 0.95))
    assert all(math.isnan(value) for value in undefined)


def test_a_margin_must_be_positive() -> None:
    with pytest.raises(ValueError, match="margin must be positive, not 0"):
        welch.equivalence(welch.difference(*CASES[0]), 0.0)
