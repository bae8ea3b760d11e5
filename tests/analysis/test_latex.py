"""LaTeX: whole environments, nothing unescaped, as many cells as columns."""

import re
import shutil
import string
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis import comparisons, selection, tables
from analysis.latex import latex
from analysis.latex_signs import SIGNS, escaped, unknown
from analysis.plan import Plan
from analysis.table import Section, Table

ROOT = Path(__file__).resolve().parents[2]


def made(build: SimpleNamespace, records: list, plan: Plan) -> list[Table]:
    """Every table of `records`."""
    runs = build.runs_of(records)
    results = comparisons.families(runs, plan), comparisons.pairs(runs, plan)
    return tables.all_tables(runs, plan, *results, selection.chosen(runs, plan))


@pytest.fixture
def fragments(build: SimpleNamespace) -> dict[str, str]:
    """name -> LaTeX of every table, with a name full of signs."""
    plan = build.plan(names={"hae": r"50 % & <x>_1 #{$} \\ ~^"}, choices={"any": ["sparsemax", "hae"]})
    return {table.name: latex(table) for table in made(build, build.grid(), plan)}


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
        specs = re.findall(r"\\begin\{tabular\}\{(.*)\}", text)
        bodies = re.findall(r"\\toprule\n(.*?)\\bottomrule", text, re.DOTALL)
        assert len(specs) == len(bodies) >= 1
        for spec, body in zip(specs, bodies, strict=True):
            columns = re.sub(r"p\{[\d.]+\\linewidth\}", "p", spec)
            assert set(columns) <= set("lrp")
            lines = [line for line in body.splitlines() if line.endswith(r" \\")]
            assert len(lines) > 1
            assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in lines} == {len(columns)}


