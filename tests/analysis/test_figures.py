"""Figures: each where its data is, the same bytes every time, no text on another, one look per normalizer."""

import base64
import itertools
import os
import re
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.text import Text
from omegaconf import OmegaConf

from analysis import comparisons, figures, frame, run
from analysis.comparisons import FamilyResult
from analysis.errors import InputError
from analysis.figures import Drawn, alphas, differences, histories, render, training
from analysis.figures.look import DASHES, MARKERS, REGISTRY, look, registry
from analysis.figures.panel import Panel, Scale, nice
from analysis.figures.scene import Scene
from analysis.figures.sheet import PHONE, SMALL, STYLE, WIDEST, Sheet, fitted, text_width, wrapped
from analysis.frame import Runs
from analysis.matched import Comparison
from analysis.plan import Plan
from analysis.settings import Settings
from analysis.tables_runtime import time_ratio

FROM_METRICS = {"accuracy_by_dataset", "support_accuracy", "time_by_normalizer"}
FROM_FILES = {"support_by_head", "training_curves", "alpha_training"}
OF_ONE_STUDY = {"attention_pooling", "length_generalization"}
NOTE = "test = official batch 5"
HOSTILE = '<b> & "$x_1$'
TWELVE = ["softmax", "sparsemax", "entmax15", "hae", "hae_bisection", *(f"normalizer_{i}" for i in range(7))]
EIGHT = ["digits", "cifar10_heldout", "a_data_set_whose_name_no_panel_has_room_for", *(f"data_{i}" for i in range(5))]
NAMES = {"normalizer_6": "a normalizer whose name is as long as nobody would wish for", "normalizer_5": HOSTILE}

Save = Callable[..., Runs]


def history(normalizer: str, seed: int, epochs: int, blocks: int, heads: int) -> dict[str, Any]:
    """The fields of a record that hold curves and attention."""
    random = np.random.default_rng([len(normalizer), seed])
    curves = {"epoch": list(range(1, epochs + 1)), "train_loss": (2 - random.random(epochs)).tolist()}
    curves["validation_accuracy"] = random.random(epochs).tolist()
    if normalizer.startswith("hae"):
        curves["alpha"] = (1.5 + 0.01 * random.random((epochs, blocks, heads))).tolist()
    return {"curves": curves, "attention": {"support": random.random((blocks, heads)).tolist()}}


