"""Runs and plan -> rows of paired comparisons, family by family."""

from collections import Counter
from dataclasses import dataclass
from typing import get_args

import pandas as pd

from analysis import names, paired, signflip
from analysis.errors import near
from analysis.frame import Runs
from analysis.matched import Comparison, Verdict, compare, judged, missing
from analysis.plan import UNPLANNED, Plan

__all__ = [
    *("UNPLANNED", "Comparison", "FamilyResult"),
    *("cells", "dataset_order", "families", "pairs", "unplanned", "warnings"),
]

DROP = "; analysis.missing=drop compares the complete pairs"


@dataclass(frozen=True)
class FamilyResult:
    """The rows of one declared family; `m` planned tests, of which some may have no result."""

    name: str
    m: int
    rows: tuple[Comparison, ...]

    @property
    def control(self) -> str:
        """The normalizer that all rows are compared with."""
        return self.rows[0].control

    @property
    def least_p(self) -> float:
        """The least p that the sign-flip test of any row could reach; NaN where nothing was tested."""
        return min((signflip.least_p(row.n) for row in self.rows if row.status == "ok"), default=paired.NAN)

    @property
    def verdicts(self) -> dict[str, int]:
        """How many rows have each verdict."""
        counts = Counter(row.verdict for row in self.rows)
        return {word: counts[word] for word in get_args(Verdict)}


def dataset_order(runs: Runs, plan: Plan) -> list[str]:
    """The data sets of the records: as the families name them, then the others by alphabet."""
    return names.ordered(runs.datasets, [name for family in plan.families.values() for name in family.datasets])


def cells(runs: Runs, plan: Plan) -> list[tuple[str, str, pd.DataFrame]]:
    """(data set, normalizer, its completed runs) for everything that was run, in the order of the rows of tables."""
    return [
        (dataset, normalizer, runs.cell(dataset, normalizer))
        for dataset in dataset_order(runs, plan)
        for normalizer in names.ordered(runs.normalizers(dataset), plan.order)
    ]


def families(runs: Runs, plan: Plan) -> list[FamilyResult]:
    """Every declared family that has at least one run, in the order of the plan."""
    results = []
    for name, family in plan.families.items():
        if runs.datasets.intersection(family.datasets):
            tests = [(dataset, treatment) for dataset in family.datasets for treatment in family.treatments]
            results.append(_family(runs, plan, name, tests, plan.control_of(family)))
    return results


def unplanned(runs: Runs, plan: Plan) -> list[FamilyResult]:
    """What the records allow to compare with the plan's control and no family declares, as one family; or none."""
    planned = {
        (name, treatment)
        for family in plan.families.values()
        if plan.control_of(family) == plan.control
        for name in family.datasets
        for treatment in family.treatments
    }
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
    reasons: dict[tuple[str, str, str], list[Comparison]] = {}
    for row in rows:
        # The control of a family, where it has no run, is told of once, by `absent`.
        told = row.family in plan.families and not runs.completed(row.dataset, row.control)
        if row.status != "ok" and not told:
            reasons.setdefault((row.family, row.control, row.status), []).append(row)
    for (name, control, status), group in reasons.items():
        many = f"{len(group)} comparisons" if len(group) > 1 else "1 comparison"
        where = ", ".join(dict.fromkeys(row.dataset for row in group))
        unseen = {row.normalizer for row in group if not runs.completed(row.dataset, row.normalizer)}
        strangers = {other for row in group for other in runs.normalizers(row.dataset)} - set(plan.order)
        hints = "".join(near(treatment, strangers) for treatment in sorted(unseen))
        said.append(f"family {name}, {where}: {many} with {control} {_explained(status)}{hints}")
    if plan.missing == "drop":
        for row in rows:
            lost = missing(runs, row.dataset, row.normalizer, row.control)
            if lost and not row.status.startswith("refused"):
                pair = f"{row.normalizer} vs {row.control}"
                said.append(f"family {row.family}, {row.dataset}: {pair} on {row.n} complete pairs, {lost}")
    return said


def _explained(status: str) -> str:
    if status == "too few":
        return "without a test: fewer than 2 matched seeds, run more of them"
    if status in ("identical", "degenerate"):
        return (
            f"without a test: {status}, the same {'accuracy' if status == 'identical' else 'difference'} on every seed"
        )
    return status + (DROP if "missing seed" in status else "")


def _family(runs: Runs, plan: Plan, name: str, tests: list[tuple[str, str]], control: str) -> FamilyResult:
    rows = [compare(runs, plan, name, len(tests), dataset, treatment, control) for dataset, treatment in tests]
    adjusted = paired.holm([row.p for row in rows])
    alpha = 1 - plan.confidence
    return FamilyResult(
        name, len(tests), tuple(judged(row, float(p), alpha) for row, p in zip(rows, adjusted, strict=True))
    )
