"""How many seeds each comparison needs, from the spread of a pilot's paired differences."""

from analysis import absent, comparisons, frame, names
from analysis.console import say
from analysis.errors import InputError
from analysis.frame import Runs
from analysis.matched import Comparison, matched
from analysis.paired import mean_sd
from analysis.plan import Plan
from analysis.power import LARGEST, pairs_needed, power
from analysis.settings import PowerSettings
from analysis.table import NONE, TEXT, Row, Section, Table, Value, blocks, fixed, signed

SHOWN = (5, 10, 20, 30)
"""Numbers of seeds whose power is shown."""


def plan_seeds(settings: PowerSettings) -> None:
    """Print the seeds needed for everything that the analysis compares, and what the pilot cannot say.

    Raises InputError as `load`, and where the records allow no comparison.
    """
    plan = settings.analysis
    runs = frame.load(settings.records)
    results = [*comparisons.families(runs, plan), *comparisons.unplanned(runs, plan), *comparisons.pairs(runs, plan)]
    warnings = [*runs.warnings, *absent.warnings(runs, plan), *comparisons.warnings(runs, plan, results)]
    if not any(row.dataset in runs.datasets for result in results for row in result.rows):
        raise InputError("\n- ".join(["records: nothing to compare, so no seeds to plan", *warnings]))
    say(table(runs, plan, results, settings.target, settings.effect).markdown())
    if warnings:
        say("\n".join(["## Warnings\n", *(f"- {text}" for text in warnings)]))


def table(
    runs: Runs, plan: Plan, results: list[comparisons.FamilyResult], target: float, effect: float | None
) -> Table:
    """Seeds for a power of `target`, and the power of SHOWN numbers of seeds, at the strictest Holm level and without.

    The difference to find is `effect`, or where that is None the one that the pilot saw.
    """
    alpha = 1 - plan.confidence
    sections, values = [], []
    for result in results:
        rows = []
        for row in result.rows:
            needed, powers, numbers = _planned(runs, row, (alpha, alpha / result.m), target, effect)
            name = names.display(row.normalizer, plan.names)
            rows.append((row.dataset, name, str(row.n), *needed, *powers, row.status))
            values.append((row.family, row.dataset, row.normalizer, row.control, row.n, *numbers, row.status))
        levels = f"m = {result.m}, α = {alpha:.4g}, α/m = {alpha / result.m:.4g}"
        sections.append(Section(f"Family {result.name}: {levels}", blocks(rows)))
    sought = "the pilot's own mean difference" if effect is None else f"a difference of {effect:g} in accuracy"
    return Table(
        name="power",
        title=f"Seeds for a power of {target:g}",
        header=(
            *("data set", "normalizer", "pilot n", "Δ accuracy", "sd of Δ", "n at α", "n at α/m"),
            *(f"power, n = {n}" for n in SHOWN),
            "status",
        ),
        left=TEXT,
        sections=tuple(sections),
        columns=(
            *("family", "dataset", "normalizer", "control", "pilot_n", "delta_accuracy", "sd", "n_alpha", "n_holm"),
            *(f"power_{n}_{level}" for n in SHOWN for level in ("alpha", "holm")),
            "status",
        ),
        values=tuple(values),
        notes=(
            f"Of a two-sided paired t test that is to find {sought}, with the sd of the pilot's paired differences.",
            "Power: at α / at α/m, the level that Holm's correction asks of the smallest p of the family.",
            "The sd of a small pilot is itself uncertain, and its mean difference more so: plan for a smaller one.",
        ),
    )


def _planned(
    runs: Runs, row: Comparison, levels: tuple[float, float], target: float, effect: float | None
) -> tuple[Row, Row, tuple[Value, ...]]:
    """(mean, sd and seeds needed as shown, powers as shown, all of them as numbers) of one comparison."""
    if row.status != "ok":
        nan = float("nan")
        return (NONE,) * 4, (NONE,) * len(SHOWN), (row.delta_accuracy, nan, nan, nan) + (nan,) * 2 * len(SHOWN)
    treatment, control = matched(runs, row.dataset, row.normalizer, row.control, ["accuracy"])
    mean, sd = mean_sd(treatment["accuracy"] - control["accuracy"])
    size = (mean if effect is None else effect) / sd
    needed = [pairs_needed(size, target, level) for level in levels]
    powers = [[power(size, n, level) for level in levels] for n in SHOWN]
    shown = [f"> {LARGEST:,}" if n is None else str(n) for n in needed]
    numbers = (mean, sd, *(float("nan") if n is None else n for n in needed), *(p for pair in powers for p in pair))
    return (
        (signed(mean), fixed(sd, 4), *shown),
        tuple(f"{fixed(at_alpha, 2)} / {fixed(at_holm, 2)}" for at_alpha, at_holm in powers),
        numbers,
    )
