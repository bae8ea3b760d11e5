"""What W&B means to a sweep: asked for once before its runs, and a line after them that says where the data lie."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench.plan import Job
from bench.schema import TrackerConfig
from bench.wandb_run import KEPT, check_environment, say, unreachable

LOG = "wandb/offline-run-*/*.wandb"
"""What offline runs leave below a tracker's folder; `wandb sync` puts a file `.synced` beside what it has sent."""
ONLINE = f"wandb/run-*/{KEPT}"
"""What marks online runs that a server did not take whole."""


def prepared(jobs: list[Job], done: Sequence[Job]) -> list[Job]:
    """`jobs`, to be tracked offline where W&B cannot be reached: asked once, so that no run waits for it.

    Raises ConfigError where the environment has something for W&B with which no run could be tracked.

    Runs that were `done` before are not logged again, and it is said what does that.
    """
    folders = dict.fromkeys(str(job.results_dir) for job in done if _tracked(job))
    for folder in folders:
        command = f"python -m bench publish {shlex.quote(folder)}"
        say(f"what was recorded before is not logged again; `{command}` logs it from the records")
    if any(_tracked(job) for job in jobs):
        check_environment()
    if not any(_tracked(job) and _tracker(job).mode == "online" for job in jobs):
        return jobs
    reason = unreachable()
    if reason is None:
        return jobs
    say(f"{reason}, so runs are kept offline")
    return [replace(job, raw={**job.raw, "tracker": {**job.raw["tracker"], "mode": "offline"}}) for job in jobs]


def waiting(jobs: Sequence[Job]) -> Iterator[str]:
    """A line for each folder with runs that were logged offline and not sent yet."""
    for folder in dict.fromkeys(_tracker(job).dir for job in jobs if _tracked(job)):
        yield from not_sent(Path(folder))


def not_sent(folder: Path) -> Iterator[str]:
    """What lies below a tracker's `folder` and is not sent yet, with the command that sends it."""
    place = shlex.quote(str(folder / "wandb"))
    if count := _unsent(folder.glob(LOG)):
        yield f"W&B: {_runs(count)} kept offline; send with: wandb sync {place}"
    if count := _unsent(log for mark in folder.glob(ONLINE) for log in mark.parent.glob("*.wandb")):
        yield f"W&B: {_runs(count)} not sent whole; send with: wandb sync --include-online {place}"


def _unsent(logs: Iterable[Path]) -> int:
    return sum(not Path(f"{log}.synced").exists() for log in logs)


def _runs(count: int) -> str:
    return "1 run is" if count == 1 else f"{count} runs are"


def _tracker(job: Job) -> TrackerConfig:
    return TrackerConfig.model_validate(job.raw["tracker"])


def _tracked(job: Job) -> bool:
    return _tracker(job).kind == "wandb" and _tracker(job).mode != "disabled"
