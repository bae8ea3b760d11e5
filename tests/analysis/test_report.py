"""The report: one page, whole and safe whatever the records hold; its sorting and filtering in a real browser."""

import base64
import io
import itertools
import re
import shutil
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from analysis import comparisons, report, tables
from analysis.report import Pictures
from analysis.report.markup import SIGNS, text
from analysis.table import Section, Table
from tests.conftest import Tally

HOSTILE = "<script>alert(1)</script> & \"quoted\" 'too' \u202egnp.exe\x00"
SPELLED = "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot; &#x27;too&#x27; \\u202egnp.exe\\u0000"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="90"><rect width="900" height="90"/></svg>'
WIDE = b'<svg xmlns="http://www.w3.org/2000/svg" width="756pt" height="90"><rect width="1008" height="90"/></svg>'
CUT = Pictures({"accuracy_by_dataset": (("svg", WIDE), ("png", PNG))}, {"accuracy_by_dataset": SVG})
"""A figure of two parts, and the same for a phone."""
FIGURES = {"accuracy_by_dataset.png": PNG, "accuracy_by_dataset.svg": SVG, "of_my_own.png": PNG}
CLAIMS = Table(
    name="claims",
    title="Published claims",
    header=("claim", "what it says", "verdict"),
    left=frozenset({"claim", "what it says", "verdict"}),
    sections=(
        Section("", (("C1", "x" * 60, "replicated"), ("C2", "y", "not replicated"), ("C10", "z", "not testable"))),
    ),
    columns=("claim", "verdict"),
    values=(("C1", "replicated"), ("C2", "not replicated"), ("C10", "not testable")),
)
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def written(build: SimpleNamespace, records: list[Any], extra: tuple[Table, ...] = (), **changes: Any) -> str:
    """The page of `records` with their tables and `extra`."""
    runs, plan = build.runs_of(records), build.plan(**changes)
    families = comparisons.families(runs, plan) + comparisons.unplanned(runs, plan)
    pairs = comparisons.pairs(runs, plan)
    warnings = [*runs.warnings, *comparisons.warnings(runs, plan, [*families, *pairs])]
    given = {table.name for table in extra}
    made = [table for table in tables.all_tables(runs, plan, families, pairs) if table.name not in given]
    made += extra
    return report.page(runs, plan, made, FIGURES, warnings, "python -m analysis records=DIR out=DIR", "", CUT)


