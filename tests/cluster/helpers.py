"""What the tests with a real Slurm share: its launcher, its queue, and somebody who acts while a sweep goes on."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import records
from bench.launchers.settings import SlurmSettings
from bench.launchers.slurm_queue import Queue, states
from bench.launchers.with_slurm import Slurm
from tests.bench.helpers import changed, recorded, results
from tests.bench.launchers.test_settings import content

ENDLESS = 1_000_000
"""Epochs of a run that no test waits for."""
Raw = dict[str, Any]
Results = dict[tuple[str, str, int], dict[str, Any]]


def slurm(*, parallel: int | None = None, threads: int = 1, **changes: Any) -> Slurm:
    """The launcher with the settings of its file and these `changes`."""
    settings = {"partition": "short", "minutes": 20, **changes}
    cluster = Slurm(SlurmSettings(**content("submitit_slurm", **settings)), parallel, threads)
    cluster.queue = Queue(delay_s=3)  # so that no test waits for a minute
    return cluster


def endless(raw: Raw) -> Raw:
    return changed(raw, "train.epochs", ENDLESS)


def made(folder: Path) -> Results:
    return {key: results(record) for key, record in recorded(folder).items()}


def said(*words: str) -> str:
    """The output of a command of Slurm."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def of_sweep(cluster: Slurm) -> dict[str, str]:
    """The states of the sweep's jobs."""
    return {job: state for job, (state, _) in states().items() if job.partition("_")[0] in cluster.arrays}


def alive(cluster: Slurm) -> dict[str, str]:
    return {job: state for job, state in of_sweep(cluster).items() if state in ("RUNNING", "PENDING", "CONFIGURING")}


def begun(folder: Path) -> int:
    """How many runs were begun."""
    return len(list((folder / records.LOCKS).glob("*.lock")))


def processes_of(folder: Path) -> list[int]:
    """The processes that carry out jobs of the sweep into `folder`."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            words = line.read_bytes().decode(errors="replace").split("\0")
            if "python" in words[0] and "submitit.core._submit" in words and any(str(folder) in word for word in words):
                found.append(int(line.parent.name))
    return found


@contextlib.contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Somebody acts while what is inside goes on; a failure of theirs interrupts it and is raised at its end."""
    failures: list[BaseException] = []

    def acting() -> None:
        try:
            act()
        except BaseException as error:
            failures.append(error)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=acting)
    thread.start()
    yield
    thread.join()
    if failures:
        raise failures[0]


def interrupt() -> None:
    """Ctrl-C for the sweep in this process."""
    os.kill(os.getpid(), signal.SIGINT)
