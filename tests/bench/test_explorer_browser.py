"""The page of the theory in a real browser: its maps are the library's, and every control moves its drawing."""

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from normalizers import (
    bottomk_softmax,
    constrained_sparsemax,
    entmax,
    fusedmax,
    scalable_softmax,
    sigmoid_attention,
    sink_softmax,
    softmax,
    softmax1,
    softpick,
    sparsemax,
    stick_breaking,
    support_size,
    topk_softmax,
    total_variation_prox,
)
from tests.bench.helpers import ROOT

ADDRESS = (ROOT / "results/explorer.html").as_uri()
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
SECTIONS = ("weights", "waterline", "length", "alpha", "fused", "budgets", "loss", "kernel", "patterns")
HANDLES = {"weights-scores": 8, "water-scores": 8, "fused-scores": 8, "budget-weights": 8}
MARKS = """(section) => [...section.querySelectorAll('.back :is(path, rect, line, circle)')]
    .map((one) => one.outerHTML).join('')"""

SCORES = "explorer.row.set([2.9, 2.4, 1, 0.5, 0, -1, -2, -2.9])"
"""A row that is none of the ready-made ones."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        lack = "no chromium or google-chrome on the PATH"
        pytest.fail(lack) if os.environ.get("NORMBENCH_BROWSER") == "1" else pytest.skip(lack)
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """One page for all tests that move something in it."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture
def opened(window: Any) -> Iterator[Any]:
    """The page as new in a browser; it must have said and asked for nothing by the end of each test."""
    said: list[str] = []
    listeners = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "request": lambda request: said.append(request.url),
    }
    for event, listener in listeners.items():
        window.on(event, listener)
    window.set_viewport_size({"width": 1280, "height": 900})
    window.emulate_media(reduced_motion="no-preference")
    window.goto(ADDRESS)
    yield window
    assert said == [ADDRESS]
    for event, listener in listeners.items():
        window.remove_listener(event, listener)


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    """One page for all tests that only compute in it."""
    page = browser.new_page()
    page.goto(ADDRESS)
    yield page
    page.close()


@pytest.fixture(scope="module")
def phone(browser: Any) -> Iterator[Any]:
    """One page on a phone with a touch screen, and what sends touches to it: (page, session)."""
    context = browser.new_context(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(ADDRESS)
    yield page, context.new_cdp_session(page)
    context.close()


Case = tuple[str, dict[str, Any], Callable[[Tensor, Tensor], Tensor]]
MAPS: list[Case] = [
    ("softmax", {}, lambda z, m: softmax(z, mask=m)),
    ("topk", {"ratio": 0.25}, lambda z, m: topk_softmax(z, ratio=0.25, mask=m)),
    ("topk", {"k": 3}, lambda z, m: topk_softmax(z, k=3, mask=m)),
    ("bottomk", {"ratio": 0.25}, lambda z, m: bottomk_softmax(z, ratio=0.25, mask=m)),
    ("bottomk", {"k": 3}, lambda z, m: bottomk_softmax(z, k=3, mask=m)),
    ("scalable", {"s": 0.43}, lambda z, m: scalable_softmax(z, 0.43, mask=m)),
    ("sparsemax", {}, lambda z, m: sparsemax(z, mask=m)),
    *(
        ("entmax", {"alpha": alpha}, lambda z, m, alpha=alpha: entmax(z, alpha, mask=m))
        for alpha in (1.0, 1.02, 1.1, 1.25, 4 / 3, 1.5, 1.77, 2.0, 2.5, 3.0)
    ),
    *(("fusedmax", {"lam": lam}, lambda z, m, lam=lam: fusedmax(z, lam, mask=m)) for lam in (0.0, 0.05, 0.3, 1.0, 2.0)),
    *(
        (
            "constrained",
            {"upper": upper},
            lambda z, m, upper=upper: constrained_sparsemax(z, torch.tensor(upper), mask=m),
        )
        for upper in ([0.5] * 24, [1.0, 0.05] * 12, [0.35, 0.6, 0.9] * 8)
    ),
    ("sink", {"s": 0}, lambda z, m: softmax1(z, mask=m)),
    ("sink", {"s": 2}, lambda z, m: sink_softmax(z, 2.0, mask=m)),
    ("stick", {}, lambda z, m: stick_breaking(z, mask=m)),
    ("sigmoid", {}, lambda z, m: sigmoid_attention(z, mask=m)),
    ("softpick", {}, lambda z, m: softpick(z, mask=m)),
]


def rows_and_masks() -> tuple[Tensor, Tensor]:
    """Rows of 24 scores, drawn, rounded (ties and scores exactly at a threshold) and large; most of them masked."""
    generator = torch.Generator().manual_seed(3)
    z = torch.randn(36, 24, generator=generator, dtype=torch.float64)
    z[8:16] = (10 * z[8:16]).round() / 10
    z[16:24] *= 30
    mask = torch.rand(36, 24, generator=generator) < 0.7
    mask[::6] = True
    mask[:, :6] = True  # so that bounds leave room for weights
    return z, mask


@pytest.mark.parametrize(("name", "options", "ours"), MAPS, ids=[f"{name}-{options}" for name, options, _ in MAPS])
def test_maps_are_those_of_the_library(tab: Any, name: str, options: Any, ours: Any) -> None:
    z, mask = rows_and_masks()
    found = tab.evaluate(
        "([name, options, rows, masks]) => rows.map((row, i) => explorer.maps[name](row, options, masks[i]))",
        [name, options, z.tolist(), mask.tolist()],
    )
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), ours(z, mask), atol=1e-6, rtol=0)


