"""Tables of paired comparisons: their columns, their headings, their verdicts."""

import csv
import io
import re
from types import SimpleNamespace

import pytest

from analysis import comparisons
from analysis.table import Table
from analysis.tables_paired import paired_table


def paired(build: SimpleNamespace, records: list, **changes: object) -> Table:
    """The table of all families of these records."""
    runs, plan = build.runs_of(records), build.plan(**changes)
    return paired_table(runs, plan, "paired", comparisons.families(runs, plan))


def parsed(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.csv())))


def test_paired_csv_columns_and_values(build: SimpleNamespace) -> None:
    table = paired(build, build.grid())
    assert table.csv().splitlines()[0] == (
        "family,dataset,normalizer,control,n,delta_accuracy,ci_low,ci_high,sci_low,sci_high,"
        "delta_macro_f1,t,df,p,p_holm,p_sign_flip,d_z,hedges_g,p_tost,verdict,status"
    )
    row = parsed(table)[0]
    assert (row["family"], row["dataset"], row["normalizer"], row["control"]) == (
        *("demo", "digits", "sparsemax", "softmax"),
    )
    assert float(row["delta_accuracy"]) == pytest.approx(0.0275)
    assert float(row["p"]) == pytest.approx(0.01047708876, rel=1e-8)
    assert (row["p_sign_flip"], row["verdict"], row["status"]) == ("0.125", "better", "ok")


def test_a_refused_comparison_keeps_its_row_with_empty_numbers(build: SimpleNamespace) -> None:
    records = [record for record in build.grid() if record.key != ("digits", "sparsemax", 3)]
    table = paired(build, records)
    row = parsed(table)[0]
    assert row["status"] == "refused: missing seed 3 of sparsemax"
    numbers = ("delta_accuracy", "ci_low", "sci_low", "t", "p", "p_holm", "p_sign_flip", "d_z", "hedges_g", "p_tost")
    assert {row[name] for name in numbers} == {""}
    assert row["verdict"] == "inconclusive"
    text = table.markdown()
    assert "| inconclusive (refused: missing seed 3 of sparsemax) |" in text
    assert "m = 2 planned tests, 1 of them without a result" in text
    assert "nan" not in text.lower()


def test_non_significance_is_not_called_equality(build: SimpleNamespace) -> None:
    text = paired(build, build.grid()).markdown()
    assert "equivalent where TOST p ≤ 0.05 at the declared margin of ±0.01 in accuracy, uncorrected for" in text
    assert "A large p is no evidence of equality" in text
    assert not re.search(r"\b(equal|same accuracy|no difference)\b(?! on any seed)", text)


def test_the_heading_says_all_that_the_tests_depend_on(build: SimpleNamespace) -> None:
    [section] = paired(build, build.grid()).sections
    assert section.heading == (
        "Family demo: m = 2 planned tests, Holm within them; confidence 95 %, margin ±0.01; "
        "least sign-flip p 0.1250, times m 0.2500: corrected, the sign-flip test can never reject"
    )
    assert section.notes == ("Family demo: 1 better, 0 worse, 0 equivalent, 1 inconclusive of 2 comparisons.",)


def test_a_sign_flip_test_that_can_reject_has_no_such_warning(build: SimpleNamespace) -> None:
    values = {name: [*row, *(x + 0.001 for x in row), 0.5, 0.6] for name, row in build.accuracy.items()}
    [section] = paired(build, build.grid(values)).sections
    assert section.heading.endswith("least sign-flip p 0.0020")


def test_without_any_test_there_is_no_least_p(build: SimpleNamespace) -> None:
    [section] = paired(build, build.grid({name: row[:1] for name, row in build.accuracy.items()})).sections
    assert section.heading.endswith(
        "m = 2 planned tests, 2 of them without a result, Holm within them; confidence 95 %, margin ±0.01"
    )
    assert section.rows[0][-1] == "inconclusive (too few)"


def test_a_verdict_stands_alone_where_the_status_is_ok(build: SimpleNamespace) -> None:
    table = paired(build, build.grid())
    assert [row[-1] for row in table.sections[0].rows] == ["better", "inconclusive"]
    assert [row[-3] for row in table.sections[0].rows] == ["4/0/0", "2/0/2"]
