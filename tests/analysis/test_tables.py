"""What the tables show, and how they are written."""

import csv
import io
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis import comparisons, latex, provenance, selection, tables
from analysis.run import analyse
from analysis.settings import Settings
from analysis.table import Section, Table, fixed, interval, p_value, signed, spread


def made(build: SimpleNamespace, records: list, **changes: object) -> dict[str, Table]:
    """name -> table, of these records."""
    runs, plan = build.runs_of(records), build.plan(**changes)
    results = comparisons.families(runs, plan), comparisons.pairs(runs, plan)
    found = tables.all_tables(runs, plan, *results, selection.chosen(runs, plan))
    return {table.name: table for table in found}


def parsed(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.csv())))


def test_the_tables_are_the_same_when_made_twice_and_from_shuffled_records(build: SimpleNamespace) -> None:
    first, second = made(build, build.grid()), made(build, build.grid()[::-1])
    assert list(first) == ["main_results", "paired_vs_softmax", "hae_vs_entmax15", "runtime"]
    for name, table in first.items():
        assert table.markdown() == second[name].markdown()
        assert table.csv() == second[name].csv()
        assert latex.latex(table) == latex.latex(second[name])


def test_a_follow_up_table_has_means_and_raw_p_of_its_family(build: SimpleNamespace) -> None:
    family = {"datasets": ["digits"], "treatments": ["sparsemax", "hae"], "table": "digits_followup"}
    records = [record for record in build.grid() if record.key != ("digits", "hae", 3)]
    records += build.grid(dataset="elsewhere")
    found = made(build, records, families={"demo": family})
    assert list(found)[1] == "digits_followup"
    table = found["digits_followup"]
    assert table.sections[0].rows == (
        ("digits", "softmax", "0.515 ± 0.013", "0.515 ± 0.013", "0.500", "-", "-", "4"),
        ("", "sparsemax", "0.542 ± 0.010", "0.542 ± 0.010", "0.500", "+0.0275", "0.0105", "4"),
        ("", "HAE", "0.507 ± 0.021", "0.507 ± 0.021", "0.500", "-", "-", "3"),
    )
    assert "digits HAE: refused: missing seed 3 of hae" in table.notes
    assert [row["p"] for row in parsed(table)] == ["", "0.01047708876", ""]


def test_each_control_has_a_paired_table_of_its_own(build: SimpleNamespace) -> None:
    own = {"datasets": ["digits"], "treatments": ["hae"], "control": "sparsemax"}
    usual = {"datasets": ["digits"], "treatments": ["hae"]}
    found = made(build, build.grid(), families={"own": own, "usual": usual})
    assert list(found)[1:3] == ["paired_vs_sparsemax", "paired_vs_softmax"]
    assert found["paired_vs_sparsemax"].title == "HAE compared with sparsemax"
    assert [row["control"] for row in parsed(found["paired_vs_sparsemax"])] == ["sparsemax"]


def test_main_results_show_mean_sd_support_and_n(build: SimpleNamespace) -> None:
    table = made(build, build.grid())["main_results"]
    assert table.sections[0].rows[0] == ("digits", "softmax", "0.515 ± 0.013", "0.515 ± 0.013", "0.500", "4")
    assert [row[1] for row in table.sections[0].rows] == ["softmax", "sparsemax", "entmax-1.5", "HAE"]
    assert [row[0] for row in table.sections[0].rows[1:]] == [""] * 3


def test_data_sets_and_normalizers_outside_the_plan_still_appear(build: SimpleNamespace) -> None:
    extra = build.grid({"softmax": (0.5, 0.6), "relu": (0.4, 0.5)}, dataset="extra")
    found = made(build, [*build.grid(), *extra])
    for name in ("main_results", "runtime"):
        assert [row[:2] for row in found[name].values][-2:] == [("extra", "softmax"), ("extra", "relu")]
    assert "extra" not in found["paired_vs_softmax"].csv()


def test_different_provenance_is_a_notice_under_the_tables(build: SimpleNamespace) -> None:
    odd = build.make("digits", "softmax", 0, 0.5, provenance={"torch": "2.10.0", "threads": 8})
    found = made(build, [odd, *build.grid()[1:]])
    for table in found.values():
        expected = table.name != "hae_vs_entmax15"
        notice = "digits: the records differ in torch version: 2.9.0 ("
        assert any(caution.startswith(notice) for caution in table.cautions) == expected
        assert (f"- {notice}" in table.markdown()) == expected
        assert (notice in latex.latex(table)) == expected
        assert notice not in table.markdown(alone=False)
    assert "digits: the records differ in threads: 2 (15 records); 8 (1 record)" in found["main_results"].cautions


