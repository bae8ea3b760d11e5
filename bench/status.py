"""`python -m bench status`: a table of how far a sweep is, once or again and again; it loads no torch."""

import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from bench.errors import ConfigError, suggest
from bench.progress import duration
from bench.state import Known, Run, State, look, seconds_left

SHOWN = 10
USAGE = "python -m bench status RECORDS [watch=SECONDS]"
HEADER = ("data set", "normalizer", "setting", "done", "running", "failed", "left", "accuracy", "n", "s a run")
LABELS = 3
"""Columns of text, before those of numbers."""


def status(arguments: Sequence[str]) -> int:
    """Print the table of the folder among `arguments`, with `watch=SECONDS` again and again until nothing is left.

    Raises ConfigError where there is no such folder.
    """
    folder, seconds = _read(arguments)
    known: Known = {}
    try:
        while True:
            state = look(folder, known)
            clear = "\x1b[H\x1b[2J" if seconds and sys.stdout.isatty() else ""
            print(clear + "\n".join(lines(folder, state)), flush=True)
            if not seconds or not state.count("left") + state.count("running"):
                return 0
            time.sleep(seconds)
    except KeyboardInterrupt:
        return 0


def _read(arguments: Sequence[str]) -> tuple[Path, float | None]:
    options = dict(word.split("=", 1) for word in arguments if "=" in word and not Path(word).exists())
    folders = [Path(word) for word in arguments if word.partition("=")[0] not in options or Path(word).exists()]
    for key in options:
        if key != "watch":
            raise ConfigError(f"status: {key} is no option{suggest(key, ['watch'])}; {USAGE}")
    if len(folders) != 1:
        raise ConfigError(f"status needs one folder of records: {USAGE}")
    if not folders[0].is_dir():
        raise ConfigError(f"status: {folders[0]} is no folder of records; name the results_dir of a sweep")
    try:
        seconds = float(options["watch"]) if "watch" in options else None
    except ValueError:
        seconds = 0.0
    if seconds is not None and not 0 < seconds < float("inf"):
        raise ConfigError(f"status: watch={options['watch']} is no number of seconds above 0")
    return folders[0], seconds


def lines(folder: Path, state: State) -> Iterator[str]:
    """The table as a person reads it, with what runs, what failed and the time left."""
    counts = {name: state.count(name) for name in ("done", "running", "failed", "left")}
    left = seconds_left(state)
    end = f"; about {duration(left)} left with {state.workers} workers" if left is not None else ""
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count or name == "done")
    total = len(state.runs) + len(state.unnamed)
    yield f"{folder}: {said} of {total} runs{end}" if total else f"{folder}: no run is recorded here yet"
    rows = list(_rows(state))
    if rows:
        yield ""
        columns = list(zip(HEADER, *rows, strict=True))
        shown = [column for column in columns if column[0] != "setting" or any(column[1:])]
        labels = len(shown) - (len(HEADER) - LABELS)
        widths = [max(map(len, column)) for column in shown]
        for row in zip(*shown, strict=True):
            sized = list(zip(row, widths, strict=True))
            cells = [cell.ljust(width) for cell, width in sized[:labels]]
            yield "  ".join([*cells, *(cell.rjust(width) for cell, width in sized[labels:])])
    notes = [f"running: {_label(run)}" for run in state.runs.values() if run.state == "running"]
    notes += [f"running: {fingerprint}, which is in no plan here" for fingerprint in state.unnamed]
    notes += [f"failed:  {_label(run)}  {_reason(run)}" for run in state.runs.values() if run.state == "failed"]
    notes += [f"broken:  {error}" for error in state.broken]
    yield from (["", *notes[:SHOWN]] if notes else [])
    if len(notes) > SHOWN:
        yield f"and {len(notes) - SHOWN} more"


def _rows(state: State) -> Iterator[tuple[str, ...]]:
    """The cells of the table: a row for each data set, normalizer and setting, as an analysis never pools settings."""
    groups: dict[tuple[str, str], dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in state.runs.values():
        groups[run.dataset, run.normalizer][run.cell].append(run)
    before = ""
    for (dataset, normalizer), cells in sorted(groups.items()):
        for cell, runs in cells.items():
            done = [run.record for run in runs if run.record and run.state == "done"]
            accuracies = [value for record in done if (value := record.metrics.get("accuracy")) is not None]
            seconds = [run.seconds for run in runs if run.seconds is not None]
            counts = [str(sum(run.state == name for run in runs)) for name in ("running", "failed", "left")]
            yield (
                *(dataset if dataset != before else "", normalizer, _setting(cell, list(cells), state)),
                *(f"{len(done)}/{len(runs)}", *counts, _mean_and_deviation(accuracies), str(len(accuracies))),
                f"{mean(seconds):.1f}" if seconds else "-",
            )
            before = dataset


def _setting(cell: str, cells: Sequence[str], state: State) -> str:
    """What tells `cell` from the others of its data set and normalizer; "" where it is alone."""
    if len(cells) == 1:
        return ""
    flat = {name: dict(_flat(state.configs.get(name, {}))) for name in cells}
    keys = [key for key in flat[cell] if len({str(values[key]) for values in flat.values() if key in values}) > 1]
    return " ".join(f"{key}={flat[cell][key]}" for key in keys) or f"cell {cell or 'unknown'}"


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(`train.epochs`, value) for every value of `config`."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _mean_and_deviation(values: Sequence[float]) -> str:
    """The mean, and from two values on the standard deviation of a sample, as far as the output can show the sign."""
    if len(values) < 2:
        return f"{values[0]:.3f}" if values else "-"
    return f"{mean(values):.3f} {_sign()} {stdev(values):.3f}"


def _sign() -> str:
    try:
        "±".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "+-"
    return "±"


def _label(run: Run) -> str:
    return f"{run.dataset}/{run.normalizer}/seed={run.seed}"


def _reason(run: Run) -> str:
    error = run.record.error if run.record else None
    return f"{error['type']}: {error['message']}".splitlines()[0] if error else "interrupted"
