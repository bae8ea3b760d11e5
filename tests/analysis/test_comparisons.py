"""Pairs, families, and what a missing seed does."""

import math
import random
from types import SimpleNamespace

import pytest

from analysis import comparisons
from analysis.comparisons import Comparison


def rows_of(build: SimpleNamespace, records: list, **changes: object) -> dict[str, Comparison]:
    """normalizer -> its row in the demo family."""
    [result] = comparisons.families(build.runs_of(records), build.plan(**changes))
    return {row.normalizer: row for row in result.rows}


def test_shuffled_records_give_the_same_rows(build: SimpleNamespace) -> None:
    records = build.grid()
    shuffled = random.Random(1).sample(records, len(records))
    assert rows_of(build, shuffled) == rows_of(build, records)
    assert 0 < rows_of(build, records)["sparsemax"].p < 0.05


def test_holm_and_the_simultaneous_interval_use_the_planned_number_of_tests(build: SimpleNamespace) -> None:
    rows = rows_of(build, build.grid())
    assert rows["sparsemax"].p_holm == pytest.approx(2 * rows["sparsemax"].p)
    for row in rows.values():
        assert row.sci_low < row.ci_low < row.delta_accuracy < row.ci_high < row.sci_high


def test_a_missing_seed_refuses_the_comparison_and_leaves_the_others(build: SimpleNamespace) -> None:
    records = [record for record in build.grid() if record.key != ("digits", "sparsemax", 3)]
    rows = rows_of(build, records)
    refused, full = rows["sparsemax"], rows_of(build, build.grid())
    assert refused.status == "refused: missing seed 3 of sparsemax"
    assert math.isnan(refused.p)
    assert math.isnan(refused.delta_accuracy)
    # The planned test without a result still counts in m.
    assert rows["hae"].p_holm == pytest.approx(min(1, 2 * full["hae"].p))


def test_a_missing_seed_of_the_control_refuses_all_with_one_warning(build: SimpleNamespace) -> None:
    records = [record for record in build.grid() if record.normalizer != "softmax" or record.seed not in (1, 3)]
    runs, plan = build.runs_of(records), build.plan()
    results = comparisons.families(runs, plan)
    assert {row.status for row in results[0].rows} == {"refused: missing seeds 1, 3 of softmax"}
    said = comparisons.warnings(runs, plan, results)
    assert said == [
        "family demo, digits: 2 comparisons with softmax refused: missing seeds 1, 3 of softmax; "
        "analysis.missing=drop compares the complete pairs"
    ]
    [pair] = comparisons.pairs(runs, plan)
    assert pair.rows[0].status == "ok"


def test_dropping_uses_the_complete_pairs_and_shows_n(build: SimpleNamespace) -> None:
    records = [record for record in build.grid() if record.key != ("digits", "sparsemax", 3)]
    row = rows_of(build, records, missing="drop")["sparsemax"]
    assert (row.n, row.status) == (3, "ok")
    assert row.delta_accuracy == pytest.approx((0.03 + 0.02 + 0.04) / 3)
    runs, plan = build.runs_of(records), build.plan(missing="drop")
    said = comparisons.warnings(runs, plan, comparisons.families(runs, plan))
    assert said == ["family demo, digits: sparsemax vs softmax on 3 complete pairs, missing seed 3 of sparsemax"]


def test_a_seed_that_failed_on_both_sides_is_missing_too(build: SimpleNamespace) -> None:
    failed = [build.make("digits", name, 4, None, status="failed") for name in ("softmax", "sparsemax")]
    row = rows_of(build, [*build.grid(), *failed])["sparsemax"]
    assert row.status == "refused: missing seed 4 of sparsemax, missing seed 4 of softmax"


def test_a_planned_normalizer_without_records_is_refused(build: SimpleNamespace) -> None:
    records = [record for record in build.grid() if record.normalizer != "hae"]
    for missing in ("refuse", "drop"):
        row = rows_of(build, records, missing=missing)["hae"]
        assert row.status == "refused: no completed run of hae"


