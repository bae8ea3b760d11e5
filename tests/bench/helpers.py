"""What the tests of the harness share: configurations composed as the command line composes them, and processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

import bench.sweep
import bench.work
from bench import inputs, records
from bench.fingerprint import identify
from bench.launcher import plain
from bench.records import Record
from bench.run import perform
from bench.schema import RunConfig, validate
from bench.verify import MEASURED_TIME

ROOT = Path(__file__).resolve().parents[2]
CONF = ROOT / "conf"
PUBLISHED = ("softmax", "sparsemax", "entmax15", "hae", "topk_0125", "topk_025", "topk_050")
TINY = ("dataset.train_limit=60", "dataset.test_limit=40", "train.epochs=1", "device=cpu")
CODE = {"code_version": "test", "code_dirty": None}
TIMEOUT = 120.0


@cache
def _composed(dataset: str, **groups: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        words = [f"{group}={choice}" for group, choice in groups.items()]
        return compose("config", [f"dataset={dataset}", "normalizer=softmax", *words])


def raw(*words: str, dataset: str = "digits", normalizer: str = "softmax", **groups: str) -> dict[str, Any]:
    """The resolved configuration of one run with the overrides `words` and the choices of `groups`.

    Hydra composes once per data set and groups.
    """
    content = deepcopy(_composed(dataset, **groups))
    OmegaConf.set_struct(content, False)
    content.normalizer = OmegaConf.load(CONF / "normalizer" / f"{normalizer}.yaml")
    return plain(cast(DictConfig, OmegaConf.merge(content, OmegaConf.from_dotlist(list(words)))))


def changed(content: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A copy of `content` with `key`, dotted, set to `value`."""
    result = deepcopy(dict(content))
    *groups, last = key.split(".")
    place = result
    for group in groups:
        place = place[group]
    place[last] = value
    return result


def config(*words: str, dataset: str = "digits", normalizer: str = "softmax", **groups: str) -> RunConfig:
    return validate(raw(*words, dataset=dataset, normalizer=normalizer, **groups))


def run(typed: RunConfig) -> Record:
    """The record of the run, made in this process."""
    return perform(typed, identify(typed, inputs.arrays(typed).hash), CODE)


def results(record: Record) -> dict[str, Any]:
    """What must be the same, bit for bit, whenever and wherever the run is made: all but clocks and memory."""
    content = record.model_dump(include={"metrics", "attention", "curves", "predictions", "fingerprint", "status"})
    for part in ("metrics", "curves"):
        content[part] = {name: value for name, value in content[part].items() if name not in MEASURED_TIME}
    return content


def recorded(folder: Path) -> dict[tuple[str, str, int], Record]:
    """The records below `folder` by key. Each must be whole, and its key there once."""
    found, broken = records.scan([folder])
    assert broken == []
    by_key = {record.key: record for _, record in found}
    assert len(by_key) == len(found)
    return by_key


def by_epochs(folder: Path) -> dict[int, str]:
    """The status of each record below `folder`, of runs that differ in their epochs. Each must be whole."""
    found, broken = records.scan([folder])
    assert broken == []
    statuses = {record.config["train"]["epochs"]: record.status for _, record in found}
    assert len(statuses) == len(found)
    return statuses


def contents(folder: Path) -> dict[Path, bytes]:
    """The record files below `folder` with their bytes."""
    return {path: path.read_bytes() for path in records.files(folder)}


def archived(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / records.ARCHIVE).rglob("*.json"))


def start(*words: str, cwd: Path, path: tuple[Path, ...] = ()) -> subprocess.Popen[str]:
    """`python -m bench` in `cwd`, at the head of a process group of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [*path, ROOT]))}
    return subprocess.Popen(
        [sys.executable, "-m", "bench", *words],
        cwd=cwd,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code as a shell has it, standard output and standard error of a process that ends by itself.

    Python ends by SIGINT, which a shell calls 130, where the interrupt fell into an import whatever was made of it.
    """
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        end(process)
    code = process.returncode
    return code if code >= 0 else 128 - code, out, err


def end(process: subprocess.Popen[str]) -> None:
    """Kill whatever is left of the process group."""
    if group(process.pid):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(TIMEOUT)
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()


def sweep_and_tell(raws: Sequence[Mapping[str, Any]], begun: Any) -> None:
    """The sweep, in a process of its own; the event `begun` is set when its first run begins."""

    def tell(*arguments: Any) -> Record:
        begun.set()
        return perform(*arguments)

    bench.work.perform = tell
    bench.sweep.sweep(raws)


def group(leader: int) -> dict[int, float]:
    """The living processes of the group of `leader`, with the seconds of processor time that each has used."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if fields[0] not in "ZX" and int(fields[2]) == leader:
            found[int(stat.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def wait_for(condition: Callable[[], object], what: str, process: subprocess.Popen[str] | None = None) -> None:
    """Return as soon as `condition()` holds; fail after TIMEOUT seconds, or where `process` has ended before."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert process is None or process.poll() is None, f"the sweep ended before {what}: {process.stderr.read()}"  # type: ignore[union-attr]
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


def wait_until_training(process: subprocess.Popen[str], folder: Path, done: int) -> None:
    """Return when `done` runs are recorded and the last to begin has been computing for a while."""
    locks = folder / ".locks"
    wait_for(
        lambda: len(list(records.files(folder))) == done and len(list(locks.glob("*.lock"))) == done + 1,
        f"{done} records and a run in progress",
        process,
    )
    before = sum(group(process.pid).values())
    # Whoever holds the lock spends at most some 0.1 s before training begins.
    wait_for(lambda: sum(group(process.pid).values()) > before + 0.8, "the run to have begun", process)


def deny(patch: pytest.MonkeyPatch, denied: Path) -> None:
    """Let the system refuse to read the record `denied`."""
    real = records.read

    def read(path: Path) -> Record:
        if path == denied:
            raise records.UnreadableError(path, "cannot be read (Permission denied)")
        return real(path)

    patch.setattr(records, "read", read)