def test_a_row_without_keys_stays_empty(tab: Any) -> None:
    found = tab.evaluate(
        "['softmax', 'sparsemax', 'sigmoid'].map((name) => explorer.maps[name]([1, 2], {}, [false, false]))"
    )
    assert found == [[0, 0]] * 3


@pytest.mark.parametrize("alpha", [1.0, 1.02, 1.1, 1.5, 2.0, 2.6, 3.0])
def test_the_derivative_and_the_waterline_are_those_of_the_library(tab: Any, alpha: float) -> None:
    z, _ = rows_and_masks()
    slopes, levels = tab.evaluate(
        "([rows, alpha]) => ['alphaDerivative', 'waterline'].map((name) => rows.map((row) =>"
        " explorer.maps[name](row, alpha)))",
        [z.tolist(), alpha],
    )
    a = torch.full((len(z), 1), alpha, dtype=torch.float64)
    expected = torch.func.jvp(lambda a: entmax(z, a), (a,), (torch.ones_like(a),))[1]
    torch.testing.assert_close(torch.tensor(slopes, dtype=torch.float64), expected, atol=1e-6, rtol=0)
    if alpha > 1:
        level = torch.tensor(levels, dtype=torch.float64)[:, None]
        above = ((alpha - 1) * (z - level)).clamp(min=0) ** (1 / (alpha - 1))
        torch.testing.assert_close(above, entmax(z, alpha), atol=1e-6, rtol=0)


@pytest.mark.parametrize("lam", [0.0, 0.2, 1.0, 3.0])
def test_fused_levels_are_those_of_the_library(tab: Any, lam: float) -> None:
    z, _ = rows_and_masks()
    z = z[:, :8]
    found = tab.evaluate("([rows, lam]) => rows.map((row) => explorer.maps.fused(row, lam))", [z.tolist(), lam])
    expected = total_variation_prox(z, torch.tensor([lam], dtype=torch.float64))
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), expected, atol=1e-6, rtol=0)


def test_a_score_at_its_threshold_counts_as_zero(tab: Any) -> None:
    counts = tab.evaluate(
        "[[2, 1, 0.5, 0], [0.3, -0.7], [1.4, 0.4, 0.4]].map((row) =>"
        " explorer.maps.support(explorer.maps.sparsemax(row)))"
    )
    assert counts == [1, 1, 1]


def snapshot(section: Any) -> str:
    """The marks drawn in a section: neither its text nor what is read aloud."""
    marks = str(section.evaluate(MARKS))
    assert marks
    assert not [word for word in ("NaN", "Infinity", "undefined") if word in marks]
    return marks


def tab_to(tab: Any, control: Any) -> None:
    """Reaches `control` by the Tab key alone, from where the focus is."""
    for _ in range(12):
        if control.evaluate("(element) => element === document.activeElement"):
            return
        tab.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {control.get_attribute('id') or control.get_attribute('aria-label')}")


