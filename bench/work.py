"""Carrying out one planned run: under a lock of its own, its record written whole before anyone hears of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from filelock import Timeout

from bench import parts, plan, records
from bench.plan import Job
from bench.records import Record, RecordError, UnreadableError, record_path
from bench.run import lost, perform
from bench.schema import validate
from bench.tracking import Seen, open_tracker

Keep = Callable[[Record], None]
STAYS = "; the finished record that is there stays"
CHANGED = "the code changed after the sweep was planned; the same command plans anew"


@dataclass(frozen=True)
class Outcome:
    """What became of a job, and whether it `left` a record.

    `busy`: another process is at it; `present`: another process finished it meanwhile.
    """

    status: Literal["completed", "failed", "interrupted", "busy", "present"]
    accuracy: float | None = None
    seconds: float = 0.0
    error: str = ""
    left: bool = False


def finished(job: Job) -> Record | None:
    """The record of `job` where it is there, whole and completed.

    Raises RecordError, naming the file, where something is there that is no record, or that of another run, and
    UnreadableError where that cannot be told.
    """
    try:
        if not job.path.exists():
            return None
    except OSError as error:
        raise UnreadableError(job.path, f"cannot be read ({error.strerror})") from error
    record = records.read(job.path)
    if job.path != record_path(job.results_dir, *record.key, record.fingerprint):
        raise RecordError(job.path, f"is the record of another run, {record.key} with {record.fingerprint}")
    return record if record.status == "completed" else None


class _ChangedError(Exception):
    """This process imported other source than the run was planned with."""


def carry_out(job: Job, *, wait: bool) -> Outcome:
    """Make the run and write its record, unless another process holds it (`busy`, or waited for) or has made it.

    A process that imported other source than the run was planned with makes no record: it would name the wrong code.
    """

    def make(keep: Keep) -> Record:
        config = validate(job.raw)
        if (job.source, job.part_sources) != (plan.SOURCE, parts.source_hashes(config)):
            raise _ChangedError
        return perform(config, job.identity, job.code, keep)

    return _record(job, make, wait=wait)


def write_lost(job: Job, reason: str) -> Outcome:
    """Record that the process making `job` died, so that the failure outlives the sweep. A finished record stays.

    The run's tracker, which went with the process, is opened again and told of the failure.
    """

    def make(keep: Keep) -> Record:
        config = validate(job.raw)
        record = lost(config, job.identity, job.code, reason)
        keep(record)
        open_tracker(config, record.model_dump()).end(record, Seen())
        return record

    outcome = _record(replace(job, force=False), make, wait=False)
    if outcome.status == "present" and job.force:
        return Outcome("failed", error=f"{reason}{STAYS}")
    return outcome


def _record(job: Job, make: Callable[[Keep], Record], *, wait: bool) -> Outcome:
    try:
        with records.lock(job.results_dir, job.identity.fingerprint, wait=wait):
            # What is no record there is archived by the new one, under the lock, so that no good one is.
            there = _finished(job)
            if there and not job.force:
                return Outcome("present")
            record = make(lambda record: _keep(record, job, there=there))
            if there and record.status != "completed":
                outcome = _outcome(record)
                return replace(outcome, error=f"{outcome.error or outcome.status}{STAYS}", left=False)
            return _outcome(record)
    except Timeout:
        return Outcome("busy")
    except _ChangedError:
        return Outcome("failed", error=CHANGED)
    except OSError as error:
        return Outcome("failed", error=f"{job.results_dir} cannot be written ({error.strerror or error})")
    except (RecordError, ValueError) as error:
        return Outcome("failed", error=f"{type(error).__name__}: {error}")


def _finished(job: Job) -> bool:
    """`finished`, where what is there and no record does not count; it raises UnreadableError alone."""
    try:
        return finished(job) is not None
    except UnreadableError:
        raise
    except RecordError:
        return False


def _keep(record: Record, job: Job, *, there: bool) -> None:
    """Write the record; one of a run that was not completed does not take the place of a finished one."""
    if there and record.status != "completed":
        records.apart(record, job.path, job.results_dir)
    else:
        records.write(job.path, record, job.results_dir)


def _outcome(record: Record) -> Outcome:
    error = f"{record.error['type']}: {record.error['message']}" if record.error else ""
    metrics = record.metrics
    return Outcome(record.status, metrics.get("accuracy"), metrics.get("wall_seconds") or 0.0, error, left=True)
