"""Learned values against the value that they are said to find: one-sample tests of difference and of equivalence."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from analysis import comparisons, names, paired, provenance
from analysis.frame import Runs
from analysis.matched import refusal
from analysis.plan import Plan, Target
from analysis.table import TEXT, Row, Section, Table, blocks, fixed, interval, p_value, spread

Verdict = Literal["equivalent", "different", "inconclusive"]
COLUMN = "alpha_mean"
"""The learned q of a run: its α at the end, mean over blocks and heads."""
NAN = paired.NAN


@dataclass(frozen=True)
class Learned:
    """The q that one normalizer learned on one data set, over its seeds, and how it stands to `target`.

    `status` is that of a paired test (see `paired.paired_t`) or `refused: ` with the reason; what it leaves
    undefined is NaN.
    """

    dataset: str
    target: Target
    n: int
    mean: float = NAN
    sd: float = NAN
    ci_low: float = NAN
    ci_high: float = NAN
    p: float = NAN
    p_holm: float = NAN
    p_tost: float = NAN
    verdict: Verdict = "inconclusive"
    status: str = "ok"


def learned(runs: Runs, plan: Plan) -> list[Learned]:
    """Every target of the plan on every data set that has runs of its normalizer, with Holm's p within all of them."""
    found = [
        _one(runs, plan, dataset, target)
        for target in plan.targets
        for dataset in comparisons.dataset_order(runs, plan)
        if target.normalizer in runs.normalizers(dataset)
    ]
    adjusted = paired.holm([one.p for one in found])
    level = 1 - plan.confidence
    return [_judged(one, float(p), level) for one, p in zip(found, adjusted, strict=True)]


def _one(runs: Runs, plan: Plan, dataset: str, target: Target) -> Learned:
    values: pd.Series = runs.cell(dataset, target.normalizer)[COLUMN].dropna()
    refused = refusal(runs, plan, dataset, target.normalizer)
    if refused or values.empty:
        return Learned(dataset, target, len(values), status=f"refused: {refused or 'no run recorded a learned α'}")
    test = paired.paired_t(values, np.full(len(values), target.value), plan.confidence)
    one = Learned(dataset, target, len(values), *paired.mean_sd(values), status=test.status)
    if test.status != "ok":
        return one
    low, high = paired.t_interval(values, plan.confidence)
    return replace(one, ci_low=low, ci_high=high, p=test.p, p_tost=paired.tost(values - target.value, target.margin))


def _judged(one: Learned, p_holm: float, level: float) -> Learned:
    verdict: Verdict = "inconclusive"
    if one.p_tost <= level:
        verdict = "equivalent"
    elif p_holm <= level:
        verdict = "different"
    return replace(one, p_holm=p_holm, verdict=verdict)


def table(runs: Runs, plan: Plan) -> Table | None:
    """The learned q at the end of training, its t interval and both tests; None where the records have no target."""
    found = learned(runs, plan)
    if not found:
        return None
    rows = [_shown(one, plan) for one in found]
    used = runs.frame[runs.frame["normalizer"].isin({one.target.normalizer for one in found})]
    margins = dict.fromkeys(f"{one.target.value:g} ± {one.target.margin:g}" for one in found)
    return Table(
        name="learned_q",
        title="Learned q",
        header=("data set", "normalizer", "q", f"{plan.percent} CI", "target", "p", "Holm p", "TOST p", "n", "verdict"),
        left=TEXT,
        sections=(Section("", blocks(rows)),),
        columns=(
            *("dataset", "normalizer", "n", "mean", "sd", "ci_low", "ci_high", "target", "margin"),
            *("p", "p_holm", "p_tost", "verdict", "status"),
        ),
        values=tuple(
            (
                *(one.dataset, one.target.normalizer, one.n, one.mean, one.sd, one.ci_low, one.ci_high),
                *(one.target.value, one.target.margin, one.p, one.p_holm, one.p_tost, one.verdict, one.status),
            )
            for one in found
        ),
        notes=(
            "q: learned α at the end of training, mean ± standard deviation (ddof 1) over n seeds. CI: Student's t.",
            f"p: one-sample t test against the target, two-sided; Holm p within the {len(found)} tests of this table.",
            f"TOST p: that the mean q lies within the declared margin, {', '.join(margins)}; uncorrected.",
            f"verdict: equivalent where TOST p ≤ {plan.level}; else different where Holm p ≤ {plan.level}; else "
            "inconclusive.",
        ),
        cautions=tuple(provenance.notices(used)),
    )


def _shown(one: Learned, plan: Plan) -> Row:
    return (
        *(one.dataset, names.display(one.target.normalizer, plan.names), spread(one.mean, one.sd)),
        *(interval(one.ci_low, one.ci_high), f"{fixed(one.target.value, 2)} ± {fixed(one.target.margin, 2)}"),
        *(p_value(one.p), p_value(one.p_holm), p_value(one.p_tost), str(one.n)),
        one.verdict if one.status == "ok" else f"{one.verdict} ({one.status})",
    )
