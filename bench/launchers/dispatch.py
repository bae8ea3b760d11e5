"""A sweep's runs handed over to a cluster in batches, and tried again where their process died."""

import contextlib
import shutil
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import interrupts
from bench.errors import ConfigError
from bench.launchers.batch import Batch, settled
from bench.launchers.cluster import Cluster, End
from bench.plan import Job
from bench.work import Outcome, write_lost

JOBS = ".jobs"
"""Folder in the results folder for what jobs leave besides records: logs, and what they tell."""
SHOWN = 4
"""Labels of running runs shown in a line."""


@dataclass
class _Submission:
    """A batch, the numbers of its jobs whose outcomes were yielded, and its handle once it is submitted."""

    batch: Batch
    seen: set[int] = field(default_factory=set)
    handle: Any = None

    def news(self) -> Iterator[tuple[Job, Outcome]]:
        for number, outcome in self.batch.outcomes().items():
            if number not in self.seen:
                self.seen.add(number)
                yield self.batch.jobs[number], outcome

    def left(self) -> list[Job]:
        """The jobs that nothing was told of, first the one that was begun last."""
        untold, at = [n for n in range(len(self.batch.jobs)) if n not in self.seen], self.batch.at()
        return [self.batch.jobs[number] for number in sorted(untold, key=lambda number: number != at)]


Outcomes = Iterator[tuple[Job, Outcome]]


def in_batches(jobs: Sequence[Job], cluster: Cluster) -> Iterator[tuple[Job, Outcome, list[str]]]:
    """Each job with its outcome as it is told, and the labels of those running, as `bench.pool.in_workers` does.

    A run whose process died is recorded as failed, and tried again `retries` times; those after it in its batch go
    into a new one. A job whose time is over is submitted again with the runs that are left. What a person cancelled is
    not submitted again, and jobs that the cluster refuses after it took others have failed. Closing the iterator, or an
    interrupt, stops the jobs and lets each record its run as interrupted.
    """
    parent = Path(cluster.settings.folder or jobs[0].results_dir / JOBS)
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"hydra.launcher.folder={parent} cannot be written ({error.strerror})") from error
    folder = Path(tempfile.mkdtemp(prefix="sweep-", dir=parent)).absolute()
    folder.chmod(parent.stat().st_mode & 0o777)  # temporary folders are private; logs may be read by a group
    dispatch = _Dispatch(cluster, folder)
    size = cluster.settings.runs_per_job
    for start in range(0, len(jobs), size):
        dispatch.wait_with(jobs[start : start + size])
    try:
        while dispatch.waiting or dispatch.running:
            for job, outcome in dispatch.turn():
                yield job, outcome, dispatch.labels()
    finally:
        if cluster.stop([one.handle for one in dispatch.running]) and not dispatch.died:  # else logs may be wanted
            shutil.rmtree(dispatch.folder, ignore_errors=True)
            with contextlib.suppress(OSError):  # another sweep's are there
                parent.rmdir()


