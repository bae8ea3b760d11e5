"""What the plan names and the records lack is said once, with near matches and the way to name another."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis import absent, comparisons, planner
from analysis.__main__ import main
from analysis.errors import InputError
from analysis.run import analyse
from analysis.settings import PowerSettings, Settings


def renamed(build: SimpleNamespace, old: str, new: str, dataset: str = "digits") -> list:
    """The records of `grid` with one normalizer under another name."""
    return build.grid({new if name == old else name: row for name, row in build.accuracy.items()}, dataset)


def test_a_control_under_another_name_is_said_to_be_missing(
    build: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build.save(tmp_path / "records", *renamed(build, "softmax", "baseline", "mine"))
    settings = Settings(records=[tmp_path / "records"], out=tmp_path / "out", analysis=build.plan(), figures=False)
    analyse(settings, "")
    said = (
        "control softmax: no completed run of it on mine, so nothing is compared with it there. The records have "
        "baseline, entmax15, hae, sparsemax; baseline becomes the control by analysis.control=baseline "
        "'analysis.order=[baseline,softmax,sparsemax,entmax15,hae]'"
    )
    assert f"- {said}\n" in capsys.readouterr().out
    assert "control softmax: no completed run of it on mine" in (tmp_path / "out/report.html").read_text("utf-8")
    tables = {path.stem for path in (tmp_path / "out/tables").glob("*.csv")}
    assert tables == {"main_results", "hae_vs_entmax15", "runtime"}


def test_the_way_that_is_named_compares_with_the_other_control(
    build: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.save(tmp_path / "records", *renamed(build, "softmax", "baseline", "mine"))
    order = "analysis.order=[baseline,softmax,sparsemax,entmax15,hae,topk_0125,topk_025,topk_050]"
    words = [f"records={tmp_path / 'records'}", f"out={tmp_path / 'out'}", "analysis=demo", "figures=false"]
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")
    monkeypatch.setattr("sys.argv", ["analysis", *words, "analysis.control=baseline", order])
    main()
    assert "| mine     | sparsemax  |" in (tmp_path / "out/tables/paired_vs_baseline.md").read_text("utf-8")


def test_a_misspelt_control_gets_a_near_match_and_one_warning_for_all_data_sets(build: SimpleNamespace) -> None:
    records = [*renamed(build, "softmax", "sofmax"), *renamed(build, "softmax", "sofmax", "marker")]
    family = {"datasets": ["digits", "marker"], "treatments": ["sparsemax", "hae"]}
    runs, plan = build.runs_of(records), build.plan(families={"demo": family})
    results = [*comparisons.families(runs, plan), *comparisons.unplanned(runs, plan), *comparisons.pairs(runs, plan)]
    [said] = [*absent.warnings(runs, plan), *comparisons.warnings(runs, plan, results)]
    assert "no completed run of it on digits, marker" in said
    assert "; did you mean 'sofmax'?" in said


def test_a_family_with_a_control_of_its_own_that_has_no_runs_is_named(build: SimpleNamespace) -> None:
    order = ["softmax", "sparsemax", "entmax15", "hae", "dense"]
    family = {"datasets": ["digits"], "treatments": ["hae"], "control": "dense"}
    runs, plan = build.runs_of(build.grid()), build.plan(order=order, families={"own": family})
    [said] = absent.warnings(runs, plan)
    assert said.startswith("family own, control dense: no completed run of it on digits")
    assert "by analysis.families.own.control=NAME" in said


def test_a_treatment_without_runs_is_named_once_with_its_data_sets_and_a_near_match(build: SimpleNamespace) -> None:
    records = [*renamed(build, "hae", "hea"), *renamed(build, "hae", "hea", "marker")]
    family = {"datasets": ["digits", "marker"], "treatments": ["sparsemax", "hae"]}
    runs, plan = build.runs_of(records), build.plan(families={"demo": family}, pairs=[])
    assert absent.warnings(runs, plan) == []
    assert comparisons.warnings(runs, plan, comparisons.families(runs, plan)) == [
        "family demo, digits, marker: 2 comparisons with softmax refused: no completed run of hae; did you mean 'hea'?"
    ]


def test_a_pair_without_either_side_and_one_without_its_control_are_named(build: SimpleNamespace) -> None:
    runs = build.runs_of([record for record in build.grid() if record.normalizer != "entmax15"])
    plan = build.plan(families={})
    assert comparisons.warnings(runs, plan, comparisons.pairs(runs, plan)) == [
        "family hae_vs_entmax15, digits: 1 comparison with entmax15 refused: no completed run of entmax15"
    ]
    order = ["softmax", "sparsemax", "entmax15", "hae", "a", "b"]
    plan = build.plan(order=order, pairs=[{"treatment": "a", "control": "b"}])
    assert absent.warnings(runs, plan) == ["pair a_vs_b: no run of a or b, so it is left out"]


def test_a_choice_and_a_target_without_runs_are_named(build: SimpleNamespace) -> None:
    changes = {
        "order": ["softmax", "sparsemax", "entmax15", "hae", "topk_025", "topk_050", "bounded"],
        "choices": {"topk": ["topk_025", "topk_050"]},
        "targets": [{"normalizer": "bounded", "value": 2.0, "margin": margin} for margin in (0.1, 0.2)],
    }
    runs = build.runs_of(build.grid(build.accuracy | {"topk_25": (0.5,) * 4}))
    assert absent.warnings(runs, build.plan(**changes)) == [
        "choice topk: completed runs of fewer than two of topk_025, topk_050 on digits, so nothing is chosen there; "
        "did you mean 'topk_25'?",
        "target of bounded: no run of it, so no learned q is compared with it",
    ]


def test_nothing_is_said_where_nothing_is_missing(build: SimpleNamespace) -> None:
    assert absent.warnings(build.runs_of(build.grid()), build.plan()) == []


def test_power_plans_the_comparisons_that_no_family_declares_and_the_pairs(
    build: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build.save(tmp_path, *build.grid(dataset="mine"))
    planner.plan_seeds(PowerSettings(records=[tmp_path], analysis=build.plan(), effect=0.01))
    said = capsys.readouterr().out
    assert "### Family unplanned: m = 3, α = 0.05, α/m = 0.01667\n" in said
    assert "### Family hae_vs_entmax15: m = 1, α = 0.05, α/m = 0.05\n" in said
    assert said.count("| mine     |") == 2


def test_power_without_any_comparison_says_why(build: SimpleNamespace, tmp_path: Path) -> None:
    build.save(tmp_path, *build.grid({"baseline": (0.5, 0.6), "sparsemax": (0.6, 0.7)}, dataset="mine"))
    with pytest.raises(InputError, match="nothing to compare, so no seeds to plan\n- control softmax: no completed"):
        planner.plan_seeds(PowerSettings(records=[tmp_path], analysis=build.plan(), effect=0.01))