class Page(HTMLParser):
    """Elements as (tag, attributes), the text of each tag, and whether all elements close in order."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and data.strip():
            self.texts.append((self.open[-1], data))

    def all(self, *tags: str) -> list[dict[str, str | None]]:
        """The attributes of every element of `tags`."""
        return [attributes for tag, attributes in self.elements if tag in tags]


@pytest.fixture(scope="module")
def content(build: SimpleNamespace) -> str:
    """A page of two data sets, one of them with a missing seed and a note, with claims and three figures."""
    marker = build.grid({"softmax": (0.1, 0.2), "hae": (0.1,)}, dataset="marker")
    noted = [record.model_copy(update={"notes": ["test = official batch 5"]}) for record in marker]
    return written(build, [*build.grid(), *noted], (CLAIMS,))


@pytest.fixture(scope="module")
def page(content: str) -> Page:
    return Page(content)


def test_the_page_is_whole_and_loads_nothing(page: Page) -> None:
    assert page.open == []
    assert {tag for tag, _ in page.elements}.isdisjoint({"link", "iframe", "object", "base", "form"})
    sources = [value for _, attributes in page.elements for name, value in attributes.items() if name == "src"]
    assert len(sources) == 4
    assert all(str(source).startswith("data:image/") for source in sources)
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert not [attributes for _, attributes in page.elements if "style" in attributes]


def test_only_the_script_of_the_page_may_run(page: Page) -> None:
    (policy,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy


def test_contents_links_lead_to_places_and_ids_are_unique(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {str(a["href"])[1:] for a in page.all("a") if str(a["href"]).startswith("#")}
    assert targets <= set(ids)
    assert {"answer", "runs", "tables", "figures", "guide", "main", "table-claims", "figure-of_my_own"} <= targets


def test_headings_captions_and_scopes(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels))
    assert len(page.all("caption")) == len(page.all("table")) == len(page.all("thead"))
    assert {header.get("scope") for header in page.all("th")} == {"row", "col"}
    boxes = [div for div in page.all("div") if str(div.get("class")).partition(" ")[0] == "box"]
    assert len(boxes) == len(page.all("table", "img")) - 1  # two images are parts of one figure
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in boxes)
    assert [bool(image["alt"]) for image in page.all("img")] == [True, False, True, True]


def test_the_answer_comes_first_and_says_what_was_found(content: str) -> None:
    assert content.index('id="answer"') < content.index('id="tables"')
    said = re.sub("<[^>]*>", "", content[content.index('id="answer"') : content.index('id="figures"')])
    assert "Published claims: ✓ 1 replicated ✗ 1 not replicated – 1 not testable" in said
    assert "sparsemax is better than softmax: +0.0275 [0.0123, 0.0427], Holm p 0.0210." in said
    assert "HAE against entmax-1.5" in said
    assert "No comparison has a result." in said


def test_cautions_and_notes_stand_above_the_answer(content: str) -> None:
    above = content[: content.index('id="answer"')]
    assert "missing seed 1 of hae" in above
    assert "marker: test = official batch 5 (all of 3 records)" in above


def test_the_answer_says_at_which_length_it_holds(build: SimpleNamespace) -> None:
    cells = itertools.product(("softmax", "hae"), range(2))
    said = written(build, [build.at_lengths("two_tasks", name, seed, [1, 0.5 - seed / 4, 0.2]) for name, seed in cells])
    assert '<p class="lead">two_tasks: accuracy is the exact match at length 64.</p>' in said
    assert "<h4><bdi>two_<wbr>tasks</bdi></h4>" in said
    assert "accuracy is the exact match" not in written(build, build.grid())


def test_without_paired_comparisons_the_page_says_so(build: SimpleNamespace) -> None:
    alone = written(build, build.grid({"softmax": (0.1, 0.2)}, dataset="other"))
    assert "No comparison is planned, or the records allow none." in alone


def test_figures_prefer_the_drawing_unless_it_is_huge(content: str, build: SimpleNamespace) -> None:
    embedded = [base64.b64decode(data) for data in re.findall(r"base64,([^\"]+)", content)]
    assert embedded == [WIDE, PNG, SVG, PNG]
    runs = build.runs_of(build.grid())
    figures = {"huge.svg": SVG + b" " * 300_000, "huge.png": PNG}
    made = report.page(runs, build.plan(), [], figures, [], "")
    assert base64.b64encode(PNG).decode() in made
    assert len(made) < 100_000


def test_figures_come_right_after_the_answer(content: str) -> None:
    places = [content.index(f'<section id="{name}"') for name in ("answer", "figures", "runs", "tables", "guide")]
    assert places == sorted(places)
    contents = content[content.index("<nav") : content.index("</nav>")]
    links = [contents.index(f'href="#{name}"') for name in ("answer", "figures", "runs", "tables", "guide")]
    assert links == sorted(links)


LENGTHS = {"softmax": [1.0, 0.5, 0.0], "sparsemax": [1.0, 0.9, 0.0], "hae": [1.0, 0.5, 0.0]}


def by_length(build: SimpleNamespace) -> str:
    """A page of a task where nobody is right at the longest length and one is better before, and of a usual one."""
    records = [
        build.at_lengths(task, name, seed, exact, token=[right + 0.001 * seed * len(name) for right in tokens])
        for task, exact in (("a_floor", None), ("copy", [1.0, 0.5, 0.2]))
        for name, tokens in (("softmax", [0.9, 0.5, 0.3]), ("sparsemax", [0.9, 0.8, 0.6]), ("hae", [0.9, 0.5, 0.3]))
        for seed in range(3)
        for exact in [LENGTHS[name] if exact is None else exact]
    ]
    families = {"all": {"datasets": ["a_floor", "copy"], "treatments": ["sparsemax", "hae"]}}
    return written(build, records, families=families, pairs=[])


def test_the_answer_leads_with_the_lengths_at_which_something_differs(build: SimpleNamespace) -> None:
    content = by_length(build)
    answer = content[content.index('id="answer"') : content.index('id="figures"')]
    said = re.sub(r"\s+", " ", re.sub("<[^>]*>", "", answer))
    assert said.index("At every test length") < said.index("accuracy is the exact match") < said.index("Family all")
    assert re.search(r"Better than softmax: sparsemax \+0.3020 at 32 \(Holm p [^)]+\), \+0.3020 at 64", said)


def test_comparisons_at_the_floor_are_marked_and_told_last(build: SimpleNamespace) -> None:
    content = by_length(build)
    answer = content[content.index("Family <a") : content.index('id="figures"')]
    assert answer.index("<bdi>copy</bdi>") < answer.index("<bdi>a_<wbr>floor</bdi>")
    said = re.sub("<[^>]*>", " ", answer)
    assert "All accuracies are 0, on both sides and every seed: nothing can differ here." in said
    assert len(re.findall(r"∅\s+all 0", said)) == 2
    assert "Highest mean difference: a_floor" not in said
    assert "0.0000 [" not in said


def test_the_command_stands_with_tables_and_figures(page: Page) -> None:
    assert page.texts.count(("code", "python -m analysis records=DIR out=DIR")) == 2


def test_the_page_of_the_theory_is_linked_where_there_is_one(build: SimpleNamespace, content: str) -> None:
    assert "explorer.html" not in content
    runs = build.runs_of(build.grid())
    made = report.page(runs, build.plan(), [], {}, [], "", "../explorer.html")
    assert '<a href="../explorer.html">' in made[: made.index('id="answer"')]


@pytest.mark.fault("names that hold markup, in the report")
def test_hostile_names_are_text(build: SimpleNamespace, fault: Tally) -> None:
    records = [
        r.model_copy(
            update={"notes": [HOSTILE], "setting": HOSTILE, "dataset": HOSTILE, "cell": HOSTILE + r.normalizer}
        )
        for r in build.grid()
    ]
    changes = {"names": {"hae": HOSTILE}, "families": {HOSTILE: {"datasets": [HOSTILE], "treatments": ["hae"]}}}
    made = written(build, records, **changes)
    parsed = Page(made)
    assert parsed.open == []
    assert len(parsed.all("script")) == 1
    assert made.count(SPELLED) > 10
    fault.inject()
    fault.unsaid()
    assert not set(made).intersection("\x00\u202e")
    script = made[made.index("<script>") : made.index("</script>")]
    assert "alert(1)" not in script


def test_the_same_input_gives_the_same_bytes(build: SimpleNamespace) -> None:
    assert written(build, build.grid()) == written(build, build.grid()[::-1])


def test_cells_sort_by_the_values_behind_them(build: SimpleNamespace) -> None:
    parsed = Page(written(build, build.grid({"softmax": (0.1, 0.2), "hae": (0.12345678, 0.2)})))
    values = {cell["data-value"] for cell in parsed.all("td") if "data-value" in cell}
    assert "0.16172839" in values


def test_published_runs_make_a_small_page_quickly(published_runs: Any, build: SimpleNamespace) -> None:
    plan = build.plan()
    families = comparisons.unplanned(published_runs, plan)
    made = tables.all_tables(published_runs, plan, families, [])
    started = time.process_time()
    written_page = report.page(published_runs, plan, made, FIGURES, [], "")
    assert time.process_time() - started < 0.15
    assert len(written_page) < 1_000_000


def luminance(colour: str) -> float:
    """Relative luminance of `#rgb` or `#rrggbb`. Source: WCAG 2.2."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_have_contrast(content: str, scheme: int) -> None:
    style = content[content.index("<style>") : content.index("</style>")]
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", re.findall(r":root \{(.*?)\}", style, re.DOTALL)[scheme]))
    grounds = {kind: f"{kind}-soft" for kind in ("good", "bad", "same", "open", "alert")}
    pairs = [*grounds.items(), *((ink, ground) for ink in ("ink", "dim", "link") for ground in ("page", "soft"))]
    for ink, ground in pairs:
        light, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_verdicts_differ_in_more_than_colour() -> None:
    paired = [SIGNS[word][1] for word in ("better", "worse", "equivalent", "inconclusive")]
    assert len(set(paired)) == len(paired)
    assert text("a\u202eb\n") == "a\\u202eb "


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("no chromium or google-chrome on the PATH")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def file(content: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(content, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    """One tab for all tests."""
    opened = browser.new_page()
    yield opened
    opened.close()


@pytest.fixture
def opened(tab: Any, file: Path) -> Iterator[Any]:
    """The page as new in a browser; it must have said and asked for nothing by the end of each test."""
    said: list[str] = []
    listeners = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "request": lambda request: said.append(request.url) if not request.url.startswith("data:") else None,
    }
    for event, listener in listeners.items():
        tab.on(event, listener)
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.emulate_media(media="screen", color_scheme="light", reduced_motion="reduce")
    tab.goto(file.as_uri())
    yield tab
    assert said == [file.as_uri()]
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)


