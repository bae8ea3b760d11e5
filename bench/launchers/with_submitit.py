"""Batches as submitit's jobs; here what all of them share, and processes of this machine. Slurm: `with_slurm`."""

import os
import re
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import submitit
from submitit.core.job_environment import JobEnvironment
from submitit.local.local import LOCAL_REQUEUE_RETURN_CODE

from bench import ROOT
from bench.launchers.batch import Batch, Leaving
from bench.launchers.cluster import End
from bench.launchers.settings import LocalSettings
from bench.pool import STOP_SECONDS
from bench.schema import ConfigError

NAME = "normbench"
RULE = "-" * 22
"""What submitit puts around the traceback of a job."""
SIGNAL_SECONDS = 30
"""How long before its time limit a job is asked to leave."""
START_SECONDS = 15
"""What passes, at most in general, between the start of a job and that of its runs."""
OUT_OF_MEMORY = re.compile(r"exceeded (job |step )?memory limit|oom[-_ ]kill|out of memory", re.IGNORECASE)
INHERITED = re.compile("SLURM_|SLURMD_|SUBMITIT_")
"""Variables that tell a job about itself, and would mislead jobs that are submitted from inside it."""
KEPT = ("SLURM_CONF", "SLURM_CLUSTERS", "SUBMITIT_PREEMPT_SIGNAL")
"""Of these, what people set."""


@dataclass(frozen=True)
class CarryOut:
    """The function of a job. Slurm asks it to leave up to `early_seconds` before its time is over."""

    interrupting: signal.Signals
    early_seconds: float
    slurm: bool

    def __call__(self, batch: Batch) -> None:
        asking = signal.Signals[f"SIG{JobEnvironment.USR_SIG}"]
        batch.carry_out(self.interrupting, Leaving(asking, self.early_seconds, self._queue_again))

    def _queue_again(self) -> None:
        if self.slurm:
            subprocess.run(["scontrol", "requeue", submitit.JobEnvironment().job_id], check=True, timeout=60)
        else:
            sys.stderr.flush()
            os._exit(LOCAL_REQUEUE_RETURN_CODE)


class Submitit(ABC):
    """Jobs of submitit."""

    poll_seconds: float
    carry_out: CarryOut

    @abstractmethod
    def executor(self, folder: Path) -> submitit.AutoExecutor:
        """The executor with all settings, its files in `folder`."""

    def submit(self, batches: Sequence[Batch], folder: Path) -> list[submitit.Job[None]]:
        """See `Cluster`. Jobs import the harness from where this process does."""
        try:
            with _environment():
                return self.executor(folder).map_array(self.carry_out, batches)
        except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError, OSError) as error:
            raise ConfigError(f"the jobs were not accepted: {error}{self.remedy(str(error), batches)}") from error

    def remedy(self, _said: str, _batches: Sequence[Batch]) -> str:
        """What to change where jobs were refused, as the end of a message."""
        return ""

    def ended(self, handles: Sequence[submitit.Job[None]]) -> list[submitit.Job[None]]:
        found = [job for job in handles if job.done()]
        if not found:
            time.sleep(self.poll_seconds)
        return found

    def end(self, handle: submitit.Job[None]) -> End:
        log = f"its log is {handle.paths.stderr}"
        if handle.paths.result_pickle.exists():
            trace = str(handle.exception()).split(RULE)
            said = _last_line(trace[1] if len(trace) > 1 else trace[0])
            return End("died", f"the job ended early with {said.partition(':')[0]}", f"{said}; {log}")
        return self.death(handle, log)

    @abstractmethod
    def death(self, handle: submitit.Job[None], log: str) -> End:
        """How a job ended that left no result; `log` says where its log is."""

    def wait(self, handles: Sequence[submitit.Job[None]]) -> None:
        """Return when these have ended, or after `STOP_SECONDS`."""
        deadline = time.monotonic() + STOP_SECONDS
        while handles and not all(job.done() for job in handles) and time.monotonic() < deadline:
            time.sleep(self.poll_seconds)
            handles[0].get_info(mode="force")  # asks Slurm of all of them


class Local(Submitit):
    """Processes of this machine, as many at once as the pool would have."""

    here = True
    bounds_first = False

    poll_seconds = 0.1
    carry_out = CarryOut(signal.SIGTERM, SIGNAL_SECONDS + START_SECONDS, slurm=False)

    def __init__(self, settings: LocalSettings, at_once: int) -> None:
        self.settings = settings
        self.at_once = self.max_in_flight = at_once
        # submitit hides GPUs from its local jobs; runs see those that the pool's see.
        self.environment = {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES")}

    def connect(self) -> None:
        """Nothing to do."""

    def executor(self, folder: Path) -> submitit.AutoExecutor:
        executor = submitit.AutoExecutor(folder, cluster="local")
        executor.update_parameters(name=NAME, timeout_min=self.settings.minutes)
        return executor

    def submit(self, batches: Sequence[Batch], folder: Path) -> list[submitit.Job[None]]:
        # The terminal sends Ctrl-C to all; this process decides, as in the pool.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            return super().submit(batches, folder)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def death(self, handle: submitit.Job[None], log: str) -> End:
        said = handle.stderr() or ""
        reason = "out of memory" if OUT_OF_MEMORY.search(said) else f"state {handle.state}"
        return End("died", f"the worker process died ({reason})", f"{last_words(said)}{log}")

    def stop(self, handles: Sequence[submitit.Job[None]]) -> bool:
        for _ in range(2):  # the first to record what they are at, the second to end at once
            handles = [job for job in handles if not job.done()]
            for job in handles:
                os.kill(int(job.job_id), signal.SIGTERM)  # submitit's controller hands it on to its job
            self.wait(handles)
        return all(job.done() for job in handles)


@contextmanager
def _environment() -> Iterator[None]:
    """The environment of jobs that are submitted within: our harness to import, and nothing of a job around us."""
    before = dict(os.environ)
    for name in before:
        if INHERITED.match(name) and name not in KEPT:
            del os.environ[name]
    path = before.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([path] if path else [])])
    try:
        yield
    finally:
        os.environ.update(before)
        if path is None:
            del os.environ["PYTHONPATH"]


def last_words(log: str) -> str:
    """The last line of a log, to be followed by more; nothing where it has none."""
    said = _last_line(log)
    return f"{said}; " if said else ""


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
