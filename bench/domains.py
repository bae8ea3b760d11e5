"""What each number of a result can be; whatever lies outside was computed or written wrongly."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

Metrics = dict[str, float | None]


@dataclass(frozen=True)
class Domain:
    """The closed interval from `low` to `high`, and what a number in it is, for a message."""

    what: str
    low: float = 0.0
    high: float = inf


SHARE = Domain("a share of 1; a percentage must be divided by 100", high=1.0)
SECONDS = Domain("a number of seconds, 0 or more")
LOSS = Domain("a cross-entropy, 0 or more")
ALPHA = Domain("an α of entmax, 1 or more", low=1.0)
MASS = Domain("a sum of attention weights, 0 or more")  # of some maps the weights of a row sum to more than 1
METRICS = {
    **dict.fromkeys(("accuracy", "macro_f1", "validation_accuracy", "validation_macro_f1", "support"), SHARE),
    **dict.fromkeys(("train_seconds", "train_cpu_seconds", "inference_seconds", "wall_seconds"), SECONDS),
    **{"test_loss": LOSS, "alpha_mean": ALPHA, "informative_mass": MASS},
    "peak_memory_mb": Domain("a number of MiB, 0 or more"),
    "parameters": Domain("a number of parameters, 0 or more"),
}
"""The metrics of a record that have a meaning here. Of others any finite number is taken."""
ATTENTION = {
    **{"support": SHARE, "alpha": ALPHA, "informative_mass": MASS},
    "entropy": Domain("an entropy in nats, 0 or more"),
    "peak": Domain("the largest weight of a row, 0 or more"),
}
"""The same of what a record says of attention, per block and head."""
ROUNDING = 1e-6
"""How far rounding in float32 takes a number out of its domain."""


def check_metrics(metrics: Metrics) -> Metrics:
    """`metrics` as they are. Raises ValueError, naming metric, value and domain, for the first that lies outside.

    None stands for a metric that a run does not have, and passes.
    """
    for name, value in metrics.items():
        if value is not None and name in METRICS:
            _check(name, value, METRICS[name])
    return metrics


def check_attention(attention: dict[str, Any]) -> dict[str, Any]:
    """The same for the lists of numbers in a record's `attention`."""
    for name, values in attention.items():
        for value in _numbers(values) if name in ATTENTION else ():
            _check(name, value, ATTENTION[name])
    return attention


def _check(name: str, value: float, domain: Domain) -> None:
    if not domain.low - ROUNDING <= value <= domain.high + ROUNDING:
        raise ValueError(f"{name} is {value:g}, which is not {domain.what}")


def _numbers(values: Any) -> Iterator[float]:
    if isinstance(values, list):
        for value in values:
            yield from _numbers(value)
    elif isinstance(values, int | float):
        yield values
