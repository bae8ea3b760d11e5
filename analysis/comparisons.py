"""Runs and plan -> rows of paired comparisons, family by family."""

from collections import Counter
from dataclasses import dataclass, replace

from analysis import names, paired
from analysis.errors import near
from analysis.frame import Runs
from analysis.settings import Missing, Plan

NAN = float("nan")
UNPLANNED = "unplanned"
"""The name of the family of comparisons that no family declares."""


@dataclass(frozen=True)
class Comparison:
    """One row: treatment `normalizer` - `control` over matched seeds. What `status` leaves undefined is NaN.

    `status`: ok, identical, degenerate, too few, or `refused: ` with the reason.
    """

    family: str
    dataset: str
    normalizer: str
    control: str
    n: int
    delta_accuracy: float
    ci_low: float
    ci_high: float
    sci_low: float
    sci_high: float
    delta_macro_f1: float
    t: float
    df: float
    p: float
    p_holm: float
    status: str


@dataclass(frozen=True)
class FamilyResult:
    """The rows of one declared family; `m` planned tests, of which some may have no result."""

    name: str
    m: int
    rows: tuple[Comparison, ...]


def dataset_order(runs: Runs, plan: Plan) -> list[str]:
    """The data sets of the records: as the families name them, then the others by alphabet."""
    return names.ordered(runs.datasets, [name for family in plan.families.values() for name in family.datasets])


def families(runs: Runs, plan: Plan) -> list[FamilyResult]:
    """Every declared family that has at least one run, in the order of the plan."""
    results = []
    for name, family in plan.families.items():
        if runs.datasets.intersection(family.datasets):
            tests = [(dataset, treatment) for dataset in family.datasets for treatment in family.treatments]
            results.append(_family(runs, plan, name, tests, plan.control))
    return results


def unplanned(runs: Runs, plan: Plan) -> list[FamilyResult]:
    """Every comparison with the control that the records allow and no family declares, as one family; or none."""
    planned = {(name, t) for family in plan.families.values() for name in family.datasets for t in family.treatments}
    tests = [
        (dataset, normalizer)
        for dataset in dataset_order(runs, plan)
        for normalizer in names.ordered(runs.normalizers(dataset), plan.order)
        if normalizer != plan.control and (dataset, normalizer) not in planned and runs.completed(dataset, plan.control)
    ]
    return [_family(runs, plan, UNPLANNED, tests, plan.control)] if tests else []


def pairs(runs: Runs, plan: Plan) -> list[FamilyResult]:
    """Every declared direct comparison, on the data sets with a run of either side; each is a family of its own."""
    results = []
    for pair in plan.pairs:
        either = {pair.treatment, pair.control}
        tests = [(name, pair.treatment) for name in dataset_order(runs, plan) if runs.normalizers(name) & either]
        if tests:
            results.append(_family(runs, plan, pair.name, tests, pair.control))
    return results


def warnings(runs: Runs, plan: Plan, results: list[FamilyResult]) -> list[str]:
    """What the plan asked for and the records do not give, one message per reason."""
    said = []
    for name, family in plan.families.items():
        absent = [dataset for dataset in family.datasets if dataset not in runs.datasets]
        hints = "".join(near(dataset, runs.datasets - set(family.datasets)) for dataset in absent)
        if len(absent) == len(family.datasets):
            said.append(f"family {name}: no records of {', '.join(absent)}, so it is left out{hints}")
        elif absent:
            said.append(f"family {name}: no records of {', '.join(absent)}; their tests still count in m{hints}")
    rows = [row for result in results for row in result.rows if row.dataset in runs.datasets]
    reasons = Counter(
        (row.family, row.dataset, row.control, row.status) for row in rows if row.status.startswith("refused")
    )
    for (name, dataset, control, status), count in reasons.items():
        many = f"{count} comparisons" if count > 1 else "1 comparison"
        said.append(f"family {name}, {dataset}: {many} with {control} {status}")
    if plan.missing == "drop":
        for row in rows:
            lost = _missing(runs, row.dataset, row.normalizer, row.control)
            if lost and not row.status.startswith("refused"):
                pair = f"{row.normalizer} vs {row.control}"
                said.append(f"family {row.family}, {row.dataset}: {pair} on {row.n} complete pairs, {lost}")
    return said


def _family(runs: Runs, plan: Plan, name: str, tests: list[tuple[str, str]], control: str) -> FamilyResult:
    level = paired.simultaneous(plan.confidence, len(tests))
    rows = [_compare(runs, name, dataset, t, control, (plan.confidence, level), plan.missing) for dataset, t in tests]
    adjusted = paired.holm([row.p for row in rows])
    with_holm = tuple(replace(row, p_holm=float(p)) for row, p in zip(rows, adjusted, strict=True))
    return FamilyResult(name, len(tests), with_holm)


def _compare(
    runs: Runs, family: str, dataset: str, treatment: str, control: str, levels: tuple[float, float], missing: Missing
) -> Comparison:
    a, b = (runs.cell(dataset, name)[["accuracy", "macro_f1"]] for name in (treatment, control))
    # Matched by seed, never by row order.
    seeds = a.index.intersection(b.index).sort_values()
    a, b = a.loc[seeds], b.loc[seeds]
    refusal = _refusal(runs, dataset, treatment, control, missing)
    if refusal:
        none = (NAN,) * 10
        return Comparison(family, dataset, treatment, control, len(seeds), *none, status=f"refused: {refusal}")
    accuracy = a["accuracy"].to_numpy(), b["accuracy"].to_numpy()
    test = paired.paired_t(*accuracy, confidence=levels[0])
    wide = paired.t_interval(accuracy[0] - accuracy[1], levels[1]) if test.status == "ok" else paired.NO_INTERVAL
    f1 = float((a["macro_f1"] - b["macro_f1"]).mean(skipna=False))
    return Comparison(
        *(family, dataset, treatment, control, test.n, test.mean, *test.interval, *wide),
        *(f1, test.t, test.df, test.p, NAN, test.status),
    )


def _refusal(runs: Runs, dataset: str, treatment: str, control: str, missing: Missing) -> str:
    absent = [name for name in (treatment, control) if not runs.completed(dataset, name)]
    if absent:
        return f"no completed run of {' and '.join(absent)}"
    return _missing(runs, dataset, treatment, control) if missing == "refuse" else ""


def _missing(runs: Runs, dataset: str, treatment: str, control: str) -> str:
    """`missing seed 3 of sparsemax`, where a seed was tried for either side and has no result on one; else empty."""
    tried = runs.attempted(dataset, treatment) | runs.attempted(dataset, control)
    parts = []
    for name in (treatment, control):
        lost = tried - runs.completed(dataset, name)
        if lost:
            parts.append(f"missing {names.seeds(lost)} of {name}")
    return ", ".join(parts)
