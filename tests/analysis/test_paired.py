"""Known values, the statuses, and properties of the pure statistics."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from analysis.paired import cohen_dz, hedges_g, holm, mean_sd, paired_t, t_interval, tost, wins

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
    assert t_interval(difference, 0.95, m=6) == pytest.approx((-2.8885, -0.2715), abs=5e-5)
    assert t_interval(difference, 0.95, m=1) == t_interval(difference, 0.95)


def test_effect_sizes_of_sleep() -> None:
    difference = np.subtract(SLEEP_A, SLEEP_B)
    assert cohen_dz(difference) == pytest.approx(-1.284557563, abs=5e-10)
    assert hedges_g(difference) == pytest.approx(-1.173924904, abs=5e-10)
    assert hedges_g(difference) / cohen_dz(difference) == pytest.approx(0.913874892, abs=5e-10)


def test_the_correction_of_hedges_does_not_overflow_and_goes_to_one() -> None:
    many = np.tile([0.1, 0.2], 5000)
    assert 0.9999 < hedges_g(many) / cohen_dz(many) < 1
    # v = 2: gamma(1) / gamma(1/2).
    assert hedges_g([1, 2, 6]) / cohen_dz([1, 2, 6]) == pytest.approx(1 / math.sqrt(math.pi))
    assert math.isnan(hedges_g([1, 2]))
    assert math.isnan(cohen_dz([0.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("a", "b", "margin", "p"),
    [
        (SLEEP_A, SLEEP_B, 2, 0.154157237),
        (SLEEP_A, SLEEP_B, 3, 0.002655570),
        ([4, 7, 8, 6, 3, 2], [6, 8, 7, 10, 11, 9], 0.5, 0.954854),
    ],
)
def test_equivalence_known_values(a: list[float], b: list[float], margin: float, p: float) -> None:
    assert tost(np.subtract(a, b), margin) == pytest.approx(p, abs=1.5e-6 if margin < 1 else 2e-9)


@given(matched, st.floats(0.001, 1))
def test_equivalence_agrees_with_statsmodels(pairs: list[tuple[float, float]], margin: float) -> None:
    a, b = np.array(pairs).T
    if paired_t(a, b).status == "ok":
        assert tost(a - b, margin) == pytest.approx(ttost_paired(a, b, -margin, margin)[0], rel=1e-6, abs=1e-12)


def test_equivalence_needs_a_spread() -> None:
    assert math.isnan(tost([0.0, 0.0, 0.0], 0.01))
    assert math.isnan(tost([0.001], 0.01))


def test_wins_ties_and_losses_of_sleep() -> None:
    assert wins(SLEEP_A, SLEEP_B) == (0, 1, 9)
    assert wins([0.1 + 0.2, 0.5, 0.4], [0.3, 0.4, 0.5]) == (1, 1, 1)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_very_small_and_very_large_values_give_the_same_test(size: float) -> None:
    test, reference = paired_t(np.multiply(SLEEP_A, size), np.multiply(SLEEP_B, size)), paired_t(SLEEP_A, SLEEP_B)
    assert (test.t, test.p) == pytest.approx((reference.t, reference.p), rel=1e-12)
    assert np.divide(test.interval, size) == pytest.approx(reference.interval, rel=1e-12)
    assert hedges_g(np.subtract(SLEEP_A, SLEEP_B) * size) == pytest.approx(-1.173924904, abs=5e-10)
    assert tost(np.subtract(SLEEP_A, SLEEP_B) * size, 0.01) == pytest.approx(0 if size < 1 else 0.998583, abs=1e-6)


def test_a_confidence_very_near_one_gives_a_finite_interval() -> None:
    low, high = t_interval(np.subtract(SLEEP_A, SLEEP_B), 1 - 2**-53, m=24)
    assert -math.inf < low < -80
    assert 80 < high < math.inf


def test_a_mean_on_the_half_of_a_digit_falls_on_its_true_side() -> None:
    values = [0.0965, 0.0995, 0.101, 0.1045, 0.099, 0.0965, 0.1045, 0.1045, 0.1045, 0.0945]
    assert f"{mean_sd(values)[0]:.3f}" == "0.100"


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