@pytest.mark.parametrize("name", SECTIONS)
def test_every_control_moves_its_drawing_by_keyboard(opened: Any, name: str) -> None:
    section = opened.locator(f"section#{name}")
    for details in section.locator(".play details").all():
        details.locator("summary").click()
    controls = section.locator(".play :is(input, select, button, [role=slider])").all()
    assert controls
    opened.locator(f'nav a[href="#{name}"]').click()
    for control in controls:
        kind = control.evaluate("(element) => element.type ?? 'slider'")
        opened.evaluate(SCORES)
        before = snapshot(section)
        tab_to(opened, control)
        if kind in ("button", "checkbox"):
            opened.keyboard.press("Space")
        else:
            opened.keyboard.press("ArrowDown")
            if snapshot(section) == before:  # at its lower end
                opened.keyboard.press("ArrowUp")
        assert snapshot(section) != before, control.get_attribute("id") or control.get_attribute("aria-label")


@pytest.mark.parametrize("name", SECTIONS)
def test_every_choice_and_both_ends_of_every_slider_are_drawn(opened: Any, name: str) -> None:
    section = opened.locator(f"section#{name}")
    for details in section.locator(".play details").all():
        details.locator("summary").click()
    for choice in section.locator("select").all():
        drawn = []
        for option in choice.locator("option").all():
            choice.select_option(option.get_attribute("value") or option.inner_text())
            drawn.append(snapshot(section))
        assert len(set(drawn)) == len(drawn) > 1
    for slider in section.locator("input[type=range]").all():
        opened.evaluate(SCORES)
        drawn = []
        for end in ("min", "max"):
            slider.fill(slider.get_attribute(end))
            drawn.append(snapshot(section))
        assert drawn[0] != drawn[1], slider.get_attribute("id")


@pytest.mark.parametrize("drawing", HANDLES)
def test_handles_follow_the_mouse_and_their_keys(opened: Any, drawing: str) -> None:
    handles = opened.locator(f"#{drawing} [role=slider]")
    assert handles.count() == HANDLES[drawing]
    handle = handles.nth(2)
    handle.scroll_into_view_if_needed()
    box = handle.locator(".knob").bounding_box()
    before = float(handle.get_attribute("aria-valuenow"))
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    opened.mouse.down()
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] - 25, steps=3)
    opened.mouse.up()
    assert float(handle.get_attribute("aria-valuenow")) > before
    ends = [float(handle.get_attribute(name)) for name in ("aria-valuemin", "aria-valuemax")]
    for key, end in zip(("Home", "End"), ends, strict=True):
        opened.keyboard.press(key)
        assert float(handle.get_attribute("aria-valuenow")) == end
    opened.keyboard.press("PageDown")
    assert float(handle.get_attribute("aria-valuenow")) < ends[1]


HEIGHTS = "(lines) => lines.map((line) => Number(line.getAttribute('y1')))"


def pull_by_finger(session: Any, x: float, y: float, down: float) -> None:
    """A finger put on (x, y), moved `down` by many pixels in steps, and taken away."""
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 11):
        point = {"x": x, "y": y + down * step / 10}
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@pytest.mark.parametrize("drawing", HANDLES)
def test_a_finger_moves_a_handle_all_the_way_and_the_page_stays(phone: tuple[Any, Any], drawing: str) -> None:
    page, session = phone
    page.evaluate("explorer.row.set([0, 0, 0, 0, 0, 0, 0, 0])")
    page.locator(f"#{drawing}").scroll_into_view_if_needed()
    page.evaluate("document.documentElement.style.scrollBehavior = 'auto'; scrollBy(0, 1)")
    handle = page.locator(f"#{drawing} [role=slider]").nth(3)
    box = handle.locator(".knob").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    scrolled = page.evaluate("scrollY")
    pull_by_finger(session, x, y, -50)
    assert page.evaluate("scrollY") == scrolled > 0
    after = handle.locator(".knob").bounding_box()
    assert after["y"] + after["height"] / 2 == pytest.approx(y - 50, abs=6)  # values move in steps


