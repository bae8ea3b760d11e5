"""Learned values against their targets, and the table of attention mass."""

import math
from types import SimpleNamespace

import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis import targets
from analysis.settings import Plan
from analysis.table import Table
from analysis.tables import all_tables
from analysis.tables_mass import mass

TARGETS = [{"normalizer": "hae", "value": 2.0, "margin": 0.1}]
Q = [1.93, 2.04, 1.98, 2.01, 1.95, 2.06, 1.99, 1.97]


def runs_of(build: SimpleNamespace, values: dict[str, list[float]]) -> object:
    return build.runs_of(
        build.make(dataset, "hae", seed, 0.5, metrics={"accuracy": 0.5, "macro_f1": 0.5, "alpha_mean": q})
        for dataset, row in values.items()
        for seed, q in enumerate(row)
    )


def learned(build: SimpleNamespace, values: dict[str, list[float]], **changes: object) -> list[targets.Learned]:
    return targets.learned(runs_of(build, values), build.plan(targets=TARGETS, **changes))


def test_a_learned_q_is_tested_as_scipy_does(build: SimpleNamespace) -> None:
    (one,) = learned(build, {"digits": Q})
    found = stats.ttest_1samp(Q, 2.0)
    interval = found.confidence_interval(0.95)
    assert (one.n, one.mean, one.sd) == (8, pytest.approx(1.99125), pytest.approx(stats.tstd(Q)))
    assert (one.ci_low, one.ci_high) == pytest.approx((interval.low, interval.high))
    assert one.p == one.p_holm == pytest.approx(found.pvalue)
    lower = stats.ttest_1samp(Q, 1.9, alternative="greater").pvalue
    upper = stats.ttest_1samp(Q, 2.1, alternative="less").pvalue
    assert one.p_tost == pytest.approx(max(lower, upper))
    assert one.verdict == "equivalent"


def test_verdicts_follow_from_both_tests_and_holm_covers_the_table(build: SimpleNamespace) -> None:
    values = {"near": Q, "off": [q - 0.3 for q in Q], "wide": [1.2, 2.7, 1.4, 2.6]}
    near, off, wide = learned(build, values)
    assert [one.verdict for one in (near, off, wide)] == ["equivalent", "different", "inconclusive"]
    found = [near, off, wide]
    assert [one.p_holm for one in found] == pytest.approx(multipletests([one.p for one in found], method="holm")[1])


def test_a_narrower_margin_is_harder_to_meet(build: SimpleNamespace) -> None:
    narrow = [{"normalizer": "hae", "value": 2.0, "margin": 0.02}]
    (one,) = targets.learned(runs_of(build, {"digits": Q}), build.plan(targets=narrow))
    (usual,) = learned(build, {"digits": Q})
    assert one.p_tost > 0.05 > usual.p_tost
    assert one.verdict == "inconclusive"


def test_what_cannot_be_tested_says_why(build: SimpleNamespace) -> None:
    (single,) = learned(build, {"digits": [1.9]})
    assert (single.status, single.verdict) == ("too few", "inconclusive")
    assert math.isnan(single.p_tost)
    (exact,) = learned(build, {"digits": [2.0, 2.0]})
    assert exact.status == "identical"
    records = [*build.grid({"hae": [0.5, 0.5]}), build.make("digits", "hae", 2, None, status="failed")]
    (missing,) = targets.learned(build.runs_of(records), build.plan(targets=TARGETS))
    assert missing.status == "refused: missing seed 2 of hae"
    (none,) = targets.learned(build.runs_of(build.grid({"hae": [0.5, 0.5]})), build.plan(targets=TARGETS))
    assert none.status == "refused: no run recorded a learned α"


def test_the_table_shows_q_margin_and_verdict(build: SimpleNamespace) -> None:
    table = targets.table(runs_of(build, {"digits": Q}), build.plan(targets=TARGETS))
    assert isinstance(table, Table)
    (row,) = table.sections[0].rows
    assert row[:5] == ("digits", "HAE", "1.991 ± 0.044", "[1.9546, 2.0279]", "2.00 ± 0.10")
    assert row[-1] == "equivalent"
    assert dict(zip(table.columns, table.values[0], strict=True))["margin"] == 0.1


def test_plans_without_targets_have_no_such_tables(build: SimpleNamespace) -> None:
    runs, plan = build.runs_of(build.grid()), build.plan()
    assert targets.table(runs, plan) is None
    assert mass(runs, plan) is None
    assert not {"learned_q", "informative_mass"} & {table.name for table in all_tables(runs, plan, [], [])}


def test_mass_is_averaged_over_seeds(build: SimpleNamespace) -> None:
    runs = build.runs_of(
        build.make("digits", "softmax", seed, 0.5, metrics={"accuracy": 0.5, "informative_mass": value})
        for seed, value in enumerate([0.7, 0.8, 0.9])
    )
    table = mass(runs, build.plan())
    assert table is not None
    assert table.sections[0].rows == (("digits", "softmax", "0.800 ± 0.100", "[0.5516, 1.0484]", "3"),)
    assert table.values == (("digits", "softmax", 3, *map(pytest.approx, (0.8, 0.1, 0.551586, 1.048414))),)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"normalizer": "hea", "value": 2.0, "margin": 0.1}, "targets.0.normalizer: unknown normalizer 'hea'"),
        ({"normalizer": "hae", "value": 2.0, "margin": 0.0}, "margin"),
    ],
)
def test_an_impossible_target_is_refused(build: SimpleNamespace, target: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Plan.model_validate(build.plan().model_dump() | {"targets": [target]})
