"""Seeds that planned comparisons need."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from statsmodels.stats.power import TTestPower

from analysis import comparisons, planner
from analysis.settings import PowerSettings
from analysis.table import Table


def planned(build: SimpleNamespace, records: list, effect: float | None = None) -> Table:
    runs, plan = build.runs_of(records), build.plan()
    return planner.table(runs, plan, comparisons.families(runs, plan), 0.8, effect)


def test_the_pilot_gives_mean_sd_and_seeds(build: SimpleNamespace) -> None:
    table = planned(build, build.grid())
    row = dict(zip(table.columns, table.values[1], strict=True))
    assert (row["normalizer"], row["pilot_n"], row["status"]) == ("hae", 4, "ok")
    differences = [-0.01, 0.01, -0.01, 0.01]
    assert row["delta_accuracy"] == pytest.approx(sum(differences) / 4, abs=1e-12)
    assert row["sd"] == pytest.approx(0.0115470, abs=1e-6)
    assert table.sections[0].heading == "Family demo: m = 2, α = 0.05, α/m = 0.025"


@pytest.mark.parametrize("effect", [0.01, 0.005])
def test_a_given_effect_replaces_that_of_the_pilot(build: SimpleNamespace, effect: float) -> None:
    table = planned(build, build.grid(), effect)
    row = dict(zip(table.columns, table.values[1], strict=True))
    solve = TTestPower()
    for key, level in (("n_alpha", 0.05), ("n_holm", 0.025)):
        n = solve.solve_power(effect / row["sd"], power=0.8, alpha=level, alternative="two-sided")
        assert n <= row[key] < n + 1
    assert row["power_10_holm"] == pytest.approx(solve.power(effect / row["sd"], 10, 0.025), abs=1e-6)
    assert row["power_10_holm"] < row["power_10_alpha"] < row["power_30_alpha"]


def test_what_cannot_be_planned_keeps_its_row(build: SimpleNamespace) -> None:
    records = [record for record in build.grid() if record.key != ("digits", "sparsemax", 3)]
    table = planned(build, records)
    assert table.sections[0].rows[0][-1] == "refused: missing seed 3 of sparsemax"
    assert set(table.sections[0].rows[0][3:-1]) == {"-"}
    values = {"softmax": (0.5, 0.6), "sparsemax": (0.6, 0.5), "hae": (0.5, 0.6)}
    rows = planned(build, build.grid(values)).sections[0].rows
    assert rows[0][5:7] == ("> 1,000,000", "> 1,000,000")
    assert rows[1][-1] == "identical"


def test_it_prints_and_writes_nothing(
    build: SimpleNamespace, records_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(records_dir.parent.rglob("*"))
    planner.plan_seeds(PowerSettings(records=[records_dir], analysis=build.plan(), effect=0.01))
    said = capsys.readouterr().out
    assert said.startswith("## Seeds for a power of 0.8\n")
    assert "that is to find a difference of 0.01 in accuracy" in said
    assert sorted(records_dir.parent.rglob("*")) == before