def test_a_finger_beside_the_handles_scrolls_the_page(phone: tuple[Any, Any]) -> None:
    page, session = phone
    page.evaluate("scrollTo(0, 0)")
    box = page.locator("#weights-title").bounding_box()
    pull_by_finger(session, box["x"] + 20, box["y"] + 5, -150)
    page.wait_for_function("scrollY > 50")
    assert page.evaluate("explorer.row.scores").count(0) >= 6


def test_a_handle_that_is_held_beside_its_middle_does_not_jump(opened: Any) -> None:
    handle = opened.locator("#weights-scores [role=slider]").nth(1)
    handle.scroll_into_view_if_needed()
    box = handle.locator(".knob").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = float(handle.get_attribute("aria-valuenow"))
    opened.mouse.move(x + 4, y + 12)
    opened.mouse.down()
    opened.mouse.move(x + 5, y + 12)
    assert float(handle.get_attribute("aria-valuenow")) == before
    opened.mouse.move(x + 5, y + 42)
    opened.mouse.up()
    one, two = opened.locator("#weights-scores line.grid").evaluate_all(HEIGHTS)[:2]
    moved = float(handle.get_attribute("aria-valuenow")) - before
    assert moved == pytest.approx(-30 / (one - two), abs=0.051)


ALPHAS = {"weights": "weights-alpha", "waterline": "water-alpha", "alpha": "alpha-alpha"}


@pytest.mark.parametrize("moved", ALPHAS.values())
def test_sections_share_one_alpha(opened: Any, moved: str) -> None:
    assert {opened.locator(f"#{slider}").input_value() for slider in ALPHAS.values()} == {"1.5"}
    before = {name: snapshot(opened.locator(f"section#{name}")) for name in SECTIONS}
    opened.locator(f"#{moved}").fill("2.02")
    for slider in ALPHAS.values():
        assert opened.locator(f"#{slider}").input_value() == "2.02"
        assert opened.locator(f"#{slider}").get_attribute("aria-valuetext") == "2.02"
        assert opened.locator(f"#{slider}-value").inner_text() == "2.02"
    changed = {name for name in SECTIONS if snapshot(opened.locator(f"section#{name}")) != before[name]}
    assert changed == set(ALPHAS)


def test_water_that_cannot_be_seen_is_said_to_be_below_the_drawing(opened: Any) -> None:
    slider, said = opened.locator("#water-alpha"), opened.locator("#water-said")
    assert said.inner_text().startswith("The water stands at 0.29:")
    slider.fill("1.06")
    assert said.inner_text().startswith("The water is below the drawing, at −")
    assert opened.locator("#water-scores .surface").count() == 0
    slider.fill("1")
    assert said.inner_text().startswith("There is no water:")


def test_derivatives_in_alpha_have_one_scale_for_all_rows_and_every_alpha(opened: Any) -> None:
    numbers, unit, most = set(), set(), 0.0
    bar = "(bars) => Math.max(...bars.map((bar) => Number(bar.getAttribute('height'))))"
    for row in (
        "explorer.row.set([0, 0, 0, 0, 0, 0, 0, 1.73])",
        SCORES,
        "explorer.row.set([0.1, 0, 0, 0, 0, 0, 0, 0])",
    ):
        opened.evaluate(row)
        for alpha in ("1", "1.44", "2.5"):
            opened.locator("#alpha-alpha").fill(alpha)
            numbers.add(" ".join(opened.locator("#alpha-derivative text").all_text_contents()))
            low, middle, high = opened.locator("#alpha-derivative line.grid").evaluate_all(HEIGHTS)
            unit.add(round(low - middle, 3))
            change = opened.evaluate(
                "(alpha) => explorer.maps.alphaDerivative(explorer.row.scores, alpha)", float(alpha)
            )
            drawn = opened.locator("#alpha-derivative .bar").evaluate_all(bar)
            assert drawn == pytest.approx(max(0.8, max(map(abs, change)) * (low - middle)), rel=1e-3)
            most = max(most, *map(abs, change))
            assert middle - high == pytest.approx(low - middle)
    assert len(numbers) == len(unit) == 1
    assert 1.1 < most < 1.2  # the largest there is, and it fits


