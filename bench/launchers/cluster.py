"""What a sweep asks of a cluster, and how a cluster says that a job ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from bench.launchers.batch import Batch
from bench.launchers.settings import Settings


@dataclass(frozen=True)
class End:
    """How a job ended that left runs unmade.

    `reason` is recorded, and so names no machine and no folder; `detail`, such as the log's place, is shown with it.
    """

    kind: Literal["died", "out_of_time", "cancelled"]
    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason}; {self.detail}" if self.detail else self.reason


class Cluster(Protocol):
    """Where batches are carried out. A handle is whatever stands for a submitted batch."""

    here: bool
    """Whether runs are made on this machine, so that what it has is asked for beforehand."""
    bounds_first: bool
    """Whether the cluster keeps to `max_in_flight` by itself for all that is submitted at first, as an array does."""

    @property
    def settings(self) -> Settings: ...

    @property
    def at_once(self) -> int:
        """Batches that may be carried out at the same time."""

    @property
    def max_in_flight(self) -> int | None:
        """Batches that may be submitted and not ended; None: any number."""

    @property
    def environment(self) -> Mapping[str, str | None]:
        """Variables to set, or with None to unset, where a batch is carried out."""

    def connect(self) -> None:
        """Raises ConfigError where the cluster cannot be reached."""

    def submit(self, batches: Sequence[Batch], folder: Path) -> Sequence[Any]:
        """A handle of each batch; logs go into `folder`. Raises ConfigError where the cluster refuses them."""

    def ended(self, handles: Sequence[Any]) -> Sequence[Any]:
        """Those that have ended, in whatever way; after a moment's wait perhaps none."""

    def end(self, handle: Any) -> End:
        """How a batch ended that left runs unmade."""

    def stop(self, handles: Sequence[Any]) -> bool:
        """Interrupt these, give them time to record it, and let go of the cluster.

        Returns whether all of the sweep's jobs have ended, so that nothing needs its folder any more.
        """


def batches(jobs: int, cluster: Cluster) -> int:
    """How many batches so many jobs make."""
    return -(-jobs // cluster.settings.runs_per_job)
