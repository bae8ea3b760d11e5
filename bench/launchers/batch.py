"""Several runs that one job carries out, one after the other, telling each outcome through a file.

Outcomes go through the shared results folder, where records go as well, and not through what the job returns: so they
are known one by one, and are not lost with a job that dies later.
"""

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench import console, interrupts
from bench.plan import Job
from bench.work import Outcome, carry_out, write_lost


@dataclass(frozen=True)
class Leaving:
    """What a job does where it is asked to make room, before its time is over or for another job.

    It is asked by `signal`, which comes up to `early_seconds` before the time limit; `queue_again` has the job started
    once more, and may raise where that cannot be.
    """

    signal: signal.Signals
    early_seconds: float
    queue_again: Callable[[], None]


@dataclass(frozen=True)
class Batch:
    """`jobs` to carry out in this order; `told`, a file on the shared disk; and variables that are set for them, or
    with None unset.

    `minutes` is the time limit of the job, if it has one: a run that had the whole of it more than `retries` times and
    was not done is given up.
    """

    jobs: tuple[Job, ...]
    told: Path
    environment: Mapping[str, str | None] = field(default_factory=dict)
    minutes: int | None = None
    retries: int = 0

    def outcomes(self) -> dict[int, Outcome]:
        """What is told so far, by the number of the job."""
        return {line.pop("number"): Outcome(**line) for line in self._lines() if "number" in line}

    def at(self) -> int | None:
        """The number of the run that was begun last since the batch was submitted or started; None: none was."""
        return next((line["begun"] for line in reversed(self._since_start()) if "begun" in line), None)

    def left_early(self) -> bool:
        """Whether the job was asked to leave, and did."""
        return any("left" in line for line in self._since_start()[-1:])

    def submitted(self) -> None:
        """Note that what follows is told by a job that is submitted now, where an earlier one told something."""
        if self.told.exists():
            self._write({"start": "submitted"})

    def out_of_time(self) -> None:
        """Note that the job's time was over. It counts against the run that it was at only where it had all of it."""
        since = self._since_start()
        if not any("number" in line for line in since) and self.at() is not None:
            self._write({"too_long": self.at()})

    def give_up_too_long(self) -> None:
        """Record as failed, and tell, runs for which the time limit was not enough more than `retries` times."""
        lines, told = self._lines(), self.outcomes()
        for number, job in enumerate(self.jobs):
            times = sum(line.get("too_long") == number for line in lines)
            if times > self.retries and number not in told:
                reason = (
                    f"not done within hydra.launcher.minutes={self.minutes}, {times} time{'s' * (times > 1)}; raise it"
                )
                self._tell(number, settled(write_lost(job, reason), reason))

    def carry_out(self, interrupting: signal.Signals = signal.SIGINT, leaving: Leaving | None = None) -> None:
        """Make the runs, but those that are told already: a job that is started again goes on where it was.

        Runs that another process is at come last and are waited for. The signal `interrupting` has the run in progress
        recorded as interrupted and ends the batch; sent again, it ends the process.
        """
        console.make_tolerant()
        for name, value in self.environment.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        self._write({"start": "started"})
        interrupts.listen()
        signal.signal(interrupting, _interrupt)
        if leaving:
            self._leave_when_asked(leaving)
        self.give_up_too_long()
        told = self.outcomes()
        for wait in (False, True):
            for number, job in enumerate(self.jobs):
                if number in told:
                    continue
                self._write({"begun": number})
                outcome = carry_out(job, wait=wait)
                if outcome.status == "busy":
                    continue
                told[number] = outcome
                self._tell(number, outcome)
                if outcome.status == "interrupted":
                    return

    def _leave_when_asked(self, leaving: Leaving) -> None:
        start = time.monotonic()

        def leave(_number: int, _frame: object) -> None:
            # No exception leads out of here: training would take it for a failure of the run.
            try:
                if len(self.outcomes()) < len(self.jobs):
                    if self.minutes and time.monotonic() - start > self.minutes * 60 - leaving.early_seconds:
                        self.out_of_time()
                    self._write({"left": True})
                    leaving.queue_again()
            except Exception:
                traceback.print_exc()  # the job ends, and the sweep submits what is left of the batch
            finally:
                sys.stderr.flush()
                os._exit(1)

        signal.signal(leaving.signal, leave)

    def _tell(self, number: int, outcome: Outcome) -> None:
        self._write({"number": number, **asdict(outcome)})

    def _lines(self) -> list[dict[str, Any]]:
        lines = []
        with contextlib.suppress(FileNotFoundError):
            for line in self.told.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):  # a line that its writer's death cut short
                    lines.append(json.loads(line))
        return lines

    def _since_start(self) -> list[dict[str, Any]]:
        lines = self._lines()
        starts = [place for place, line in enumerate(lines) if "start" in line]
        return lines[starts[-1] + 1 :] if starts else lines

    def _write(self, content: Mapping[str, Any]) -> None:
        with self.told.open("ab") as file:
            # What a death cut short becomes a line of its own, so that it does not spoil this one.
            cut = file.tell() > 0 and not self.told.read_bytes().endswith(b"\n")
            file.write(b"\n" * cut + json.dumps(content).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def settled(outcome: Outcome, reason: str) -> Outcome:
    """What is said of a lost run at last, where another process has it: the reason, and that."""
    if outcome.status == "busy":
        return Outcome("failed", error=f"{reason}; another process has the run now")
    return outcome


def _interrupt(number: int, frame: object) -> None:
    try:
        interrupts.ask(number, frame)
    finally:
        signal.signal(number, _end)


def _end(_number: int, _frame: object) -> None:
    os._exit(1)
