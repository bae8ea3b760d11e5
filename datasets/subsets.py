"""Which rows a run uses: the protocol's seeded subsets, with an optional validation part."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TEST_SEED_OFFSET = 10_000  # the protocol's; train and test orders of one seed must differ


@dataclass(frozen=True, eq=False)
class Subset:
    """Row numbers, int64: `train` and `validation` into the training rows (disjoint), `test` into the test rows."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def subset(
    train_rows: int,
    test_rows: int,
    *,
    seed: int,
    train_limit: int | None,
    test_limit: int | None,
    validation: int = 0,
) -> Subset:
    """The rows that `seed` draws from `train_rows` and `test_rows` rows in the official order.

    train: the first `train_limit` of `numpy.random.default_rng(seed).permutation(train_rows)`, and validation the
    next `validation` of it; test: the first `test_limit` of the same with seed + 10,000. None takes all rows (for
    train: all that validation leaves). Source: Canay 2026, replication package v1.0.1.
    Raises ValueError, naming key, value and remedy, where there are not that many rows.
    """
    train_count, test_count = counts(
        train_rows, test_rows, train_limit=train_limit, test_limit=test_limit, validation=validation
    )
    order = np.random.default_rng(seed).permutation(train_rows)
    return Subset(
        train=order[:train_count],
        validation=order[train_count : train_count + validation],
        test=np.random.default_rng(seed + TEST_SEED_OFFSET).permutation(test_rows)[:test_count],
    )


def counts(
    train_rows: int, test_rows: int, *, train_limit: int | None, test_limit: int | None, validation: int = 0
) -> tuple[int, int]:
    """How many training and test rows every seed draws; raises as `subset` does, and draws nothing."""
    if not 0 <= validation < train_rows:
        raise ValueError(f"validation={validation} must be at least 0 and below the {train_rows} training rows")
    train_count = _count("train_limit", train_limit, train_rows, train_rows - validation)
    test_count = _count("test_limit", test_limit, test_rows, test_rows)
    if train_count + validation > train_rows:
        raise ValueError(
            f"train_limit={train_count} and validation={validation} together exceed the {train_rows} training rows; "
            f"lower validation to at most {train_rows - train_count} or train_limit to {train_rows - validation}"
        )
    return train_count, test_count


def _count(key: str, limit: int | None, rows: int, otherwise: int) -> int:
    if limit is None:
        return otherwise
    if not 1 <= limit <= rows:
        raise ValueError(f"{key}={limit} must lie between 1 and the {rows} rows there are; null takes all of them")
    return limit
