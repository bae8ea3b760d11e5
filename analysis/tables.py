"""The four tables: main results, paired comparisons with the control, direct comparisons, runtime."""

from collections.abc import Sequence
from dataclasses import astuple, fields

import pandas as pd

from analysis import comparisons, names, provenance
from analysis.comparisons import Comparison, FamilyResult
from analysis.frame import Runs
from analysis.paired import mean_sd
from analysis.settings import Plan
from analysis.table import NONE, Row, Section, Table, Value, blocks, fixed, interval, p_value, signed, spread

TEXT = frozenset({"data set", "normalizer", "status"})
NOT_EQUALITY = "A large p is no evidence of equality: it says that these seeds do not decide."


def all_tables(runs: Runs, plan: Plan, families: list[FamilyResult], pairs: list[FamilyResult]) -> list[Table]:
    """Every table that has rows, in the order of the report."""
    against = [paired_table(runs, plan, f"paired_vs_{plan.control}", families)] if families else []
    direct = [paired_table(runs, plan, pair.name, [pair]) for pair in pairs]
    return [main_results(runs, plan), *against, *direct, runtime(runs, plan)]


def _cells(runs: Runs, plan: Plan) -> list[tuple[str, str, pd.DataFrame]]:
    """(data set, normalizer, its completed runs) in the order of the rows."""
    return [
        (dataset, normalizer, runs.cell(dataset, normalizer))
        for dataset in comparisons.dataset_order(runs, plan)
        for normalizer in names.ordered(runs.normalizers(dataset), plan.order)
    ]


def main_results(runs: Runs, plan: Plan) -> Table:
    """Accuracy and macro-F1 (mean ± sd over seeds), mean attention support and n, per data set and normalizer."""
    rows: list[Row] = []
    values: list[tuple[Value, ...]] = []
    everywhere = {
        name: {seed for n in runs.normalizers(name) for seed in runs.attempted(name, n)} for name in runs.datasets
    }
    for dataset, normalizer, cell in _cells(runs, plan):
        accuracy, f1 = mean_sd(cell["accuracy"]), mean_sd(cell["macro_f1"])
        support, n = mean_sd(cell["support"])[0], len(cell)
        lost = (everywhere[dataset] | runs.attempted(dataset, normalizer)) - runs.completed(dataset, normalizer)
        shown_n = f"{n} (without {names.seeds(lost)})" if lost else str(n)
        shown = (spread(*accuracy), spread(*f1), fixed(support, 3), shown_n)
        rows.append((dataset, names.display(normalizer, plan.names), *shown))
        values.append((dataset, normalizer, n, " ".join(map(str, sorted(lost))), *accuracy, *f1, support))
    return Table(
        name="main_results",
        title="Main results",
        header=("data set", "normalizer", "accuracy", "macro-F1", "support", "n"),
        left=TEXT,
        sections=(Section("", blocks(rows)),),
        columns=(
            *("dataset", "normalizer", "n", "missing_seeds", "accuracy_mean", "accuracy_sd"),
            *("macro_f1_mean", "macro_f1_sd", "support_mean"),
        ),
        values=tuple(values),
        notes=(
            "Mean ± standard deviation (ddof 1) over n seeds, on the test rows of each seed.",
            "Support: share of attention weights above 1e-7, mean over rows, heads, queries and blocks.",
            *provenance.notices(runs.frame),
        ),
    )


def paired_table(runs: Runs, plan: Plan, name: str, results: Sequence[FamilyResult]) -> Table:
    """Paired comparisons over matched seeds, a section per family, each with its own Holm correction."""
    percent = f"{100 * plan.confidence:g} %"
    rows = [row for result in results for row in result.rows]
    control = names.display(rows[0].control, plan.names)
    title = f"Paired comparison with {control}"
    if len({row.normalizer for row in rows}) == 1:
        title = f"{names.display(rows[0].normalizer, plan.names)} compared with {control}"
    used = runs.frame["dataset"].isin([row.dataset for row in rows])
    used &= runs.frame["normalizer"].isin([row.control for row in rows] + [row.normalizer for row in rows])
    return Table(
        name=name,
        title=title,
        header=(
            *("data set", "normalizer", "Δ accuracy", f"{percent} CI", f"simultaneous {percent} CI", "Δ macro-F1"),
            *("t", "df", "p", "Holm p", "n", "status"),
        ),
        left=TEXT,
        sections=tuple(_section(result, plan) for result in results),
        columns=tuple(field.name for field in fields(Comparison)),
        values=tuple(astuple(row) for row in rows),
        notes=(
            f"Δ: normalizer - {control}, mean over n matched seeds. p: paired t test, two-sided, on accuracy.",
            f"CI: Student's t. Simultaneous CI: Bonferroni, all m intervals of a family together hold with {percent}.",
            "identical: no difference on any seed. degenerate: the same difference on every seed, so no test.",
            NOT_EQUALITY,
            *provenance.notices(runs.frame[used]),
        ),
    )


def _section(result: FamilyResult, plan: Plan) -> Section:
    rows = [
        (
            *(row.dataset, names.display(row.normalizer, plan.names), signed(row.delta_accuracy)),
            *(interval(row.ci_low, row.ci_high), interval(row.sci_low, row.sci_high), signed(row.delta_macro_f1)),
            *(fixed(row.t, 2), fixed(row.df, 0), p_value(row.p), p_value(row.p_holm), str(row.n), row.status),
        )
        for row in result.rows
    ]
    tested = sum(row.p == row.p for row in result.rows)
    without = f", {result.m - tested} of them without a result" if tested < result.m else ""
    return Section(f"Family {result.name}: m = {result.m} planned tests{without}, Holm within them", blocks(rows))


def runtime(runs: Runs, plan: Plan) -> Table:
    """Mean seconds of the training loop and of one pass over the test rows, and their ratios to the control."""
    rows: list[Row] = []
    values: list[tuple[Value, ...]] = []
    for dataset, normalizer, cell in _cells(runs, plan):
        if not len(cell):
            continue
        control = runs.cell(dataset, plan.control)
        train, train_sd = mean_sd(cell["train_seconds"])
        inference, inference_sd = mean_sd(cell["inference_seconds"])
        ratios = [
            _ratio(train, mean_sd(control["train_seconds"])[0]),
            _ratio(inference, mean_sd(control["inference_seconds"])[0]),
        ]
        shown = (fixed(train, 2), fixed(ratios[0], 2, "x"), fixed(inference, 3), fixed(ratios[1], 2, "x"))
        rows.append((dataset, names.display(normalizer, plan.names), *shown, str(len(cell))))
        values.append((dataset, normalizer, len(cell), train, train_sd, ratios[0], inference, inference_sd, ratios[1]))
    control_name = names.display(plan.control, plan.names)
    return Table(
        name="runtime",
        title="Runtime",
        header=("data set", "normalizer", "training s", "ratio", "inference s", "ratio", "n"),
        left=TEXT,
        sections=(Section("", blocks(rows)),),
        columns=(
            *("dataset", "normalizer", "n", "train_seconds_mean", "train_seconds_sd", "train_ratio"),
            *("inference_seconds_mean", "inference_seconds_sd", "inference_ratio"),
        ),
        values=tuple(values),
        notes=(
            "Mean seconds of the training loop and of one inference pass over the test rows.",
            f"Ratio: to {control_name}; {NONE} where there is none.",
            f"Measured on: {provenance.machine(runs.frame)}.",
            *provenance.notices(runs.frame),
        ),
    )


def _ratio(value: float, reference: float) -> float:
    return value / reference if reference > 0 else float("nan")