OVERPRINTED = """(svgs) => svgs.flatMap((svg) => {
    const texts = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
    const over = ([, a], [, b]) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
    const before = (one, i) => texts.slice(0, i).filter((other) => over(one, other));
    const pairs = texts.flatMap((one, i) => before(one, i).map(([name]) => name));
    const { left, right } = svg.getBoundingClientRect();
    return [...pairs, ...texts.filter(([, box]) => box.right > right + 1 || box.left < left - 1).map(([name]) => name)];
})"""
"""The labels that lie on others or leave their drawing."""
FEET = """(texts) => texts.filter((text) => text.getAttribute('text-anchor') === 'middle')
    .map((text) => Number(text.getAttribute('y')))"""
PRESETS = ("mixed", "leader", "tie", "plateaus", "flat")


@pytest.mark.parametrize("width", [320, 375, 1280])
def test_no_label_of_the_dial_lies_on_another_or_on_a_line(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 812})
    drawings = opened.locator("section#alpha .play svg[data-height]")
    presets = [f"document.getElementById('preset-{name}').click()" for name in PRESETS]
    for row in (*presets, SCORES, "explorer.row.set([2.9, -2.9, -2.9, -2.9, -2.9, -2.9, -2.9, 2.5])"):
        opened.evaluate(row)
        assert drawings.evaluate_all(OVERPRINTED) == [], row
        floor = float(opened.locator("#alpha-curves .axis").get_attribute("y1"))
        feet = opened.locator("#alpha-curves .key").evaluate_all(FEET)
        assert all(foot - 9 > floor for foot in feet), row  # below the axis, where no line is


def test_sections_share_one_row_of_scores(opened: Any) -> None:
    before = {name: snapshot(opened.locator(f"section#{name}")) for name in SECTIONS}
    opened.get_by_role("button", name="near tie").click()
    changed = {name for name in SECTIONS if snapshot(opened.locator(f"section#{name}")) != before[name]}
    assert changed == {"weights", "waterline", "alpha", "fused", "budgets"}


def test_zeros_are_marked_and_counted(opened: Any) -> None:
    opened.get_by_role("button", name="one leader").click()
    assert opened.locator("#weights-softmax .zero").count() == 0
    assert opened.locator("#weights-sparsemax .zero").count() == 7
    assert opened.locator("#weights-sparsemax-support").inner_text() == "support 1 of 8, 7 exact zeros"


def test_budgets_that_are_too_small_are_refused_in_words(opened: Any) -> None:
    opened.locator("#budget-all").focus()
    opened.keyboard.press("Home")
    assert "less than 1" in opened.locator("#budget-said").inner_text()
    assert opened.locator("#budget-weights :is(.bar, .zero)").count() == 0


def test_a_budget_of_its_own_is_not_the_common_one(opened: Any) -> None:
    assert opened.locator("#budget-all-value").inner_text() == "0.30"
    opened.locator("#budget-weights [role=slider]").nth(2).focus()
    opened.keyboard.press("PageUp")
    assert opened.locator("#budget-all-value").inner_text() == "mixed"
    assert opened.locator("#budget-all").get_attribute("aria-valuetext") == "mixed"
    opened.locator("#budget-all").fill("0.4")
    assert opened.locator("#budget-all-value").inner_text() == "0.40"


def test_a_gaussian_reaches_every_point_however_narrow(opened: Any) -> None:
    opened.locator("#kernel-alpha").select_option("1")
    opened.locator("#kernel-width").fill(opened.locator("#kernel-width").get_attribute("min"))
    for query in ("0", "0.39", "1"):
        opened.locator("#kernel-query").fill(query)
        said = opened.locator("#kernel-said").inner_text()
        assert "support 36 of 36;" in said
        assert "zero" not in said


def test_the_top_of_a_kernel_is_never_cut(opened: Any) -> None:
    for option in opened.locator("#kernel-alpha option").all():
        opened.locator("#kernel-alpha").select_option(option.get_attribute("value"))
        for width, query in (("0.03", "0"), ("0.03", "0.39"), ("0.2", "0.5")):
            opened.locator("#kernel-width").fill(width)
            opened.locator("#kernel-query").fill(query)
            path = opened.locator("#kernel-weights .line").get_attribute("d")
            heights = [float(point.split()[1]) for point in path.replace("L", "M").split("M")[1:]]
            assert min(heights) > 10  # where the axis ends


