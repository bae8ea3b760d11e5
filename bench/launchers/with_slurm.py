"""Batches as elements of a Slurm array.

Slurm asks a job to leave, before its time is over, by a signal on which it has itself queued again; it goes on after
the runs that it had told. A job that is preempted, or whose node died, is queued again by Slurm.
"""

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import submitit

from bench.launchers.batch import Batch
from bench.launchers.cluster import End
from bench.launchers.settings import SlurmSettings
from bench.launchers.slurm_queue import ENDED, FORGOTTEN, Queue, states
from bench.launchers.with_submitit import (
    NAME,
    OUT_OF_MEMORY,
    SIGNAL_SECONDS,
    START_SECONDS,
    CarryOut,
    Submitit,
    last_words,
)
from bench.schema import ConfigError

ARRAY = 256
"""Elements of a Slurm array that may run at once where `parallel` does not say."""
WATCH_SECONDS = 60
"""How long Slurm is not asked again which jobs have died; those that end well are seen at once."""
EARLY_SECONDS = 60
"""How much earlier than it was told Slurm may send a job the signal to leave."""
CANCEL_SECONDS = 15
"""How long cancelled jobs are looked after, so that none is queued again."""
COMMANDS = ("sbatch", "srun", "squeue", "scancel")


class Slurm(Submitit):
    """Elements of a Slurm array, all submitted at once; jobs that are submitted later keep `parallel` with them."""

    here = False
    bounds_first = True

    poll_seconds = 1.0
    # SIGTERM says that the job may go on for a while.
    carry_out = CarryOut(signal.SIGINT, SIGNAL_SECONDS + EARLY_SECONDS + START_SECONDS, slurm=True)

    def __init__(self, settings: SlurmSettings, parallel: int | None, threads: int) -> None:
        self.settings = settings
        self.max_in_flight = parallel
        self.at_once = parallel or ARRAY
        self.threads = threads
        self.environment: dict[str, str | None] = {}  # sbatch hands all variables on
        self.queue = Queue(WATCH_SECONDS)
        self.arrays: list[str] = []

    def connect(self) -> None:
        missing = [name for name in COMMANDS if shutil.which(name) is None]
        if missing:
            raise ConfigError(
                f"hydra/launcher=submitit_slurm: there is no {missing[0]} on this machine; submit from one that has "
                "Slurm's commands, or use hydra/launcher=submitit_local"
            )
        submitit.SlurmJob.watcher = self.queue

    def executor(self, folder: Path) -> submitit.AutoExecutor:
        settings = self.settings
        options: dict[str, str | int | bool] = {"requeue": True, **(settings.options or {})}
        if options["requeue"] is False:
            options["no-requeue"] = True
        executor = submitit.AutoExecutor(folder, cluster="slurm")
        executor.update_parameters(
            name=NAME,
            timeout_min=settings.minutes,
            nodes=1,
            tasks_per_node=1,
            cpus_per_task=settings.cpus or self.threads,
            mem_gb=settings.memory_gb,
            gpus_per_node=settings.gpus or None,
            slurm_signal_delay_s=SIGNAL_SECONDS,
            slurm_array_parallelism=self.at_once,
            slurm_partition=settings.partition,
            slurm_account=settings.account,
            slurm_qos=settings.qos,
            slurm_constraint=settings.constraint,
            slurm_setup=settings.setup or None,
            # An option that is false is one that is not given.
            slurm_additional_parameters={name: value for name, value in options.items() if value is not False},
        )
        return executor

    def submit(self, batches: Sequence[Batch], folder: Path) -> list[submitit.Job[None]]:
        jobs = super().submit(batches, folder)
        self.arrays += sorted({job.job_id.partition("_")[0] for job in jobs})
        return jobs

    def remedy(self, said: str, batches: Sequence[Batch]) -> str:
        if "array specification" not in said:
            return ""
        most = _largest_array()
        runs = sum(len(batch.jobs) for batch in batches)
        allowed = f" of {most}" if most else ""
        enough = f" to {-(-runs // most)} or more" if most else ""
        return (
            f"; {len(batches)} jobs are perhaps more than the site's MaxArraySize{allowed}: raise "
            f"hydra.launcher.runs_per_job{enough}"
        )

    def death(self, handle: submitit.Job[None], log: str) -> End:
        state = self.queue.get_state(handle.job_id, mode="cache")
        said = handle.stderr()
        details = f"Slurm's job {handle.job_id}; {last_words(said or '')}{log}"
        if state == "OUT_OF_MEMORY" or OUT_OF_MEMORY.search(said or ""):
            reason = "the job exceeded its memory limit; raise hydra.launcher.memory_gb"
            return End("died", reason, details)
        if state == "CANCELLED":
            return End("cancelled", "the job was cancelled in Slurm", details)
        if state == "TIMEOUT":
            return End("out_of_time", "the time limit was over", details)
        if said is None and state in ("FAILED", FORGOTTEN):
            details = (
                f"Slurm's job {handle.job_id} left no log in {handle.paths.folder}, which its node perhaps does not "
                "see; name one on a shared disk with hydra.launcher.folder"
            )
        return End("died", f"the worker process died (state {state})", details)

    def stop(self, handles: Sequence[submitit.Job[None]]) -> bool:
        if handles:
            self._cancel("--state=PENDING")
            self._cancel("--signal=INT")  # runs are recorded as interrupted
            self.wait(handles)
        deadline = time.monotonic() + CANCEL_SECONDS
        while self.arrays and (alive := self._alive(finishing=not handles)):
            if time.monotonic() > deadline:
                print(f"notice: Slurm has not ended {', '.join(alive)} yet; see squeue", file=sys.stderr, flush=True)
                return False
            self._cancel(*([] if handles else ["--state=PENDING"]))
            time.sleep(self.poll_seconds)
        return True

    def _alive(self, *, finishing: bool) -> list[str]:
        """The sweep's jobs that have not ended; where they are `finishing`, those that Slurm queued once more."""
        try:
            listed = states()
        except (OSError, subprocess.SubprocessError):
            return []  # was told already, where it matters
        mine = {job: state for job, (state, _) in listed.items() if job.partition("_")[0] in self.arrays}
        over = {*ENDED, "COMPLETING", *(["RUNNING"] if finishing else [])}
        return [job for job, state in mine.items() if state not in over]

    def _cancel(self, *words: str) -> None:
        """Tell all jobs of the sweep. That some have ended and are forgotten by Slurm is no news."""
        done = subprocess.run(["scancel", *words, *self.arrays], capture_output=True, text=True, check=False)
        lines = [line for line in done.stderr.splitlines() if not re.search("Invalid job id|already compl", line)]
        if lines:
            print(f"notice: scancel: {lines[0]}", file=sys.stderr, flush=True)


def _largest_array() -> int | None:
    """The site's bound on the elements of an array; None where Slurm does not say."""
    try:
        done = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return None
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", done.stdout, flags=re.MULTILINE)
    return int(found[1]) if found else None
