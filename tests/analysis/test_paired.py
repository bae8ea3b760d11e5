"""Known values, the statuses, and properties of the pure statistics."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.paired import holm, mean_sd, paired_t, simultaneous, t_interval

SLEEP_A = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_B = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

values = st.integers(-2000, 2000).map(lambda k: k / 2000)
matched = st.lists(st.tuples(values, values), min_size=2, max_size=30)
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_sleep_has_the_values_that_r_gives() -> None:
    test = paired_t(SLEEP_A, SLEEP_B)
    assert (test.status, test.n, test.df) == ("ok", 10, 9)
    assert test.t == pytest.approx(-4.062127683382037, rel=1e-12)
    assert test.p == pytest.approx(0.002832890197384273, rel=1e-12)
    assert test.interval == pytest.approx((-2.459885763, -0.700114237), abs=5e-10)


def test_simultaneous_interval_of_sleep_in_a_family_of_six() -> None:
    difference = np.subtract(SLEEP_A, SLEEP_B)
    assert t_interval(difference, simultaneous(0.95, 6)) == pytest.approx((-2.8885, -0.2715), abs=5e-5)
    assert simultaneous(0.95, 1) == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("raw", "adjusted"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.319, 0.201, 0.4, 0.374, 0.113], [0.957, 0.804, 0.957, 0.957, 0.565]),
    ],
)
def test_holm_known_vectors(raw: list[float], adjusted: list[float]) -> None:
    assert holm(raw) == pytest.approx(adjusted, abs=1e-12)


def test_holm_counts_a_test_without_result_in_m() -> None:
    assert holm([0.01, math.nan, 0.04]) == pytest.approx([0.03, math.nan, 0.08], nan_ok=True)
    assert np.isnan(holm([math.nan])).all()
    assert holm([]).shape == (0,)


@given(p_values)
def test_holm_is_monotone_never_below_the_raw_p_and_at_most_one(raw: list[float]) -> None:
    adjusted = holm(raw)
    ascending = adjusted[np.argsort(raw, kind="stable")]
    assert (np.diff(ascending) >= 0).all()
    assert (adjusted >= np.asarray(raw)).all()
    assert (adjusted <= 1).all()


@given(matched)
def test_paired_t_agrees_with_scipy(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    test = paired_t(a, b, confidence=0.9)
    if test.status != "ok":
        assert np.ptp(np.round(a - b, 9)) == 0
        return
    reference = stats.ttest_rel(a, b)
    low, high = reference.confidence_interval(0.9)
    assert test.t == pytest.approx(reference.statistic, rel=1e-8)
    assert test.p == pytest.approx(reference.pvalue, rel=1e-6)
    assert test.interval == pytest.approx((low, high), rel=1e-8, abs=1e-12)


def test_equal_values_are_identical_and_have_no_p() -> None:
    test = paired_t([0.3, 0.4, 0.1 + 0.2], [0.3, 0.4, 0.3])
    assert (test.status, test.n, test.mean) == ("identical", 3, 0.0)
    assert math.isnan(test.p)
    assert math.isnan(test.t)
    assert all(map(math.isnan, test.interval))


def test_ten_differences_of_one_thousandth_are_degenerate_though_floats_differ_in_the_last_bits() -> None:
    control = np.array([10, 12, 14, 100, 200, 330, 500, 700, 800, 990]) / 1000
    treatment = np.array([11, 13, 15, 101, 201, 331, 501, 701, 801, 991]) / 1000
    assert np.ptp(treatment - control) > 0
    test = paired_t(treatment, control)
    assert test.status == "degenerate"
    assert test.mean == pytest.approx(0.001)
    assert math.isnan(test.p)


def test_a_difference_that_varies_by_one_test_row_is_no_degenerate_one() -> None:
    test = paired_t([0.8005, 0.7, 0.6], [0.8, 0.7, 0.6])
    assert test.status == "ok"
    assert 0 < test.p < 1


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_pairs_are_too_few(n: int) -> None:
    test = paired_t([0.5] * n, [0.4] * n)
    assert (test.status, test.n) == ("too few", n)
    assert math.isnan(test.p)


def test_values_that_do_not_match_or_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one common shape \(n,\), not \(2,\) and \(3,\)"):
        paired_t([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="must be finite"):
        paired_t([1, math.nan], [1, 2])


def test_mean_and_sd_where_n_is_small() -> None:
    assert mean_sd([1.0, 3.0]) == pytest.approx((2.0, math.sqrt(2)))
    assert mean_sd([1.0]) == pytest.approx((1.0, math.nan), nan_ok=True)
    assert mean_sd([]) == pytest.approx((math.nan, math.nan), nan_ok=True)
