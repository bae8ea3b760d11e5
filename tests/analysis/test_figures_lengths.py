"""Length generalization: panels, shade and lines in their places, and the same bytes every time."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.text import Text

from analysis import comparisons, figures
from analysis.figures import lengths
from analysis.figures.doubling import doubling, draw_means, mean_at
from analysis.figures.panel import Panel, Scale
from analysis.figures.scene import Scene
from analysis.figures.sheet import SMALL, STYLE, WIDEST, Sheet, text_width
from analysis.frame import Runs
from analysis.plan import Family, Plan

NORMALIZERS = ["softmax", "scalable_softmax", "entmax15", "asentmax", "topk_4"]
DATASETS = [f"{task}_{where}" for task in ("flip_flop", "associative_recall", "reverse") for where in ("nape", "rope")]
TESTED = [16, 32, 64, 128, 256]
PLAN = Plan.model_validate(
    {
        "control": "softmax",
        "order": NORMALIZERS,
        "families": {"longest": {"datasets": DATASETS, "treatments": NORMALIZERS[1:]}},
    }
)


def runs_of(build: SimpleNamespace, datasets: list[str], seeds: int = 2, tested: list[int] = TESTED) -> Runs:
    def record(dataset: str, n: int, seed: int) -> Any:
        random = np.random.default_rng([len(dataset), n, seed])
        exact = np.sort(random.random(len(tested)))[::-1].tolist()
        level = (1 + random.random(len(tested))).tolist()
        return build.at_lengths(dataset, NORMALIZERS[n], seed, exact, level=level, lengths=tested)

    return build.runs_of(record(name, n, seed) for name in datasets for n in range(5) for seed in range(seeds))


def sheet_of(runs: Runs) -> Sheet:
    with rc_context(STYLE):
        sheet = lengths.against_length(Scene(runs, PLAN))
    assert sheet is not None
    return sheet


@pytest.fixture(scope="module")
def six(build: SimpleNamespace) -> Sheet:
    """Three tasks, two choices of positions, five normalizers."""
    return sheet_of(runs_of(build, DATASETS))


def test_a_row_of_panels_per_data_set(six: Sheet) -> None:
    words = [text.get_text() for text in six.finish().findobj(Text)]
    shown = [word for word in words if word in (*DATASETS, *lengths.MEASURES.values())]
    assert shown == [word for name in DATASETS for word in (name, *lengths.MEASURES.values())]
    assert six.right <= WIDEST
    assert words.count("256") == 24
    assert [word for word in words if word in ("softmax", "ASEntmax", "top-4")] == ["softmax", "ASEntmax", "top-4"]


def test_no_text_lies_on_another_or_leaves_the_sheet(six: Sheet) -> None:
    with rc_context(STYLE):
        figure = six.finish()
        figure.set_dpi(100)
        renderer = FigureCanvasAgg(figure).get_renderer()
        texts = figure.findobj(Text)
        extents = np.array([text.get_window_extent(renderer).extents / 100 for text in texts])
    left, bottom, right, top = extents.T
    across = np.minimum.outer(right, right) - np.maximum.outer(left, left)
    along = np.minimum.outer(top, top) - np.maximum.outer(bottom, bottom)
    first, second = np.nonzero(np.triu((across > 0.01) & (along > 0.03), 1))
    assert [(texts[i].get_text(), texts[j].get_text()) for i, j in zip(first, second, strict=True)] == []
    width, height = figure.get_size_inches()
    assert min(left.min(), bottom.min(), width - right.max(), height - top.max()) > 0.02


def lines_of(sheet: Sheet) -> list[Line2D]:
    """The lines of the panels: those of the legend have three points."""
    return [line for line in sheet.finish().findobj(Line2D) if len(line.get_xdata()) != 3]


def test_each_panel_has_a_line_per_normalizer_beside_the_others(six: Sheet) -> None:
    found = lines_of(six)
    assert len(found) == 24 * 5
    starts = [float(line.get_xdata()[0]) for line in found[:5]]
    steps = np.diff(starts)
    assert steps.min() > 0
    assert steps == pytest.approx([steps[0]] * 4)
    octave = float(found[2].get_xdata()[1]) - starts[2]
    assert starts[4] - starts[0] == pytest.approx(lengths.APART * octave * 4 / 5)


def test_the_lengths_of_training_are_shaded_up_to_the_longest(build: SimpleNamespace) -> None:
    sheet = sheet_of(runs_of(build, ["flip_flop_nape"]))
    shades = sheet.finish().findobj(Polygon)
    middle = [float(line.get_xdata()[0]) for line in lines_of(sheet)[2::5]]  # at 16, where training ends
    assert [shade.get_xy()[:, 0].max() for shade in shades] == pytest.approx(middle)
    assert all(shade.get_xy()[:, 0].min() < place - 0.2 for shade, place in zip(shades, middle, strict=True))


def test_records_without_lengths_of_training_have_no_shade(build: SimpleNamespace) -> None:
    records = [build.at_lengths("copy", "softmax", seed, [1.0, 0.5, 0.2]) for seed in range(2)]
    runs = build.runs_of(record.model_copy(update={"config": {}}) for record in records)
    assert sheet_of(runs).finish().findobj(Polygon) == []


@pytest.mark.parametrize(("seeds", "tested"), [(1, [16]), (1, TESTED), (3, [2**n for n in range(4, 17)])])
def test_one_length_one_seed_and_many_lengths_are_drawn(build: SimpleNamespace, seeds: int, tested: list[int]) -> None:
    assert len(lines_of(sheet_of(runs_of(build, ["reverse_rope"], seeds, tested)))) == 20


def test_a_normalizer_may_be_missing_on_one_data_set(build: SimpleNamespace) -> None:
    runs = runs_of(build, DATASETS[:1])
    one = runs_of(build, DATASETS[1:2])
    some = [build.at_lengths("copy", "softmax", 0, [1.0, 0.5, 0.2]), build.at_lengths("sort", "asentmax", 0, [1, 0, 0])]
    assert len(lines_of(sheet_of(runs))) == len(lines_of(sheet_of(one))) == 20
    words = [text.get_text() for text in sheet_of(build.runs_of(some)).finish().findobj(Text)]
    assert {"copy", "sort"} <= set(words)
    assert words.count("peak weight") == 2


def test_the_figure_is_one_of_the_analysis_with_the_same_bytes_each_time(build: SimpleNamespace) -> None:
    drawn = figures.draw(runs_of(build, DATASETS[:1]), PLAN)
    assert {"length_generalization.svg", "length_generalization.png"} <= set(drawn.files)
    assert figures.draw(runs_of(build, DATASETS[:1]), PLAN) == drawn
    assert b"accuracy is the exact match at length 256" in b" ".join(drawn.files["accuracy_by_dataset.svg"].split())


def test_other_studies_have_no_such_figure(build: SimpleNamespace) -> None:
    assert lengths.against_length(Scene(build.runs_of(build.grid()), build.plan())) is None


@pytest.mark.parametrize("tested", [[16], [4, 16, 32], [2**n for n in range(4, 17)], [24, 48, 1000]])
def test_ticks_of_doublings_have_room_and_end_with_the_longest(tested: list[int]) -> None:
    scale = doubling(tested)
    assert scale.labels()[-1] == str(tested[-1])
    assert set(scale.labels()) <= set(map(str, tested))
    assert scale.low < np.log2(tested[0])
    assert scale.high > np.log2(tested[-1])
    inches = 2.3 / (scale.high - scale.low)
    widths = [text_width(label, SMALL) for label in scale.labels()]
    assert all(gap * inches > max(widths) for gap in np.diff(scale.ticks))


def test_means_are_drawn_with_bars_that_end_with_the_panel() -> None:
    assert mean_at(8, [0.1, 0.3]) == (3.0, pytest.approx(0.2), pytest.approx(0.1))
    assert mean_at(16, [0.5]) == mean_at(16, [0.5], 0.95) == (4.0, 0.5, 0.0)
    assert mean_at(8, [0.1, 0.3], 0.95) == (3.0, pytest.approx(0.2), pytest.approx(12.7062 * 0.1, abs=1e-5))
    sheet = Sheet()
    panel = Panel(sheet, 0.0, 0.0, 2.0, 1.0, Scale(3.0, 5.0), Scale(0.0, 1.0))
    look = {"color": "#000000", "marker": "o", "markersize": 5.0}
    draw_means(panel, [mean_at(8, [0.1, 0.3]), mean_at(16, [0.5]), mean_at(32, [0.1, 0.3], 0.95)], look)
    ends = [[y for _, y in points] for _, points, _, _ in sheet._segments]
    assert ends == [pytest.approx([0.9, 0.7]), pytest.approx([0.5, 0.5]), [1.0, 0.0]]


def test_comparisons_at_the_floor_are_marked_in_the_forest(build: SimpleNamespace) -> None:
    exact = {"softmax": [1.0, 0.5, 0.0], "asentmax": [1.0, 0.9, 0.0], "entmax15": [1.0, 0.5, 0.0]}
    records = [
        build.at_lengths(task, name, seed, values if task == "sort" else [1.0, 0.5, 0.2])
        for task in ("sort", "copy")
        for name, values in exact.items()
        for seed in range(2)
    ]
    runs = build.runs_of(records)
    treatments = ["asentmax", "entmax15"]
    plan = PLAN.model_copy(update={"families": {"all": Family(datasets=["sort", "copy"], treatments=treatments)}})
    sheet = figures.sheets(runs, plan, comparisons.families(runs, plan))["paired_differences"]
    words = [text.get_text() for text in sheet.finish().findobj(Text)]
    assert words.count("all 0") == words.count("identical") == 2
