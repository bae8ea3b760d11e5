"""One comparison over matched seeds: which seeds stand on both sides, what is refused, and its row of numbers."""

from dataclasses import dataclass, fields, replace
from typing import Literal

import pandas as pd

from analysis import names, paired, signflip
from analysis.frame import Runs
from analysis.plan import Plan

Verdict = Literal["better", "worse", "equivalent", "inconclusive"]
NAN = paired.NAN


@dataclass(frozen=True)
class Comparison:
    """One row: treatment `normalizer` - `control` over matched seeds. What `status` leaves undefined is NaN.

    `status`: ok, identical, degenerate, too few, or `refused: ` with the reason. `wins`, `ties` and `losses` count the
    seeds on which the treatment is above, level with and below the control.
    """

    family: str
    dataset: str
    normalizer: str
    control: str
    n: int
    delta_accuracy: float = NAN
    ci_low: float = NAN
    ci_high: float = NAN
    sci_low: float = NAN
    sci_high: float = NAN
    delta_macro_f1: float = NAN
    t: float = NAN
    df: float = NAN
    p: float = NAN
    p_holm: float = NAN
    p_sign_flip: float = NAN
    d_z: float = NAN
    hedges_g: float = NAN
    p_tost: float = NAN
    verdict: Verdict = "inconclusive"
    status: str = "ok"
    wins: int = 0
    ties: int = 0
    losses: int = 0


COLUMNS = tuple(field.name for field in fields(Comparison) if field.name not in ("wins", "ties", "losses"))
"""What a CSV of comparisons holds, in this order."""


def compare(runs: Runs, plan: Plan, family: str, m: int, dataset: str, treatment: str, control: str) -> Comparison:
    """The row of treatment - control, one of `m` of its family; Holm's p and the verdict come with the whole family."""
    a, b = matched(runs, dataset, treatment, control, ["accuracy", "macro_f1"])
    row = Comparison(family, dataset, treatment, control, len(a))
    refused = refusal(runs, plan, dataset, treatment, control)
    if refused:
        return replace(row, status=f"refused: {refused}")
    sides = a["accuracy"].to_numpy(), b["accuracy"].to_numpy()
    test, difference = paired.paired_t(*sides, confidence=plan.confidence), sides[0] - sides[1]
    wins, ties, losses = paired.wins(*sides)
    row = replace(row, status=test.status, delta_accuracy=test.mean, wins=wins, ties=ties, losses=losses)
    row = replace(row, delta_macro_f1=float((a["macro_f1"] - b["macro_f1"]).mean(skipna=False)))
    if test.status != "ok":
        return row
    (ci_low, ci_high), (sci_low, sci_high) = test.interval, paired.t_interval(difference, plan.confidence, m)
    row = replace(row, ci_low=ci_low, ci_high=ci_high, sci_low=sci_low, sci_high=sci_high)
    return replace(
        row,
        t=test.t,
        df=test.df,
        p=test.p,
        p_sign_flip=signflip.sign_flip_p(difference),
        d_z=paired.cohen_dz(difference),
        hedges_g=paired.hedges_g(difference),
        p_tost=paired.tost(difference, plan.margin),
    )


def judged(row: Comparison, p_holm: float, alpha: float) -> Comparison:
    """`row` with Holm's p and the verdict at level `alpha`; without a test it is inconclusive, whatever the numbers."""
    verdict: Verdict = "inconclusive"
    if row.status == "ok" and p_holm <= alpha:
        verdict = "better" if row.delta_accuracy > 0 else "worse"
    elif row.status == "ok" and row.p_tost <= alpha:
        verdict = "equivalent"
    return replace(row, p_holm=p_holm, verdict=verdict)


def matched(
    runs: Runs, dataset: str, treatment: str, control: str, columns: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`columns` of both sides on the seeds that both completed, in one order: matched by seed, never by row."""
    a, b = (runs.cell(dataset, name)[columns] for name in (treatment, control))
    if a.index.equals(b.index):
        return a, b
    seeds = a.index.intersection(b.index).sort_values()
    return a.loc[seeds], b.loc[seeds]


def refusal(runs: Runs, plan: Plan, dataset: str, *normalizers: str) -> str:
    """Why these normalizers cannot be compared on this data set, or an empty string."""
    absent = [name for name in normalizers if not runs.completed(dataset, name)]
    if absent:
        return f"no completed run of {' and '.join(absent)}"
    return missing(runs, dataset, *normalizers) if plan.missing == "refuse" else ""


def missing(runs: Runs, dataset: str, *normalizers: str) -> str:
    """`missing seed 3 of sparsemax`, where a seed was tried for any of them and one has no result; else empty."""
    tried = {seed for name in normalizers for seed in runs.attempted(dataset, name)}
    lost = {name: tried - runs.completed(dataset, name) for name in normalizers}
    return ", ".join(f"missing {names.seeds(seeds)} of {name}" for name, seeds in lost.items() if seeds)
