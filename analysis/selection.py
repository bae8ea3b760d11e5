"""The choice among normalizers that differ in one setting (ratios of top-k), labelled with the rows that chose."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis import comparisons, names, provenance
from analysis.errors import InputError
from analysis.frame import Runs
from analysis.matched import NAN, Comparison, compare, refusal
from analysis.paired import mean_sd
from analysis.plan import Plan, Selection
from analysis.table import NONE, TEXT, Section, Table, blocks, fixed, interval, signed, spread

LABELS: dict[Selection, str] = {"validation": "selected on validation", "test": "selected on test (optimistic)"}
COLUMNS: dict[Selection, str] = {"validation": "validation_accuracy", "test": "accuracy"}


@dataclass(frozen=True)
class Chosen:
    """The best of one choice on one data set: its mean accuracy on the selection rows, and its test result.

    `row` compares it with the control on the test rows; None where nothing could be chosen, for the reason in `status`.
    """

    choice: str
    dataset: str
    row: Comparison | None
    selection_accuracy: float
    status: str


def chosen(runs: Runs, plan: Plan) -> list[Chosen]:
    """The best of every declared choice, on each data set that completed runs of at least two of its normalizers.

    Compared are means over the seeds that all of them completed; the first declared wins a tie. Raises InputError where
    the selection is on validation rows and a run has none.
    """
    found = []
    for choice, candidates in plan.choices.items():
        for dataset in comparisons.dataset_order(runs, plan):
            if sum(bool(runs.completed(dataset, name)) for name in candidates) > 1:
                found.append(_best(runs, plan, choice, dataset, candidates))
    return found


def warnings(plan: Plan, found: Sequence[Chosen]) -> list[str]:
    """For each choice, the rows it was made on, and what could not be chosen."""
    said = []
    for choice in plan.choices:
        where = [item.dataset for item in found if item.choice == choice and item.row]
        if where:
            said.append(f"choice {choice}: {LABELS[plan.selection]} on {', '.join(where)}")
    without: dict[tuple[str, str], list[str]] = {}
    for item in found:
        if item.row is None:
            without.setdefault((item.choice, item.status), []).append(item.dataset)
    for (choice, status), datasets in without.items():
        drop = comparisons.DROP if "missing seed" in status else ""
        said.append(f"choice {choice}, {', '.join(datasets)}: {status}{drop}")
    return said


def table(runs: Runs, plan: Plan, found: Sequence[Chosen]) -> Table:
    """Per data set and choice: the chosen normalizer, its test accuracy, and its difference from the control."""
    control, label = names.display(plan.control, plan.names), LABELS[plan.selection]
    rows, values = [], []
    for item in found:
        row = item.row or Comparison("", item.dataset, "", plan.control, 0)
        accuracy = mean_sd(runs.cell(item.dataset, row.normalizer)["accuracy"])
        candidates = [names.display(name, plan.names) for name in plan.choices[item.choice]]
        rows.append(
            (
                *(item.dataset, ", ".join(candidates), names.display(row.normalizer, plan.names) or NONE),
                *(fixed(item.selection_accuracy, 3), spread(*accuracy), signed(row.delta_accuracy)),
                *(interval(row.ci_low, row.ci_high), str(row.n), label if item.status == "ok" else item.status),
            )
        )
        numbers = (item.selection_accuracy, *accuracy, row.delta_accuracy, row.ci_low, row.ci_high)
        identity = (item.dataset, item.choice, " ".join(plan.choices[item.choice]), row.normalizer, plan.control, row.n)
        values.append((*identity, *numbers, label, item.status))
    used = [item.row for item in found if item.row]
    return Table(
        name="selected",
        title=f"Chosen normalizers, {label}",
        header=(
            *("data set", "chosen from", "chosen", f"{plan.selection} accuracy", "accuracy", "Δ accuracy"),
            *(f"{plan.percent} CI", "n", "selected on"),
        ),
        left=TEXT,
        sections=(Section("", blocks(rows)),),
        columns=(
            *("dataset", "choice", "candidates", "normalizer", "control", "n", "selection_accuracy", "accuracy_mean"),
            *("accuracy_sd", "delta_accuracy", "ci_low", "ci_high", "selected_on", "status"),
        ),
        values=tuple(values),
        notes=(
            f"Chosen: the highest mean {plan.selection} accuracy over the seeds that all candidates completed.",
            _caution(plan.selection),
            f"Δ: chosen - {control} on the test rows of n matched seeds. CI: Student's t.",
        ),
        cautions=tuple(provenance.notices(provenance.of_rows(runs.frame, used))),
        # The title says what chose; only where nothing could be chosen does the last column say more.
        wide=frozenset({f"{plan.selection} accuracy"} | ({"selected on"} if len(used) == len(found) else set())),
    )


def _best(runs: Runs, plan: Plan, choice: str, dataset: str, candidates: list[str]) -> Chosen:
    refused = refusal(runs, plan, dataset, *candidates)
    if refused:
        return Chosen(choice, dataset, None, NAN, f"refused: {refused}")
    seeds = sorted(set.intersection(*(runs.completed(dataset, name) for name in candidates)))
    if not seeds:
        return Chosen(choice, dataset, None, NAN, "refused: no seed that all of them completed")
    means = [_accuracy(runs.cell(dataset, name).loc[seeds], plan.selection) for name in candidates]
    best = int(np.argmax(means))
    row = compare(runs, plan, choice, 1, dataset, candidates[best], plan.control)
    return Chosen(choice, dataset, row, means[best], row.status)


def _accuracy(cell: pd.DataFrame, selection: Selection) -> float:
    accuracy = cell[COLUMNS[selection]]
    without = cell[accuracy.isna()]
    if len(without):
        raise InputError(
            f"analysis.selection: 'validation' needs a validation accuracy of every run to choose from; {len(without)} "
            f"of {len(cell)} runs of {cell['normalizer'].iloc[0]} on {cell['dataset'].iloc[0]} have none, such as "
            f"{without['path'].iloc[0]}.\nMake runs with rows held out of train (dataset.validation=N) in a "
            "results_dir of their own, or take analysis.selection=test, which is optimistic."
        )
    return float(accuracy.mean())


def _caution(selection: Selection) -> str:
    if selection == "validation":
        return "Selected on validation: rows held out of train chose; the test rows only judge."
    return "Selected on test (optimistic): the rows that chose also judge, so accuracy and Δ are too high on average."
