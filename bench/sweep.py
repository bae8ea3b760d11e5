"""A sweep: plan everything, skip what is done, make the rest, and say at the end what became of it."""

import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import interrupts, outdated, planfile, wandb_sweep
from bench.launchers.cluster import Cluster, batches
from bench.launchers.dispatch import in_batches
from bench.plan import Job, Plan, at_once, plan
from bench.pool import in_this_process, in_workers
from bench.progress import Progress, duration
from bench.records import ARCHIVE, LOCKS, RecordError, UnreadableError
from bench.schema import ConfigError
from bench.work import Outcome, finished

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


@dataclass(frozen=True)
class Failure:
    """A run that gave no result, why, and its record where it left one."""

    label: str
    reason: str
    path: Path | None = None


def sweep(raws: Sequence[Mapping[str, Any]], cluster: Cluster | None = None) -> int:
    """Make the runs of these configurations (resolved plain dictionaries); returns the exit code.

    Without a `cluster` they are made on this machine, in one process or by the pool.

    0: every run is there. 1: at least one failed or could not be made. 130: interrupted.
    Raises ConfigError before anything trains where a configuration cannot be run.
    """
    start = time.monotonic()
    planned = plan(raws, here=cluster is None or cluster.here)
    _say_repeated(planned)
    todo, done, unreadable = _divide(planned.jobs)
    for line in [*outdated.of_data(planned), *outdated.notices(done)]:
        print(f"notice: {line}", file=sys.stderr, flush=True)
    for folder in dict.fromkeys(job.results_dir for job in todo):
        _check_writable(folder)
    left = {job.path for job in todo}
    todo = wandb_sweep.prepared(todo, [job for job in planned.jobs if job.path not in left])
    if done:
        print(f"{len(done)} already done{', skipped (force=true makes them again)' if todo else ''}")
    failures = [Failure(label, reason) for label, reason in planned.unavailable] + unreadable
    for line in _listed(failures)[1:-1] if failures else []:
        print(f"notice: cannot be run:{line}", file=sys.stderr, flush=True)
    interrupted = False
    if todo:
        workers, outcomes = _start(todo, raws[0], cluster)
        stop = raws[0]["on_error"] == "stop"
        with planfile.restored_if_refused(planned.jobs):
            planfile.write(planned.jobs, todo, workers)
            print(f"{len(todo)} to run with {workers} worker{'s' * (workers > 1)}, the longest first", flush=True)
            interrupted = _make(outcomes, Progress(todo, len(done), workers), stop=stop, failures=failures)
    code = _close(planned, failures, interrupted, time.monotonic() - start)
    for line in wandb_sweep.waiting(planned.jobs):
        print(line)
    return code


Outcomes = Iterator[tuple[Job, Outcome, list[str]]]


def _start(todo: list[Job], raw: Mapping[str, Any], cluster: Cluster | None) -> tuple[int, Outcomes]:
    """How many workers carry `todo` out, and each job with its outcome as it ends; see `bench.pool`."""
    if cluster:
        cluster.connect()
        return min(cluster.at_once, batches(len(todo), cluster)), in_batches(todo, cluster)
    workers = min(at_once(raw), len(todo))
    return workers, in_workers(todo, workers) if workers > 1 else in_this_process(todo)


def _make(outcomes: Outcomes, progress: Progress, *, stop: bool, failures: list[Failure]) -> bool:
    """Follow the runs to their end, adding to `failures`; returns whether the sweep was interrupted."""
    interrupts.listen(signal.SIGINT, signal.SIGTERM)
    try:
        for job, outcome, running in outcomes:
            interrupts.check()
            with contextlib.suppress(OSError):  # a full disk under the log costs its lines, not the runs
                print(progress.line(job, outcome, running), flush=True)
            if outcome.status == "interrupted":
                return True
            if outcome.status == "failed":
                failures.append(Failure(job.label, outcome.error, job.path if outcome.left else None))
                if stop:
                    print("stopped at the first failure (on_error=stop)")
                    return False
    except KeyboardInterrupt:
        return True
    finally:
        with contextlib.suppress(KeyboardInterrupt):  # asked for again while the workers stop
            outcomes.close()  # type: ignore[attr-defined]
    return False


def _divide(jobs: Sequence[Job]) -> tuple[list[Job], list[outdated.Done], list[Failure]]:
    """The jobs to make, those that are done, and those of which that cannot be told.

    A broken record is named, and set aside when its run is made again.
    """
    todo: list[Job] = []
    done: list[outdated.Done] = []
    unreadable: list[Failure] = []
    for job in jobs:
        try:
            record = finished(job)
            if record and not job.force:
                done.append((job, record.provenance))
                continue
        except UnreadableError as error:
            unreadable.append(Failure(job.label, f"{error}; it may be whole, so that the run is not made again"))
            continue
        except RecordError as error:
            print(f"notice: {error}; the run is made again, and this set aside in {ARCHIVE}", file=sys.stderr)
        todo.append(job)
    return todo, done, unreadable


def _say_repeated(planned: Plan) -> None:
    if planned.repeated:
        names = ", ".join(sorted(set(planned.repeated))[:5])
        print(f"notice: asked for more than once, run once: {names}", file=sys.stderr)


def _close(planned: Plan, failures: Sequence[Failure], interrupted: bool, seconds: float) -> int:
    total = len(planned.jobs) + len(planned.unavailable)
    present = sum(_recorded(job) for job in planned.jobs)
    if planned.jobs:
        folders = list(dict.fromkeys(str(job.results_dir) for job in planned.jobs))
        more = f" and {len(folders) - 1} more folders" if len(folders) > 1 else ""
        print(f"{present} of {total} runs are recorded in {folders[0]}{more} ({duration(seconds)})")
    if failures:
        print("\n".join(["", *_listed(failures)]), file=sys.stderr)
    if interrupted:
        print("interrupted; the same command goes on where this one stopped", file=sys.stderr)
        return INTERRUPTED
    return 1 if failures else 0


def _listed(failures: Sequence[Failure]) -> list[str]:
    """The end of a sweep with failures, a line each; runs that lacked the same thing share one."""
    lines = [f"{len(failures)} failed:"]
    lacking: dict[str, list[str]] = {}
    for failure in failures:
        if failure.path:
            lines += [f"  {failure.label}: {failure.reason}", f"    {failure.path}"]
        else:
            lacking.setdefault(failure.reason, []).append(failure.label)
    for reason, labels in lacking.items():
        more = f" and {len(labels) - 1} more runs" if len(labels) > 1 else ""
        lines.append(f"  {labels[0]}{more}: {reason}")
    if any(failure.path for failure in failures):
        lines.append("The records named hold the tracebacks.")
    return [*lines, "The same command makes only what is missing."]


def _check_writable(folder: Path) -> None:
    try:
        (folder / LOCKS).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder / LOCKS).close()
    except OSError as error:
        raise ConfigError(f"results_dir={folder} cannot be written ({error.strerror}); name another folder") from error


def _recorded(job: Job) -> bool:
    try:
        return finished(job) is not None
    except RecordError:
        return False
