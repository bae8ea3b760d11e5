"""The sign-flip test against known values, brute force and the t test."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.signflip import DRAWS, EXACT, least_p, sign_flip_p

SLEEP = np.subtract(
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0], [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
)


def test_sleep() -> None:
    assert sign_flip_p(SLEEP) == 4 / 1024


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9))
def test_it_counts_what_brute_force_counts(counts: list[int]) -> None:
    # Whole numbers sum without rounding, so ties are exact here; as accuracies they are not.
    sums = [
        abs(sum(s * c for s, c in zip(signs, counts, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(counts))
    ]
    expected = sum(value >= abs(sum(counts)) for value in sums) / len(sums)
    assert sign_flip_p([count / 2000 for count in counts]) == expected


def test_scipy_agrees_where_nothing_ties() -> None:
    difference = np.random.default_rng(3).normal(0.4, 1, 12)
    reference = stats.permutation_test((difference,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip_p(difference) == pytest.approx(reference.pvalue)


@pytest.mark.parametrize("n", [1, 2, 5, EXACT])
def test_the_least_p_is_reached_when_all_signs_agree(n: int) -> None:
    assert sign_flip_p(np.arange(1, n + 1)) == least_p(n) == 2 / 2**n


def test_above_twenty_random_signs_give_nearly_the_exact_p_and_always_the_same() -> None:
    difference = np.random.default_rng(5).normal(0.3, 1, EXACT + 1)
    p = sign_flip_p(difference)
    assert p == sign_flip_p(difference)
    doubled = np.zeros(1)
    for value in difference:
        doubled = np.concatenate([doubled + value, doubled - value])
    exact = np.mean(np.abs(doubled) >= abs(difference.sum()) * (1 - 1e-9))
    assert p == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / DRAWS))
    assert p != exact


def test_random_signs_never_give_zero() -> None:
    assert sign_flip_p(np.ones(40)) == least_p(40) == 1 / (DRAWS + 1)


def test_no_difference_at_all() -> None:
    assert sign_flip_p([0.0, 0.0, 0.0]) == 1
    assert math.isnan(sign_flip_p([]))
