"""Verdicts per cell: equivalent, different, inconclusive; and a table that comes only where a cell was published."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from analysis import replication, summaries
from analysis.frame import Runs
from bench.records import Record

FIELDS = "dataset,normalizer,accuracy_mean,accuracy_sd,support,n"
SPREAD = np.array([-1.5, -1.0, -0.5, -0.5, 0.0, 0.0, 0.5, 0.5, 1.0, 1.5])


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two published cells of digits."""
    (tmp_path / "cells.csv").write_text(
        f"{FIELDS}\ndigits,softmax,0.500,0.010,1.0,10\ndigits,sparsemax,0.600,0.010,0.5,10\n"
    )
    monkeypatch.setattr(summaries, "FOLDER", tmp_path)


def grid(build: SimpleNamespace, softmax: float, sparsemax: float, sd: float) -> list[Record]:
    """Ten runs a normalizer, with these means and about this spread."""
    values = {"softmax": softmax + sd * SPREAD, "sparsemax": sparsemax + sd * SPREAD, "hae": 0.5 + sd * SPREAD}
    return build.grid({name: [float(v) for v in row] for name, row in values.items()})


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(
    ("softmax", "sd", "verdict"),
    [(0.501, 0.005, "equivalent"), (0.530, 0.010, "different"), (0.505, 0.020, "inconclusive")],
)
def test_verdicts(build: SimpleNamespace, softmax: float, sd: float, verdict: str) -> None:
    runs = build.runs_of(grid(build, softmax, 0.6, sd))
    cell, other = replication.cells(runs, build.plan())
    assert cell.verdict == verdict
    x = runs.cell("digits", "softmax")["accuracy"]
    oracle = stats.ttest_ind_from_stats(x.mean(), x.std(ddof=1), 10, 0.5, 0.01, 10, equal_var=False)
    assert cell.p == pytest.approx(oracle.pvalue)
    assert cell.difference == pytest.approx(x.mean() - 0.5)
    assert cell.p_holm == pytest.approx(min(1, 2 * cell.p))
    assert other.difference == pytest.approx(0)


@pytest.mark.usefixtures("published")
def test_a_difference_within_the_margin_is_still_different_where_holm_says_so(build: SimpleNamespace) -> None:
    runs, wide = build.runs_of(grid(build, 0.53, 0.6, 0.01)), build.plan(margin=0.1)
    cell = replication.cells(runs, wide)[0]
    assert max(cell.p_tost, cell.p_holm) < 0.001
    assert cell.verdict == "different"


@pytest.mark.usefixtures("published")
def test_holm_covers_all_cells_of_the_table(build: SimpleNamespace) -> None:
    records = grid(build, 0.51, 0.6, 0.01)
    one = build.runs_of([record for record in records if record.normalizer == "softmax"])
    assert [cell.verdict for cell in replication.cells(one, build.plan())] == ["different"]
    assert replication.cells(build.runs_of(records), build.plan())[0].verdict != "different"


@pytest.mark.usefixtures("published")
def test_one_run_decides_nothing_and_shows_no_number(build: SimpleNamespace) -> None:
    runs = build.runs_of([build.make("digits", "softmax", 0, 0.9)])
    [cell] = replication.cells(runs, build.plan())
    assert cell.verdict == "inconclusive"
    assert math.isnan(cell.p_holm)
    assert cell.difference == pytest.approx(0.4)
    table = replication.table(runs, build.plan())
    assert table is not None
    assert table.sections[0].heading == "1 cell: 0 equivalent, 0 different, 1 inconclusive; margin ±0.01"
    assert "nan" not in table.markdown() + table.csv()


@pytest.mark.usefixtures("published")
def test_the_table_holds_the_published_cells_alone_and_the_notes_of_their_records(build: SimpleNamespace) -> None:
    records = [record.model_copy(update={"notes": ["other rows"]}) for record in grid(build, 0.501, 0.6, 0.005)]
    table = replication.table(build.runs_of(records), build.plan())
    assert table is not None
    assert [row[:2] for row in table.values] == [("digits", "softmax"), ("digits", "sparsemax")]
    assert "digits: other rows (all of 20 records)" in table.cautions
    again = replication.table(build.runs_of(records[::-1]), build.plan())
    assert again is not None
    assert again.markdown() == table.markdown()
    assert {len(table.columns)} == {len(row) for row in table.values}


@pytest.mark.usefixtures("published")
def test_no_published_cell_no_table(build: SimpleNamespace) -> None:
    assert replication.table(build.runs_of(build.grid(dataset="mine")), build.plan()) is None


def test_not_installed_no_table(build: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(summaries, "FOLDER", tmp_path / "absent")
    assert replication.table(build.runs_of(build.grid(dataset="cifar10")), build.plan()) is None


def test_the_published_records_differ_from_their_printed_means_by_rounding_only(
    published_runs: Runs, build: SimpleNamespace
) -> None:
    cells = replication.cells(published_runs, build.plan())
    assert len(cells) == 35
    assert max(abs(cell.difference) for cell in cells) <= 0.0005 + 1e-12
    assert {cell.verdict for cell in cells} == {"equivalent", "inconclusive"}