def column(tab: Any, number: int, table: str = "#table-main_results") -> list[str]:
    """The cells of a column that can be seen, as they are read."""
    rows = tab.locator(f"{table} tbody tr:visible").all()
    return [row.locator("th, td").nth(number).inner_text() for row in rows]


def test_sorts_both_ways_by_mouse(opened: Any) -> None:
    before = column(opened, 2)
    button = opened.locator("#table-main_results").get_by_role("button", name="accuracy")
    button.click()
    header = opened.locator("#table-main_results th[aria-sort]")
    assert header.get_attribute("aria-sort") == "ascending"
    means = [float(cell.split()[0]) for cell in column(opened, 2)]
    assert means == sorted(means)
    assert "" not in column(opened, 0)
    button.click()
    assert header.get_attribute("aria-sort") == "descending"
    assert [float(cell.split()[0]) for cell in column(opened, 2)] == sorted(means, reverse=True)
    button.click()
    assert header.count() == 0
    assert column(opened, 2) == before


def test_sorts_by_keyboard_and_numbers_within_names(opened: Any) -> None:
    opened.locator("#table-claims").get_by_role("button", name="claim").focus()
    opened.keyboard.press("Enter")
    assert column(opened, 0, "#table-claims") == ["C1", "C2", "C10"]
    opened.keyboard.press("Space")
    assert column(opened, 0, "#table-claims") == ["C10", "C2", "C1"]


