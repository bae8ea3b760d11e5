"""Tables of test lengths: exact match at each, and how attention disperses from the shortest to the longest."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from analysis import comparisons, lengths, names, paired, provenance
from analysis.frame import Runs
from analysis.matched import refusal
from analysis.paired import NAN, mean_sd, t_interval
from analysis.plan import Plan
from analysis.table import NONE, TEXT, Row, Section, Table, Value, blocks, fixed, interval, p_value, signed, spread

Verdict = Literal["grows", "falls", "inconclusive"]
PARTS = ("mean", "sd", "ci_low", "ci_high")
MEASURES = {"entropy": "Entropy of attention, nats", "peak": "Peak weight", "support": "Support"}


@dataclass(frozen=True)
class Dispersion:
    """One measure of attention over the test lengths of a cell, and its change from the shortest to the longest.

    `means` by test length. `status` is that of a paired test (see `paired.paired_t`), `one length` or `refused: ` with
    the reason; what it leaves undefined is NaN.
    """

    dataset: str
    normalizer: str
    measure: str
    n: int
    means: dict[int, float]
    change: float = NAN
    ci_low: float = NAN
    ci_high: float = NAN
    t: float = NAN
    p: float = NAN
    p_holm: float = NAN
    verdict: Verdict = "inconclusive"
    status: str = "ok"


def exact_match(runs: Runs, plan: Plan) -> Table | None:
    """Mean and t interval over seeds at each test length, a row per cell; None where no record has lengths."""
    if runs.by_length.empty:
        return None
    columns = every(runs)
    rows: list[Row] = []
    values: list[tuple[Value, ...]] = []
    for dataset, normalizer in cells(runs, plan):
        found = {name: lengths.series(runs.by_length, dataset, normalizer, name) for name in ("rows", *lengths.RESULTS)}
        exact, n = found["exact_match"], len(runs.completed(dataset, normalizer))
        shown = [_half(exact[length], plan.confidence) if length in exact else NONE for length in columns]
        rows.append((dataset, names.display(normalizer, plan.names), *shown, str(n)))
        for length in exact:
            parts = [x for name in lengths.RESULTS for x in _parts(found[name][length], plan.confidence)]
            values.append((dataset, normalizer, length, n, int(found["rows"][length].sum()), *parts))
    return Table(
        name="exact_match_by_length",
        title="Exact match by test length",
        header=("data set", "normalizer", *map(str, columns), "n"),
        left=TEXT,
        sections=(Section("", blocks(rows)),),
        columns=(
            *("dataset", "normalizer", "length", "n", "rows"),
            *(f"{name}_{part}" for name in lengths.RESULTS for part in PARTS),
        ),
        values=tuple(values),
        notes=(
            "Exact match: share of the test rows of a length of which every answer token is right; mean over n seeds "
            f"± half the width of its {plan.percent} t interval. Columns: test lengths.",
            *trained(runs, plan),
            "The CSV also holds token accuracy, the share of answer tokens that are right, given the true ones before, "
            "and the number of test rows of all seeds together.",
        ),
        cautions=tuple(provenance.notices(of_lengths(runs))),
    )


def dispersion(runs: Runs, plan: Plan) -> Table | None:
    """Entropy, peak weight and support at each test length, and their change; None where no record has lengths."""
    if runs.by_length.empty:
        return None
    columns = every(runs)
    found = {measure: changes(runs, plan, measure) for measure in MEASURES}
    everything = [one for group in found.values() for one in group]
    m = len(found["entropy"])
    ends = ("change", f"{plan.percent} CI", "p", "Holm p", "n", "verdict")
    return Table(
        name="dispersion_by_length",
        title="Dispersion of attention by test length",
        header=("data set", "normalizer", *map(str, columns), *ends),
        left=TEXT,
        sections=tuple(
            Section(f"{heading} (m = {m} tests, Holm within them)", blocks([_row(one, columns, plan) for one in group]))
            for heading, group in zip(MEASURES.values(), found.values(), strict=True)
        ),
        columns=(
            *("dataset", "normalizer", "measure", "n", *(f"mean_{length}" for length in columns)),
            *("change", "ci_low", "ci_high", "t", "p", "p_holm", "verdict", "status"),
        ),
        values=tuple(_values(one, columns) for one in everything),
        notes=(
            f"Mean over the queries that predict answer tokens, over blocks, {lengths.HEADS}, and over n seeds. "
            "Columns: test lengths. Uniform attention over k keys has an entropy of ln k and a peak weight of 1/k. A "
            "row that does not sum to 1 is divided by its sum for its entropy, and not for its peak.",
            "Support: share of weights above 1e-7 among the keys that a query may attend to; weights of a map without "
            "zeros of its own fall below that where scores lie 16 apart.",
            *trained(runs, plan),
            "Change: at the longest test length minus at the shortest, seed by seed. CI: Student's t. p: one-sample t "
            "test that the mean change is 0, two-sided.",
            f"verdict: grows or falls where Holm p ≤ {plan.level}; else inconclusive.",
            "identical: no change on any seed. degenerate: the same change on every seed, so no test.",
        ),
        cautions=tuple(provenance.notices(of_lengths(runs))),
    )


def changes(runs: Runs, plan: Plan, measure: str) -> list[Dispersion]:
    """`measure` of every cell with lengths, its change tested, with Holm's p within all of them."""
    found = [_change(runs, plan, dataset, normalizer, measure) for dataset, normalizer in cells(runs, plan)]
    adjusted = paired.holm([one.p for one in found])
    return [_judged(one, float(p), 1 - plan.confidence) for one, p in zip(found, adjusted, strict=True)]


