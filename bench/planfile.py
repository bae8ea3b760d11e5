"""What a sweep means to make, in a hidden file beside its records, for whoever watches it; nothing depends on it."""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import ConfigError

if TYPE_CHECKING:
    from bench.plan import Job

NAME = ".sweep.json"


@dataclass(frozen=True)
class PlanFile:
    """`costs` of the runs by the path of their records below the folder, in no unit; `workers` of the sweep.

    `todo`: the paths of those that the sweep makes, perhaps again. What lies there and was written before
    `began_ns`, when the sweep began, is what it replaces.
    """

    costs: dict[str, float]
    workers: int
    todo: frozenset[str] = frozenset()
    began_ns: int = 0


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
        }
        part = folder / f"{NAME}.{os.getpid()}.part"
        with contextlib.suppress(OSError):  # whatever is wrong with the folder shows when a record is written
            part.write_text(json.dumps(content), encoding="utf-8")
            part.replace(folder / NAME)


@contextmanager
def restored_if_refused(jobs: "Sequence[Job]") -> Iterator[None]:
    """Put back the plans that were in the folders of `jobs` where a ConfigError inside says that nothing began."""
    paths = {job.results_dir / NAME for job in jobs}
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths if path.is_file()}
    try:
        yield
    except ConfigError:
        with contextlib.suppress(OSError):
            for path in paths - before.keys():
                path.unlink(missing_ok=True)
            for path, (content, written_ns) in before.items():
                path.write_bytes(content)
                os.utime(path, ns=(written_ns, written_ns))
        raise


def read(folder: Path) -> PlanFile | None:
    """The plan of the last sweep into `folder`; None where there is none that can be read."""
    try:
        began = (folder / NAME).stat().st_mtime_ns
        content = json.loads((folder / NAME).read_text(encoding="utf-8"))
        costs = {str(path): float(cost) for path, cost in content["costs"].items()}
        todo = frozenset(str(path) for path in content.get("todo", []))
        return PlanFile(costs, max(1, int(content["workers"])), todo, began)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