class _Dispatch:
    """The batches of one sweep: those that wait to be submitted, and those that are `running`, or queued."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.waiting: deque[_Submission] = deque()
        self.running: list[_Submission] = []
        self.accepted = False
        self.died = False
        self.tries: Counter[Path] = Counter()
        self.made = 0

    def wait_with(self, jobs: Sequence[Job]) -> None:
        """Let these jobs wait as a new batch."""
        settings, path = self.cluster.settings, self.folder / f"{self.made}.told"
        minutes = getattr(settings, "minutes", None)
        self.waiting.append(_Submission(Batch(tuple(jobs), path, self.cluster.environment, minutes, settings.retries)))
        self.made += 1

    def turn(self) -> Outcomes:
        """Submit what there is room for, and look once what has become of the jobs."""
        yield from self._submit()
        interrupts.check()
        ended = set(self.cluster.ended([one.handle for one in self.running]))
        for one in self.running:
            yield from one.news()
        for one in [one for one in self.running if one.handle in ended]:
            self.running.remove(one)
            yield from one.news()  # what it told between the look and its end
            if one.left():
                yield from self._go_on(one)

    def labels(self) -> list[str]:
        """The run that each batch is at, where it has begun; of many the first."""
        begun = [one for one in self.running if one.batch.at() is not None]
        labels = [left[0].label for left in (one.left() for one in begun) if left]
        more = [f"{len(labels) - SHOWN} more"] if len(labels) > SHOWN else []
        return labels[:SHOWN] + more

    def _room(self) -> int:
        most = self.cluster.max_in_flight
        if most is None or (self.cluster.bounds_first and not self.accepted):
            return len(self.waiting)
        return max(0, min(len(self.waiting), most - len(self.running)))

    def _submit(self) -> Outcomes:
        new = [self.waiting.popleft() for _ in range(self._room())]
        if not new:
            return
        for one in new:
            one.batch.submitted()
        refusal = ""
        with interrupts.held():  # a job that is submitted and not in the list would never be stopped
            try:
                handles = self.cluster.submit([one.batch for one in new], self.folder)
            except ConfigError as error:
                if not self.accepted:  # there is nothing to sum up
                    raise
                handles, refusal = [], str(error)
            self.accepted = True
            for one, handle in zip(new, handles, strict=not refusal):
                one.handle = handle
                self.running.append(one)
        for one in new if refusal else []:
            yield from _failed(one.left(), refusal)

    def _go_on(self, one: _Submission) -> Outcomes:
        """What follows where a job ended and left runs."""
        if one.batch.left_early():
            yield from self._submit_again(one)
            return
        end = self.cluster.end(one.handle)
        if end.kind == "cancelled":
            yield from self._cancelled(one, end)
        elif end.kind == "out_of_time":
            one.batch.out_of_time()
            yield from self._submit_again(one)
        elif one.batch.at() is None:
            yield from self._never_began(one, end)
        else:
            yield from self._died(one, end)

    def _submit_again(self, one: _Submission) -> Outcomes:
        """The job had to leave, and no run is to blame but one that is too long for the time limit."""
        one.batch.give_up_too_long()
        yield from one.news()
        if one.left():
            self.waiting.append(one)

    def _cancelled(self, one: _Submission, end: End) -> Outcomes:
        """Nothing is submitted again; the run that the job was at is recorded as failed."""
        self.died = True
        left = one.left()
        at = 0 if one.batch.at() is None else 1
        for job in left[:at]:
            yield job, _lost(job, end)
        yield from _failed(left[at:], str(end))

    def _never_began(self, one: _Submission, end: End) -> Outcomes:
        """No run is to blame where the job ended before its first: it is submitted again as it was."""
        self.died = True
        reason = f"no run of its job began: {end}"
        if self.tries[one.batch.told] == self.cluster.settings.retries:
            yield from _failed(one.left(), reason)
            return
        self._say_again(one.batch.told, one.left()[0], reason)
        self.waiting.append(one)

    def _died(self, one: _Submission, end: End) -> Outcomes:
        """The run that the job was at is recorded as lost, and tried again by itself; so are those after it."""
        self.died = True
        lost, *after = one.left()
        if after:
            self.wait_with(after)
        outcome = _lost(lost, end)
        if outcome.status == "present" or self.tries[lost.path] == self.cluster.settings.retries:
            yield lost, outcome
            return
        self._say_again(lost.path, lost, str(end))
        self.wait_with([lost])

    def _say_again(self, what: Path, job: Job, reason: str) -> None:
        self.tries[what] += 1
        again = f"tried again ({self.tries[what]} of {self.cluster.settings.retries})"
        print(f"notice: {job.label}: {reason}; {again}", file=sys.stderr, flush=True)


def _lost(job: Job, end: End) -> Outcome:
    """Record that the run was lost; what is said of it has the details that the record has not."""
    outcome = write_lost(job, end.reason)
    if outcome.status == "failed" and end.detail:
        return replace(outcome, error=f"{outcome.error}; {end.detail}")
    return settled(outcome, str(end))


def _failed(jobs: Sequence[Job], reason: str) -> Outcomes:
    for job in jobs:
        yield job, Outcome("failed", error=reason)