def test_the_curve_of_support_is_right_where_the_marker_stands(opened: Any) -> None:
    drawn = """([line, marker, ...rules]) => {
        const points = line.getAttribute('d').split(/[ML]/).slice(1).map((point) => point.split(' ').map(Number));
        const [one, four] = rules.map((rule) => Number(rule.getAttribute('y1')));
        const x = Number(marker.getAttribute('x1'));
        const [, y] = points.filter((point) => point[0] <= x + 0.06).at(-1);
        return 1 + (3 * (one - y)) / (one - four);
    }"""
    scores = torch.tensor(opened.evaluate("explorer.row.scores"), dtype=torch.float64)
    found, expected = [], []
    for alpha in (1.0, 1.1, 1.24, 1.26, 1.3, 1.32, 1.5, 2.0, 2.66, 3.0):
        opened.locator("#alpha-alpha").fill(str(alpha))
        parts = opened.locator("#alpha-support .back :is(.line, .marker, line.grid)")
        order = (
            "(all) => ['line', 'marker', 'grid'].flatMap((kind) => all.filter((one) => one.classList.contains(kind)))"
        )
        found.append(parts.evaluate_all(f"(all) => ({drawn})(({order})(all))"))
        expected.append(float(support_size(entmax(scores, alpha))))
    assert found == pytest.approx(expected, abs=0.1)
    assert expected[4] == 6


def test_a_lead_holds_everything_and_ties_stay(tab: Any) -> None:
    counts = tab.evaluate(
        "[[1, 0.5, 0.5], [1, 0.51, 0], [0.3, 0.3, 0.2], [0.3, 0.2, 0.3, 0.1]].map((row) =>"
        " explorer.maps.support(explorer.maps.entmax(row, { alpha: 3 })))"
    )
    assert counts == [1, 2, 3, 3]


PATTERN_MAPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sparsemax": lambda z, m: sparsemax(z, mask=m),
    "entmax15": lambda z, m: entmax(z, 1.5, mask=m),
    "topk": lambda z, m: topk_softmax(z, ratio=0.25, mask=m),
    "scalable": lambda z, m: scalable_softmax(z, 0.43, mask=m),
    "stick": lambda z, m: stick_breaking(z, mask=m),
}


@pytest.mark.parametrize("name", PATTERN_MAPS)
def test_the_matrix_is_that_of_the_library(opened: Any, name: str) -> None:
    """Under every pattern, over all keys and over those of the past: kept pairs, used ones, and each weight's shade."""
    pattern = opened.evaluate("explorer.data.pattern")
    scores = torch.tensor(pattern["scores"], dtype=torch.float64)
    opened.locator("#pattern-map").select_option(name)
    for causal in (False, True):
        opened.locator("#pattern-causal").set_checked(causal)
        past = pattern["causal"] if causal else [2**24 - 1] * 24
        for kind, of_sizes in pattern["masks"].items():
            opened.locator("#pattern-kind").select_option(kind)
            bits = of_sizes[pattern["sizes"].index(3)]
            mask = torch.tensor(
                [[bool(row & seen & 1 << key) for key in range(24)] for row, seen in zip(bits, past, strict=True)]
            )
            weights = PATTERN_MAPS[name](scores, mask)
            assert opened.locator("#pattern-weights .dropped").count() == int((~mask).sum())
            shades = opened.locator("#pattern-weights .weight").evaluate_all(
                "(cells) => cells.map((cell) => Number(cell.getAttribute('opacity')))"
            )
            assert shades == pytest.approx(weights[weights > 0].sqrt().tolist(), abs=6e-4)
            said = opened.locator("#pattern-said").inner_text()
            assert said.startswith(f"The mask keeps {int(mask.sum())} of 576 pairs, the weights use {len(shades)} of")


def test_every_control_and_drawing_has_a_name(opened: Any) -> None:
    for details in opened.locator("details").all():
        details.evaluate("(element) => (element.open = true)")
    session = opened.context.new_cdp_session(opened)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "link", "slider", "combobox", "checkbox", "image", "region", "navigation", "DisclosureTriangle"}
    found = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    assert {"button", "slider", "combobox", "checkbox", "image"} <= {node["role"]["value"] for node in found}
    assert [node["role"] for node in found if not node.get("name", {}).get("value", "").strip()] == []


