"""What the comparisons say, before any table: a sentence per data set and, family by family, all verdicts together."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from analysis import names
from analysis.plan import Plan
from analysis.report.grid import anchor
from analysis.report.markup import SIGNS, badge, name, section, text
from analysis.table import Table, interval, p_value, signed

NEEDED = frozenset(
    (
        *("family", "dataset", "normalizer", "control", "n", "delta_accuracy"),
        *("ci_low", "ci_high", "p_holm", "p_tost", "verdict", "status"),
    )
)
"""The columns that make a table one of paired comparisons."""
PHRASES = {
    "better": "is better than",
    "worse": "is worse than",
    "equivalent": "is equivalent to",
    "inconclusive": "is not shown to differ from",
    "no result": "has no result against",
}
"""Verdict -> how it reads between two names."""

Comparison = dict[str, Any]


def answer(tables: Sequence[Table], plan: Plan, notes: Sequence[str] = ()) -> str:
    """The section that opens the page, `notes` first; it says so where no table compares anything."""
    parts = [_claims(table) for table in tables if table.name == "claims" and "verdict" in table.columns]
    for table in tables:
        if NEEDED.issubset(table.columns):
            rows: list[Comparison] = [dict(zip(table.columns, values, strict=True)) for values in table.values]
            for family in dict.fromkeys(row["family"] for row in rows):
                parts.append(_family(table, family, [row for row in rows if row["family"] == family], plan))
    nothing = "<p>No comparison is planned, or the records allow none.</p>"
    said = "".join(f'<p class="lead">{text(note)}</p>\n' for note in notes)
    return section("answer", "The answer", said + ("".join(parts) or nothing))


def _broken(dataset: str) -> str:
    """A name that may be broken after its underscores, for a narrow column."""
    return name(dataset).replace("_", "_<wbr>")


def _claims(table: Table) -> str:
    place = table.columns.index("verdict")
    verdicts = _badges([str(values[place]) for values in table.values])
    return f'<p class="claims"><a href="#table-{anchor(table.name)}">{text(table.title)}</a>: {verdicts}</p>\n'


def _family(table: Table, family: str, rows: list[Comparison], plan: Plan) -> str:
    treatments = list(dict.fromkeys(row["normalizer"] for row in rows))
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    who = _shown(treatments[0], plan) if len(treatments) == 1 else "Every normalizer"
    seeds = sorted({row["n"] for row in rows})
    span = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    lines = "".join(
        f"<li><h4>{_broken(dataset)}</h4>{_sentence([row for row in rows if row['dataset'] == dataset], plan)}</li>"
        for dataset in datasets
    )
    return (
        f'<div class="family"><h3>{who} against {_shown(rows[0]["control"], plan)}</h3>\n'
        f'<p class="lead">Family <a href="#table-{anchor(table.name)}">{name(family)}</a>, '
        f"{len(rows)} test{'s' if len(rows) > 1 else ''} on {span} matched seeds: "
        f"{_badges([_word(row) for row in rows])}</p>\n"
        f'<ul class="answers">{lines}</ul>\n'
        f"{_matrix(family, rows, datasets, treatments, plan) if len(treatments) > 1 else ''}</div>\n"
    )


def _sentence(rows: list[Comparison], plan: Plan) -> str:
    """What one data set says: its verdicts counted, the highest mean difference, and whatever else is decided."""
    found = {word: [row for row in rows if _word(row) == word] for word in PHRASES}
    counts = _badges([_word(row) for row in rows]) if len(rows) > 1 else badge(_word(rows[0]))
    counts = f'<div class="badges">{counts}</div>'
    tested = [row for row in rows if _word(row) != "no result"]
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
    return badge(
        word, "" if word == "no result" else f'<span class="unseen">{word}</span> {signed(row["delta_accuracy"])}'
    )


def _word(row: Comparison) -> str:
    """The verdict, or `no result` where there is not even a difference."""
    return "no result" if row["delta_accuracy"] != row["delta_accuracy"] else str(row["verdict"])


def _badges(words: list[str]) -> str:
    counts = Counter(words)
    return " ".join(badge(word, f"{counts[word]} {text(word)}") for word in sorted(counts, key=_place))


def _place(word: str) -> int:
    order = list(SIGNS)
    return order.index(word) if word in order else len(order)


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
