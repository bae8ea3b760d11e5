"""`python -m bench dashboard`: the layout of a W&B dashboard, in code, for what `bench.logged` and `publish` log."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from bench.errors import ConfigError, suggest
from bench.wandb_limits import NAME
from bench.wandb_run import first_line, unreachable

USAGE = "python -m bench dashboard ENTITY/PROJECT [save=FILE] [view=URL]"
MISSING = "dashboard needs the package wandb-workspaces: pip install wandb-workspaces"
OPTIONS = ["save", "view"]
TABLES = ("main_results", "paired_vs_softmax", "hae_vs_entmax15", "claims", "replication", "runtime")
STUDIES = (
    *("exact_match_by_length", "paired_by_length", "dispersion_by_length"),
    *("learned_q", "informative_mass", "selected"),
)
"""Tables that only studies of length or of attention pooling have."""
DRAWN = ("length_generalization", "attention_pooling")
"""Their figures."""
FIGURES = ("accuracy_by_dataset", "paired_differences", "support_accuracy", "alpha_training", "time_by_normalizer")
CELL = "Group"
"""What runs of one cell share, whatever their seed."""


def dashboard(arguments: Sequence[str]) -> int:
    """Lay out the dashboard of a project at W&B, or write its definition as JSON to `save=FILE` without any server.

    `view=URL` replaces the dashboard of this project at that address. Returns the exit code. Raises ConfigError for
    what is no option, project or dashboard of it, where the package for it is not installed, and where the server does
    not take it.
    """
    options, entity, project = _read(arguments)
    try:
        import wandb_workspaces.workspaces as ws
    except ImportError as error:
        raise ConfigError(MISSING) from error
    made = ws.Workspace(entity=entity, project=project, name="normbench", sections=_sections())
    made.runset_settings = ws.RunsetSettings(pinned_columns=["summary:accuracy", "summary:macro_f1", "summary:support"])
    if "save" in options:
        _write(Path(options["save"]), definition(made))
        return 0
    reason = unreachable()
    if reason:
        raise ConfigError(f"dashboard: {reason}; save=FILE writes its definition without a server")
    try:
        if "view" in options:
            old = ws.Workspace.from_url(options["view"])
            old.sections, old.runset_settings, made = made.sections, made.runset_settings, old
        print(made.save().url)
    except Exception as error:
        raise ConfigError(f"dashboard: W&B does not take it ({type(error).__name__}: {first_line(error)})") from error
    return 0


def definition(workspace: Any) -> dict[str, Any]:
    """What W&B is sent of `workspace`: entity, project, name and layout."""
    view = workspace._to_model()
    layout = json.loads(view.spec.model_dump_json(by_alias=True, exclude_none=True))
    return {"entity": view.entity, "project": view.project, "name": view.display_name, "layout": layout}


def _read(arguments: Sequence[str]) -> tuple[dict[str, str], str, str]:
    options = dict(word.split("=", 1) for word in arguments if "=" in word)
    for key in options:
        if key not in OPTIONS or not options[key]:
            raise ConfigError(f"dashboard: {key} is no option{suggest(key, OPTIONS)}; {USAGE}")
    names = [word for word in arguments if "=" not in word]
    if len(names) != 1 or not re.fullmatch(r"[\w.-]+/[\w.-]+", names[0]):
        raise ConfigError(f"dashboard needs one ENTITY/PROJECT, as in the address of the project: {USAGE}")
    entity, _, project = names[0].partition("/")
    for part in (entity, project):
        if len(part) > NAME:
            raise ConfigError(f"dashboard: {part} has {len(part)} characters, and W&B takes {NAME}")
    if "view" in options and urlparse(options["view"]).path.strip("/") != names[0]:
        raise ConfigError(
            f"dashboard: view={options['view']} is no address of {names[0]}, which would be left as it is; give the "
            "address that a dashboard of this project has, as in view=https://wandb.ai/ENTITY/PROJECT?nw=NAME"
        )
    return options, entity, project


def _write(path: Path, content: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"save={path} cannot be written ({error.strerror})") from error
    print(path)


def _sections() -> list[Any]:
    import wandb_workspaces.reports.v2 as wr
    import wandb_workspaces.workspaces as ws

    def bars(title: str, metric: str) -> Any:
        spread = {"groupby": CELL, "groupby_aggfunc": "mean", "groupby_rangefunc": "stddev"}
        return wr.BarPlot(title=title, metrics=[wr.SummaryMetric(metric)], max_bars_to_show=50, **spread)

    def curve(title: str, **which: Any) -> Any:
        spread = {"groupby": CELL, "groupby_aggfunc": "mean", "groupby_rangefunc": "stddev"}
        return wr.LinePlot(title=title, x="epoch", title_x="epoch", **which, **spread)

    def heads(name: str, title: str) -> list[Any]:
        return [curve(f"{title} by block and head", metric_regex=f"^{name}/block[0-9]+/head[0-9]+$")]

    def section(name: str, panels: list[Any], is_open: bool = True) -> Any:
        return ws.Section(name=name, panels=panels, is_open=is_open)

    def tables(names: Sequence[str]) -> list[Any]:
        return [wr.WeavePanelSummaryTable(table_name=f"tables/{name}") for name in names]

    def figures(names: Sequence[str]) -> Any:
        return wr.MediaBrowser(title="figures", media_keys=[f"figures/{name}" for name in names])

    maps = wr.MediaBrowser(title="attention maps", media_keys=["attention_maps"])
    training = [
        curve("training loss", y=["train/train_loss"]),
        curve("loss", metric_regex="^(test|validation)/loss$"),
        curve("accuracy", metric_regex="^(test|validation)/accuracy$"),
        curve("macro-F1", metric_regex="^(test|validation)/macro_f1$"),
        curve("gradient norm", y=["train/gradient_norm"]),
    ]
    time = [curve("seconds a step", y=["train/step_seconds"])]
    time += [bars("seconds of training", "train_seconds"), bars("seconds of inference", "inference_seconds")]
    time += [bars("peak memory, MiB", "peak_memory_mb")]
    written = [curve("exact match", metric_regex="^test/exact_match/[0-9]+$")]
    written += [curve("right answers", metric_regex="^test/token_accuracy/[0-9]+$")]
    results = [bars("accuracy", "accuracy"), bars("macro-F1", "macro_f1"), bars("attention support", "support")]
    return [
        section("Comparison", tables(TABLES)),
        section("Lengths and attention pooling", [*tables(STUDIES), figures(DRAWN)], is_open=False),
        section("Figures of the analysis", [figures(FIGURES)]),
        section("Results by cell", results),
        section("Confusion matrix", [wr.WeavePanelSummaryTable(table_name="confusion_matrix")], is_open=False),
        section("Training", training),
        section("Sequences written", written, is_open=False),
        section("Learned α", heads("alpha", "α")),
        section("Attention support", heads("attention/support", "support")),
        section("Attention entropy", heads("attention/entropy", "entropy")),
        section("Attention maps", [maps], is_open=False),
        section("Time", time, is_open=False),
    ]
