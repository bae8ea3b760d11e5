"""The two figures: accuracy by data set, and support against accuracy. Each as PNG and as SVG, the same every time."""

import io
import math
from collections.abc import Iterator
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from analysis import comparisons, names
from analysis.frame import Runs
from analysis.paired import mean_sd, t_interval
from analysis.settings import Plan

# Okabe and Ito's colours, told apart by colour-blind eyes; the markers tell normalizers apart in grey too.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#8C564B", "#BCBD22")
MARKERS = "osD^vP*Xhp"
STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.0,
    "svg.hashsalt": "normbench",
}
FORMATS = ("png", "svg")


def draw(runs: Runs, plan: Plan) -> dict[str, bytes]:
    """File name (`accuracy_by_dataset.png`) -> content, for both figures in both formats."""
    files = {}
    with matplotlib.rc_context(STYLE):
        for name, figure in (
            ("accuracy_by_dataset", _accuracy(runs, plan)),
            ("support_accuracy", _support(runs, plan)),
        ):
            for kind in FORMATS:
                buffer = io.BytesIO()
                # Without a date the same records give the same bytes.
                figure.savefig(buffer, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
                files[f"{name}.{kind}"] = buffer.getvalue()
                # The layout is found once, which takes most of the time.
                figure.set_layout_engine("none")
    return files


def _panels(runs: Runs, plan: Plan, width: float, height: float, sharey: bool) -> tuple[Figure, dict[str, Axes]]:
    """A figure with one panel of width x height inches per data set that has completed runs, at most three abreast."""
    done = set(runs.frame["dataset"])
    datasets = [name for name in comparisons.dataset_order(runs, plan) if name in done]
    rows = math.ceil(len(datasets) / 3) if len(datasets) != 4 else 2
    columns = math.ceil(len(datasets) / rows)
    figure = Figure(figsize=(width * columns + 1, height * rows + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    axes = dict(zip(datasets, grid.flat, strict=False))
    for spare in list(grid.flat)[len(datasets) :]:
        spare.remove()
    for dataset, ax in axes.items():
        ax.set_title(dataset, loc="left", parse_math=False)
        ax.grid(axis="both", color="#DDDDDD", linewidth=0.6)
        ax.tick_params(length=2, color="#888888")
        ax.set_axisbelow(True)
    return figure, axes


def _look(runs: Runs, plan: Plan) -> dict[str, dict[str, Any]]:
    """Colour and marker of every normalizer: by its place in the plan, so the same in every figure."""
    shown = names.ordered(set(runs.frame["normalizer"]) | set(plan.order), plan.order)
    # A light rim keeps markers apart where two normalizers lie on one spot.
    rim = {"markeredgecolor": "white", "markeredgewidth": 0.5, "markersize": 7}
    return {
        name: {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)], **rim}
        for i, name in enumerate(shown)
    }


def _means(runs: Runs, plan: Plan, dataset: str, column: str) -> Iterator[tuple[str, float, float]]:
    """(normalizer, mean, half width of the t interval, 0 below two runs) of one data set."""
    for normalizer in names.ordered(runs.normalizers(dataset), plan.order):
        values = runs.cell(dataset, normalizer)[column].dropna()
        low, high = t_interval(values, plan.confidence)
        if len(values):
            yield normalizer, mean_sd(values)[0], 0.0 if math.isnan(low) else (high - low) / 2


def _accuracy(runs: Runs, plan: Plan) -> Figure:
    shown = names.ordered(set(runs.frame["normalizer"]), plan.order)
    figure, axes = _panels(runs, plan, 2.9, 0.7 + 0.2 * len(shown), sharey=True)
    look = _look(runs, plan)
    for dataset, ax in axes.items():
        for name, mean, half in _means(runs, plan, dataset, "accuracy"):
            y = len(shown) - 1 - shown.index(name)
            ax.errorbar(mean, y, xerr=half, capsize=3, linewidth=1.2, **look[name])
        ax.margins(x=0.08, y=0.08)
        ax.set_yticks(range(len(shown)), [_plain(names.display(name, plan.names)) for name in reversed(shown)])
        ax.locator_params(axis="x", nbins=5)
    figure.supxlabel(f"test accuracy, mean and {100 * plan.confidence:g} % t interval over seeds", fontsize=9)
    return figure


def _support(runs: Runs, plan: Plan) -> Figure:
    figure, axes = _panels(runs, plan, 2.9, 2.3, sharey=False)
    look = _look(runs, plan)
    handles: dict[str, Any] = {}
    for dataset, ax in axes.items():
        supports = {name: mean for name, mean, _ in _means(runs, plan, dataset, "support")}
        for name, mean, half in _means(runs, plan, dataset, "accuracy"):
            if name in supports:
                place = (supports[name], mean)
                drawn = ax.errorbar(*place, yerr=half, linestyle="none", linewidth=0.9, **look[name])
                handles.setdefault(name, drawn)
        ax.margins(y=0.1)
        ax.set_xlim(0, 1.05)
        spec = ax.get_subplotspec()
        ax.set_ylabel("test accuracy" if spec is not None and spec.is_first_col() else "")
        ax.locator_params(axis="y", nbins=5)
    shown = names.ordered(handles, plan.order)
    labels = [_plain(names.display(name, plan.names)) for name in shown]
    # An entry takes half an inch and a bit for every letter; a narrow figure gets more lines and grows by them.
    columns = max(1, int(figure.get_figwidth() / (0.5 + 0.075 * max(map(len, labels), default=1))))
    figure.set_figheight(figure.get_figheight() + 0.2 * math.ceil(len(labels) / columns))
    figure.legend([handles[name] for name in shown], labels, loc="outside upper center", ncols=columns, frameon=False)
    figure.supxlabel("attention support (share of weights > 1e-7)", fontsize=9)
    return figure


def _plain(name: str) -> str:
    """`name` with nothing that matplotlib would read as mathematics."""
    return name.replace("$", r"\$")
