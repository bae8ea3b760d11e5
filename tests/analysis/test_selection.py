"""The choice among ratios: which rows choose, what is refused, and that it always says so."""

from types import SimpleNamespace

import pytest

from analysis import selection
from analysis.errors import InputError
from analysis.frame import Runs
from analysis.plan import Plan

TEST = {"softmax": (0.50, 0.51, 0.52), "a": (0.60, 0.62, 0.61), "b": (0.55, 0.56, 0.58)}
VALIDATION = {"softmax": 0.5, "a": 0.4, "b": 0.7}


def given(
    build: SimpleNamespace, lost: tuple[str, int] | None = None, held_out: bool = True, **changes: object
) -> tuple[Runs, Plan]:
    """Runs in which `a` is better on test rows and `b` on validation rows, and their plan."""
    records = [
        build.make(
            "digits",
            name,
            seed,
            accuracy,
            metrics={"accuracy": accuracy, "macro_f1": accuracy}
            | ({"validation_accuracy": VALIDATION[name]} if held_out else {}),
        )
        for name, row in TEST.items()
        for seed, accuracy in enumerate(row)
        if (name, seed) != lost
    ]
    plan = {"order": list(TEST), "families": {}, "pairs": [], "choices": {"ratio": ["a", "b"]}}
    return build.runs_of(records), build.plan(**plan | changes)


@pytest.mark.parametrize(
    ("rows", "best", "accuracy", "label"),
    [("test", "a", 0.61, "selected on test (optimistic)"), ("validation", "b", 0.7, "selected on validation")],
)
def test_the_declared_rows_choose(build: SimpleNamespace, rows: str, best: str, accuracy: float, label: str) -> None:
    runs, plan = given(build, selection=rows)
    [found] = selection.chosen(runs, plan)
    assert found.row is not None
    assert (found.row.normalizer, found.row.n, found.status) == (best, 3, "ok")
    assert found.selection_accuracy == pytest.approx(accuracy)
    assert found.row.delta_accuracy == pytest.approx(sum(TEST[best]) / 3 - 0.51)
    assert selection.warnings(plan, [found]) == [f"choice ratio: {label} on digits"]
    table = selection.table(runs, plan, [found])
    assert table.title == f"Chosen normalizers, {label}"
    assert table.sections[0].rows[0][2] == best
    assert table.sections[0].rows[0][-1] == label
    assert dict(zip(table.columns, table.values[0], strict=True))["selected_on"] == label


def test_validation_without_validation_rows_is_an_error_that_says_what_to_do(build: SimpleNamespace) -> None:
    runs, plan = given(build, held_out=False, selection="validation")
    with pytest.raises(InputError, match="3 of 3 runs of a on digits have none, such as digits-a-0") as error:
        selection.chosen(runs, plan)
    assert "dataset.validation=N" in str(error.value)


def test_a_missing_seed_refuses_the_choice_unless_dropped(build: SimpleNamespace) -> None:
    runs, plan = given(build, lost=("b", 1))
    [found] = selection.chosen(runs, plan)
    assert (found.row, found.status) == (None, "refused: missing seed 1 of b")
    assert selection.warnings(plan, [found]) == [
        "choice ratio, digits: refused: missing seed 1 of b; analysis.missing=drop compares the complete pairs"
    ]
    assert selection.table(runs, plan, [found]).sections[0].rows[0][2:6] == ("-", "-", "-", "-")
    runs, plan = given(build, lost=("b", 1), missing="drop")
    [found] = selection.chosen(runs, plan)
    assert found.selection_accuracy == pytest.approx((0.60 + 0.61) / 2)


def test_the_first_declared_wins_a_tie(build: SimpleNamespace) -> None:
    records = build.grid(dict.fromkeys(("softmax", "a", "b"), (0.5, 0.6)))
    plan = build.plan(order=["softmax", "a", "b"], families={}, pairs=[], choices={"ratio": ["b", "a"]})
    [found] = selection.chosen(build.runs_of(records), plan)
    assert found.row is not None
    assert (found.row.normalizer, found.status) == ("b", "identical")


def test_a_missing_control_leaves_the_choice_without_a_difference(build: SimpleNamespace) -> None:
    runs, plan = given(build, lost=("softmax", 0))
    [found] = selection.chosen(runs, plan)
    assert found.row is not None
    assert (found.row.normalizer, found.status) == ("a", "refused: missing seed 0 of softmax")


def test_one_candidate_alone_is_no_choice(build: SimpleNamespace) -> None:
    records = build.grid({"softmax": (0.5, 0.6), "a": (0.5, 0.7)})
    plan = build.plan(order=["softmax", "a", "b"], families={}, pairs=[], choices={"ratio": ["a", "b"]})
    assert selection.chosen(build.runs_of(records), plan) == []
