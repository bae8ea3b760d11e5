"""What Slurm says of a sweep's jobs, asked with `squeue`, which every Slurm has; `sacct` needs accounting."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

from submitit.slurm.slurm import SlurmInfoWatcher

ENDED = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"}
    | {"OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"}
)
"""States of jobs that Slurm will not start again."""
FORGOTTEN = "FORGOTTEN"
"""State of a job that Slurm does not list any more: it ended some minutes ago (`MinJobAge`)."""
ORDINARY = frozenset({"None", "Priority", "Resources", "JobArrayTaskLimit", "BeginTime", "Prolog", "Cleaning"})
"""Reasons for which a job waits that pass by themselves."""
REMEDIES = {
    "PartitionConfig": "the partition allows no such job; see hydra.launcher.partition, minutes, cpus, memory_gb",
    "PartitionTimeLimit": "hydra.launcher.minutes is more than the partition allows",
    "PartitionNodeLimit": "the partition allows no such job; name another with hydra.launcher.partition",
    "PartitionDown": "the partition takes no jobs now",
    "PartitionInactive": "the partition takes no jobs now",
    "BadConstraints": "no node has what hydra.launcher.constraint, cpus, memory_gb and gpus ask for",
    "JobHeldUser": "somebody holds it; scontrol release lets it begin",
    "JobHeldAdmin": "Slurm or an administrator holds it",
}
SECONDS = 60
"""How long `squeue` may take."""


class Queue(SlurmInfoWatcher):
    """The states of jobs, asked for all at once, and for those that wait the reason."""

    def __init__(self, delay_s: int) -> None:
        super().__init__(delay_s)
        self.said: list[str] = []

    def get_state(self, job_id: str, mode: str = "standard") -> str:
        """The job's state as squeue spells it; UNKNOWN where it could not be asked yet."""
        return self.get_info(job_id, mode=mode).get("state", "UNKNOWN")

    def is_done(self, job_id: str, mode: str = "standard") -> bool:
        """Whether the job has ended and Slurm will not start it again."""
        return self.get_state(job_id, mode=mode) in {*ENDED, FORGOTTEN}

    def update(self) -> None:
        """Ask Slurm, and say, once each, why it cannot be asked and why jobs will not begin by themselves."""
        self._num_calls += 1
        self._last_status_check = time.time()
        asked = self._registered - self._finished
        try:
            listed = states()
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or error
            self._say(f"Slurm cannot be asked for the jobs, which go on: {str(said).strip()}")
            return
        for job_id in asked:
            state, reason = listed.get(job_id, (FORGOTTEN, ""))
            self._info_dict[job_id] = {"state": state, "reason": reason}
            if state in ENDED or state == FORGOTTEN:
                self._finished.add(job_id)
        for reason in self._pending():
            remedy = REMEDIES.get(reason, "see squeue's man page for what it means")
            self._say(f"jobs wait in Slurm's queue for the reason {reason}: {remedy}; Ctrl-C ends the sweep")

    def _pending(self) -> Iterator[str]:
        for info in self._info_dict.values():
            # Some reasons go on after a comma with the nodes in question.
            reason = info["reason"].partition(",")[0]
            if info["state"] == "PENDING" and reason not in ORDINARY:
                yield reason

    def _say(self, line: str) -> None:
        if line not in self.said:
            self.said.append(line)
            print(f"notice: {line}", file=sys.stderr, flush=True)


def states() -> dict[str, tuple[str, str]]:
    """The state and the reason of each of this user's jobs that Slurm lists, by its number: 12, or 12_3 in an array.

    Raises OSError or subprocess.SubprocessError where squeue does not answer.
    """
    words = ["squeue", "--all", "--array", "--states=all", "--noheader", f"--user={os.getuid()}", "--format=%i|%T|%r"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=SECONDS)
    lines = [line.split("|", 2) for line in done.stdout.splitlines()]
    return {job_id: (state, reason) for job_id, state, reason in lines}
