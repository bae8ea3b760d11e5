"""What the comparisons say, before any table: a sentence per data set and, family by family, all verdicts together."""

from collections.abc import Sequence
from typing import Any

from analysis import lengths, names
from analysis.floors import at_floor
from analysis.frame import Runs
from analysis.plan import Plan
from analysis.report import by_length
from analysis.report.grid import anchor
from analysis.report.markup import badge, breakable, counted, name, section, text
from analysis.table import Table, interval, p_value, signed

NEEDED = frozenset(
    (
        *("family", "dataset", "normalizer", "control", "n", "delta_accuracy"),
        *("ci_low", "ci_high", "p_holm", "p_tost", "verdict", "status"),
    )
)
"""The columns that make a table one of paired comparisons."""
FLOOR = "all 0"
"""Stands for the verdict where the accuracy is 0 on both sides and every seed."""
PHRASES = {
    "better": "is better than",
    "worse": "is worse than",
    "equivalent": "is equivalent to",
    "inconclusive": "is not shown to differ from",
    "no result": "has no result against",
    FLOOR: "is at 0 as well as",
}
"""Verdict -> how it reads between two names."""

Comparison = dict[str, Any]


def answer(tables: Sequence[Table], plan: Plan, runs: Runs) -> str:
    """The section that opens the page; it says so where no table compares anything.

    Comparisons at every test length come before those at the longest, which is often beyond all normalizers.
    """
    parts = [_claims(table) for table in tables if table.name == "claims" and "verdict" in table.columns]
    parts += [by_length.block(table, plan) for table in tables if by_length.NEEDED.issubset(table.columns)]
    notes = [f'<p class="lead">{text(note)}</p>\n' for note in lengths.notices(runs.by_length)]
    families: list[str] = []
    for table in tables:
        if NEEDED.issubset(table.columns):
            rows: list[Comparison] = [dict(zip(table.columns, values, strict=True)) for values in table.values]
            for row in rows:
                both = row["dataset"], row["normalizer"], row["control"]
                row["floor"] = row["status"] == "identical" and at_floor(runs, *both)
            for family in dict.fromkeys(row["family"] for row in rows):
                families.append(_family(table, family, [row for row in rows if row["family"] == family], plan))
    nothing = "<p>No comparison is planned, or the records allow none.</p>"
    said = families if parts or families else [nothing]
    return section("answer", "The answer", "".join([*parts, *notes, *said]))


def _claims(table: Table) -> str:
    place = table.columns.index("verdict")
    verdicts = counted([str(values[place]) for values in table.values])
    return f'<p class="claims"><a href="#table-{anchor(table.name)}">{text(table.title)}</a>: {verdicts}</p>\n'


def _family(table: Table, family: str, rows: list[Comparison], plan: Plan) -> str:
    treatments = list(dict.fromkeys(row["normalizer"] for row in rows))
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    said = {dataset: [row for row in rows if row["dataset"] == dataset] for dataset in datasets}
    # Where nothing can differ there is nothing to read: last.
    told = sorted(datasets, key=lambda dataset: all(row["floor"] for row in said[dataset]))
    who = _shown(treatments[0], plan) if len(treatments) == 1 else "Every normalizer"
    seeds = sorted({row["n"] for row in rows})
    span = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    lines = "".join(
        f"<li><h4><bdi>{breakable(dataset)}</bdi></h4>{_sentence(said[dataset], plan)}</li>" for dataset in told
    )
    return (
        f'<div class="family"><h3>{who} against {_shown(rows[0]["control"], plan)}</h3>\n'
        f'<p class="lead">Family <a href="#table-{anchor(table.name)}">{name(family)}</a>, '
        f"{len(rows)} test{'s' if len(rows) > 1 else ''} on {span} matched seeds: "
        f"{counted([_word(row) for row in rows])}</p>\n"
        f'<ul class="answers">{lines}</ul>\n'
        f"{_matrix(family, rows, datasets, treatments, plan) if len(treatments) > 1 else ''}</div>\n"
    )


