"""The runtime table: seconds, and paired ratios with their interval."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.table import Table
from analysis.tables_runtime import paired_ratio, runtime


def timed(build: SimpleNamespace, seconds: dict[str, list[float | None]], **changes: object) -> Table:
    """The runtime table of runs that took so long to train, normalizer -> seconds by seed."""
    records = [
        build.make("digits", name, seed, 0.5, metrics={"accuracy": 0.5, "train_seconds": s, "inference_seconds": 0.1})
        for name, row in seconds.items()
        for seed, s in enumerate(row)
    ]
    return runtime(build.runs_of(records), build.plan(**changes))


def test_seconds_ratio_and_machine(build: SimpleNamespace) -> None:
    table = timed(build, {"softmax": [1.0, 2.0, 4.0], "hae": [2.0, 4.0, 8.0]})
    assert table.sections[0].rows == (
        ("digits", "softmax", "2.33 ± 1.53", "1.00x", "0.100 ± 0.000", "1.00x", "3"),
        ("", "HAE", "4.67 ± 3.06", "2.00x [2.00, 2.00]", "0.100 ± 0.000", "1.00x [1.00, 1.00]", "3"),
    )
    assert "Measured on: device cpu, CPU Test CPU, 2 threads." in table.notes
    assert any(note.startswith("Ratio: geometric mean over matched seeds") for note in table.notes)


def test_what_the_whole_sweep_cost_is_said_where_every_run_says_it(build: SimpleNamespace) -> None:
    metrics = [{"accuracy": 0.5, "train_seconds": 9.0, "train_cpu_seconds": s} for s in (30.0, 90.0, 33.0)]
    records = [build.make("digits", "softmax", seed, 0.5, metrics=content) for seed, content in enumerate(metrics)]
    said = "The 3 training loops together: 2.5 minutes of processor time."
    assert said in runtime(build.runs_of(records), build.plan()).notes
    del metrics[0]["train_cpu_seconds"]
    records[0] = build.make("digits", "softmax", 0, 0.5, metrics=metrics[0])
    assert not [note for note in runtime(build.runs_of(records), build.plan()).notes if "together" in note]


def test_the_ratio_is_the_geometric_mean_with_the_t_interval_of_logarithms() -> None:
    a, b = pd.Series([3.0, 5.0, 4.0, 9.0]), pd.Series([1.0, 2.0, 2.0, 3.0])
    mean, low, high = paired_ratio(a, b, 0.9)
    assert mean == pytest.approx(stats.gmean(a / b))
    expected = stats.ttest_rel(np.log(a), np.log(b)).confidence_interval(0.9)
    assert (math.log(low), math.log(high)) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("odd", [None, 0.0])
def test_a_time_that_is_none_gives_no_ratio(build: SimpleNamespace, odd: float | None) -> None:
    rows = timed(build, {"softmax": [1.0, 2.0], "hae": [2.0, odd]}).sections[0].rows
    assert rows[1][3] == "-"


def test_one_seed_gives_a_ratio_without_interval(build: SimpleNamespace) -> None:
    assert timed(build, {"softmax": [1.0], "hae": [2.5]}).sections[0].rows[1][3] == "2.50x"


def test_a_missing_seed_refuses_the_ratio_unless_dropped(build: SimpleNamespace) -> None:
    seconds: dict[str, list[float | None]] = {"softmax": [1.0, 2.0, 4.0], "hae": [2.0, 4.0]}
    refused = timed(build, seconds)
    assert refused.sections[0].rows[1][3] == "-"
    assert "No ratio of digits HAE: missing seed 2 of hae." in refused.notes
    assert timed(build, seconds, missing="drop").sections[0].rows[1][3] == "2.00x [2.00, 2.00]"


def test_without_the_control_there_is_no_ratio(build: SimpleNamespace) -> None:
    table = timed(build, {"hae": [1.0, 2.0]})
    assert table.sections[0].rows[0][3] == "-"
    assert not any(note.startswith("No ratio") for note in table.notes)
