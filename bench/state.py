"""How far a sweep is, from its folder of records and the plan that it left there. Nothing in the folder is touched.

Running is what holds the lock of its run, as the system lists locks: to try one would stand in a worker's way.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from bench import planfile, records
from bench.planfile import FileId
from bench.records import Record, RecordError

LOCKED = Path("/proc/locks")

Known = dict[Path, tuple[FileId | None, Record]]
"""Records that were read before, each with the file that it was read from."""


@dataclass
class Run:
    """A run that is planned or was tried: its labels and cell, its record where it has one, and what it costs.

    `cell` stands for all of its configuration but the seed; "" where it has no record and the plan does not say.
    """

    dataset: str
    normalizer: str
    cell: str
    seed: str
    fingerprint: str
    record: Record | None = None
    cost: float | None = None
    running: bool = False

    @property
    def state(self) -> str:
        """running, done, failed (or interrupted), or left."""
        if self.running:
            return "running"
        if self.record is None:
            return "left"
        return "done" if self.record.status == "completed" else "failed"

    @property
    def seconds(self) -> float | None:
        """What it took, where it is done."""
        return self.record.metrics.get("wall_seconds") if self.record and self.state == "done" else None


@dataclass
class State:
    """The runs of a folder, by path; `broken` files; fingerprints that run `unnamed` by a plan; `workers`, if known.

    `configs`: the configuration of each cell, of which runs of one data set and normalizer may have several.
    """

    runs: dict[Path, Run] = field(default_factory=dict)
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    broken: list[RecordError] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    workers: int | None = None

    def count(self, state: str) -> int:
        """How many runs are in `state`."""
        return sum(run.state == state for run in self.runs.values()) + (len(self.unnamed) if state == "running" else 0)


def look(folder: Path, known: Known | None = None) -> State:
    """The state of `folder`, or of the folders of records in it; `known` keeps records from one look to the next.

    A record that the last sweep means to replace, and has not yet, does not count: its run is left.
    """
    known = {} if known is None else known
    state = State()
    running: set[str] = set()
    replaced: dict[Path, FileId] = {}
    for place in sorted({folder, *(path.parent for path in folder.glob(f"*/{records.LOCKS}"))}):
        plan = planfile.read(place)
        running |= held(place / records.LOCKS)
        if plan:
            state.workers = max(plan.workers, state.workers or 0)
            state.configs |= plan.configs
            state.runs |= {place / path: _planned(path, cost, plan) for path, cost in plan.costs.items()}
            replaced |= {place / path: old for path, old in plan.replaced.items()}
    for path in records.files(folder, state.broken.append):
        try:
            record = _record(path, known)
        except RecordError as error:
            state.broken += [error] if path.exists() else []
            continue
        state.configs[record.cell] = {group: record.config.get(group, {}) for group in planfile.CONFIG}
        if known[path][0] == replaced.get(path):  # of before the sweep, which makes it again
            continue
        run = Run(record.dataset, record.normalizer, record.cell, str(record.seed), record.fingerprint)
        run = state.runs.setdefault(path, run)
        run.record, run.cell = record, record.cell
    for run in state.runs.values():
        run.running = run.fingerprint in running
    state.unnamed = sorted(running.difference(run.fingerprint for run in state.runs.values()))
    return state


def held(locks: Path) -> set[str]:
    """Fingerprints whose lock below `locks` a process of this machine holds; none where the system keeps no list."""
    try:
        fields = [line.split() for line in LOCKED.read_text(encoding="utf-8").splitlines()]
        # Waiting ones have an arrow. Devices are left out: on some file systems stat says another than the list.
        inodes = {entry[5].rpartition(":")[2] for entry in fields if "->" not in entry}
        return {path.stem for path in locks.glob("*.lock") if str(path.stat().st_ino) in inodes}
    except (OSError, IndexError):
        return set()


def _planned(path: str, cost: float, plan: planfile.PlanFile) -> Run:
    parts = PurePosixPath(path)
    seed, _, fingerprint = parts.stem.removeprefix("seed=").partition("-")
    names = parts.parent.parent.name, parts.parent.name
    return Run(*names, plan.cells.get(path, ""), seed, fingerprint, cost=cost)


def _record(path: Path, known: Known) -> Record:
    there = planfile.file_id(path)
    if path not in known or known[path][0] != there:
        known[path] = there, records.read(path)
    return known[path][1]


def seconds_left(state: State) -> float | None:
    """Seconds to the end: the mean time of a run's cell, else by cost. None where nothing runs or none is known."""
    pending = [run for run in state.runs.values() if run.state in ("left", "running")]
    if not state.workers or not state.count("running"):
        return None
    known: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for run in state.runs.values():
        if run.seconds is not None:
            known[run.dataset, run.normalizer, run.cell].append(run.seconds)
    timed = [(run.seconds, run.cost) for run in state.runs.values() if run.seconds is not None and run.cost]
    rate = sum(seconds for seconds, _ in timed) / sum(cost for _, cost in timed) if timed else None
    work = 0.0
    for run in pending:
        seconds = known.get((run.dataset, run.normalizer, run.cell))
        if not seconds and (rate is None or run.cost is None):
            return None
        work += sum(seconds) / len(seconds) if seconds else (run.cost or 0.0) * (rate or 0.0)
    return work / state.workers