def test_what_is_missing_sorts_last_both_ways(opened: Any) -> None:
    button = opened.locator("#table-paired_vs_softmax table").first.get_by_role("button", name="Holm p")
    place = opened.evaluate(
        "[...document.querySelector('#table-paired_vs_softmax thead tr').cells]"
        ".findIndex((cell) => cell.textContent.startsWith('Holm p'))"
    )
    for _ in range(2):
        button.click()
        cells = opened.locator("#table-paired_vs_softmax table").first.locator(f"tbody tr td:nth-child({place + 1})")
        assert cells.count() > 1
        shown = [cell == "-" for cell in cells.all_inner_texts()]
        assert shown == sorted(shown)


def test_filters_and_says_how_many_rows_remain(opened: Any) -> None:
    block = opened.locator("#table-main_results")
    field, count = block.get_by_role("searchbox"), block.get_by_role("status")
    total = len(column(opened, 1))
    assert count.inner_text() == f"{total} rows"
    field.fill("DIGITS hae")
    assert column(opened, 1) == ["HAE"]
    assert column(opened, 0) == ["digits"]
    assert count.inner_text() == f"1 of {total} rows"
    field.fill("nothing of the kind")
    assert count.inner_text() == f"0 of {total} rows"
    field.fill("")
    assert len(column(opened, 1)) == total


def test_columns_of_detail_unfold(opened: Any) -> None:
    block = opened.locator("#table-paired_vs_softmax")
    button = block.get_by_role("button", name="All columns")
    detail = block.locator("th.wide").first
    assert not detail.is_visible()
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert detail.is_visible()


def test_contents_links_and_the_skip_link_work(opened: Any) -> None:
    for link in opened.get_by_role("navigation").get_by_role("link").all():
        link.click()
        target = link.get_attribute("href")
        assert opened.evaluate("location.hash") == target
        opened.wait_for_function(
            "(id) => document.querySelector(id).getBoundingClientRect().top < innerHeight", arg=target
        )
    opened.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    opened.locator(".skip").focus()
    assert opened.locator(".skip").bounding_box()["x"] >= 0
    opened.keyboard.press("Enter")
    assert opened.evaluate("document.activeElement.id") == "main"