def cells(runs: Runs, plan: Plan) -> Iterator[tuple[str, str]]:
    """(data set, normalizer) of everything that has test lengths, in the order of the rows of tables."""
    there = set(runs.by_length[["dataset", "normalizer"]].itertuples(index=False, name=None))
    return ((where, which) for where, which, _ in comparisons.cells(runs, plan) if (where, which) in there)


def every(runs: Runs) -> list[int]:
    """Every test length of any data set, ascending."""
    return sorted(set(map(int, runs.by_length["length"])))


def of_lengths(runs: Runs) -> pd.DataFrame:
    """The runs that have test lengths."""
    return runs.frame[runs.frame["path"].isin(runs.by_length["path"])]


def trained(runs: Runs, plan: Plan) -> Iterator[str]:
    """The lengths of training in words, a sentence for each group of data sets that share them."""
    known = lengths.training(runs.by_length)
    groups: dict[tuple[int, int], list[str]] = {}
    for dataset in names.ordered(known, comparisons.dataset_order(runs, plan)):
        groups.setdefault(known[dataset], []).append(dataset)
    for (low, high), datasets in groups.items():
        whose = "" if len(groups) == 1 else f"{', '.join(datasets)}: "
        yield f"{whose}trained on lengths {low} to {high}." if whose else f"Trained on lengths {low} to {high}."


def _change(runs: Runs, plan: Plan, dataset: str, normalizer: str, measure: str) -> Dispersion:
    values = lengths.series(runs.by_length, dataset, normalizer, measure)
    means = {length: mean_sd(found)[0] for length, found in values.items()}
    one = Dispersion(dataset, normalizer, measure, len(runs.completed(dataset, normalizer)), means)
    refused = refusal(runs, plan, dataset, normalizer)
    if refused or len(means) < 2:
        return replace(one, status=f"refused: {refused}" if refused else "one length")
    test = paired.paired_t(values[max(means)], values[min(means)], plan.confidence)
    (low, high), change = test.interval, test.mean
    return replace(one, change=change, ci_low=low, ci_high=high, t=test.t, p=test.p, status=test.status)


def _judged(one: Dispersion, p_holm: float, level: float) -> Dispersion:
    verdict: Verdict = "inconclusive"
    if p_holm <= level:
        verdict = "grows" if one.change > 0 else "falls"
    return replace(one, p_holm=p_holm, verdict=verdict)


def _row(one: Dispersion, columns: list[int], plan: Plan) -> Row:
    return (
        *(one.dataset, names.display(one.normalizer, plan.names)),
        *(fixed(one.means.get(length, NAN), 3) for length in columns),
        *(signed(one.change, 3), interval(one.ci_low, one.ci_high), p_value(one.p), p_value(one.p_holm), str(one.n)),
        one.verdict if one.status == "ok" else f"{one.verdict} ({one.status})",
    )


def _values(one: Dispersion, columns: list[int]) -> tuple[Value, ...]:
    means = [one.means.get(length, NAN) for length in columns]
    tested = one.change, one.ci_low, one.ci_high, one.t, one.p, one.p_holm, one.verdict, one.status
    return (one.dataset, one.normalizer, one.measure, one.n, *means, *tested)


def _half(values: pd.Series, confidence: float) -> str:
    low, high = t_interval(values, confidence)
    return spread(mean_sd(values)[0], (high - low) / 2)


def _parts(values: pd.Series, confidence: float) -> tuple[float, ...]:
    return (*mean_sd(values), *t_interval(values, confidence))
