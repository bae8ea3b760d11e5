"""Several runs that one job carries out, one after the other, telling each outcome through a file.

Outcomes go through the shared results folder, where records go as well, and not through what the job returns: so they
are known one by one, and are not lost with a job that dies later.
"""

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench import console, interrupts
from bench.plan import Job
from bench.work import Outcome, carry_out


@dataclass(frozen=True)
class Batch:
    """`jobs` to carry out in this order; `told`, a file on the shared disk; and variables that are set for them, or
    with None unset."""

    jobs: tuple[Job, ...]
    told: Path
    environment: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def begun(self) -> bool:
        return self.told.exists()

    def outcomes(self) -> dict[int, Outcome]:
        """What is told so far, by the number of the job."""
        return {line.pop("number"): Outcome(**line) for line in self._lines() if "number" in line}

    def at(self) -> int | None:
        """The number of the job that was begun last."""
        return next((line["begun"] for line in reversed(list(self._lines())) if "begun" in line), None)

    def _lines(self) -> Iterator[dict[str, Any]]:
        with contextlib.suppress(FileNotFoundError):
            for line in self.told.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):  # a line that its writer's death cut short
                    yield json.loads(line)

    def carry_out(self, interrupting: signal.Signals = signal.SIGINT) -> None:
        """Make the runs, but those that are told already: a job that is started again goes on where it was.

        Runs that another process is at come last and are waited for. The signal `interrupting` has the run in progress
        recorded as interrupted and ends the batch; sent again, it ends the process.
        """
        console.make_tolerant()
        for name, value in self.environment.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        interrupts.listen()
        signal.signal(interrupting, _interrupt)
        self.told.touch()
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
                self._write({"number": number, **asdict(outcome)})
                if outcome.status == "interrupted":
                    return

    def _write(self, content: Mapping[str, Any]) -> None:
        with self.told.open("a", encoding="utf-8") as file:
            file.write(json.dumps(content) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _interrupt(number: int, frame: object) -> None:
    try:
        interrupts.ask(number, frame)
    finally:
        signal.signal(number, _end)


def _end(_number: int, _frame: object) -> None:
    os._exit(1)
