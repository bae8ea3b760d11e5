"""Tables of paired comparisons: a section per family, headed with all that its tests depend on."""

import math
from collections.abc import Sequence

from analysis import lengths, names, provenance
from analysis.comparisons import FamilyResult
from analysis.frame import Runs
from analysis.matched import COLUMNS, Comparison
from analysis.plan import UNPLANNED, Plan
from analysis.table import NONE, TEXT, Row, Section, Table, blocks, fixed, interval, p_value, signed

NOT_EQUALITY = "A large p is no evidence of equality: it says that these seeds do not decide."


def against_controls(runs: Runs, plan: Plan, families: Sequence[FamilyResult]) -> list[Table]:
    """`paired_vs_<control>` for each control, with all families that have it."""
    controls = dict.fromkeys(family.control for family in families)
    return [
        paired_table(runs, plan, f"paired_vs_{control}", [family for family in families if family.control == control])
        for control in controls
    ]


def paired_table(runs: Runs, plan: Plan, name: str, results: Sequence[FamilyResult]) -> Table:
    """Paired comparisons over matched seeds with one control, a section per family, each with its own correction."""
    percent = plan.percent
    rows = [row for result in results for row in result.rows]
    control = names.display(rows[0].control, plan.names)
    title = f"Paired comparison with {control}"
    if len({row.normalizer for row in rows}) == 1:
        title = f"{names.display(rows[0].normalizer, plan.names)} compared with {control}"
    return Table(
        name=name,
        title=title,
        header=(
            *("data set", "normalizer", "Δ accuracy", f"{percent} CI", f"simultaneous {percent} CI", "Δ macro-F1"),
            *("t", "df", "p", "Holm p", "sign-flip p", "d_z", "g", "TOST p", "w/t/l", "n", "verdict"),
        ),
        left=TEXT,
        wide=frozenset({f"simultaneous {percent} CI", "t", "df", "sign-flip p", "d_z", "w/t/l"}),
        sections=tuple(_section(result, plan) for result in results),
        columns=COLUMNS,
        values=tuple(tuple(getattr(row, column) for column in COLUMNS) for row in rows),
        notes=(
            *_notes(plan, control, percent),
            *lengths.notices(provenance.of_rows(runs.by_length, rows)),
        ),
        cautions=tuple(provenance.notices(provenance.of_rows(runs.frame, rows))),
    )


def _notes(plan: Plan, control: str, percent: str) -> tuple[str, ...]:
    alpha = f"{1 - plan.confidence:.10g}"
    return (
        f"Δ: normalizer - {control}, mean over n matched seeds. p: paired t test, two-sided, on accuracy.",
        f"CI: Student's t. Simultaneous CI: Bonferroni, all m intervals of a family together hold with {percent}.",
        "sign-flip p: raw, over all sign vectors of the differences (above n = 20 over random ones, seeded).",
        "d_z: mean over sd of the differences; g: d_z corrected for small n (Hedges). w/t/l: seeds won, tied, lost.",
        f"verdict: better or worse where Holm p ≤ {alpha}; else equivalent where TOST p ≤ {alpha} at the declared "
        f"margin of ±{plan.margin:g} in accuracy, uncorrected for multiplicity; else inconclusive.",
        "identical: no difference on any seed. degenerate: the same difference on every seed, so no test.",
        NOT_EQUALITY,
    )


def _section(result: FamilyResult, plan: Plan) -> Section:
    return Section(
        _heading(result, plan),
        blocks([_shown(row, plan) for row in result.rows]),
        (f"Family {result.name}: {_verdicts(result)}.",),
    )


def _heading(result: FamilyResult, plan: Plan) -> str:
    tested = sum(row.status == "ok" for row in result.rows)
    without = f", {result.m - tested} of them without a result" if tested < result.m else ""
    planned = "" if result.name == UNPLANNED else "planned "
    text = f"Family {result.name}: m = {result.m} {planned}tests{without}, Holm within them"
    text += f"; confidence {plan.percent}, margin ±{plan.margin:g}"
    least = result.least_p
    if math.isnan(least):
        return text
    text += f"; least sign-flip p {p_value(least)}"
    cannot = least * result.m > 1 - plan.confidence
    return text + (
        f", times m {p_value(min(1.0, least * result.m))}: corrected, the sign-flip test can never reject"
        if cannot
        else ""
    )


def _verdicts(result: FamilyResult) -> str:
    return ", ".join(f"{count} {word}" for word, count in result.verdicts.items()) + f" of {result.m} comparisons"


def _shown(row: Comparison, plan: Plan) -> Row:
    return (
        *(row.dataset, names.display(row.normalizer, plan.names), signed(row.delta_accuracy)),
        *(interval(row.ci_low, row.ci_high), interval(row.sci_low, row.sci_high), signed(row.delta_macro_f1)),
        *(fixed(row.t, 2), fixed(row.df, 0), p_value(row.p), p_value(row.p_holm), p_value(row.p_sign_flip)),
        *(signed(row.d_z, 2), signed(row.hedges_g, 2), p_value(row.p_tost)),
        *(NONE if math.isnan(row.delta_accuracy) else f"{row.wins}/{row.ties}/{row.losses}", str(row.n)),
        row.verdict if row.status == "ok" else f"{row.verdict} ({row.status})",
    )
