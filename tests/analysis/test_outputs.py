"""Figures and report: made whole, the same every time, nothing unescaped."""

import base64
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from analysis import comparisons, figures, report, tables

HOSTILE = '<script>alert(1)</script> & "$x_1$'


@pytest.fixture(scope="module")
def drawn(build: SimpleNamespace) -> dict[str, bytes]:
    """The figures of two data sets, with a name that HTML and matplotlib would both read wrongly."""
    records = [*build.grid(), *build.grid({"softmax": (0.1,)}, dataset="one_run")]
    return figures.draw(build.runs_of(records), build.plan(names={"hae": HOSTILE}))


def test_both_figures_in_both_formats(drawn: dict[str, bytes]) -> None:
    assert sorted(drawn) == [
        *("accuracy_by_dataset.png", "accuracy_by_dataset.svg", "support_accuracy.png", "support_accuracy.svg"),
    ]
    assert drawn["support_accuracy.png"].startswith(b"\x89PNG")
    assert b"<dc:date>" not in drawn["support_accuracy.svg"]


def test_figures_are_byte_identical_when_drawn_twice(build: SimpleNamespace, drawn: dict[str, bytes]) -> None:
    records = [*build.grid(), *build.grid({"softmax": (0.1,)}, dataset="one_run")]
    assert figures.draw(build.runs_of(records[::-1]), build.plan(names={"hae": HOSTILE})) == drawn


def test_figures_without_any_support(build: SimpleNamespace) -> None:
    records = [r.model_copy(update={"metrics": {"accuracy": 0.5 + r.seed / 10}}) for r in build.grid()]
    assert len(figures.draw(build.runs_of(records), build.plan())) == 4


class Tags(HTMLParser):
    """Collects tags and checks that they close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_report_is_one_escaped_page(build: SimpleNamespace, drawn: dict[str, bytes]) -> None:
    records = [r.model_copy(update={"notes": [HOSTILE], "setting": HOSTILE}) for r in build.grid()]
    runs, plan = build.runs_of(records), build.plan(names={"hae": HOSTILE})
    made = tables.all_tables(runs, plan, comparisons.families(runs, plan), comparisons.pairs(runs, plan))
    page = report.page(runs, plan, made, drawn, [HOSTILE], f"python -m analysis out={HOSTILE}")
    parser = Tags()
    parser.feed(page)
    assert parser.open == []
    assert "script" not in parser.seen
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;$x_1$") >= 5
    assert not re.search(r'(src|href)="(?!data:)', page)
    embedded = re.findall(r"base64,([^\"]+)", page)
    assert [base64.b64decode(text) for text in embedded] == [
        drawn["accuracy_by_dataset.png"],
        drawn["support_accuracy.png"],
    ]
    for table in made:
        assert f'id="{table.name}"' in page
    assert "torch version: 2.9.0" in page
