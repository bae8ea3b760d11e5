"""LaTeX: whole environments, nothing unescaped, as many cells as columns."""

import re
from types import SimpleNamespace

import pytest

from analysis import comparisons, selection, tables
from analysis.latex import escaped, latex
from analysis.table import Section, Table


@pytest.fixture
def fragments(build: SimpleNamespace) -> dict[str, str]:
    """name -> LaTeX of every table, with a name full of signs."""
    runs = build.runs_of(build.grid())
    plan = build.plan(names={"hae": r"50 % & <x>_1 #{$} \\ ~^"}, choices={"any": ["sparsemax", "hae"]})
    results = comparisons.families(runs, plan), comparisons.pairs(runs, plan)
    made = tables.all_tables(runs, plan, *results, selection.chosen(runs, plan))
    return {table.name: latex(table) for table in made}


def test_environments_and_braces_close(fragments: dict[str, str]) -> None:
    assert list(fragments) == ["main_results", "paired_vs_softmax", "hae_vs_entmax15", "selected", "runtime"]
    for text in fragments.values():
        opened: list[str] = []
        for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
            if kind == "begin":
                opened.append(name)
            else:
                assert opened.pop() == name
        assert opened == []
        plain = re.sub(r"\\[{}]", "", text)
        depth = [plain[:i].count("{") - plain[:i].count("}") for i in range(len(plain) + 1)]
        assert min(depth) == 0
        assert depth[-1] == 0
        assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0


def test_every_line_has_as_many_cells_as_the_table_has_columns(fragments: dict[str, str]) -> None:
    for text in fragments.values():
        [spec] = re.findall(r"\\begin\{tabular\}\{(.*)\}", text)
        columns = re.sub(r"p\{0\.25\\linewidth\}", "p", spec)
        assert set(columns) <= set("lrp")
        body = text.partition("\\toprule\n")[2].partition("\\bottomrule")[0]
        lines = [line for line in body.splitlines() if line.endswith(r" \\") and "multicolumn" not in line]
        assert len(lines) > 1
        assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in lines} == {len(columns)}
        assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1


def test_no_sign_is_left_to_be_read_as_a_command(fragments: dict[str, str]) -> None:
    commands = set(re.findall(r"\\([a-zA-Z]+)", "".join(fragments.values())))
    layout = {"begin", "end", "centering", "footnotesize", "scriptsize", "setlength", "tabcolsep", "caption", "label"}
    rules = {
        "toprule",
        "midrule",
        "bottomrule",
        "addlinespace",
        "multicolumn",
        "parbox",
        "linewidth",
        "par",
        "smallskip",
    }
    signs = {"pm", "Delta", "leq", "textbackslash", "textasciitilde", "textasciicircum"}
    assert commands <= layout | rules | signs
    assert "".join(fragments.values()).isascii()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fashion_mnist 5 %", r"fashion\_mnist 5 \%"),
        ("-0.0008", "$-$0.0008"),
        ("[-0.0103, 0.5]", "[$-$0.0103, 0.5]"),
        ("2.55e-06", "2.55e-06"),
        ("top-k 0.25", "top-k 0.25"),
        ("-", "-"),
        ("a\\b{c}\n~", r"a\textbackslash{}b\{c\} \textasciitilde{}"),
        ("±0.01, Δ", r"$\pm$0.01, $\Delta$"),
        ("⌈ratio·n⌉ ≤ α", r"$\lceil$ratio$\cdot$n$\rceil$ $\leq$ $\alpha$"),
    ],
)
def test_escapes(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_wide_columns_are_left_out() -> None:
    section = Section("H", (("x", "1", "[2, 3]"),), ("noted",))
    table = Table("t", "T", ("k", "v", "w"), frozenset({"k"}), (section,), ("k",), (("x",),), (), frozenset({"v"}))
    assert latex(table).splitlines()[6:] == [
        *(r"\begin{tabular}{lr}", r"\toprule", r"k & w \\", r"\midrule"),
        *(r"\multicolumn{2}{l}{\parbox{\linewidth}{H}} \\", r"\addlinespace", r"x & {[2, 3]} \\"),
        *(r"\bottomrule", r"\end{tabular}", r"\par\smallskip", r"\begin{minipage}{\linewidth}\scriptsize"),
        *("noted", r"\end{minipage}", r"\end{table}"),
    ]


def test_long_text_is_set_in_lines() -> None:
    section = Section("", (("x" * 31, "y" * 31), ("x", "1")))
    table = Table("t", "T", ("k", "v"), frozenset({"k"}), (section,), ("k",), (("x",),))
    assert r"\begin{tabular}{p{0.25\linewidth}r}" in latex(table)
