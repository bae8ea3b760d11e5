"""What a sweep says while it runs: done / total, what ended, what runs, time left."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.plan import Job
    from bench.work import Outcome


class Progress:
    """Counts ended runs and estimates the time left from the mean time of each cell, or by cost where none ended."""

    def __init__(self, jobs: "Sequence[Job]", done: int, workers: int) -> None:
        self.total = done + len(jobs)
        self.done = done
        self.workers = workers
        self.remaining = {job.path: job for job in jobs}
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.spent = 0.0
        self.cost = 0.0

    def line(self, job: "Job", outcome: "Outcome", running: Sequence[str]) -> str:
        """The line to print when `job` ended."""
        self.done += 1
        del self.remaining[job.path]
        if outcome.seconds:
            self.seconds[job.cell].append(outcome.seconds)
            self.spent += outcome.seconds
            self.cost += job.cost
        width = len(str(self.total))
        if outcome.status == "completed":
            said = f"accuracy {outcome.accuracy:.3f}  {outcome.seconds:.1f} s"
        else:
            said = {"present": "already done elsewhere"}.get(
                outcome.status, f"{outcome.status.upper()} {outcome.error}"
            )
        parts = [f"[{self.done:>{width}}/{self.total}] {job.label}  {said}"]
        if running:
            parts.append(f"now {', '.join(running)}")
        left = self.seconds_left()
        if self.remaining and left is not None:
            parts.append(f"about {duration(left)} left")
        return " | ".join(parts)

    def seconds_left(self) -> float | None:
        """Estimated seconds to the end of the sweep; None before anything ended."""
        if not self.cost:
            return None
        per_cost = self.spent / self.cost
        work = 0.0
        for job in self.remaining.values():
            known = self.seconds.get(job.cell)
            work += sum(known) / len(known) if known else job.cost * per_cost
        return work / self.workers


def duration(seconds: float) -> str:
    """`seconds` as a person says them."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
