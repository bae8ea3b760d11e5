"""Carrying out one planned run: under a lock of its own, its record written whole before anyone hears of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from bench import records
from bench.plan import Job
from bench.records import Record, RecordError
from bench.run import lost, perform
from bench.schema import validate

LOCKS = ".locks"


@dataclass(frozen=True)
class Outcome:
    """What became of a job. `busy`: another process is at it; `present`: another process finished it meanwhile."""

    status: Literal["completed", "failed", "interrupted", "busy", "present"]
    accuracy: float | None = None
    seconds: float = 0.0
    error: str = ""


def finished(job: Job) -> bool:
    """Whether the record of `job` is there, whole and completed.

    Raises RecordError, naming the file, where something is there that is no record.
    """
    return job.path.exists() and records.read(job.path).status == "completed"


def carry_out(job: Job, *, wait: bool) -> Outcome:
    """Make the run and write its record, unless another process holds it (`busy`, or waited for) or has made it."""
    locks = job.results_dir / LOCKS
    locks.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(locks / f"{job.identity.fingerprint}.lock", timeout=-1 if wait else 0):
            if not job.force and finished(job):
                return Outcome("present")
            record = perform(validate(job.raw), job.identity, job.code)
            records.write(job.path, record, job.results_dir)
            return _outcome(record)
    except Timeout:
        return Outcome("busy")
    except (RecordError, OSError, ValueError) as error:
        return Outcome("failed", error=f"{type(error).__name__}: {error}")


def write_lost(job: Job, reason: str) -> Outcome:
    """Record that the process making `job` died, so that the failure outlives the sweep."""
    record = lost(validate(job.raw), job.identity, job.code, reason)
    records.write(job.path, record, job.results_dir)
    return _outcome(record)


def set_aside(job: Job) -> Path | None:
    """Move whatever lies at the job's path to the archive; returns where it lies now, None if another was faster."""
    try:
        return records.archive(job.path, job.results_dir)
    except FileNotFoundError:
        return None


def _outcome(record: Record) -> Outcome:
    error = f"{record.error['type']}: {record.error['message']}" if record.error else ""
    metrics = record.metrics
    return Outcome(record.status, metrics.get("accuracy"), metrics.get("wall_seconds") or 0.0, error)
