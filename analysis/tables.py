"""The tables of an analysis, and those of means: main results, and the follow-up tables that families declare."""

from collections.abc import Iterable, Sequence

import pandas as pd

from analysis import (
    claims,
    comparisons,
    lengths,
    names,
    provenance,
    replication,
    selection,
    tables_lengths,
    tables_lengths_paired,
    tables_mass,
    tables_paired,
    tables_runtime,
    targets,
)
from analysis.comparisons import FamilyResult
from analysis.frame import Runs
from analysis.paired import mean_sd
from analysis.plan import Plan
from analysis.selection import Chosen
from analysis.table import TEXT, Row, Section, Table, Value, blocks, fixed, p_value, signed, spread

MEANS = "Mean ± standard deviation (ddof 1) over n seeds, on the test rows of each seed."
SUPPORT = "Support: share of attention weights above 1e-7, mean over rows, heads, queries and blocks."
COLUMNS = ("accuracy_mean", "accuracy_sd", "macro_f1_mean", "macro_f1_sd", "support_mean")


def all_tables(
    runs: Runs,
    plan: Plan,
    families: Sequence[FamilyResult],
    pairs: Sequence[FamilyResult],
    chosen: Sequence[Chosen] = (),
) -> list[Table]:
    """Every table that has rows, in the order of the report."""
    of_some = [tables_mass.mass(runs, plan), targets.table(runs, plan)]
    of_some += [tables_lengths.exact_match(runs, plan), tables_lengths.dispersion(runs, plan)]
    of_some += [tables_lengths_paired.table(runs, plan)]
    of_some += [claims.table(runs, plan, families, pairs), replication.table(runs, plan)]
    declared = [(plan.families[result.name].table, result) for result in families if result.name in plan.families]
    return [
        main_results(runs, plan),
        *(follow_up(runs, plan, name, result) for name, result in declared if name),
        *tables_paired.against_controls(runs, plan, families),
        *(tables_paired.paired_table(runs, plan, pair.name, [pair]) for pair in pairs),
        *([selection.table(runs, plan, chosen)] if chosen else []),
        *(table for table in of_some if table is not None),
        tables_runtime.runtime(runs, plan),
    ]


def main_results(runs: Runs, plan: Plan) -> Table:
    """Accuracy and macro-F1 (mean ± sd over seeds), mean attention support and n, per data set and normalizer."""
    rows: list[Row] = []
    values: list[tuple[Value, ...]] = []
    cells = comparisons.cells(runs, plan)
    everywhere: dict[str, set[int]] = {}
    for dataset, normalizer, _ in cells:
        everywhere.setdefault(dataset, set()).update(runs.attempted(dataset, normalizer))
    for dataset, normalizer, cell in cells:
        lost = everywhere[dataset] - runs.completed(dataset, normalizer)
        n = len(cell)
        shown, numbers = _means(cell)
        shown_n = f"{n} (without {names.seeds(lost)})" if lost else str(n)
        rows.append((dataset, names.display(normalizer, plan.names), *shown, shown_n))
        values.append((dataset, normalizer, n, " ".join(map(str, sorted(lost))), *numbers))
    return Table(
        name="main_results",
        title="Main results",
        header=("data set", "normalizer", "accuracy", "macro-F1", "support", "n"),
        left=TEXT,
        sections=(Section("", blocks(rows)),),
        columns=("dataset", "normalizer", "n", "missing_seeds", *COLUMNS),
        values=tuple(values),
        notes=(
            MEANS,
            SUPPORT,
            *_of_lengths(runs),
        ),
        cautions=tuple(provenance.notices(runs.frame)),
    )


def _of_lengths(runs: Runs) -> list[str]:
    """What accuracy and support mean where models were tested at several lengths."""
    if runs.by_length.empty:
        return []
    at_longest = "There, support is that of the queries that predict answer tokens, among the keys they may attend to."
    return [*lengths.notices(runs.by_length), at_longest]


def follow_up(runs: Runs, plan: Plan, name: str, result: FamilyResult) -> Table:
    """The means of one family, control included, each with its difference from the control and the raw paired p."""
    compared = {(row.dataset, row.normalizer): row for row in result.rows}
    rows: list[Row] = []
    values: list[tuple[Value, ...]] = []
    for dataset, normalizer, cell in comparisons.cells(runs, plan):
        row = compared.get((dataset, normalizer))
        if row is None and (normalizer != result.control or dataset not in {where for where, _ in compared}):
            continue
        delta, p = (row.delta_accuracy, row.p) if row else (float("nan"), float("nan"))
        shown, numbers = _means(cell)
        rows.append((dataset, names.display(normalizer, plan.names), *shown, signed(delta), p_value(p), str(len(cell))))
        values.append((dataset, normalizer, result.control, len(cell), *numbers, delta, p))
    control = names.display(result.control, plan.names)
    return Table(
        name=name,
        title=f"Results of family {result.name}, with raw paired p",
        header=("data set", "normalizer", "accuracy", "macro-F1", "support", "Δ accuracy", "p", "n"),
        left=TEXT,
        sections=(Section("", blocks(rows)),),
        columns=("dataset", "normalizer", "control", "n", *COLUMNS, "delta_accuracy", "p"),
        values=tuple(values),
        notes=(
            *(MEANS, SUPPORT),
            f"Δ: normalizer - {control} on matched seeds. p: paired t test, two-sided, not corrected for multiplicity.",
            *_untested(result, plan),
        ),
        cautions=tuple(provenance.notices(provenance.of_rows(runs.frame, result.rows))),
    )


def _means(cell: pd.DataFrame) -> tuple[Row, tuple[float, ...]]:
    """Accuracy, macro-F1 and support of one cell, as shown and as numbers (COLUMNS)."""
    accuracy, f1, support = mean_sd(cell["accuracy"]), mean_sd(cell["macro_f1"]), mean_sd(cell["support"])[0]
    return (spread(*accuracy), spread(*f1), fixed(support, 3)), (*accuracy, *f1, support)


def _untested(result: FamilyResult, plan: Plan) -> Iterable[str]:
    for row in result.rows:
        if row.status != "ok":
            yield f"{row.dataset} {names.display(row.normalizer, plan.names)}: {row.status}"
