"""Paired comparisons at every test length: the numbers of the usual comparison, Holm over the whole table."""

import csv
import io
from types import SimpleNamespace

import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis import tables_lengths_paired
from analysis.frame import Runs
from analysis.plan import Plan

TOKEN = {
    # token accuracy at 16, 32 and 64 of four seeds
    "softmax": [(1.0, 0.50, 0.10), (1.0, 0.52, 0.10), (1.0, 0.51, 0.10), (1.0, 0.53, 0.10)],
    "sparsemax": [(1.0, 0.90, 0.14), (1.0, 0.93, 0.11), (1.0, 0.91, 0.13), (1.0, 0.92, 0.12)],
    "hae": [(1.0, 0.55, 0.10), (1.0, 0.51, 0.10), (1.0, 0.54, 0.10), (1.0, 0.52, 0.10)],
}


def runs_of(build: SimpleNamespace, dataset: str = "copy", **more: object) -> Runs:
    records = [
        build.at_lengths(dataset, name, seed, [1.0, 0.1, 0.0], token=token)
        for name, rows in TOKEN.items()
        for seed, token in enumerate(rows)
    ]
    return build.runs_of([*records, *more.get("extra", [])])


def plan_of(build: SimpleNamespace, *treatments: str, **families: dict[str, object]) -> Plan:
    usual = {"longest": {"datasets": ["copy"], "treatments": treatments or ["sparsemax", "hae"]}}
    return build.plan(families=usual | families)


def test_every_length_is_compared_and_holm_covers_the_table(build: SimpleNamespace) -> None:
    found = tables_lengths_paired.compared(runs_of(build), plan_of(build))
    assert list(found) == [16, 32, 64]
    row = found[32]["copy", "sparsemax", "softmax"]
    a, b = ([token[1] for token in TOKEN[name]] for name in ("sparsemax", "softmax"))
    assert row.delta_accuracy == pytest.approx(0.4)
    assert row.p == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert (row.n, row.verdict) == (4, "better")
    rows = [row for tests in found.values() for row in tests.values()]
    tested = [row for row in rows if row.status == "ok"]
    # six planned tests, of which both at 16 and that of hae at 64 are without a difference: they count as p = 1
    p = [row.p for row in tested] + [1.0] * 3
    assert len(rows) == 6
    assert [row.p_holm for row in tested] == pytest.approx(multipletests(p, method="holm")[1][:3])


def test_identical_zeros_are_no_test(build: SimpleNamespace) -> None:
    row = tables_lengths_paired.compared(runs_of(build), plan_of(build))[16]["copy", "hae", "softmax"]
    assert (row.status, row.delta_accuracy, row.verdict) == ("identical", 0.0, "inconclusive")


def test_the_table_has_a_column_per_length(build: SimpleNamespace) -> None:
    table = tables_lengths_paired.table(runs_of(build), plan_of(build))
    assert table is not None
    assert table.header == ("data set", "normalizer", "16", "32", "64")
    (section,) = table.sections
    assert section.heading == "Token accuracy minus that of softmax (Holm p)"
    first, second = section.rows
    assert first[:3] == ("copy", "sparsemax", "0.0000 (identical)")
    assert first[3].startswith("+0.4000 (")
    assert second[:2] == ("", "HAE")
    assert any("m = 6 planned tests" in note for note in table.notes)
    assert any("1 better, 0 worse, 0 equivalent, 5 inconclusive of 6" in note for note in table.notes)
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert [(row["length"], row["normalizer"]) for row in rows] == [
        *(("16", "sparsemax"), ("32", "sparsemax"), ("64", "sparsemax")),
        *(("16", "hae"), ("32", "hae"), ("64", "hae")),
    ]
    assert float(rows[1]["delta_token_accuracy"]) == pytest.approx(0.4)
    assert "delta_macro_f1" not in rows[0]


def test_a_missing_seed_is_refused_and_said_once(build: SimpleNamespace) -> None:
    runs = runs_of(build, extra=[build.make("copy", "hae", 4, None, status="failed")])
    table = tables_lengths_paired.table(runs, plan_of(build))
    assert table is not None
    assert table.sections[0].rows[1] == ("", "HAE", "-", "-", "-")
    assert table.notes.count("copy HAE: refused: missing seed 4 of hae, missing seed 4 of softmax") == 1


def test_a_control_of_a_family_has_a_section_of_its_own(build: SimpleNamespace) -> None:
    own = {"datasets": ["copy"], "treatments": ["sparsemax"], "control": "hae"}
    again = {"datasets": ["copy"], "treatments": ["sparsemax"]}
    table = tables_lengths_paired.table(runs_of(build), plan_of(build, own=own, again=again))
    assert table is not None
    assert [section.heading for section in table.sections] == [
        "Token accuracy minus that of softmax (Holm p)",
        "Token accuracy minus that of HAE (Holm p)",
    ]
    assert [len(section.rows) for section in table.sections] == [2, 1]
    assert any("m = 9 planned tests" in note for note in table.notes)  # what two families name is one test


def test_other_data_sets_of_a_family_are_left_out(build: SimpleNamespace) -> None:
    extra = build.grid(dataset="digits")
    more = {"datasets": ["digits", "absent"], "treatments": ["sparsemax"]}
    table = tables_lengths_paired.table(runs_of(build, extra=extra), plan_of(build, more=more))
    assert table is not None
    assert {row[1] for row in table.values} == {"copy"}


def test_without_planned_tests_there_is_no_table(build: SimpleNamespace) -> None:
    assert tables_lengths_paired.table(runs_of(build, "elsewhere"), plan_of(build)) is None
    assert tables_lengths_paired.table(build.runs_of(build.grid()), build.plan()) is None


def test_the_runs_of_one_length_have_its_token_accuracy(build: SimpleNamespace) -> None:
    runs = runs_of(build, extra=build.grid(dataset="digits"))
    view = tables_lengths_paired.at(runs, 32)
    assert view.cell("copy", "softmax")["accuracy"].tolist() == [0.50, 0.52, 0.51, 0.53]
    assert view.datasets == {"copy"}
    assert runs.cell("copy", "softmax")["accuracy"].tolist() == [0.0] * 4
