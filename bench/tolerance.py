"""How far a run may lie from its record on another kind of machine.

Other processors, kernels and versions round last digits otherwise. The first epoch hardly amplifies that; by the end of
training a few rows near a decision boundary change sides. Records of digits, repeated with another matrix product and
without kernels (MKL_CBWR=COMPATIBLE NORMALIZERS_NATIVE=0), moved by up to 0.0125 in accuracy, 3 % of their test loss
and 5e-6 of their first training loss. The limits leave some room; a wrong seed, data set, order of batches or formula
is far outside of the last one.
"""

import math
from collections.abc import Iterator

from bench.records import Record

SHARE = 0.03
"""Accuracy, macro-F1, support and mass on informative tokens, which are shares of 1; α as well."""
LOSS = 0.1
"""The test loss, relative."""
FIRST = 1e-3
"""The training loss of the first epoch, relative."""
STATED = (
    f"{SHARE:g} for accuracy, macro-F1, support, informative mass and α, {LOSS:.0%} of the test loss, "
    f"{FIRST:.1%} of the first training loss"
)

_LIMITS = {
    **dict.fromkeys(("accuracy", "macro_f1", "validation_accuracy", "validation_macro_f1"), SHARE),
    **dict.fromkeys(("support", "informative_mass", "alpha_mean"), SHARE),
    "test_loss": LOSS,
}


def exceeded(old: Record, new: Record) -> list[str]:
    """A line for each figure of `new` that is too far from that of the record `old`; empty where all are close."""
    return [
        f"{name}: recorded {was}, now {now}, more than {f'{limit:.1%}' if 'loss' in name else f'{limit:g}'} apart"
        for name, was, now, limit in _compared(old, new)
        if (was is None) != (now is None)
        or (was is not None and now is not None and not math.isclose(was, now, **_within(name, limit)))
    ]


def _compared(old: Record, new: Record) -> Iterator[tuple[str, float | None, float | None, float]]:
    for name, limit in _LIMITS.items():
        yield f"metrics.{name}", old.metrics.get(name), new.metrics.get(name), limit
    yield "curves.train_loss.0", _first(old), _first(new), FIRST


def _first(record: Record) -> float | None:
    losses = record.curves.get("train_loss")
    return losses[0] if losses else None


def _within(name: str, limit: float) -> dict[str, float]:
    return {"rel_tol": limit} if "loss" in name else {"rel_tol": 0.0, "abs_tol": limit}