def test_every_control_has_a_name(opened: Any) -> None:
    session = opened.context.new_cdp_session(opened)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "link", "searchbox", "region", "navigation", "image", "table", "DisclosureTriangle"}
    found = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    assert {"button", "searchbox", "region", "table"} <= {node["role"]["value"] for node in found}
    assert [node["role"] for node in found if not node.get("name", {}).get("value", "").strip()] == []


def test_what_was_run_is_legible_on_a_phone(opened: Any) -> None:
    opened.set_viewport_size({"width": 375, "height": 812})
    cells = opened.locator("#runs th[scope=row]")
    heights = cells.evaluate_all("(cells) => cells.map((cell) => cell.getBoundingClientRect().height)")
    widths = cells.evaluate_all("(cells) => cells.map((cell) => cell.getBoundingClientRect().width)")
    assert cells.count() > 2
    assert min(widths) > 85
    assert max(heights) < 120
    assert opened.locator("#runs").bounding_box()["height"] < 1500


def test_figures_fit_on_a_phone_with_nothing_cut(opened: Any) -> None:
    shown, narrow = opened.locator("figure .drawn").first, opened.locator("figure .on-phone")
    assert shown.is_visible()
    assert not narrow.is_visible()
    opened.set_viewport_size({"width": 375, "height": 812})
    assert narrow.is_visible()
    assert not shown.is_visible()
    box = narrow.locator("img").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 375
    assert opened.locator("figure .drawn").nth(1).is_visible()  # a figure without one for phones


def luminance_of(opened: Any, selector: str) -> float:
    """The mean luminance of what an element shows."""
    picture = Image.open(io.BytesIO(opened.locator(selector).first.screenshot())).convert("RGB").resize((1, 1))
    return luminance("#{:02x}{:02x}{:02x}".format(*picture.getpixel((0, 0))))


def test_figures_follow_dark_mode_and_stay_white_on_paper(opened: Any) -> None:
    selector = "#figure-of_my_own .box"
    white = luminance_of(opened, selector)
    opened.emulate_media(color_scheme="dark")
    assert white > 0.9
    assert luminance_of(opened, selector) < 0.05
    filters = "(image) => getComputedStyle(image).filter"
    assert opened.locator("figure img").first.evaluate(filters) == "invert(0.91) hue-rotate(180deg)"
    opened.emulate_media(media="print", color_scheme="dark")
    assert opened.locator("figure img").first.evaluate(filters) == "none"


SMALLEST = """() => Math.min(...[...document.querySelectorAll('body *')].filter((element) =>
    element.checkVisibility() && !element.closest('style, script, caption, .unseen')
    && [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())
).map((element) => 0.75 * parseFloat(getComputedStyle(element).fontSize)))"""


def test_printed_text_has_eight_points_and_fits_the_page(opened: Any) -> None:
    # A landscape page of A4 without its margins, 277 mm; what is wider is printed smaller as a whole.
    opened.set_viewport_size({"width": 1047, "height": 700})
    opened.emulate_media(media="print")
    assert opened.evaluate(SMALLEST) >= 8
    assert opened.evaluate("document.documentElement.scrollWidth") <= 1047
    image = opened.locator("figure .drawn img").first.bounding_box()
    assert image["width"] == pytest.approx(1008, abs=1)  # as wide as it was drawn, so its text keeps its size


@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_never_scrolls_sideways(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 812})
    assert opened.evaluate("document.documentElement.scrollWidth") <= width


def test_print_shows_everything(opened: Any) -> None:
    opened.locator("#table-main_results").get_by_role("searchbox").fill("hae")
    opened.emulate_media(media="print")
    assert len(column(opened, 1)) > 1
    assert not opened.get_by_role("searchbox").first.is_visible()
    assert opened.locator("#guide dd").first.is_visible()
    assert opened.locator("#table-paired_vs_softmax th.wide").first.is_visible()


def test_reads_without_script(browser: Any, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(file.as_uri())
    assert tab.locator("button, input").count() == 0
    assert tab.locator("#table-paired_vs_softmax th.wide").first.is_visible()
    assert tab.locator("#answer").is_visible()
    context.close()
