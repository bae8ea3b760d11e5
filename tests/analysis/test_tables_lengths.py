"""Exact match and dispersion by test length, against numbers by hand and by scipy."""

import csv
import io
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis import comparisons, latex, names, tables, tables_lengths
from analysis.frame import Runs
from analysis.plan import Plan
from analysis.report.answer import NEEDED
from analysis.table import Table

STUDY = Path(__file__).resolve().parents[2] / "conf" / "analysis" / "length_generalization.yaml"
NAMES = {"exact_match_by_length", "dispersion_by_length", "paired_by_length"}
LEVELS = {
    # entropy at 16, 32 and 64 of three seeds: it grows for softmax, falls for sparsemax and stays for hae
    "softmax": [(1.0, 1.5, 2.0), (1.1, 1.5, 2.2), (0.9, 1.4, 2.1)],
    "sparsemax": [(1.0, 0.9, 0.51), (1.0, 0.9, 0.50), (1.0, 0.9, 0.49)],
    "hae": [(1.0, 1.0, 1.2), (1.0, 1.0, 0.9), (1.0, 1.0, 0.95)],
}


@pytest.fixture
def runs(build: SimpleNamespace) -> Runs:
    exact = {"softmax": (0.2, 0.4, 0.0), "sparsemax": (0.9, 0.8, 0.7), "hae": (0.5, 0.5, 0.5)}
    return build.runs_of(
        build.at_lengths(
            "copy", name, seed, [1.0, 0.5 + last / 2, last], token=[1.0, 0.9, 0.8], level=LEVELS[name][seed]
        )
        for name, row in exact.items()
        for seed, last in enumerate(row)
    )


def plan_of(build: SimpleNamespace) -> Plan:
    return build.plan(families={"longest": {"datasets": ["copy"], "treatments": ["sparsemax", "hae"]}})


def parsed(table: Table | None) -> list[dict[str, str]]:
    assert table is not None
    return list(csv.DictReader(io.StringIO(table.csv())))


def test_exact_match_is_a_mean_with_half_its_t_interval(build: SimpleNamespace, runs: Runs) -> None:
    table = tables_lengths.exact_match(runs, plan_of(build))
    assert table is not None
    assert table.header == ("data set", "normalizer", "16", "32", "64", "n")
    # 0.2, 0.4 and 0.0: mean 0.2, sd 0.2, and t(0.975, 2) = 4.3027, so 4.3027 * 0.2 / sqrt(3) = 0.4968
    assert table.sections[0].rows[0] == ("copy", "softmax", "1.000 ± 0.000", "0.600 ± 0.248", "0.200 ± 0.497", "3")
    assert [row[:2] for row in table.sections[0].rows[1:]] == [("", "sparsemax"), ("", "HAE")]
    assert "Trained on lengths 4 to 16." in table.notes


def test_the_csv_has_a_row_per_length_with_token_accuracy(build: SimpleNamespace, runs: Runs) -> None:
    found = parsed(tables_lengths.exact_match(runs, plan_of(build)))
    assert len(found) == 9
    last = found[2]
    assert (last["dataset"], last["normalizer"], last["length"], last["n"], last["rows"]) == (
        *("copy", "softmax", "64", "3"),
        "300",
    )
    assert float(last["exact_match_mean"]) == pytest.approx(0.2)
    assert float(last["exact_match_sd"]) == pytest.approx(0.2)
    assert float(last["exact_match_ci_low"]) == pytest.approx(0.2 - 0.496828, abs=1e-6)
    assert float(last["exact_match_ci_high"]) == pytest.approx(0.2 + 0.496828, abs=1e-6)
    assert float(last["token_accuracy_mean"]) == pytest.approx(0.8)


def test_one_seed_has_no_interval_and_no_test(build: SimpleNamespace) -> None:
    runs = build.runs_of([build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2], level=[1.0, 2.0, 3.0])])
    exact = tables_lengths.exact_match(runs, plan_of(build))
    assert exact is not None
    assert exact.sections[0].rows == (("copy", "softmax", "1.000 ± -", "0.500 ± -", "0.200 ± -", "1"),)
    (one,) = tables_lengths.changes(runs, plan_of(build), "entropy")
    assert (one.change, one.status, one.verdict) == (pytest.approx(2.0), "too few", "inconclusive")
    assert math.isnan(one.p)
    assert math.isnan(one.ci_low)


