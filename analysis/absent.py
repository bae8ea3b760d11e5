"""What the plan names and the records lack: one warning for each control, direct comparison, choice and target."""

from collections.abc import Iterable, Iterator

from analysis import comparisons
from analysis.errors import near
from analysis.frame import Runs
from analysis.plan import Plan


def warnings(runs: Runs, plan: Plan) -> list[str]:
    """One message for each part of `plan` that has no runs, with names of the records that look like the one missing.

    Data sets of families and single treatments are told of by `comparisons.warnings`.
    """
    return [*_controls(runs, plan), *_pairs(runs, plan), *_choices(runs, plan), *_targets(runs, plan)]


def _controls(runs: Runs, plan: Plan) -> Iterator[str]:
    """The plan's control first, then those that families have of their own."""
    every = comparisons.dataset_order(runs, plan)
    wanted = [("control", "analysis.control", plan.control, every)]
    wanted += [
        (f"family {name}, control", f"analysis.families.{name}.control", family.control, family.datasets)
        for name, family in plan.families.items()
        if family.control is not None
    ]
    for what, key, control, datasets in wanted:
        without = [name for name in datasets if name in runs.datasets and not runs.completed(name, control)]
        others = {name for dataset in without for name in runs.normalizers(dataset) if runs.completed(dataset, name)}
        if without:
            said = f"{what} {control}: no completed run of it on {', '.join(without)}, so nothing is compared with it"
            instead = f". The records have {', '.join(sorted(others))}; {_cure(key, others, plan)}" if others else ""
            yield f"{said} there{near(control, others)}{instead}"


def _cure(key: str, others: Iterable[str], plan: Plan) -> str:
    """How another control is named: the whole override where one normalizer of the records is new to the plan."""
    new = sorted(set(others) - set(plan.order))
    if len(new) == 1:
        return f"{new[0]} becomes the control by {key}={new[0]} 'analysis.order=[{','.join([*new, *plan.order])}]'"
    return f"another becomes the control by {key}=NAME, with NAME in analysis.order and among no family's treatments"


def _pairs(runs: Runs, plan: Plan) -> Iterator[str]:
    there = _normalizers(runs)
    for pair in plan.pairs:
        sides = (pair.treatment, pair.control)
        if not there.intersection(sides):
            yield f"pair {pair.name}: no run of {' or '.join(sides)}, so it is left out{_hints(sides, there)}"


def _choices(runs: Runs, plan: Plan) -> Iterator[str]:
    there = _normalizers(runs)
    for choice, candidates in plan.choices.items():
        few = [
            dataset
            for dataset in comparisons.dataset_order(runs, plan)
            if sum(bool(runs.completed(dataset, name)) for name in candidates) < 2
        ]
        if few:
            hints = _hints([name for name in candidates if name not in there], there - set(plan.order))
            yield (
                f"choice {choice}: completed runs of fewer than two of {', '.join(candidates)} on {', '.join(few)}, "
                f"so nothing is chosen there{hints}"
            )


def _targets(runs: Runs, plan: Plan) -> Iterator[str]:
    there = _normalizers(runs)
    for name in dict.fromkeys(target.normalizer for target in plan.targets):
        if name not in there:
            yield f"target of {name}: no run of it, so no learned q is compared with it{near(name, there)}"


def _normalizers(runs: Runs) -> set[str]:
    return {name for dataset in runs.datasets for name in runs.normalizers(dataset)}


def _hints(missing: Iterable[str], there: Iterable[str]) -> str:
    return "".join(dict.fromkeys(near(name, there) for name in missing))
