"""Cell by cell, whether the mean accuracy of the records is equivalent to the published one."""

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal, get_args

from analysis import comparisons, names, paired, provenance, summaries, welch
from analysis.frame import Runs
from analysis.plan import Plan
from analysis.table import Section, Table, blocks, interval, p_value, signed, spread
from analysis.welch import Sample

Verdict = Literal["equivalent", "different", "inconclusive"]


@dataclass(frozen=True)
class Cell:
    """One data set and normalizer: ours - published, with Welch's tests; NaN where a side has too few runs for one."""

    dataset: str
    normalizer: str
    published: Sample
    ours: Sample
    difference: float
    interval: tuple[float, float]
    p: float
    p_tost: float
    p_holm: float = math.nan
    verdict: Verdict = "inconclusive"


def cells(runs: Runs, plan: Plan) -> list[Cell]:
    """Every published cell that has a completed run, in the order of the main results.

    Raises InputError where a published figure cannot be read.
    """
    found = [_compared(plan, *sides) for sides in _matching(runs, plan)]
    adjusted = paired.holm([cell.p for cell in found])
    return [_judged(plan, cell, float(p_holm)) for cell, p_holm in zip(found, adjusted, strict=True)]


def table(runs: Runs, plan: Plan) -> Table | None:
    """The cells as a table, or None where no cell of the records was published."""
    found = cells(runs, plan)
    if not found:
        return None
    percent, level = plan.percent, plan.level
    used = runs.frame["dataset"].isin([cell.dataset for cell in found])
    used &= runs.frame["normalizer"].isin([cell.normalizer for cell in found])
    many = f"{len(found)} cells" if len(found) > 1 else "1 cell"
    counts = Counter(cell.verdict for cell in found)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in get_args(Verdict))
    return Table(
        name="replication",
        title="Replication of the published means",
        header=(
            *("data set", "normalizer", "published accuracy", "ours", "difference", f"{percent} CI"),
            *("p", "Holm p", "TOST p", "n", "verdict"),
        ),
        left=frozenset({"data set", "normalizer", "verdict"}),
        sections=(
            Section(
                f"{many}: {verdicts}; margin ±{plan.margin:g}",
                blocks([_row(cell, plan) for cell in found]),
            ),
        ),
        columns=(
            *("dataset", "normalizer", "published_mean", "published_sd", "published_n", "accuracy_mean", "accuracy_sd"),
            *("n", "difference", "ci_low", "ci_high", "p", "p_holm", "margin", "p_tost", "verdict"),
        ),
        values=tuple(
            (
                *(c.dataset, c.normalizer, c.published.mean, c.published.sd, c.published.n, c.ours.mean, c.ours.sd),
                *(c.ours.n, c.difference, *c.interval, c.p, c.p_holm, plan.margin, c.p_tost, c.verdict),
            )
            for c in found
        ),
        wide=frozenset({"p", "n"}),
        notes=(
            "Difference: ours - published, mean accuracy. CI and p: Welch's t from mean, standard deviation and n of"
            f" both sides; Holm within {many}. TOST p: that the means lie at least the margin apart.",
            f"different: Holm p ≤ {level}. equivalent: not different, and TOST p ≤ {level}. inconclusive: neither, so"
            " these runs do not decide.",
            "The published mean and standard deviation are rounded to three decimals. Welch's test takes the sides as"
            " independent; where they share the rows of each seed, its intervals are wider than need be.",
        ),
        cautions=tuple(provenance.notices(runs.frame[used])),
    )


def _matching(runs: Runs, plan: Plan) -> list[tuple[str, str, Sample, Sample]]:
    """(data set, normalizer, ours, published) of every cell that both sides have."""
    published = summaries.read("cells")
    found = []
    for dataset in comparisons.dataset_order(runs, plan):
        for normalizer in names.ordered(runs.normalizers(dataset), plan.order):
            figures, accuracy = published.get((dataset, normalizer)), runs.cell(dataset, normalizer)["accuracy"]
            if figures and len(accuracy):
                theirs = Sample(figures["accuracy_mean"], figures["accuracy_sd"], int(figures["n"]))
                found.append((dataset, normalizer, Sample(*paired.mean_sd(accuracy), len(accuracy)), theirs))
    return found


def _compared(plan: Plan, dataset: str, normalizer: str, ours: Sample, published: Sample) -> Cell:
    d = welch.difference(ours, published)
    return Cell(
        *(dataset, normalizer, published, ours, d.value, welch.interval(d, plan.confidence)),
        p=welch.two_sided(d),
        p_tost=welch.equivalence(d, plan.margin),
    )


def _judged(plan: Plan, cell: Cell, p_holm: float) -> Cell:
    """`cell` with Holm's p, which comes with the whole table, and the verdict."""
    level = 1 - plan.confidence
    verdict: Verdict = "different" if p_holm <= level else "equivalent" if cell.p_tost <= level else "inconclusive"
    return replace(cell, p_holm=p_holm, verdict=verdict)


def _row(cell: Cell, plan: Plan) -> tuple[str, ...]:
    return (
        *(cell.dataset, names.display(cell.normalizer, plan.names)),
        *(spread(cell.published.mean, cell.published.sd), spread(cell.ours.mean, cell.ours.sd)),
        *(signed(cell.difference), interval(*cell.interval)),
        *(p_value(cell.p), p_value(cell.p_holm), p_value(cell.p_tost), str(cell.ours.n), cell.verdict),
    )
