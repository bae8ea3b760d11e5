"""Power and sample size against statsmodels."""

import math

import pytest
from statsmodels.stats.power import TTestPower

from analysis.power import LARGEST, pairs_needed, power

LEVELS = (0.05, 0.05 / 24)


@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize("n", [3, 5, 10, 30, 200])
@pytest.mark.parametrize("effect", [0.05, 0.3, 0.8, 2.0, -0.8])
def test_power_agrees_with_statsmodels(effect: float, n: int, alpha: float) -> None:
    expected = TTestPower().power(effect, n, alpha, alternative="two-sided")
    if math.isnan(expected):  # its lower tail was too small to compute
        expected = TTestPower().power(abs(effect), n, alpha / 2, alternative="larger")
    assert power(effect, n, alpha) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize("target", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("effect", [0.1, 0.4, 1.0])
def test_the_number_of_pairs_agrees_with_statsmodels(effect: float, target: float, alpha: float) -> None:
    n = TTestPower().solve_power(effect, power=target, alpha=alpha, alternative="two-sided")
    assert pairs_needed(effect, target, alpha) == math.ceil(n)


def test_it_is_the_least_number() -> None:
    n = pairs_needed(0.7, 0.8, 0.05)
    assert n is not None
    assert power(0.7, n - 1, 0.05) < 0.8 <= power(0.7, n, 0.05)
    assert pairs_needed(1e9, 0.8, 0.05) == 2


def test_without_an_effect_there_is_no_number() -> None:
    assert pairs_needed(0.0, 0.8, 0.05) is None
    assert pairs_needed(math.nan, 0.8, 0.05) is None
    assert pairs_needed(1e-5, 0.8, 0.05) is None
    assert power(1e-5, LARGEST, 0.05) < 0.8
    assert math.isnan(power(1.0, 1, 0.05))


def test_power_without_an_effect_is_the_level() -> None:
    assert power(0.0, 10, 0.05) == pytest.approx(0.05)
