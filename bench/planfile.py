"""What a sweep means to make, in a hidden file beside its records, for whoever watches it; nothing depends on it."""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import ConfigError

if TYPE_CHECKING:
    from bench.plan import Job

NAME = ".sweep.json"
CONFIG = ("dataset", "normalizer", "model", "train")
"""What a plan says of the configuration of a cell."""

FileId = tuple[int, int]


@dataclass(frozen=True)
class PlanFile:
    """`costs` of the runs by the path of their records below the folder, in no unit; `workers` of the sweep.

    `todo`: the paths of those that the sweep makes, perhaps again. `replaced`: of these, the files that lay there when
    it began; as long as one of them still lies there, the run is not made. `cells`: the cell of each run, and `configs`
    the configuration of each cell.
    """

    costs: dict[str, float]
    workers: int
    todo: frozenset[str] = frozenset()
    replaced: dict[str, FileId] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)


def file_id(path: Path) -> FileId | None:
    """What tells this file from any other that has lain or will lie at `path`; None where there is none.

    The number of the file and the time of its writing, which are only ever compared for equality: clocks are set back.
    """
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns


def write(jobs: "Sequence[Job]", todo: "Sequence[Job]", workers: int) -> None:
    """Leave the plan of `jobs`, of which `todo` are to be made, in each of their folders, in one step.

    A single run leaves that of a sweep as it is.
    """
    ahead = {job.path for job in todo}
    for folder in dict.fromkeys(job.results_dir for job in jobs if len(jobs) > 1):
        here = [job for job in jobs if job.results_dir == folder]
        paths = {job.path.relative_to(folder).as_posix(): job for job in here}
        content = {
            "workers": workers,
            "costs": {path: job.cost for path, job in paths.items()},
            "todo": [path for path, job in paths.items() if job.path in ahead],
            "replaced": {path: old for path, job in paths.items() if job.path in ahead and (old := file_id(job.path))},
            "cells": {path: job.identity.cell for path, job in paths.items()},
            "configs": {
                job.identity.cell: {group: job.raw[group] for group in CONFIG if group in job.raw} for job in here
            },
        }
        part = folder / f"{NAME}.{os.getpid()}.part"
        with contextlib.suppress(OSError):  # whatever is wrong with the folder shows when a record is written
            part.write_text(json.dumps(content), encoding="utf-8")
            part.replace(folder / NAME)


@contextmanager
def restored_if_refused(jobs: "Sequence[Job]") -> Iterator[None]:
    """Put back the plans that were in the folders of `jobs` where a ConfigError inside says that nothing began."""
    paths = {job.results_dir / NAME for job in jobs}
    before = {path: path.read_bytes() for path in paths if path.is_file()}
    try:
        yield
    except ConfigError:
        with contextlib.suppress(OSError):
            for path in paths - before.keys():
                path.unlink(missing_ok=True)
            for path, content in before.items():
                path.write_bytes(content)
        raise


def read(folder: Path) -> PlanFile | None:
    """The plan of the last sweep into `folder`; None where there is none that can be read."""
    try:
        content = json.loads((folder / NAME).read_text(encoding="utf-8"))
        costs = {str(path): float(cost) for path, cost in content["costs"].items()}
        todo = frozenset(str(path) for path in content.get("todo", []))
        replaced = {str(path): (int(number), int(time)) for path, (number, time) in content.get("replaced", {}).items()}
        cells = {str(path): str(cell) for path, cell in content.get("cells", {}).items()}
        configs = {str(cell): dict(config) for cell, config in content.get("configs", {}).items()}
        return PlanFile(costs, max(1, int(content["workers"])), todo, replaced, cells, configs)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
