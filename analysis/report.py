"""report.html: one page that stands alone, with no script and nothing loaded from elsewhere."""

import base64
from collections.abc import Mapping, Sequence
from html import escape

from analysis import comparisons, names, provenance
from analysis.frame import Runs
from analysis.settings import Plan
from analysis.table import Row, Table

CSS = """
:root { color-scheme: light dark; --fg: #1b1b1b; --bg: #fff; --dim: #666; --line: #d8d8d8; --soft: #f5f5f3; }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e6e6e6; --bg: #161616; --dim: #a0a0a0; --line: #3a3a3a; --soft: #212121; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg); margin: 2rem auto;
  max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } h3 { font-size: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .87rem; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; }
th { border-bottom: 1.5px solid var(--fg); } .text { text-align: left; }
tr.block > * { border-top: 1px solid var(--line); }
ul { color: var(--dim); font-size: .85rem; } .warnings { color: var(--fg); }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; }
img { max-width: 100%; background: #fff; padding: .5rem; box-sizing: border-box; }
"""

CAPTIONS = {
    "accuracy_by_dataset.png": "Accuracy by data set",
    "support_accuracy.png": "Attention support and accuracy",
}


def page(
    runs: Runs,
    plan: Plan,
    tables: Sequence[Table],
    figures: Mapping[str, bytes],
    warnings: Sequence[str],
    command: str,
) -> str:
    """The whole page; `figures` maps file names to their content, of which the PNG files are embedded."""
    warned = f"<h2>Warnings</h2>{_list(warnings, 'warnings')}" if warnings else ""
    images = "".join(_figure(name, figures[name]) for name in CAPTIONS if name in figures)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Attention normalizers: report</title><style>{CSS}</style></head><body>\n"
        f"<h1>Attention normalizers: report</h1>\n{_read(runs, plan)}{warned}\n"
        + "\n".join(_table(table) for table in tables)
        + f"\n<h2>Figures</h2>{images}\n"
        f"<h2>Made by</h2><pre>{escape(command)}</pre>\n</body></html>\n"
    )


def _read(runs: Runs, plan: Plan) -> str:
    rows: list[Row] = []
    for dataset in comparisons.dataset_order(runs, plan):
        group = runs.frame[runs.frame["dataset"] == dataset]
        shown = [names.display(name, plan.names) for name in names.ordered(set(group["normalizer"]), plan.order)]
        setting = str(group["setting"].iloc[0]) if len(group) else "-"
        rows.append((dataset, str(len(group)), names.seeds(group["seed"]), ", ".join(shown) or "-", setting))
    header = ("data set", "records", "seeds", "normalizers", "setting")
    left = frozenset(header) - {"records"}
    origin = _list([f"{what}: {values}" for what, values in provenance.summary(runs.frame)], "")
    return f"<h2>What was run, and where</h2>{_grid(header, left, [rows])}{origin}"


def _table(table: Table) -> str:
    parts = [f'<h2 id="{escape(table.name)}">{escape(table.title)}</h2>']
    for section in table.sections:
        heading = f"<h3>{escape(section.heading)}</h3>" if section.heading else ""
        parts.append(heading + _grid(table.header, table.left, [section.rows]) + _list(section.notes, ""))
    return "".join(parts) + _list(table.notes, "")


def _grid(header: Row, left: frozenset[str], bodies: Sequence[Sequence[Row]]) -> str:
    kinds = [' class="text"' if name in left else "" for name in header]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for name, kind in zip(header, kinds, strict=True))
    lines = [
        # A first cell that is not blank opens a block (see table.blocks).
        ('<tr class="block">' if row[0] else "<tr>")
        + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for body in bodies
        for row in body
    ]
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _list(items: Sequence[str], kind: str) -> str:
    lines = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<ul class="{kind}">{lines}</ul>' if items else ""


def _figure(name: str, content: bytes) -> str:
    caption, data = escape(CAPTIONS[name]), base64.b64encode(content).decode("ascii")
    return f'<h3>{caption}</h3><img alt="{caption}" src="data:image/png;base64,{data}">'