def test_no_sign_is_left_to_be_read_as_a_command(fragments: dict[str, str]) -> None:
    commands = set(re.findall(r"\\([a-zA-Z]+)", "".join(fragments.values())))
    layout = {"begin", "end", "centering", "footnotesize", "scriptsize", "setlength", "tabcolsep", "caption", "label"}
    layout |= {"multicolumn", "parbox", "linewidth", "par", "smallskip", "medskip", "raggedright", "emph", "allowbreak"}
    rules = {"toprule", "midrule", "bottomrule", "addlinespace"}
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
        ("β ≈ 2, Ω, Β", r"$\beta$ $\approx$ 2, $\Omega$, B"),
        ("é, e\u0301, ế, ß, ﬁ", r"\'{e}, \'{e}, \'{\^{e}}, \ss{}, fi"),
        ("x², ½", "x$^{2}$, 1/2"),
        ("頭 😀 \x7f", "? ? ?"),
    ],
)
def test_escapes(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_wide_columns_are_left_out() -> None:
    section = Section("H", (("x", "1", "[2, 3]"),), ("noted",))
    table = Table("t", "T", ("k", "v", "w"), frozenset({"k"}), (section,), ("k",), (("x",),), (), frozenset({"v"}))
    assert latex(table).splitlines()[6:] == [
        *(r"\begin{tabular}{lr}", r"\toprule", r"k & w \\", r"\midrule"),
        *(r"\multicolumn{2}{@{}l@{}}{\parbox{41pt}{\raggedright H}} \\*", r"\addlinespace", r"x & {[2, 3]} \\"),
        *(r"\bottomrule", r"\end{tabular}", r"\par\smallskip"),
        *(r"\begin{minipage}{\linewidth}\scriptsize\raggedright", "noted", r"\end{minipage}", r"\end{table}"),
    ]


def test_long_text_is_set_in_lines() -> None:
    section = Section("", (("x" * 31, "y" * 31), ("x", "1")))
    table = Table("t", "T", ("k", "v"), frozenset({"k"}), (section,), ("k",), (("x",),))
    assert r"\begin{tabular}{p{0.25\linewidth}r}" in latex(table)


def wide(rows: int, columns: int, key: str = "digits", name: str = "softmax") -> Table:
    """A table of `rows` and `columns` of numbers beside a data set and a normalizer."""
    cells = tuple((key if row % 7 == 0 else "", f"{name} {row}", *["0.123 ± 0.045"] * columns) for row in range(rows))
    header = ("data set", "normalizer", *(f"column {number}" for number in range(columns)))
    notes = ("A note that says something.",) * 5
    return Table("wide", "T", header, frozenset(header[:2]), (Section("", cells),), (), (), notes)


def test_a_table_that_is_too_wide_has_its_data_sets_as_headings_and_then_its_columns_in_parts() -> None:
    assert r"\emph" not in latex(wide(8, 3))
    headed = latex(wide(8, 4, "multi_query_recall_nape"))
    assert headed.count(r"\emph{multi\_\allowbreak{}query\_\allowbreak{}recall\_\allowbreak{}nape}") == 2
    assert r"\begin{tabular}{lrrrr}" in headed
    parts = latex(wide(8, 9))
    assert parts.count(r"\begin{table}") == 1
    assert re.findall(r"\\begin\{tabular\}\{(.*)\}", parts) == ["lrrr"] * 3
    assert sorted(set(re.findall(r"column \d", parts))) == [f"column {number}" for number in range(9)]
    assert parts.count("softmax 3 &") == 3


def test_columns_that_are_too_wide_even_alone_stand_one_below_the_other() -> None:
    section = Section("", (("x", "1" * 90, "2" * 90),))
    table = Table("t", "T", ("k", "v", "w"), frozenset({"k"}), (section,), (), ())
    assert re.findall(r"\\begin\{tabular\}\{(.*)\}", latex(table)) == ["lr", "lr"]


def test_a_table_that_is_too_tall_runs_over_pages() -> None:
    assert latex(wide(30, 2)).startswith(r"\begin{table}")
    text = latex(wide(60, 2))
    assert text.startswith("% Needs \\usepackage{booktabs,longtable}.\n")
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == text.count(r"\caption") == 1
    assert text.count("0.123") == 120


def test_a_sign_without_a_form_is_named_in_a_comment() -> None:
    text = latex(Table("t", "頭", ("k",), frozenset({"k"}), (Section("", (("😀 ok",),)),), (), ()))
    first, second, *_ = text.splitlines()
    assert first == (
        "% Signs without a form in LaTeX, shown as ?: U+982D CJK UNIFIED IDEOGRAPH-982D, U+1F600 GRINNING FACE"
    )
    assert second == r"\begin{table}"
    assert r"\caption{?}" in text
    assert "? ok" in text


def test_every_sign_that_the_committed_tables_and_reports_of_them_hold_has_a_form() -> None:
    paths = sorted((ROOT / "results").glob("*/tables/*.md"))
    assert len(paths) > 20
    assert {sign for path in paths for sign in unknown(path.read_text(encoding="utf-8"))} == set()


PREAMBLE = r"""\documentclass{article}
\usepackage{longtable}
\IfFileExists{booktabs.sty}{\usepackage{booktabs}}{% rules as that package draws them
  \def\toprule{\noalign{\hrule height 0.08em\vskip 0.65ex}}
  \def\midrule{\noalign{\vskip 0.4ex\hrule height 0.05em\vskip 0.65ex}}
  \def\bottomrule{\noalign{\vskip 0.4ex\hrule height 0.08em}}
  \def\addlinespace{\noalign{\vskip 0.5em}}}
"""


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed (texlive-latex-base)")
def test_all_tables_compile_and_none_is_too_wide_or_too_tall(build: SimpleNamespace, tmp_path: Path) -> None:
    fragments = {path.parent.parent.name + path.stem: path for path in (ROOT / "results").glob("*/tables/*.tex")}
    assert len(fragments) > 20
    names = {"hae": "β ≈ ½ é 頭 😀 $ \\ % & # ~ ^ _", "entmax15": "a_very_long_name_" * 6}
    long = dict.fromkeys([*build.accuracy, *(f"n{letter}" for letter in string.ascii_lowercase)], (0.5, 0.6, 0.7))
    records = [*build.grid(long), *build.grid(long, "multi_query_recall_with_a_long_name")]
    new = [*made(build, records, build.plan(names=names)), wide(60, 12), wide(8, 9), wide(5, 1, "d" * 20, "n" * 40)]
    one_by_one = Section("", tuple((sign,) for sign in SIGNS))
    signs = Table("signs", " ".join(SIGNS), ("k",), frozenset(), (one_by_one,), (), ())
    for number, table in enumerate([*new, signs]):
        fragments[f"new{number}"] = tmp_path / f"new{number}.tex"
        fragments[f"new{number}"].write_text(latex(table), encoding="utf-8")
    read = "\n".join(rf"\typeout{{TABLE {name}}}\input{{{path}}}\clearpage" for name, path in fragments.items())
    (tmp_path / "all.tex").write_text(f"{PREAMBLE}\\begin{{document}}\n{read}\n\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-file-line-error", "all.tex"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "max_print_line": "1000"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=False)
    log = (tmp_path / "all.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert set(re.findall(r"TABLE (\w+)", log)) == set(fragments)
    wrong = re.findall(r"TABLE \w+|^Overfull.*|.*too large.*|^LaTeX Error.*", log, re.MULTILINE)
    assert [line for line in wrong if not line.startswith("TABLE")] == [], wrong
