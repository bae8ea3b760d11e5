"""Batches as submitit's jobs: processes of this machine, or elements of a Slurm array.

Slurm asks a job to leave, before its time is over or when it is preempted, by a signal on which submitit starts it
again: it goes on after the runs that it had told (`Batch.carry_out`).
"""

import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import submitit
from submitit.slurm.slurm import SlurmInfoWatcher

from bench import ROOT
from bench.launchers.batch import Batch
from bench.launchers.settings import LocalSettings, SlurmSettings
from bench.pool import STOP_SECONDS
from bench.schema import ConfigError

NAME = "normbench"
ARRAY = 256
"""Elements of a Slurm array that may run at once where `parallel` does not say."""
WATCH_SECONDS = 60
"""How long Slurm is not asked again which jobs have died; those that end well are seen at once."""
RULE = "-" * 22
"""What submitit puts around the traceback of a job."""


@dataclass(frozen=True)
class CarryOut:
    """The function of a job; `checkpoint` is what submitit starts again when the job had to leave."""

    interrupting: signal.Signals

    def __call__(self, batch: Batch) -> None:
        batch.carry_out(self.interrupting)

    def checkpoint(self, batch: Batch) -> Any:
        return submitit.helpers.DelayedSubmission(self, batch)


class _Submitit(ABC):
    poll_seconds: float
    interrupting: signal.Signals

    @abstractmethod
    def executor(self, folder: Path) -> submitit.AutoExecutor:
        """The executor with all settings, its files in `folder`."""

    def submit(self, batches: Sequence[Batch], folder: Path) -> list[submitit.Job[None]]:
        try:
            with _importable():
                return self.executor(folder).map_array(CarryOut(self.interrupting), batches)
        except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError, OSError) as error:
            raise ConfigError(f"the jobs were not accepted: {error}") from error

    def ended(self, handles: Sequence[submitit.Job[None]]) -> list[submitit.Job[None]]:
        found = [job for job in handles if job.done()]
        if not found:
            time.sleep(self.poll_seconds)
        return found

    def why(self, handle: submitit.Job[None]) -> str:
        if handle.paths.result_pickle.exists():
            trace = str(handle.exception()).split(RULE)
            said = f"the job ended early: {_last_line(trace[1] if len(trace) > 1 else trace[0])}"
        else:
            said = f"the worker process died (state {handle.state}): {_last_line(handle.stderr() or '')}"
        return f"{said.rstrip(': ')}; its log is {handle.paths.stderr}"

    def _wait(self, handles: Sequence[submitit.Job[None]]) -> None:
        deadline = time.monotonic() + STOP_SECONDS
        while handles and not all(job.done() for job in handles) and time.monotonic() < deadline:
            time.sleep(self.poll_seconds)
            handles[0].get_info(mode="force")  # asks Slurm of all of them


class Local(_Submitit):
    """Processes of this machine, as many at once as the pool would have."""

    here = True

    poll_seconds = 0.1
    interrupting = signal.SIGTERM

    def __init__(self, settings: LocalSettings, at_once: int) -> None:
        self.settings = settings
        self.at_once = self.handed = at_once
        # submitit hides GPUs from its local jobs; runs see those that the pool's see.
        self.environment = {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES")}

    def connect(self) -> None:
        """Nothing to do."""

    def executor(self, folder: Path) -> submitit.AutoExecutor:
        executor = submitit.AutoExecutor(folder, cluster="local", local_max_num_timeout=self.settings.retries)
        executor.update_parameters(name=NAME, timeout_min=self.settings.minutes)
        return executor

    def submit(self, batches: Sequence[Batch], folder: Path) -> list[submitit.Job[None]]:
        # The terminal sends Ctrl-C to all; this process decides, as in the pool.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            return super().submit(batches, folder)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stop(self, handles: Sequence[submitit.Job[None]]) -> None:
        for _ in range(2):  # the first to record what they are at, the second to end at once
            handles = [job for job in handles if not job.done()]
            for job in handles:
                os.kill(int(job.job_id), signal.SIGTERM)  # submitit's controller hands it on to its job
            self._wait(handles)


class Slurm(_Submitit):
    """Elements of a Slurm array, all submitted at once."""

    here = False

    poll_seconds = 1.0
    interrupting = signal.SIGINT  # SIGTERM says that the job may go on for a while
    handed = None

    def __init__(self, settings: SlurmSettings, parallel: int | None, threads: int) -> None:
        self.settings = settings
        self.at_once = parallel or ARRAY
        self.threads = threads
        self.environment: dict[str, str | None] = {}  # sbatch hands all variables on

    def connect(self) -> None:
        if submitit.SlurmExecutor.affinity() < 0:
            raise ConfigError(
                "hydra/launcher=submitit_slurm: there is no srun on this machine; submit from one that has Slurm's "
                "commands, or use hydra/launcher=submitit_local"
            )
        submitit.SlurmJob.watcher = SlurmInfoWatcher(delay_s=WATCH_SECONDS)

    def executor(self, folder: Path) -> submitit.AutoExecutor:
        settings = self.settings
        executor = submitit.AutoExecutor(folder, cluster="slurm", slurm_max_num_timeout=settings.retries)
        executor.update_parameters(
            name=NAME,
            timeout_min=settings.minutes,
            nodes=1,
            tasks_per_node=1,
            cpus_per_task=settings.cpus or self.threads,
            mem_gb=settings.memory_gb,
            gpus_per_node=settings.gpus or None,
            slurm_array_parallelism=self.at_once,
            slurm_partition=settings.partition,
            slurm_account=settings.account,
            slurm_qos=settings.qos,
            slurm_constraint=settings.constraint,
            slurm_setup=settings.setup or None,
            slurm_additional_parameters={"requeue": True, **settings.options},
        )
        return executor

    def stop(self, handles: Sequence[submitit.Job[None]]) -> None:
        if not handles:
            return
        ids = sorted({job.job_id.partition("_")[0] for job in handles})
        subprocess.run(["scancel", "--state=PENDING", *ids], check=False)
        subprocess.run(["scancel", "--signal=INT", *ids], check=False)  # runs are recorded as interrupted
        self._wait(handles)
        subprocess.run(["scancel", *ids], check=False)


@contextmanager
def _importable() -> Iterator[None]:
    """Jobs submitted within import the harness from where this process does."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([before] if before else [])])
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
