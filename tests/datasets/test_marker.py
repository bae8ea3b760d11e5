from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datasets.marker import build

ROOT = Path()  # nothing is read


def test_the_label_is_the_id_after_the_only_marker_mod_10() -> None:
    arrays = build(ROOT)
    assert (arrays.classes, arrays.vocabulary) == (10, 20_000)
    for rows, count in ((arrays.train, 60_000), (arrays.test, 10_000)):
        assert rows.x.shape == (count, 96)
        row, place = np.nonzero(rows.x == 1)
        assert np.array_equal(row, np.arange(count))
        assert (place.min(), place.max()) == (0, 94)
        assert np.array_equal(rows.y, rows.x[row, place + 1] % 10)
        others = rows.x[rows.x != 1]
        assert (others.min(), others.max()) == (2, 19_999)
        assert (np.bincount(rows.y, minlength=10) > 0.08 * count).all()


def test_in_the_learnable_form_one_id_of_the_upper_half_carries_the_answer() -> None:
    arrays = build(ROOT, vocabulary=64, length=12, answer="marked")
    for rows in (arrays.train, arrays.test):
        row, place = np.nonzero(rows.x >= 33)  # 31 plain ids 2 … 32, 31 marked ids 33 … 63
        assert np.array_equal(row, np.arange(len(rows)))
        assert (place.min(), place.max()) == (0, 11)
        answers = rows.x[row, place]
        assert np.array_equal(rows.y, answers % 10)
        assert set(answers.tolist()) == set(range(33, 64))
        assert set(rows.x[rows.x < 33].tolist()) == set(range(2, 33))


@pytest.mark.parametrize(("answer", "vocabulary"), [("next", 12), ("marked", 22)])
def test_the_smallest_vocabulary_has_an_id_for_every_class(answer: Any, vocabulary: int) -> None:
    arrays = build(ROOT, vocabulary=vocabulary, length=2, answer=answer)
    assert set(arrays.test.y.tolist()) == set(range(10))
    assert arrays.test.x.max() == vocabulary - 1


def test_the_pool_is_the_same_each_time_and_its_splits_differ() -> None:
    first, again = build(ROOT), build(ROOT)
    assert np.array_equal(first.train.x, again.train.x)
    assert not np.array_equal(first.train.x[:10_000], first.test.x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary": 11}, "vocabulary=11 .*answer='next'; set it to 12"),
        ({"vocabulary": 21, "answer": "marked"}, "vocabulary=21 .*answer='marked'; set it to 22"),
        ({"length": 1}, "length=1 .*set it to 2"),
        ({"answer": "last"}, "answer='last' is unknown; choose 'next' or 'marked'"),
    ],
)
def test_impossible_options_are_named_with_value_and_remedy(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(ROOT, **options)
