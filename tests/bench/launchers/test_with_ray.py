"""Tasks of Ray on two nodes, of which one dies."""

import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import records
from bench.launchers.settings import RaySettings
from bench.schema import ConfigError
from bench.sweep import sweep
from tests.bench.helpers import recorded, results, wait_for
from tests.bench.launchers.test_settings import content

ray = pytest.importorskip("ray", reason="the launcher of Ray needs it")
from ray.cluster_utils import Cluster  # noqa: E402

from bench.launchers.with_ray import Ray  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Ray's nodes are killed by signals"),
]
Runs = Callable[[Path], list[dict[str, Any]]]
Results = dict[tuple[str, str, int], dict[str, Any]]


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head with one processor; more nodes can be added."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def children(parent: int) -> list[int]:
    """The processes that `parent` started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if int(stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize(
    ("address", "variable", "asked"),
    [(None, None, "local"), (None, "", "local"), (None, "a:1", None), ("auto", None, "auto"), ("b:2", "a:1", "b:2")],
)
def test_without_an_address_ray_is_told_to_begin_here(
    monkeypatch: pytest.MonkeyPatch, address: str | None, variable: str | None, asked: str | None
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if variable is not None:
        monkeypatch.setenv("RAY_ADDRESS", variable)
    told: list[str | None] = []
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda where, **_options: told.append(where))
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": {"CPU": 4.0}}])
    Ray(RaySettings(**content("ray", address=address)), parallel=None, threads=1).connect()
    assert told == [asked]


def test_a_sweep_outlives_a_node_and_makes_the_bits_of_one_process(
    cluster: Any, runs: Runs, serial: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    folder = tmp_path / "r"
    killed_while: list[int] = []

    def kill() -> None:
        begun = (folder / records.LOCKS).glob
        wait_for(lambda: len(list(begun("*.lock"))) == 2, "a run on each node")
        killed_while.append(len(list(records.files(folder))))
        own = [process.process.pid for processes in node.all_processes.values() for process in processes]
        for pid in [*own, *(child for one in own for child in children(one))]:  # as when its machine loses power
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    code = sweep(runs(folder), Ray(RaySettings(**content("ray", address=cluster.address)), None, threads=1))
    killer.join()
    out, err = capsys.readouterr()
    assert code == 0, err
    assert killed_while == [0]
    assert out.startswith("4 to run with 2 workers, the longest first\n")
    assert "4 of 4 runs are recorded" in out
    lost = r"notice: digits/\w+/seed=0: the worker process died \(\w+: .*\); tried again \(1 of 2\)"
    assert re.search(lost, err), err
    assert {key: results(record) for key, record in recorded(folder).items()} == serial
    assert not ray.is_initialized()


def test_a_cluster_that_is_not_there_is_named(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    settings = RaySettings(**content("ray", address="nobody:here"))
    with pytest.raises(ConfigError, match=r"^hydra.launcher.address=nobody:here: "):
        sweep(runs(tmp_path / "r"), Ray(settings, None, threads=1))
