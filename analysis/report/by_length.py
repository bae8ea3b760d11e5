"""What the comparisons at every test length say: on each data set, who differs from the control, and where."""

from typing import Any

from analysis import names
from analysis.plan import Plan
from analysis.report.grid import anchor
from analysis.report.markup import breakable, counted, name, text
from analysis.table import Table, p_value, signed

NEEDED = frozenset({"length", "dataset", "normalizer", "control", "n", "delta_token_accuracy", "p_holm", "verdict"})
"""The columns that make a table one of comparisons at every test length."""
DECIDED = {"better": "Better", "worse": "Worse"}


def block(table: Table, plan: Plan) -> str:
    """Verdicts counted, then a line for each data set on which something is better or worse."""
    rows: list[dict[str, Any]] = [dict(zip(table.columns, values, strict=True)) for values in table.values]
    of: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        of.setdefault(row["dataset"], []).append(row)
    decided = {dataset: found for dataset, found in of.items() if any(row["verdict"] in DECIDED for row in found)}
    lines = "".join(_line(dataset, found, plan) for dataset, found in decided.items())
    rest = ", ".join(name(dataset) for dataset in of if dataset not in decided)
    seeds = sorted({row["n"] for row in rows})
    span = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return (
        '<div class="family"><h3>At every test length: token accuracy</h3>\n'
        f'<p class="lead"><a href="#table-{anchor(table.name)}">{text(table.title)}</a>, {len(rows)} tests on {span} '
        f"matched seeds: {counted(str(row['verdict']) for row in rows)}</p>\n"
        + (f'<ul class="answers">{lines}</ul>\n' if lines else "")
        + (f'<p class="more">Nothing is better or worse on {rest}.</p>' if rest else "")
        + "</div>\n"
    )


def _line(dataset: str, rows: list[dict[str, Any]], plan: Plan) -> str:
    said = "".join(
        f"<p>{label} than {_shown(control, plan)}: {'; '.join(_of_each(found, plan))}.</p>"
        for verdict, label in DECIDED.items()
        for control in dict.fromkeys(row["control"] for row in rows)
        if (found := [row for row in rows if row["verdict"] == verdict and row["control"] == control])
    )
    counts = counted(str(row["verdict"]) for row in rows)
    return f'<li><h4><bdi>{breakable(dataset)}</bdi></h4><div class="badges">{counts}</div>{said}</li>'


def _of_each(rows: list[dict[str, Any]], plan: Plan) -> list[str]:
    """A text per normalizer: its lengths, each with the difference and Holm's p."""
    return [
        f"<strong>{_shown(normalizer, plan)}</strong> "
        + ", ".join(
            f'<span class="figures">{signed(row["delta_token_accuracy"])}</span> at {row["length"]} '
            f"(Holm p {p_value(row['p_holm'])})"
            for row in rows
            if row["normalizer"] == normalizer
        )
        for normalizer in dict.fromkeys(row["normalizer"] for row in rows)
    ]


def _shown(normalizer: str, plan: Plan) -> str:
    return name(names.display(normalizer, plan.names))