def test_equal_constant_and_single_results(build: SimpleNamespace) -> None:
    base = [0.8, 0.7, 0.61, 0.33]
    values = {"softmax": base, "sparsemax": base, "hae": [0.801, 0.701, 0.611, 0.331]}
    rows = rows_of(build, build.grid(values))
    assert [rows[name].status for name in ("sparsemax", "hae")] == ["identical", "degenerate"]
    assert math.isnan(rows["hae"].p)
    assert math.isnan(rows["hae"].p_holm)
    one = rows_of(build, build.grid({name: row[:1] for name, row in values.items()}))
    assert {row.status for row in one.values()} == {"too few"}


def test_a_family_without_records_is_left_out_and_named(build: SimpleNamespace) -> None:
    other = {"datasets": ["digit", "marker"], "treatments": ["hae"]}
    runs, plan = build.runs_of(build.grid()), build.plan(families={"other": other})
    assert comparisons.families(runs, plan) == []
    [said] = comparisons.warnings(runs, plan, [])
    assert said == "family other: no records of digit, marker, so it is left out; did you mean 'digits'?"


def test_a_data_set_without_records_counts_in_m(build: SimpleNamespace) -> None:
    family = {"datasets": ["digits", "marker"], "treatments": ["sparsemax"]}
    runs, plan = build.runs_of(build.grid()), build.plan(families={"both": family})
    [result] = comparisons.families(runs, plan)
    assert result.m == 2
    assert result.rows[0].p_holm == pytest.approx(2 * result.rows[0].p)
    assert result.rows[1].status == "refused: no completed run of sparsemax and softmax"
    said = comparisons.warnings(runs, plan, [result])
    assert said == ["family both: no records of marker; their tests still count in m"]


def test_a_direct_comparison_covers_the_data_sets_that_have_either_side(build: SimpleNamespace) -> None:
    only_softmax = build.grid({"softmax": (0.5, 0.6)}, dataset="marker")
    [pair] = comparisons.pairs(build.runs_of([*build.grid(), *only_softmax]), build.plan())
    assert (pair.name, pair.m) == ("hae_vs_entmax15", 1)
    assert [row.dataset for row in pair.rows] == ["digits"]
    no_hae = [record for record in build.grid() if record.normalizer not in ("hae", "entmax15")]
    assert comparisons.pairs(build.runs_of(no_hae), build.plan()) == []


def test_a_macro_f1_that_was_not_recorded_does_not_touch_the_accuracy(build: SimpleNamespace) -> None:
    records = build.grid()
    records[0] = build.make("digits", "softmax", 0, 0.5, metrics={"accuracy": 0.5})
    row = rows_of(build, records)["sparsemax"]
    assert row.status == "ok"
    assert row.n == 4
    assert math.isnan(row.delta_macro_f1)


def test_what_no_family_declares_is_compared_apart(build: SimpleNamespace) -> None:
    records = build.grid({"softmax": [0.5, 0.6, 0.7], "mine": [0.6, 0.7, 0.9]}, dataset="elsewhere")
    runs, plan = build.runs_of(records), build.plan()
    [result] = comparisons.unplanned(runs, plan)
    assert (result.name, result.m) == ("unplanned", 1)
    assert [(row.dataset, row.normalizer, row.n, row.status) for row in result.rows] == [("elsewhere", "mine", 3, "ok")]
    assert comparisons.unplanned(build.runs_of(build.grid({"mine": [0.6, 0.7]}, dataset="elsewhere")), plan) == []


def test_verdicts(build: SimpleNamespace) -> None:
    base = (0.500, 0.520, 0.510, 0.530)
    shifts = {
        "sparsemax": (0.030, 0.031, 0.030, 0.029),
        "hae": (-0.030, -0.031, -0.030, -0.029),
        "entmax15": (0.001, -0.001, 0.001, 0.0),
        "topk": (0.05, -0.05, 0.06, -0.02),
    }
    values = {"softmax": base} | {
        name: [b + d for b, d in zip(base, shift, strict=True)] for name, shift in shifts.items()
    }
    family = {"datasets": ["digits"], "treatments": list(shifts)}
    changes = {"order": list(values), "families": {"demo": family}, "pairs": []}
    rows = rows_of(build, build.grid(values), **changes)
    verdicts = {name: row.verdict for name, row in rows.items()}
    assert verdicts == {"sparsemax": "better", "hae": "worse", "entmax15": "equivalent", "topk": "inconclusive"}
    strict = rows_of(build, build.grid(values), **changes, margin=1e-4, confidence=0.9999999)
    assert {row.verdict for row in strict.values()} == {"inconclusive"}
    [result] = comparisons.families(build.runs_of(build.grid(values)), build.plan(**changes))
    assert result.verdicts == {"better": 1, "worse": 1, "equivalent": 1, "inconclusive": 1}
    assert result.least_p == 2 / 2**4