def _sentence(rows: list[Comparison], plan: Plan) -> str:
    """What one data set says: its verdicts counted, the highest mean difference, and whatever else is decided."""
    found = {word: [row for row in rows if _word(row) == word] for word in PHRASES}
    counts = counted([_word(row) for row in rows]) if len(rows) > 1 else badge(_word(rows[0]))
    counts = f'<div class="badges">{counts}</div>'
    if all(row["floor"] for row in rows):
        return f"{counts}<p>All accuracies are 0, on both sides and every seed: nothing can differ here.</p>"
    tested = [row for row in rows if _word(row) not in ("no result", FLOOR)]
    if not tested:
        return f"{counts}<p>No comparison has a result.</p>"
    best = _falling(found["better"] or tested)[0]
    control, word = _shown(best["control"], plan), _word(best)
    who = f"<strong>{_shown(best['normalizer'], plan)}</strong>"
    if len(rows) > 1 and word != "better":
        said = f"<strong>No normalizer is shown better than {control}.</strong> Highest mean difference: {who}, "
    else:
        said = f"{who} {PHRASES[word]} {control}: "
    others = {
        "Also better": [row for row in _falling(found["better"]) if row is not best],
        "Worse": [row for row in _falling(found["worse"])[::-1] if row is not best],
    }
    more = "".join(
        f'<p class="more">{label}: {", ".join(_short(row, plan) for row in group)}.</p>'
        for label, group in others.items()
        if group
    )
    return f"{counts}<p>{said}{_figures(best, plan)}.</p>{more}"


def _falling(rows: list[Comparison]) -> list[Comparison]:
    return sorted(rows, key=lambda row: -float(row["delta_accuracy"]))


def _matrix(family: str, rows: list[Comparison], datasets: list[str], treatments: list[str], plan: Plan) -> str:
    """All verdicts of a family: a row per data set, a column per normalizer."""
    cells = {(row["dataset"], row["normalizer"]): row for row in rows}
    head = "".join(f'<th scope="col">{_shown(treatment, plan)}</th>' for treatment in treatments)
    lines = []
    for dataset in datasets:
        found = [cells.get((dataset, treatment)) for treatment in treatments]
        inner = "".join("<td></td>" if row is None else f"<td>{_mark(row)}</td>" for row in found)
        lines.append(f'<tr><th scope="row" class="text key">{text(dataset)}</th>{inner}</tr>')
    caption = text(f"Family {family}: every verdict, with the mean difference in accuracy")
    return (
        f'<div class="box" role="region" aria-label="{caption}" tabindex="0"><table class="matrix">'
        f'<caption>{caption}</caption><thead><tr><th scope="col" class="text">data set</th>{head}</tr></thead>\n'
        f"<tbody>{''.join(lines)}</tbody></table></div>\n"
    )


def _mark(row: Comparison) -> str:
    word = _word(row)
    alone = word in ("no result", FLOOR)
    return badge(word, "" if alone else f'<span class="unseen">{word}</span> {signed(row["delta_accuracy"])}')


def _word(row: Comparison) -> str:
    """The verdict, `no result` where there is not even a difference, or FLOOR."""
    if row["floor"]:
        return FLOOR
    return "no result" if row["delta_accuracy"] != row["delta_accuracy"] else str(row["verdict"])


def _figures(row: Comparison, plan: Plan) -> str:
    if row["p_holm"] != row["p_holm"]:
        return f"{signed(row['delta_accuracy'])}, without a test ({text(str(row['status']))})"
    figures = f'<span class="figures">{signed(row["delta_accuracy"])} {interval(row["ci_low"], row["ci_high"])}</span>'
    if row["verdict"] == "equivalent":
        return f"{figures}, TOST p {p_value(row['p_tost'])} within ±{plan.margin:g}"
    return f"{figures}, Holm p {p_value(row['p_holm'])}"


def _short(row: Comparison, plan: Plan) -> str:
    return f"{_shown(row['normalizer'], plan)} {signed(row['delta_accuracy'])}"


def _shown(normalizer: str, plan: Plan) -> str:
    return name(names.display(normalizer, plan.names))