@pytest.fixture(scope="module")
def save(build: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Save:
    """Records of data sets x normalizers x seeds, on the disk and read again."""

    def saved(datasets: list[str], normalizers: list[str], seeds: int, epochs: int = 6, shape: Any = (2, 4)) -> Runs:
        folder = tmp_path_factory.mktemp("records")
        for (d, dataset), (n, name), seed in itertools.product(
            enumerate(datasets), enumerate(normalizers), range(seeds)
        ):
            accuracy = 0.3 + 0.05 * d + 0.01 * n + 0.003 * ((7 * seed + 3 * n) % 5)
            metrics = {"accuracy": accuracy, "macro_f1": accuracy, "support": 1 / (n + 1)}
            metrics |= {"train_seconds": 2.0 + 3 * n + seed, "inference_seconds": 0.1 + 0.02 * n + 0.01 * seed}
            notes = [NOTE] if dataset == "cifar10_heldout" else []
            changes = history(name, seed, epochs, *shape) | {"notes": notes, "metrics": metrics}
            build.save(folder, build.make(dataset, name, seed, accuracy, **changes))
        return frame.load([folder])

    return saved


def plan_of(normalizers: list[str], datasets: list[str]) -> Plan:
    """One family on the first data sets, the others unplanned, and a direct comparison."""
    families = {"main": {"datasets": datasets[:4], "treatments": normalizers[1:]}} if normalizers[1:] else {}
    pairs = [{"treatment": "hae", "control": "entmax15"}] if {"hae", "entmax15"} <= set(normalizers) else []
    return Plan.model_validate(
        {"control": "softmax", "order": normalizers, "families": families, "pairs": pairs, "names": NAMES}
    )


def results_of(runs: Runs, plan: Plan) -> list[FamilyResult]:
    return [
        *comparisons.families(runs, plan),
        *comparisons.unplanned(runs, plan),
        *comparisons.pairs(runs, plan),
    ]


@pytest.fixture(scope="module")
def usual(save: Save) -> tuple[Runs, Plan, list[FamilyResult]]:
    """Two data sets, four normalizers, three seeds, with everything that a figure can show."""
    datasets, normalizers = ["digits", "cifar10_heldout"], ["softmax", "sparsemax", "entmax15", "hae"]
    runs, plan = save(datasets, normalizers, 3), plan_of(normalizers, datasets)
    return runs, plan, results_of(runs, plan)


@pytest.fixture(scope="module")
def drawn(usual: tuple[Runs, Plan, list[FamilyResult]]) -> Drawn:
    return figures.draw(*usual)


def without(runs: Runs, **columns: Any) -> Runs:
    return Runs(runs.frame.assign(**columns), runs.failed, runs.warnings)


def test_every_figure_in_both_formats_and_with_a_caption(drawn: Drawn) -> None:
    usual = [stem for stem in figures.FIGURES if stem not in OF_ONE_STUDY]
    assert list(drawn.files) == [f"{stem}.{kind}" for stem in usual for kind in ("svg", "png")]
    assert set(figures.CAPTIONS) == set(figures.FIGURES) == {*usual, *OF_ONE_STUDY}
    assert set(usual) == FROM_METRICS | FROM_FILES | {"paired_differences"}
    assert all(content.startswith(b"\x89PNG") for name, content in drawn.files.items() if name.endswith(".png"))
    assert all(
        b"</svg>" in content and b"<dc:date>" not in content for n, content in drawn.files.items() if n.endswith("svg")
    )


def inches(svg: bytes) -> tuple[float, float]:
    """Width and height of an SVG file."""
    width, height = re.findall(rb'(?:width|height)="([\d.]+)pt"', svg)[:2]
    return float(width) / 72, float(height) / 72


def test_a_report_has_figures_in_parts_that_a_page_can_hold_and_in_the_width_of_a_phone(drawn: Drawn) -> None:
    assert set(drawn.parts) == {Path(name).stem for name in drawn.files}
    for stem, parts in drawn.parts.items():
        width, height = inches(drawn.files[f"{stem}.svg"])
        sizes = [inches(content) for kind, content in parts if kind == "svg"]
        assert sum(tall for _, tall in sizes) == pytest.approx(height, abs=0.01)
        assert {round(wide, 3) for wide, _ in sizes} == {round(width, 3)}
        assert width <= WIDEST + 0.01
        assert all(tall < 6 for _, tall in sizes)
        # Every text is in one part and no other.
        whole, cut = drawn.files[f"{stem}.svg"].count(b"<text "), sum(part.count(b"<text ") for _, part in parts)
        assert whole == cut > 0
    assert len(drawn.parts["paired_differences"]) == 2  # a family and a direct comparison
    assert set(drawn.phone) == set(figures.PHONE_FIGURES)
    assert all(inches(content)[0] <= PHONE + 0.01 for content in drawn.phone.values())


@pytest.mark.parametrize(
    ("columns", "lost"),
    [
        ({"path": "published.csv:3"}, FROM_FILES),
        ({"path": "moved/seed=0.json"}, FROM_FILES),
        ({"support": np.nan}, {"support_accuracy"}),
        ({"train_seconds": np.nan, "inference_seconds": np.nan}, {"time_by_normalizer"}),
    ],
)
def test_a_figure_without_data_is_left_out(
    usual: tuple[Runs, Plan, list[FamilyResult]], columns: dict[str, Any], lost: set[str]
) -> None:
    runs, plan, results = usual
    left = set(figures.FIGURES) - set(figures.sheets(without(runs, **columns), plan, results))
    assert left == lost | OF_ONE_STUDY


def test_paired_differences_need_a_difference(usual: tuple[Runs, Plan, list[FamilyResult]]) -> None:
    runs, plan, _ = usual
    refused = FamilyResult("main", 1, (Comparison("main", "digits", "hae", "softmax", 0, status="refused: no run"),))
    assert "paired_differences" not in figures.sheets(runs, plan)
    assert "paired_differences" not in figures.sheets(runs, plan, [refused])


def test_alpha_is_left_out_where_nothing_learns_it(save: Save) -> None:
    runs = save(["digits"], ["softmax", "sparsemax"], 2)
    assert "alpha_training" not in figures.sheets(runs, plan_of(["softmax", "sparsemax"], ["digits"]))


def test_same_bytes_twice_and_by_one_process(
    usual: tuple[Runs, Plan, list[FamilyResult]], drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, plan, results = usual
    backwards = Runs(runs.frame.iloc[::-1], runs.failed, runs.warnings)
    assert figures.draw(backwards, plan, results) == drawn
    monkeypatch.setattr(render, "_cores", lambda: 1)
    assert figures.draw(runs, plan, results) == drawn


def test_what_a_dying_process_leaves_is_made_all_the_same(
    usual: tuple[Runs, Plan, list[FamilyResult]], drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "_cores", lambda: 2)
    monkeypatch.setattr(render, "_send", lambda *_: os._exit(1))
    assert figures.draw(*usual) == drawn


CASES: dict[str, tuple[list[str], list[str], int, int, tuple[int, int]]] = {
    "usual": (["digits", "cifar10_heldout"], TWELVE[:4], 3, 6, (2, 4)),
    "one of everything": (["digits"], TWELVE[:1], 1, 1, (1, 1)),
    "one seed, one epoch": (["digits"], TWELVE[:4], 1, 1, (2, 4)),
    "many and long": (EIGHT, TWELVE, 2, 30, (2, 6)),
    "deep": (["digits"], TWELVE[:4], 2, 9, (6, 8)),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, save: Save) -> tuple[Runs, Plan, list[FamilyResult]]:
    """Each of CASES."""
    datasets, normalizers, seeds, epochs, shape = CASES[request.param]
    runs, plan = save(datasets, normalizers, seeds, epochs, shape), plan_of(normalizers, datasets)
    return runs, plan, results_of(runs, plan)


@pytest.fixture(scope="module")
def sheets(case: tuple[Runs, Plan, list[FamilyResult]]) -> dict[str, Sheet]:
    """The figures of each of CASES, also those for phones."""
    made = figures.sheets(*case)
    assert set(made) >= FROM_METRICS | {"support_by_head", "training_curves"}
    narrow = figures._sheets(figures.PHONE_FIGURES, Scene(*case))
    assert set(narrow) == set(made) & set(figures.PHONE_FIGURES)
    assert all(sheet.right <= PHONE for sheet in narrow.values())
    return made | {f"{stem} on a phone": sheet for stem, sheet in narrow.items()}


def boxes(sheet: Sheet) -> tuple[list[str], np.ndarray]:
    """The texts of a sheet and their (left, bottom, right, top) in inches, as the PNG renderer draws them."""
    with rc_context(STYLE):
        figure = sheet.finish()
        figure.set_dpi(100)
        renderer = FigureCanvasAgg(figure).get_renderer()
        texts = figure.findobj(Text)
        extents = [text.get_window_extent(renderer).extents / 100 for text in texts]
    return [text.get_text() for text in texts], np.array(extents)


def test_no_text_lies_on_another_or_leaves_the_sheet(sheets: dict[str, Sheet]) -> None:
    for stem, sheet in sheets.items():
        texts, extents = boxes(sheet)
        left, bottom, right, top = (extents[:, i] for i in range(4))
        across = np.minimum.outer(right, right) - np.maximum.outer(left, left)
        along = np.minimum.outer(top, top) - np.maximum.outer(bottom, bottom)
        # A line of text is higher than its letters: up to a hundredth of an inch nothing is seen to touch.
        first, second = np.nonzero(np.triu((across > 0.01) & (along > 0.03), 1))
        assert [(stem, texts[i], texts[j]) for i, j in zip(first, second, strict=True)] == []
        width, height = sheet.figure.get_size_inches()
        assert left.min() > 0.05, stem
        assert bottom.min() > 0.05, stem
        assert right.max() < width - 0.05, stem
        assert top.max() < height - 0.02, stem


def marks(sheet: Sheet) -> set[tuple[str, str]]:
    """(colour, marker) of everything that is drawn with a marker, but for the dots of single seeds."""
    lines = sheet.figure.findobj(Line2D)
    return {
        (to_hex(line.get_color()), str(line.get_marker())) for line in lines if line.get_marker() not in ("None", ".")
    }


def test_a_normalizer_looks_the_same_in_every_figure(usual: tuple[Runs, Plan, list[FamilyResult]]) -> None:
    runs, plan, results = usual
    expected = {name: (look(name)["color"], look(name)["marker"]) for name in plan.order}
    made = figures.sheets(runs, plan, results)
    for stem in set(made) - {"alpha_training", "paired_differences"}:
        assert marks(made[stem]) == set(expected.values()), stem
    assert marks(made["paired_differences"]) == set(expected.values()) - {expected["softmax"]}
    assert {colour for colour, _ in marks(made["alpha_training"])} == {expected["hae"][0]}


def test_a_look_belongs_to_the_name_whatever_else_is_there_and_in_whatever_order(save: Save) -> None:
    names = ["softmax", "entmax15", "my_map", "sparsemax", "another"]
    found = []
    for chosen in (names, names[::-1], ["my_map", "softmax", "sparsemax"]):
        plan = Plan.model_validate({"control": "softmax", "order": chosen})
        found.append(Scene(save(["digits"], chosen, 1), plan).looks)
    assert all(looks[name] == found[0][name] for looks in found for name in looks)
    assert found[0]["sparsemax"]["color"] == registry()["colours"]["blue"]
    assert (found[0]["my_map"]["marker"], found[0]["my_map"]["color"]) == ("X", registry()["colours"]["orange"])


def test_every_listed_normalizer_has_a_colour_and_mark_of_its_own_that_exist() -> None:
    listed = registry()
    pairs = [(each["colour"], each["mark"]) for each in listed["normalizers"].values()]
    assert len(set(pairs)) == len(pairs) > 20
    assert {colour for colour, _ in pairs} <= set(listed["colours"])
    assert set(listed["marks"]) == set(MARKERS)
    assert set(listed["lines"]) == set(DASHES)
    configured = {path.stem for path in (REGISTRY.parent / "normalizer").glob("*.yaml")}
    assert set(listed["normalizers"]) <= configured  # one that is added later has a look without being listed


@pytest.mark.parametrize("study", ["reference", "attention_pooling", "length_generalization"])
def test_the_normalizers_of_a_study_are_told_apart_by_colour_or_mark_alone(study: str) -> None:
    order = OmegaConf.load(REGISTRY.parent / "analysis" / f"{study}.yaml")["order"]
    found = [look(name) for name in order]
    assert len({each["marker"] for each in found}) == len(found)
    assert len({each["color"] for each in found[:7]}) >= len(found[:7]) - 1


def test_names_that_are_not_listed_take_looks_that_no_listed_normalizer_has() -> None:
    taken = {(look(name)["color"], look(name)["marker"]) for name in registry()["normalizers"]}
    found = [(look(f"n{i}")["color"], look(f"n{i}")["marker"]) for i in range(60)]
    assert taken.isdisjoint(found)
    assert len(set(found)) > 30


def linear(colour: str) -> np.ndarray:
    """Red, green and blue of `#rrggbb` as light, from 0 to 1."""
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of red, green and blue light (D65), in which a distance of about 2 can just be seen."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.array(to_xyz) @ light / (0.9505, 1, 1.089))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


# Source: Machado, Oliveira and Fernandes (2009), IEEE TVCG 15, severity 1.
BLIND = {
    "none": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
}


@pytest.mark.parametrize("kind", BLIND)
def test_colours_are_told_apart_by_colour_blind_eyes_and_from_white(kind: str) -> None:
    colours = registry()["colours"]
    seen = {name: lab(np.clip(BLIND[kind] @ linear(colour), 0, 1)) for name, colour in colours.items()}
    near = {(a, b): float(np.linalg.norm(seen[a] - seen[b])) for a, b in itertools.combinations(seen, 2)}
    assert min(near.values()) > 20, min(near, key=lambda pair: near[pair])
    luminance = [float(linear(colour) @ (0.2126, 0.7152, 0.0722)) for colour in colours.values()]
    assert all(1.05 / (each + 0.05) >= 3 for each in luminance)


ODD = "頭 😀 a$x_{1}$ 50% \\frac ^_{"


def test_notes_and_names_are_shown_as_they_are(save: Save) -> None:
    normalizers = ["softmax", "hae", "normalizer_5"]
    runs, plan = save(["cifar10_heldout"], normalizers, 2), plan_of(normalizers, ["cifar10_heldout"])
    files = figures.draw(runs, plan, results_of(runs, plan)).files
    pages = {name: content.decode() for name, content in files.items() if name.endswith(".svg")}
    assert len(pages) == 7
    for name, page in pages.items():
        assert f"cifar10_heldout: {NOTE}" in re.sub(r"\s+", " ", page), name
        if name != "alpha_training.svg":
            assert '&lt;b&gt; &amp; "$x_1$' in page, name


def test_names_and_notes_that_the_font_lacks_are_drawn_with_a_notice(build: SimpleNamespace) -> None:
    records = [record.model_copy(update={"notes": [ODD]}) for record in build.grid()]
    runs, plan = build.runs_of(records), build.plan(names={"hae": ODD, "sparsemax": "two\nlines\x00"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = figures.draw(runs, plan, comparisons.families(runs, plan))
    assert set(FROM_METRICS | {"paired_differences"}) <= {Path(name).stem for name in made.files}
    page = made.files["accuracy_by_dataset.svg"].decode()
    ElementTree.fromstring(page)
    assert f">{ODD}<" in page
    assert "two lines\\u0000" in page
    (notice,) = made.notices
    assert "頭 (U+982D)" in notice
    assert "box" in notice


def test_the_notice_of_lacking_characters_is_printed_and_stands_in_the_report(
    build: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build.save(tmp_path / "records", *(build.make("digits", "softmax", seed, 0.5, notes=[ODD]) for seed in range(2)))
    settings = Settings(records=[tmp_path / "records"], out=tmp_path / "out", analysis=build.plan())
    run.analyse(settings, "python -m analysis")
    said = "figures: their font has no sign for 頭 (U+982D)"
    assert f"notice: {said}" in capsys.readouterr().out
    assert said in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "figures" / "accuracy_by_dataset.png").is_file()


def test_signs_of_latex_in_names_are_no_formulas_whatever_the_users_settings(build: SimpleNamespace) -> None:
    runs, plan = build.runs_of(build.grid()), build.plan(names={"hae": ODD, "softmax": "$\\notacommand{$"})
    expected = figures.draw(runs, plan).files["accuracy_by_dataset.svg"]
    with rc_context({"text.usetex": True, "text.parse_math": True}):
        assert figures.draw(runs, plan).files["accuracy_by_dataset.svg"] == expected
    assert b"$\\notacommand{$" in expected


def test_all_characters_that_the_font_has_need_no_notice(drawn: Drawn) -> None:
    assert drawn.notices == ()


def test_forest_shows_margin_both_intervals_seeds_and_verdict(usual: tuple[Runs, Plan, list[FamilyResult]]) -> None:
    runs, plan, _ = usual
    rows = (
        Comparison("main", "digits", "sparsemax", "softmax", 3, 0.04, 0.03, 0.05, 0.02, 0.06, verdict="better"),
        Comparison("main", "digits", "entmax15", "softmax", 3, 0.0, -0.02, 0.02, -0.03, 0.03),
        Comparison("main", "digits", "hae", "softmax", 3, 0.02, status="degenerate"),
    )
    sheet = figures.sheets(runs, plan, [FamilyResult("main", 3, rows)])["paired_differences"]
    figure = sheet.finish()
    words = [text.get_text() for text in figure.findobj(Text)]
    assert {"better", "inconclusive", "degenerate", "main: difference to softmax (m = 3)"} <= set(words)
    lines = figure.findobj(Line2D)
    filled, hollow, degenerate = (line for line in lines if line.get_marker() != ".")
    faces = [to_hex(line.get_markerfacecolor()) for line in (filled, hollow, degenerate)]
    assert faces == [look("sparsemax")["color"], "#ffffff", "#ffffff"]
    x = [float(line.get_xdata()[0]) for line in (filled, hollow, degenerate)]
    assert (x[0] - x[1]) / (x[2] - x[1]) == pytest.approx(2)
    band = figure.findobj(Polygon)[0].get_xy()[:, 0]
    inch = (x[0] - x[1]) / 0.04
    assert (band.max() - band.min()) / inch == pytest.approx(2 * plan.margin)
    bars = [
        (lines.get_linewidths()[place], path.vertices[:, 0])
        for lines in figure.findobj(LineCollection)
        for place, path in enumerate(lines.get_paths())
        if lines.get_zorder() == 2
    ]
    for width, reach in ((differences.THICK, [0.02, 0.04]), (differences.THIN, [0.04, 0.06])):
        assert [(bar[-1] - bar[0]) / inch for w, bar in bars if w == width] == pytest.approx(reach)
    seeds = [line for line in lines if line.get_marker() == "."]
    cells = (runs.cell("digits", name)["accuracy"].to_numpy() for name in ("sparsemax", "entmax15", "hae"))
    control = runs.cell("digits", "softmax")["accuracy"].to_numpy()
    for dots, cell in zip(seeds, cells, strict=True):
        assert (np.array(dots.get_xdata()) - x[1]) / inch == pytest.approx(cell - control)


def test_a_direct_comparison_has_a_row_per_data_set(usual: tuple[Runs, Plan, list[FamilyResult]]) -> None:
    runs, plan, _ = usual
    sheet = figures.sheets(runs, plan, comparisons.pairs(runs, plan))["paired_differences"]
    words = [text.get_text() for text in sheet.finish().findobj(Text)]
    assert "hae_vs_entmax15: difference to entmax-1.5 (m = 2)" in words
    assert [word for word in words if word in ("digits", "cifar10_heldout", "HAE")] == [
        "digits",
        "cifar10_heldout",
        "HAE",
    ]


def panel_titles(sheet: Sheet) -> list[str]:
    words = [text.get_text() for text in sheet.finish().findobj(Text)]
    return [word for word in words if word.split(":")[0] in ("digits", "cifar10_heldout") and ": " in word]


def test_times_are_ratios_with_the_intervals_of_the_table(usual: tuple[Runs, Plan, list[FamilyResult]]) -> None:
    runs, plan, _ = usual
    sheet = figures.sheets(runs, plan)["time_by_normalizer"]
    words = [text.get_text() for text in sheet.finish().findobj(Text)]
    assert words.count("×1.00") == 4
    # sparsemax trains for 5, 6 and 7 seconds, softmax for 2, 3 and 4: the cube root of 5/2 · 6/3 · 7/4
    mean, low, high = time_ratio(runs, plan, "digits", "sparsemax", "train_seconds")
    assert mean == pytest.approx((5 / 2 * 6 / 3 * 7 / 4) ** (1 / 3))
    assert words.count(f"×2.06 [{low:.2f}, {high:.2f}]") == 2
    title = "digits: training (wall)"
    assert panel_titles(sheet)[:2] == [title, "digits: inference (wall)"]


def test_times_are_those_of_the_processor_where_every_record_of_a_data_set_holds_them(
    usual: tuple[Runs, Plan, list[FamilyResult]],
) -> None:
    runs, plan, _ = usual
    held = runs.frame["train_seconds"] ** 2
    runs_with = without(runs, train_cpu_seconds=held.where(runs.frame["dataset"] == "digits"))
    sheet = figures.sheets(runs_with, plan)["time_by_normalizer"]
    titles = panel_titles(sheet)
    assert titles[0] == "digits: training (CPU)"
    assert titles[2] == "cifar10_heldout: training (wall)"
    words = [text.get_text() for text in sheet.finish().findobj(Text)]
    assert any(word.startswith("×4.25 [") for word in words)
    some = without(runs, train_cpu_seconds=held.where(runs.frame["seed"] > 0))
    assert panel_titles(figures.sheets(some, plan)["time_by_normalizer"])[0] == "digits: training (wall)"


def test_times_without_a_run_of_the_control_are_left_out(save: Save) -> None:
    runs = save(["digits"], ["sparsemax", "hae"], 2)
    assert "time_by_normalizer" not in figures.sheets(runs, plan_of(["softmax", "sparsemax", "hae"], ["digits"]))


def with_classes(build: SimpleNamespace, folder: Path, low: float) -> Runs:
    """Runs that predict the classes 0 to 3 between them, with accuracies from `low` upwards."""
    for n, (name, seed) in enumerate(itertools.product(("softmax", "hae"), range(2))):
        packed = zlib.compress(np.array([0, n], "<u2").tobytes())
        predictions = {"encoding": "base64 zlib <u2", "rows": 2, "classes": base64.b64encode(packed).decode()}
        curves = {"train_loss": [1.0, 0.5], "validation_accuracy": [low, low + 0.1]}
        record = build.make("digits", name, seed, low + 0.02 * n, predictions=predictions, curves=curves)
        build.save(folder, record)
    return frame.load([folder])


def dotted(sheet: Sheet) -> list[Line2D]:
    """Dotted lines without marks: those of chance."""
    lines = sheet.finish().findobj(Line2D)
    return [line for line in lines if line.get_linestyle() == ":" and line.get_marker() == "None"]


def test_chance_is_marked_in_every_panel_of_accuracy_that_reaches_it(build: SimpleNamespace, tmp_path: Path) -> None:
    plan = plan_of(["softmax", "hae"], ["digits"])
    made = figures.sheets(with_classes(build, tmp_path / "near", 0.24), plan)
    for stem in ("accuracy_by_dataset", "support_accuracy", "training_curves"):
        assert len(dotted(made[stem])) == 1, stem
        words = " ".join(text.get_text() for text in made[stem].finish().findobj(Text))
        assert "Chance: 1 / number of classes that any run predicted" in words, stem
    assert "digits: chance 0.25" in panel_titles(made["accuracy_by_dataset"])
    far = figures.sheets(with_classes(build, tmp_path / "far", 0.8), plan)["accuracy_by_dataset"]
    assert dotted(far) == []
    assert panel_titles(far) == ["digits: chance 0.25"]


def test_without_predictions_there_is_no_chance(usual: tuple[Runs, Plan, list[FamilyResult]]) -> None:
    runs, plan, _ = usual
    made = figures.sheets(runs, plan)["accuracy_by_dataset"]
    assert dotted(made) == []
    assert not [text for text in made.finish().findobj(Text) if "hance" in text.get_text()]


def test_predictions_that_cannot_be_decoded_are_refused_by_name(build: SimpleNamespace, tmp_path: Path) -> None:
    predictions = {"encoding": "base64 zlib <u2", "rows": 2, "classes": "AAAA"}
    build.save(tmp_path, build.make("digits", "softmax", 0, 0.5, predictions=predictions))
    with pytest.raises(InputError, match=r"seed=0-.*predictions cannot be decoded"):
        histories.load(frame.load([tmp_path]))


def test_alpha_stands_on_its_whole_range_with_an_inset_where_it_hardly_moved(
    usual: tuple[Runs, Plan, list[FamilyResult]],
) -> None:
    runs, plan, _ = usual
    made: list[tuple[Scale, Scale]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alphas, "_lines", lambda panel, *_: made.append((panel.x, panel.y)))
        figures.sheets(runs, plan)
    whole, inset = (y for _, y in made[:2])
    assert whole.low <= 1.05
    assert whole.high >= 1.95
    assert 1.49 < inset.low < inset.high < 1.52  # the records' α lie between 1.5 and 1.51
    assert len(made) == 4


def test_an_alpha_that_moves_needs_no_inset(build: SimpleNamespace, tmp_path: Path) -> None:
    curves = {"alpha": [[[1.1]], [[1.9]]]}
    build.save(tmp_path, build.make("digits", "hae", 0, 0.5, curves=curves, config={"normalizer": {"map": "hae"}}))
    sheet = figures.sheets(frame.load([tmp_path]), plan_of(["softmax", "hae"], ["digits"]))["alpha_training"]
    assert sheet.finish().findobj(Polygon) == []


def test_published_runs_have_no_curves(published_runs: Runs) -> None:
    plan = plan_of(["softmax", "sparsemax", "entmax15", "hae", "topk_0125", "topk_025", "topk_050"], ["cifar10"])
    made = figures.sheets(published_runs, plan, results_of(published_runs, plan))
    assert set(made) == FROM_METRICS | {"paired_differences"}


def test_histories_are_arrays_by_seed_read_once(
    usual: tuple[Runs, Plan, list[FamilyResult]], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, plan, results = usual
    places: list[Path] = []
    read = histories.read
    monkeypatch.setattr(histories, "read", lambda path: places.append(path) or read(path))
    figures.sheets(runs, plan, results)
    assert len(places) == len(set(places)) == len(runs.frame)
    found = histories.load(runs)
    assert found.note == ""
    alpha, loss = (found.curves["digits", "hae"][name] for name in ("alpha", "train_loss"))
    assert alpha.shape == (3, 6, 2, 4)
    assert found.attention["digits", "softmax"]["support"].shape == (3, 2, 4)
    assert loss.tolist() == [history("hae", seed, 6, 2, 4)["curves"]["train_loss"] for seed in range(3)]


def test_of_very_many_runs_the_first_seeds_are_read_and_the_figure_says_so(
    usual: tuple[Runs, Plan, list[FamilyResult]], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, plan, _ = usual
    monkeypatch.setattr(histories, "MANY", 5)
    monkeypatch.setattr(histories, "FEW", 2)
    found = histories.load(runs)
    assert found.curves["digits", "hae"]["alpha"].shape[0] == 2
    made = figures.sheets(runs, plan)
    for stem, sheet in made.items():
        said = [text.get_text() for text in sheet.finish().findobj(Text)]
        assert ("The first 2 seeds of each normalizer and data set." in said) == (stem in FROM_FILES), stem


@pytest.mark.parametrize(
    ("losses", "what"),
    [
        ([1.0, 0.5, 0.2], r"train_loss has shape \(3,\).*\(2,\)"),
        (["low", "lower"], "train_loss is not an array of num"),
        ([1.0, None], "train_loss holds a value"),
    ],
)
def test_curves_that_do_not_fit_are_refused_by_name(
    build: SimpleNamespace, tmp_path: Path, losses: list[Any], what: str
) -> None:
    build.save(tmp_path, build.make("digits", "softmax", 0, 0.5, curves={"train_loss": [1.0, 0.5]}))
    build.save(tmp_path, build.make("digits", "softmax", 1, 0.5, curves={"train_loss": losses}))
    with pytest.raises(InputError, match=f"seed=1-.*{what}"):
        histories.load(frame.load([tmp_path]))


@pytest.mark.parametrize(("value", "low", "high"), [(0.0, -0.06, 0.06), (0.5, 0.47, 0.53), (-2.0, -2.12, -1.88)])
def test_one_value_alone_has_a_scale_that_people_read(value: float, low: float, high: float) -> None:
    scale = nice([value, value], 2.1)
    assert low < scale.low < value < scale.high < high
    assert value in [pytest.approx(tick) for tick in scale.ticks]
    assert all(len(label) <= 5 for label in scale.labels())


@pytest.mark.parametrize(
    "values", [[0.0, 1.0], [0.3827, 0.4085], [-0.013, 0.052], [5.0], [0.0], [1e-4, 3e-4], [3.0, 45_000.0]]
)
@pytest.mark.parametrize("room", [1.5, 2.3])
def test_scales_hold_the_values_and_ticks_with_room_for_their_numbers(values: list[float], room: float) -> None:
    scale = nice(values, room)
    assert scale.low < min(values) <= max(values) < scale.high
    assert len(scale.ticks) >= 1
    assert all(scale.low <= tick <= scale.high for tick in scale.ticks)
    assert [float(label.replace("−", "-")) for label in scale.labels()] == pytest.approx(scale.ticks, abs=1e-9)
    inches = room / (scale.high - scale.low)
    halves = [text_width(label, SMALL) / 2 for label in scale.labels()]
    for (a, left), (b, right) in itertools.pairwise(zip(scale.ticks, halves, strict=True)):
        assert (b - a) * inches > left + right


def test_a_panel_puts_values_in_their_place() -> None:
    panel = Panel(Sheet(), 1.0, 2.0, 4.0, 3.0, Scale(0, 10), Scale(-1, 1))
    assert panel.at(0, 1) == (1.0, 2.0)
    assert panel.at(10, -1) == (5.0, 5.0)
    assert panel.at(2.5, 0) == (2.0, 3.5)


def test_widths_are_those_of_the_drawn_text() -> None:
    sheet = Sheet()
    for row, text in enumerate(("twenty_newsgroups", "top-k 0.125", "HAE (through bisection)")):
        sheet.text(1.0, 0.5 * row, text)
    texts, extents = boxes(sheet)
    assert [text_width(text) for text in texts] == pytest.approx(list(extents[:, 2] - extents[:, 0]), abs=0.04)


def test_long_texts_are_shortened_and_wrapped() -> None:
    name = "a normalizer whose name is as long as nobody would wish for"
    short = fitted(name, 2.0)
    begin, end = short.split("…")
    assert text_width(short) <= 2.0
    assert name.startswith(begin)
    assert name.endswith(end)
    assert fitted("HAE", 2.0) == "HAE"
    lines = wrapped(name, 1.5, SMALL)
    assert " ".join(lines) == name
    assert all(text_width(line, SMALL) <= 1.5 for line in lines)


def test_labels_at_line_ends_keep_apart_and_near() -> None:
    wanted = [0.0, 0.01, 0.02, 1.0, 1.9, 1.99, 2.0]
    places = training.apart(wanted, 0.1, 0.0, 2.0)
    assert np.diff(places).min() > 0.1 - 1e-9
    assert places == pytest.approx([0.0, 0.1, 0.2, 1.0, 1.8, 1.9, 2.0])


def test_many_heads_are_one_line_per_block(save: Save) -> None:
    runs, plan = save(["digits"], ["softmax", "hae"], 2, 3, (3, 8)), plan_of(["softmax", "hae"], ["digits"])
    figure = figures.sheets(runs, plan)["alpha_training"].finish()
    assert len(figure.findobj(Line2D)) == 6  # in the panel and in its inset
    words = {text.get_text() for text in figure.findobj(Text)}
    assert {"1", "2", "3"} <= words
    assert words.isdisjoint({"2.1", "2.8", "3.1", "3.8"})