def test_drawings_describe_what_they_show_now(opened: Any) -> None:
    drawings = opened.locator(".play svg[data-height]")
    described = "(svgs) => svgs.map((svg) => document.getElementById(svg.getAttribute('aria-describedby')).textContent)"
    before = drawings.evaluate_all(described)
    assert len(before) == 21
    assert all(before)
    assert set(drawings.evaluate_all("(svgs) => svgs.map((svg) => svg.getAttribute('role'))")) == {"img", "group"}
    opened.get_by_role("button", name="flat").click()
    for control in ("length-lead", "loss-margin", "kernel-query", "pattern-size"):
        opened.locator(f"#{control}").focus()
        opened.keyboard.press("ArrowRight")
    after = drawings.evaluate_all(described)
    assert [one == other for one, other in zip(before, after, strict=True)] == [False] * len(before)


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_the_page_never_scrolls_sideways(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 812})
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    wide = opened.locator("#weights-scores").evaluate("(svg) => svg.viewBox.baseVal.width")
    assert wide <= width


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_handle_reaches_over_its_neighbour(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 844})
    for drawing in HANDLES:
        boxes = [reach.bounding_box() for reach in opened.locator(f"#{drawing} .reach").all()]
        for one, other in pairwise(boxes):
            assert one["x"] + one["width"] <= other["x"] + 0.2


def test_a_phone_shows_the_same_and_can_be_played_with(opened: Any) -> None:
    opened.set_viewport_size({"width": 390, "height": 844})
    handles = opened.locator("#weights-scores [role=slider]")
    handles.nth(3).scroll_into_view_if_needed()
    boxes = [handle.locator(".reach").bounding_box() for handle in handles.all()]
    section = opened.locator("section#weights")
    before = snapshot(section)
    x, y = boxes[3]["x"] + boxes[3]["width"] / 2, boxes[3]["y"] + boxes[3]["height"] / 2
    opened.mouse.move(x, y)
    opened.mouse.down()
    opened.mouse.move(x, y - 40, steps=3)
    opened.mouse.up()
    assert snapshot(section) != before
    assert opened.evaluate("explorer.row.scores[3]") > -0.8
    for panel in ("softmax", "topk", "entmax", "sparsemax"):
        bars = opened.locator(f"#weights-{panel} .bar").count()
        numbers = opened.locator(f"#weights-{panel} text").evaluate_all(
            "(texts) => texts.filter((text) => /[.]\\d\\d$|^$/.test(text.textContent)).length"
        )
        assert numbers == bars
    for drawing in opened.locator(".play svg[data-height]").all():
        beyond = drawing.evaluate(
            """(svg) => [...svg.querySelectorAll('text')].filter((text) => {
                const [inner, outer] = [text, svg].map((one) => one.getBoundingClientRect());
                return inner.right > outer.right + 1 || inner.left < outer.left - 1;
            }).map((text) => text.textContent)"""
        )
        assert beyond == [], drawing.get_attribute("id")


def test_nothing_moves_by_itself(opened: Any) -> None:
    opened.emulate_media(reduced_motion="reduce")
    assert opened.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    opened.get_by_role("button", name="flat").click()
    assert opened.evaluate("document.getAnimations().length") == 0


def test_contents_and_the_skip_link_work(opened: Any) -> None:
    links = opened.get_by_role("navigation").get_by_role("link")
    assert [link.get_attribute("href") for link in links.all()] == [f"#{name}" for name in SECTIONS]
    links.nth(4).click()
    assert opened.evaluate("location.hash") == "#fused"
    opened.locator(".skip").focus()
    opened.keyboard.press("Enter")
    assert opened.evaluate("document.activeElement.id") == "main"


def test_text_formulas_and_measured_figures_need_no_script(browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(ADDRESS)
    assert "need JavaScript" in tab.locator("header .alert").inner_text()
    assert tab.locator("input:visible, select:visible, button:visible, .play:visible").count() == 0
    for name in SECTIONS:
        section = tab.locator(f"section#{name}")
        assert section.locator("h2").is_visible()
        assert section.locator("math").first.is_visible()
        assert section.locator(".sources").is_visible()
    assert tab.locator("svg.dots:visible").count() == tab.locator("svg.dots").count() > 0
    context.close()
