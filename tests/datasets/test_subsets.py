import numpy as np
import pytest

from datasets import subset


def test_the_rows_are_those_of_the_published_formula() -> None:
    found = subset(60_000, 10_000, seed=3, train_limit=8_000, test_limit=2_000)
    assert np.array_equal(found.train, np.random.default_rng(3).permutation(60_000)[:8_000])
    assert np.array_equal(found.test, np.random.default_rng(10_003).permutation(10_000)[:2_000])
    assert len(found.validation) == 0
    assert found.train.dtype == np.int64


def test_validation_is_what_follows_and_changes_neither_train_nor_test() -> None:
    without = subset(100, 50, seed=0, train_limit=60, test_limit=20)
    found = subset(100, 50, seed=0, train_limit=60, test_limit=20, validation=30)
    assert np.array_equal(found.train, without.train)
    assert np.array_equal(found.test, without.test)
    assert np.array_equal(found.validation, np.random.default_rng(0).permutation(100)[60:90])


def test_none_takes_all_rows_that_validation_leaves() -> None:
    found = subset(100, 50, seed=1, train_limit=None, test_limit=None, validation=10)
    assert (len(found.train), len(found.validation), len(found.test)) == (90, 10, 50)
    assert sorted([*found.train, *found.validation]) == list(range(100))
    assert sorted(found.test) == list(range(50))


@pytest.mark.parametrize(
    ("train_limit", "test_limit", "validation", "message"),
    [
        (101, 1, 0, "train_limit=101 must lie between 1 and the 100 rows"),
        (0, 1, 0, "train_limit=0 must lie"),
        (-5, 1, 0, "train_limit=-5 must lie"),
        (1, 51, 0, "test_limit=51 must lie between 1 and the 50 rows"),
        (1, 0, 0, "test_limit=0 must lie"),
        (80, 1, 21, "train_limit=80 and validation=21 .* lower validation to at most 20 or train_limit to 79"),
        (1, 1, -1, "validation=-1 must be at least 0"),
        (None, 1, 100, "validation=100 must be .* below the 100 training rows"),
    ],
)
def test_too_many_rows_are_refused_with_key_value_and_remedy(
    train_limit: int | None, test_limit: int, validation: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        subset(100, 50, seed=0, train_limit=train_limit, test_limit=test_limit, validation=validation)
