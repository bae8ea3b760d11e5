"""A sweep's runs on a cluster: handed over in batches, tried again where their process died."""

import contextlib
import shutil
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bench import interrupts
from bench.errors import ConfigError
from bench.launchers.batch import Batch
from bench.launchers.settings import Settings
from bench.plan import Job
from bench.work import Outcome, write_lost

JOBS = ".jobs"
"""Folder in the results folder for what jobs leave besides records: logs, and what they tell."""
SHOWN = 4
"""Labels of running runs shown in a line."""


class Cluster(Protocol):
    """Where batches are carried out. A handle is whatever stands for a submitted batch."""

    here: bool
    """Whether runs are made on this machine, so that what it has is asked for beforehand."""

    @property
    def settings(self) -> Settings: ...

    @property
    def at_once(self) -> int:
        """Batches that may be carried out at the same time."""

    @property
    def handed(self) -> int | None:
        """Batches that may be submitted and not ended; None: any number."""

    @property
    def environment(self) -> Mapping[str, str | None]:
        """Variables to set, or with None to unset, where a batch is carried out."""

    def connect(self) -> None:
        """Raises ConfigError where the cluster cannot be reached."""

    def submit(self, batches: Sequence[Batch], folder: Path) -> Sequence[Any]:
        """A handle of each batch; logs go into `folder`. Raises ConfigError where the cluster refuses them."""

    def ended(self, handles: Sequence[Any]) -> Sequence[Any]:
        """Those that have ended, in whatever way; after a moment's wait perhaps none."""

    def why(self, handle: Any) -> str:
        """Why an ended batch left runs unmade."""

    def stop(self, handles: Sequence[Any]) -> None:
        """Interrupt these, give them time to record it, and let go of the cluster."""


@dataclass
class _Running:
    handle: Any
    batch: Batch
    seen: set[int] = field(default_factory=set)

    def news(self) -> Iterator[tuple[Job, Outcome]]:
        for number, outcome in self.batch.outcomes().items():
            if number not in self.seen:
                self.seen.add(number)
                yield self.batch.jobs[number], outcome

    def left(self) -> list[Job]:
        """The jobs that nothing was told of, first the one that was begun last."""
        untold, at = [n for n in range(len(self.batch.jobs)) if n not in self.seen], self.batch.at()
        return [self.batch.jobs[number] for number in sorted(untold, key=lambda number: number != at)]


def batches(jobs: int, cluster: Cluster) -> int:
    """How many batches so many jobs make."""
    return -(-jobs // cluster.settings.runs_per_job)


def in_batches(jobs: Sequence[Job], cluster: Cluster) -> Iterator[tuple[Job, Outcome, list[str]]]:
    """Each job with its outcome as it is told, and the labels of those running, as `bench.pool.in_workers` does.

    A run whose process died is recorded as failed, and tried again `retries` times; those after it in its batch go
    into a new one. Jobs that the cluster refuses after it took others have failed. Closing the iterator, or an
    interrupt, stops the jobs and lets each record its run as interrupted.
    """
    parent = Path(cluster.settings.folder or jobs[0].results_dir / JOBS)
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"hydra.launcher.folder={parent} cannot be written ({error.strerror})") from error
    folder = Path(tempfile.mkdtemp(prefix="sweep-", dir=parent)).absolute()
    folder.chmod(parent.stat().st_mode & 0o777)  # temporary folders are private; logs may be read by a group
    size = cluster.settings.runs_per_job
    waiting = deque(list(jobs[start : start + size]) for start in range(0, len(jobs), size))
    running: list[_Running] = []
    tries: Counter[Path] = Counter()
    made, died = 0, False
    try:
        while waiting or running:
            room = len(waiting) if cluster.handed is None else min(len(waiting), cluster.handed - len(running))
            if room > 0:
                paths = [folder / f"{made + number}.told" for number in range(room)]
                new = [Batch(tuple(waiting.popleft()), path, cluster.environment) for path in paths]
                made += room
                refusal = ""
                with interrupts.held():  # a job that is submitted and not in the list would never be stopped
                    try:
                        handles = cluster.submit(new, folder)
                    except ConfigError as error:
                        if made == room:  # nothing was accepted so far, so there is nothing to sum up
                            raise
                        handles, refusal = [], str(error)
                    running += [_Running(handle, batch) for handle, batch in zip(handles, new, strict=not refusal)]
                for job in (job for batch in new for job in batch.jobs if refusal):
                    yield job, Outcome("failed", error=refusal), _labels(running)
            interrupts.check()
            ended = set(cluster.ended([one.handle for one in running]))
            for one in running:
                for job, outcome in one.news():
                    yield job, outcome, _labels(running)
            for one in [one for one in running if one.handle in ended]:
                running.remove(one)
                left = one.left()
                if not left:
                    continue
                died = True
                lost, reason = left.pop(0), cluster.why(one.handle)
                if left:
                    waiting.append(left)
                outcome = write_lost(lost, reason)
                if outcome.status == "present" or tries[lost.path] == cluster.settings.retries:
                    yield lost, _settled(outcome, reason), _labels(running)
                    continue
                tries[lost.path] += 1
                again = f"tried again ({tries[lost.path]} of {cluster.settings.retries})"
                print(f"notice: {lost.label}: {reason}; {again}", file=sys.stderr, flush=True)
                waiting.append([lost])
    finally:
        cluster.stop([one.handle for one in running])
        if not (running or died):  # else the logs may be wanted
            shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):  # another sweep's are there
                parent.rmdir()


def _settled(outcome: Outcome, reason: str) -> Outcome:
    """What is said of a lost run at last, where another process has it: the reason, and that."""
    if outcome.status == "busy":
        return Outcome("failed", error=f"{reason}; another process has the run now")
    return outcome


def _labels(running: Sequence[_Running]) -> list[str]:
    """The run that each batch is at, where it has begun; of many the first."""
    labels = [one.left()[0].label for one in running if one.batch.begun and one.left()]
    more = [f"{len(labels) - SHOWN} more"] if len(labels) > SHOWN else []
    return labels[:SHOWN] + more
