"""`python -m bench status`: a table of how far a sweep is, once or again and again; it loads no torch."""

import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.console import reader_gone
from bench.errors import ConfigError, suggest
from bench.progress import duration
from bench.records import Record
from bench.state import Run, State, look, seconds_left

SHOWN = 10
USAGE = "python -m bench status RECORDS [watch=SECONDS]"
HEADER = ("data set", "normalizer", "done", "running", "failed", "left", "accuracy", "s a run")


def status(arguments: Sequence[str]) -> int:
    """Print the table of the folder among `arguments`, with `watch=SECONDS` again and again until nothing is left.

    Raises ConfigError where there is no such folder.
    """
    folder, seconds = _read(arguments)
    known: dict[Path, tuple[int, Record]] = {}
    try:
        while True:
            state = look(folder, known)
            clear = "\x1b[H\x1b[2J" if seconds and sys.stdout.isatty() else ""
            print(clear + "\n".join(lines(folder, state)), flush=True)
            if reader_gone() or not seconds or not state.count("left") + state.count("running"):
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
        widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
        yield ""
        for row in (HEADER, *rows):
            cells = [
                cell.ljust(w) if n < 2 else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
            ]
            yield "  ".join(cells)
    notes = [f"running: {_label(run)}" for run in state.runs.values() if run.state == "running"]
    notes += [f"running: {fingerprint}, which is in no plan here" for fingerprint in state.unnamed]
    notes += [f"failed:  {_label(run)}  {_reason(run)}" for run in state.runs.values() if run.state == "failed"]
    notes += [f"broken:  {error}" for error in state.broken]
    yield from (["", *notes[:SHOWN]] if notes else [])
    if len(notes) > SHOWN:
        yield f"and {len(notes) - SHOWN} more"


def _rows(state: State) -> Iterator[tuple[str, ...]]:
    cells: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in state.runs.values():
        cells[run.cell].append(run)
    before = ""
    for (dataset, normalizer), runs in sorted(cells.items()):
        done = [run for run in runs if run.record and run.state == "done"]
        counts = [str(sum(run.state == name for run in runs)) for name in ("running", "failed", "left")]
        means = [
            _mean([run.record.metrics.get("accuracy") for run in done if run.record]),
            _mean([r.seconds for r in done]),
        ]
        texts = ["-" if mean is None else f"{mean:.{digits}f}" for mean, digits in zip(means, (3, 1), strict=True)]
        yield (dataset if dataset != before else "", normalizer, f"{len(done)}/{len(runs)}", *counts, *texts)
        before = dataset


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _label(run: Run) -> str:
    return f"{'/'.join(run.cell)}/seed={run.seed}"


def _reason(run: Run) -> str:
    error = run.record.error if run.record else None
    return f"{error['type']}: {error['message']}".splitlines()[0] if error else "interrupted"