def test_the_change_of_entropy_is_tested_as_scipy_does(build: SimpleNamespace, runs: Runs) -> None:
    found = tables_lengths.changes(runs, plan_of(build), "entropy")
    assert [one.normalizer for one in found] == ["softmax", "sparsemax", "hae"]
    softmax = found[0]
    differences = [1.0, 1.1, 1.2]
    expected = stats.ttest_1samp(differences, 0.0)
    interval = expected.confidence_interval(0.95)
    assert softmax.means == {16: pytest.approx(1.0), 32: pytest.approx(4.4 / 3), 64: pytest.approx(2.1)}
    assert softmax.change == pytest.approx(1.1)
    assert (softmax.t, softmax.p) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    assert (softmax.ci_low, softmax.ci_high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert [one.p_holm for one in found] == pytest.approx(multipletests([one.p for one in found], method="holm")[1])
    assert [one.verdict for one in found] == ["grows", "falls", "inconclusive"]


def test_the_dispersion_table_has_a_section_per_measure(build: SimpleNamespace, runs: Runs) -> None:
    table = tables_lengths.dispersion(runs, plan_of(build))
    assert table is not None
    assert [section.heading for section in table.sections] == [
        "Entropy of attention, nats (m = 3 tests, Holm within them)",
        "Peak weight (m = 3 tests, Holm within them)",
        "Support (m = 3 tests, Holm within them)",
    ]
    entropy, peak = table.sections[0].rows[0], table.sections[1].rows[0]
    assert entropy[:7] == ("copy", "softmax", "1.000", "1.467", "2.100", "+1.100", "[0.8516, 1.3484]")
    assert entropy[-2:] == ("3", "grows")
    assert peak[2:6] == ("0.100", "0.147", "0.210", "+0.110")
    assert any("two-sided" in note for note in table.notes)
    found = parsed(table)
    assert [row["measure"] for row in found] == ["entropy"] * 3 + ["peak"] * 3 + ["support"] * 3
    assert float(found[0]["mean_64"]) == pytest.approx(2.1)
    assert found[0]["verdict"] == "grows"


@pytest.mark.parametrize(
    ("levels", "status"),
    [([(1.0, 2.0), (1.0, 2.0)], "degenerate"), ([(1.0, 1.0), (2.0, 2.0)], "identical")],
)
def test_the_same_change_on_every_seed_is_no_test(
    build: SimpleNamespace, levels: list[tuple[float, float]], status: str
) -> None:
    records = [
        build.at_lengths("copy", "softmax", seed, [1.0, 0.5], lengths=[16, 32], level=level)
        for seed, level in enumerate(levels)
    ]
    (one,) = tables_lengths.changes(build.runs_of(records), plan_of(build), "entropy")
    assert (one.status, one.verdict) == (status, "inconclusive")


def test_one_length_has_no_change(build: SimpleNamespace) -> None:
    records = [build.at_lengths("copy", "softmax", seed, [0.5], lengths=[16]) for seed in range(3)]
    (one,) = tables_lengths.changes(build.runs_of(records), plan_of(build), "entropy")
    assert one.status == "one length"
    assert math.isnan(one.change)


def test_a_missing_seed_refuses_the_test_unless_it_is_dropped(build: SimpleNamespace) -> None:
    records = [
        build.at_lengths("copy", "softmax", seed, [1.0, 0.5, 0.1], level=level)
        for seed, level in enumerate(LEVELS["softmax"])
    ]
    runs = build.runs_of([*records, build.make("copy", "softmax", 3, None, status="failed")])
    (one,) = tables_lengths.changes(runs, plan_of(build), "entropy")
    assert one.status == "refused: missing seed 3 of softmax"
    (one,) = tables_lengths.changes(runs, build.plan(missing="drop"), "entropy")
    assert (one.status, one.n) == ("ok", 3)


def test_data_sets_with_other_lengths_have_dashes(build: SimpleNamespace) -> None:
    records = [build.at_lengths("copy", "softmax", 0, [1.0, 0.5], lengths=[16, 32])]
    records.append(build.at_lengths("sort", "softmax", 0, [1.0, 0.5], lengths=[32, 128]))
    records[1].config["dataset"] |= {"train_shortest": 8, "train_longest": 32}
    exact = tables_lengths.exact_match(build.runs_of(records), plan_of(build))
    assert exact is not None
    assert exact.header == ("data set", "normalizer", "16", "32", "128", "n")
    assert exact.sections[0].rows == (
        ("copy", "softmax", "1.000 ± -", "0.500 ± -", "-", "1"),
        ("sort", "softmax", "-", "1.000 ± -", "0.500 ± -", "1"),
    )
    assert {"copy: trained on lengths 4 to 16.", "sort: trained on lengths 8 to 32."} <= set(exact.notes)


def test_all_tables_hold_them_and_say_what_accuracy_is(build: SimpleNamespace, runs: Runs) -> None:
    plan = plan_of(build)
    families = comparisons.families(runs, plan)
    made = {table.name: table for table in tables.all_tables(runs, plan, families, comparisons.pairs(runs, plan))}
    assert set(made) >= NAMES
    said = "copy: accuracy is the exact match at length 64."
    assert said in made["main_results"].notes
    assert said in made["paired_vs_softmax"].notes
    assert made["main_results"].sections[0].rows[0] == ("copy", "softmax", "0.200 ± 0.200", "-", "0.500", "3")
    for name in NAMES:
        assert latex.latex(made[name]).count(r"\caption{") == 1
        assert not NEEDED.issubset(made[name].columns)  # they are no family that the report answers with


def test_other_studies_have_no_such_tables_and_no_such_note(build: SimpleNamespace) -> None:
    runs, plan = build.runs_of(build.grid()), build.plan()
    made = tables.all_tables(runs, plan, comparisons.families(runs, plan), comparisons.pairs(runs, plan))
    assert not NAMES & {table.name for table in made}
    assert not any("exact match" in note for table in made for note in table.notes)
    assert tables_lengths.exact_match(runs, plan) is None
    assert tables_lengths.dispersion(runs, plan) is None


@pytest.mark.parametrize("name", sorted(NAMES))
def test_no_family_can_take_their_names(build: SimpleNamespace, name: str) -> None:
    family = {"datasets": ["copy"], "treatments": ["hae"], "table": name}
    with pytest.raises(ValueError, match=f"there is another table '{name}'"):
        build.plan(families={"longest": family})


def test_the_study_compares_each_task_under_each_choice_of_positions() -> None:
    plan = Plan.model_validate(OmegaConf.to_container(OmegaConf.load(STUDY)))
    (family,) = plan.families.values()
    tasks = {name.rpartition("_")[0] for name in family.datasets}
    assert set(family.datasets) == {f"{task}_{where}" for task in tasks for where in ("nape", "rope")}
    assert set(family.treatments) <= set(plan.order) - {plan.control}
    assert all(names.display(name, plan.names) != name or name == "softmax" for name in plan.order)