def test_equivalent_needs_the_declared_margin(build: SimpleNamespace) -> None:
    values = {"softmax": (0.5, 0.6, 0.7), "sparsemax": (0.503, 0.597, 0.701), "hae": (0.5, 0.6, 0.7)}
    assert rows_of(build, build.grid(values), margin=0.02)["sparsemax"].verdict == "equivalent"
    assert rows_of(build, build.grid(values), margin=0.001)["sparsemax"].verdict == "inconclusive"
    # The same accuracy on every seed is no test, so no verdict either.
    assert rows_of(build, build.grid(values), margin=0.5)["hae"].verdict == "inconclusive"


def test_a_family_may_have_a_control_of_its_own(build: SimpleNamespace) -> None:
    family = {"datasets": ["digits"], "treatments": ["hae", "softmax"], "control": "sparsemax"}
    runs, plan = build.runs_of(build.grid()), build.plan(families={"own": family})
    [result] = comparisons.families(runs, plan)
    assert result.control == "sparsemax"
    assert [row.control for row in result.rows] == ["sparsemax"] * 2
    assert result.rows[1].delta_accuracy == pytest.approx(-0.0275)
    # What the family compares with sparsemax is not yet compared with softmax.
    [rest] = comparisons.unplanned(runs, plan)
    assert [row.normalizer for row in rest.rows] == ["sparsemax", "entmax15", "hae"]


def test_one_seed_only_is_said(build: SimpleNamespace) -> None:
    runs, plan = build.runs_of(build.grid({name: row[:1] for name, row in build.accuracy.items()})), build.plan()
    said = comparisons.warnings(runs, plan, comparisons.families(runs, plan))
    assert said == [
        "family demo, digits: 2 comparisons with softmax without a test: fewer than 2 matched seeds, run more of them"
    ]


def test_accuracies_that_are_almost_nothing_and_a_confidence_of_almost_one(build: SimpleNamespace) -> None:
    values = {name: [value * 1e-300 for value in row] for name, row in build.accuracy.items()}
    rows = rows_of(build, build.grid(values), confidence=1 - 2**-53)
    assert rows["sparsemax"].status == "ok"
    assert rows["sparsemax"].p == pytest.approx(rows_of(build, build.grid())["sparsemax"].p)
    assert math.isfinite(rows["sparsemax"].sci_low)


def test_families_that_share_a_data_set_do_not_double_it(build: SimpleNamespace) -> None:
    families = {
        "one": {"datasets": ["digits"], "treatments": ["sparsemax"]},
        "two": {"datasets": ["digits"], "treatments": ["hae"], "control": "entmax15"},
    }
    runs, plan = build.runs_of(build.grid()), build.plan(families=families)
    assert comparisons.dataset_order(runs, plan) == ["digits"]
    assert len(comparisons.cells(runs, plan)) == 4
    [direct] = comparisons.pairs(runs, plan)
    assert (direct.m, len(direct.rows)) == (1, 1)
    [rest] = comparisons.unplanned(runs, plan)
    assert [row.normalizer for row in rest.rows] == ["entmax15", "hae"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"order": ["softmax", "softmax", "sparsemax", "entmax15", "hae"]}, "'softmax' is named twice"),
        ({"families": {"unplanned": {"datasets": ["digits"], "treatments": ["hae"]}}}, "families.unplanned: this is"),
        ({"families": {"hae_vs_entmax15": {"datasets": ["digits"], "treatments": ["hae"]}}}, "a pair's own family"),
    ],
)
def test_names_that_would_mix_families_are_refused(build: SimpleNamespace, changes: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build.plan(**changes)
