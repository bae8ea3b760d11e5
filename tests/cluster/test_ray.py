"""Sweeps on the Ray that `ray start` began, and on nodes of which one is killed."""

import contextlib
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import records
from bench.launchers.settings import RaySettings
from bench.sweep import sweep
from tests.bench.helpers import wait_for
from tests.bench.launchers.test_settings import content
from tests.cluster.helpers import Results, begun, made, meanwhile

ray = pytest.importorskip("ray", reason="the launcher of Ray needs it")
from ray.cluster_utils import Cluster  # noqa: E402

from bench.launchers.with_ray import Ray  # noqa: E402

Runs = Callable[[Path], list[dict[str, Any]]]
Capture = pytest.CaptureFixture[str]


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


def test_two_nodes_that_ray_start_began_make_the_bits_of_one_process(
    runs: Runs, serial: Results, tmp_path: Path, capsys: Capture
) -> None:
    settings = RaySettings(**content("ray", address=os.environ["NORMBENCH_RAY"], runs_per_job=2))
    assert sweep(runs(tmp_path / "r"), Ray(settings, None, threads=1)) == 0
    out, err = capsys.readouterr()
    assert out.startswith("4 to run with 2 workers, the longest first\n")
    assert err == ""
    assert made(tmp_path / "r") == serial


def test_a_sweep_outlives_a_node_and_makes_the_bits_of_one_process(
    cluster: Any, runs: Runs, serial: Results, tmp_path: Path, capsys: Capture
) -> None:
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    folder = tmp_path / "r"
    killed_while: list[int] = []

    def kill() -> None:
        wait_for(lambda: begun(folder) == 2, "a run on each node")
        killed_while.append(len(list(records.files(folder))))
        own = [process.process.pid for processes in node.all_processes.values() for process in processes]
        for pid in [*own, *(child for one in own for child in children(one))]:  # as when its machine loses power
            os.kill(pid, signal.SIGKILL)

    with meanwhile(kill):
        code = sweep(runs(folder), Ray(RaySettings(**content("ray", address=cluster.address)), None, threads=1))
    out, err = capsys.readouterr()
    assert code == 0, err
    assert killed_while == [0]
    assert out.startswith("4 to run with 2 workers, the longest first\n")
    assert "4 of 4 runs are recorded" in out
    lost = r"notice: digits/\w+/seed=0: the worker process died \(\w+\); .*; tried again \(1 of 2\)"
    assert re.search(lost, err), err
    assert made(folder) == serial
    assert not ray.is_initialized()
