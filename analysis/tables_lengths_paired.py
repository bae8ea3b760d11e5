"""The table of paired comparisons at every test length, for where the longest is beyond all normalizers."""

from collections.abc import Sequence
from dataclasses import replace

from analysis import comparisons, names, paired, provenance
from analysis.comparisons import FamilyResult
from analysis.frame import Runs
from analysis.matched import COLUMNS, NAN, Comparison, compare, judged
from analysis.plan import Plan
from analysis.table import NONE, TEXT, Row, Section, Table, blocks, p_value, signed
from analysis.tables_lengths import every, of_lengths, trained

FAMILY = "by_length"
MEASURE = "token_accuracy"
"""What is compared: unlike exact match it still tells normalizers apart where no row is right as a whole."""

NAMED = {"delta_accuracy": f"delta_{MEASURE}"}
LEFT_OUT = ("family", "delta_macro_f1")

Tested = dict[int, dict[tuple[str, str, str], Comparison]]
"""Test length -> (data set, normalizer, control) -> its row."""


def at(runs: Runs, length: int) -> Runs:
    """The runs that were tested at `length`, with MEASURE there as their accuracy and no macro-F1."""
    there = runs.by_length[runs.by_length["length"] == length].set_index("path")[MEASURE]
    frame = runs.frame[runs.frame["path"].isin(there.index)]
    return replace(runs, frame=frame.assign(accuracy=frame["path"].map(there), macro_f1=NAN))


def compared(runs: Runs, plan: Plan) -> Tested:
    """Every planned treatment against its control at every test length of its data set, Holm's p within all of them."""
    of = {dataset: set(group) for dataset, group in runs.by_length.groupby("dataset")["length"]}
    tests = dict.fromkeys(
        (length, dataset, treatment, plan.control_of(family))
        for family in plan.families.values()
        for dataset in family.datasets
        for length in sorted(of.get(dataset, ()))
        for treatment in family.treatments
    )
    views = {length: at(runs, length) for length in every(runs)}
    rows = [compare(views[length], plan, FAMILY, len(tests), *test) for length, *test in tests]
    adjusted = paired.holm([row.p for row in rows])
    found: Tested = {length: {} for length in views}
    for (length, *test), row, p in zip(tests, rows, adjusted, strict=True):
        dataset, treatment, control = test
        found[length][dataset, treatment, control] = judged(row, float(p), 1 - plan.confidence)
    return found


def table(runs: Runs, plan: Plan) -> Table | None:
    """A row per data set and normalizer, a column per test length; None where no family has records with lengths."""
    found = compared(runs, plan)
    columns = every(runs)
    rows = [row for length in columns for row in found[length].values()]
    if not rows:
        return None
    result = FamilyResult(FAMILY, len(rows), tuple(rows))
    controls = list(dict.fromkeys(row.control for row in rows))
    tests = list(dict.fromkeys(test for length in columns for test in found[length]))
    tests.sort(key=lambda test: comparisons.dataset_order(runs, plan).index(test[0]))
    kept = [column for column in COLUMNS if column not in LEFT_OUT]
    return Table(
        name="paired_by_length",
        title="Paired comparison at every test length",
        header=("data set", "normalizer", *map(str, columns)),
        left=TEXT,
        sections=tuple(
            Section(
                f"Token accuracy minus that of {names.display(control, plan.names)} (Holm p)",
                blocks([_row(test, found, plan) for test in tests if test[2] == control]),
            )
            for control in controls
        ),
        columns=("length", *(NAMED.get(column, column) for column in kept)),
        values=tuple(
            (length, *(getattr(found[length][test], column) for column in kept))
            for test in tests
            for length in columns
            if test in found[length]
        ),
        notes=(
            "Token accuracy: share of answer tokens that are right, given the true ones before; it tells normalizers "
            "apart at lengths where no row is right as a whole. Where most answers repeat the one before, as in a long "
            "sorted row, little of it is left to differ in. Columns: test lengths.",
            *trained(runs, plan),
            f"Each cell: mean difference over matched seeds, and Holm's p within the m = {len(rows)} planned tests of "
            f"this whole table, of paired t tests, two-sided. The CSV has intervals (simultaneous ones with this m), "
            "raw p and verdicts.",
            f"Verdicts, with a margin of ±{plan.margin:g} in token accuracy: "
            + ", ".join(f"{count} {word}" for word, count in result.verdicts.items())
            + f" of {len(rows)} comparisons.",
            "identical: no difference on any seed. degenerate: the same difference on every seed, so no test.",
            *_refused(rows, plan),
        ),
        cautions=tuple(provenance.notices(provenance.of_rows(of_lengths(runs), rows))),
    )


def _row(test: tuple[str, str, str], found: Tested, plan: Plan) -> Row:
    dataset, normalizer, _ = test
    return (dataset, names.display(normalizer, plan.names), *(_cell(rows.get(test)) for rows in found.values()))


def _cell(row: Comparison | None) -> str:
    if row is None or row.status.startswith("refused"):
        return NONE
    return f"{signed(row.delta_accuracy)} ({p_value(row.p_holm) if row.status == 'ok' else row.status})"


def _refused(rows: Sequence[Comparison], plan: Plan) -> list[str]:
    """A line for each comparison that was refused, whatever its lengths."""
    said = [
        f"{row.dataset} {names.display(row.normalizer, plan.names)}: {row.status}"
        for row in rows
        if row.status.startswith("refused")
    ]
    return list(dict.fromkeys(said))