def test_what_holds_for_several_data_sets_is_said_once_with_their_names(build: SimpleNamespace) -> None:
    def of(dataset: str, **changes: object) -> list:
        first, *rest = (r.model_copy(update={"notes": ["test = batch 5"]}) for r in build.grid(dataset=dataset))
        return [first.model_copy(update={"provenance": first.provenance | changes}), *rest]

    records = [*of("a", torch="2.10.0"), *of("b", torch="2.10.0"), *of("c", torch="3.0"), *build.grid(dataset="d")]
    assert provenance.notices(build.runs_of(records).frame) == [
        "a, b: the records differ in torch version: 2.9.0 (30 records); 2.10.0 (2 records)",
        "c: the records differ in torch version: 2.9.0 (15 records); 3.0 (1 record)",
        "a, b, c: test = batch 5 (all of 48 records)",
    ]


def test_a_whole_analysis_prints_each_warning_once(
    build: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for dataset in ("digits", "marker_learnable"):
        odd = build.make(dataset, "softmax", 0, 0.5, provenance={"torch": "2.10.0"}, notes=["test = batch 5"])
        build.save(tmp_path / "records", odd, *build.grid(dataset=dataset)[1:])
    analyse(Settings(records=[tmp_path / "records"], out=tmp_path, analysis=build.plan(), figures=False), "")
    printed, page = capsys.readouterr().out, (tmp_path / "report.html").read_text(encoding="utf-8")
    for text in ("the records differ in torch version", "test = batch 5"):
        assert printed.count(text) == page.count(text) == 1
        assert (tmp_path / "tables/main_results.md").read_text(encoding="utf-8").count(text) == 1


def test_kernels_may_differ_between_normalizers_but_not_within_one(build: SimpleNamespace) -> None:
    records = [
        build.make("digits", name, seed, 0.5 + seed / 10, provenance={"kernel": kernel})
        for name, seed, kernel in [("softmax", 0, "a"), ("softmax", 1, "a"), ("hae", 0, "b"), ("hae", 1, "c")]
    ]
    assert provenance.notices(build.runs_of(records).frame) == [
        "digits hae: the records differ in kernel: b (1 record); c (1 record)"
    ]


def test_notes_of_records_are_shown_under_tables_that_include_them(build: SimpleNamespace) -> None:
    records = [r.model_copy(update={"notes": ["test = official batch 5"]}) for r in build.grid()]
    other = build.grid({"softmax": (0.1, 0.2)}, dataset="other")
    found = made(build, [*records, *other])
    used = {"main_results": 16, "paired_vs_softmax": 12, "hae_vs_entmax15": 8, "runtime": 16}
    for name, count in used.items():
        assert f"digits: test = official batch 5 (all of {count} records)" in found[name].cautions


def test_names_with_markdown_signs_are_escaped_and_lines_stay_aligned(build: SimpleNamespace) -> None:
    text = made(build, build.grid(), names={"hae": "a|b\n<i>c</i>"})["main_results"].markdown()
    assert r"a\|b \<i>c\</i>" in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(line) for line in lines}) == 1
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {7}


def test_sections_have_headings_and_notes() -> None:
    section = Section("A", (("x", "1"),), ("noted",))
    table = Table("t", "T", ("k", "v"), frozenset({"k"}), (section,), ("k", "v"), (("x", 1),))
    assert table.markdown() == "## T\n\n### A\n\n| k   |   v |\n| --- | --: |\n| x   |   1 |\n\n- noted\n"


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.00512, "0.0051"), (2.5512e-6, "2.55e-06"), (1.0, "1.0000"), (1e-4, "0.0001"), (0.0, "<1e-300")],
)
def test_p_values(p: float, text: str) -> None:
    assert p_value(p) == text


def test_numbers_that_do_not_exist_are_a_dash() -> None:
    nan = math.nan
    assert {p_value(nan), fixed(nan, 2), interval(nan, nan), spread(nan, nan), signed(nan)} == {"-"}
    assert spread(0.5, nan) == "0.500 ± -"


def test_signs_of_differences() -> None:
    assert [signed(x) for x in (0.0123, -0.0123, 0.0, -0.00001, 0.00001)] == [
        *("+0.0123", "-0.0123", "0.0000", "0.0000", "0.0000"),
    ]


def test_a_csv_field_keeps_its_quotes_and_commas() -> None:
    table = Table("t", "T", ("k",), frozenset(), (), ("k",), (('a,"b"',), (float("nan"),), (1 / 3,)))
    assert table.csv() == 'k\n"a,""b"""\n""\n0.3333333333\n'
