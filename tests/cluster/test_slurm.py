"""Sweeps on a real Slurm without accounting: what it makes, and what happens when something goes wrong."""

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import records
from bench.launchers.dispatch import JOBS
from bench.schema import ConfigError
from bench.state import held, look
from bench.sweep import sweep
from tests.bench.helpers import archived, changed, recorded, wait_for
from tests.cluster.helpers import (
    Raw,
    Results,
    alive,
    begun,
    endless,
    interrupt,
    made,
    meanwhile,
    of_sweep,
    processes_of,
    said,
    slurm,
)

Runs = Callable[[Path], list[dict[str, Any]]]
Capture = pytest.CaptureFixture[str]
Say = Callable[[], str]


def test_a_time_limit_fails_only_the_run_that_is_too_long_for_it(runs: Runs, tmp_path: Path, capsys: Capture) -> None:
    one, *others = runs(tmp_path / "r")
    raws = [endless(one), *others]
    cluster = slurm(runs_per_job=4, minutes=2, retries=0)
    assert sweep(raws, cluster) == 1
    out, err = capsys.readouterr()
    lost = "digits/softmax/seed=0: RuntimeError: not done within hydra.launcher.minutes=2, 1 time; raise it"
    assert f"1 failed:\n  {lost}\n" in err
    assert "3 of 4 runs are recorded" in out
    assert sorted(record.status for record in recorded(tmp_path / "r").values()) == ["completed"] * 3 + ["failed"]
    assert len(cluster.arrays) == 1  # Slurm had the job again, and not the sweep


def test_a_job_that_is_told_to_leave_goes_on_where_it_was_and_nothing_fails(
    runs: Runs, serial: Results, tmp_path: Path, capsys: Capture
) -> None:
    cluster = slurm(runs_per_job=4, retries=0)

    def ask() -> None:
        wait_for(lambda: begun(tmp_path / "r") == 1, "the first run to begin")
        said("scancel", "--signal=USR2", cluster.arrays[0])

    with meanwhile(ask):
        assert sweep(runs(tmp_path / "r"), cluster) == 0
    assert capsys.readouterr().err == ""
    assert made(tmp_path / "r") == serial
    assert archived(tmp_path / "r") == []
    assert len(cluster.arrays) == 1


def test_a_job_that_cannot_be_queued_again_is_submitted_again_by_the_sweep(
    runs: Runs, serial: Results, tmp_path: Path, capsys: Capture
) -> None:
    cluster = slurm(runs_per_job=4, retries=0, options={"requeue": False})

    def ask() -> None:
        wait_for(lambda: begun(tmp_path / "r") == 1, "the first run to begin")
        said("scancel", "--signal=USR2", cluster.arrays[0])

    with meanwhile(ask):
        assert sweep(runs(tmp_path / "r"), cluster) == 0
    assert capsys.readouterr().err == ""
    assert made(tmp_path / "r") == serial
    assert len(cluster.arrays) == 2


def test_a_node_that_dies_fails_no_run(runs: Runs, serial: Results, tmp_path: Path, capsys: Capture) -> None:
    cluster = slurm(partition="frail", runs_per_job=4, retries=0)

    def kill() -> None:
        wait_for(lambda: begun(tmp_path / "r") == 1, "the first run to begin")
        daemon = int((Path(os.environ["NORMBENCH_CLUSTER"]) / "n4.pid").read_text(encoding="utf-8"))
        own = [int(pid) for pid in said("pgrep", "-f", rf"slurmstepd: \[{cluster.arrays[0]}\.").split()]
        for pid in [daemon, *own, *processes_of(tmp_path / "r")]:  # as when its machine loses power
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: "down" in said("sinfo", "--noheader", "--nodes=n4", "--format=%T"), "Slurm to miss the node")
        subprocess.Popen(["slurmd", "-D", "-N", "n4"], stderr=subprocess.DEVNULL)

    with meanwhile(kill):
        assert sweep(runs(tmp_path / "r"), cluster) == 0
    assert capsys.readouterr().err == ""
    assert made(tmp_path / "r") == serial
    assert archived(tmp_path / "r") == []


def test_a_preempted_job_goes_on_and_nothing_fails(
    runs: Runs, serial: Results, tmp_path: Path, capsys: Capture
) -> None:
    cluster = slurm(partition="low", runs_per_job=4, retries=0)

    def preempt() -> None:
        wait_for(lambda: begun(tmp_path / "r") == 1, "the first run to begin")
        said("sbatch", "--partition=urgent", "--exclusive", f"--output={tmp_path}/urgent", "--wrap=sleep 1")
        wait_for(lambda: "PENDING" in of_sweep(cluster).values(), "the job to be preempted")

    with meanwhile(preempt):
        assert sweep(runs(tmp_path / "r"), cluster) == 0
    assert capsys.readouterr().err == ""
    assert made(tmp_path / "r") == serial
    assert archived(tmp_path / "r") == []


def test_an_array_makes_the_bits_of_one_process_and_leaves_no_other_file(
    runs: Runs, serial: Results, tmp_path: Path, capsys: Capture
) -> None:
    cluster = slurm(runs_per_job=2, memory_gb=1.5, options={"nice": 100}, setup=["export PREPARED=1"])
    assert sweep(runs(tmp_path / "r"), cluster) == 0
    out, err = capsys.readouterr()
    assert out.startswith("4 to run with 2 workers, the longest first\n[1/4] digits/")
    assert err == ""
    assert made(tmp_path / "r") == serial
    assert not (tmp_path / "r" / JOBS).exists()


def test_a_job_that_dies_without_accounting_is_tried_again_within_parallel(
    runs: Runs, serial: Results, tmp_path: Path, capsys: Capture
) -> None:
    cluster = slurm(runs_per_job=2, parallel=1, retries=1)
    most = 0

    def kill_and_watch() -> None:
        nonlocal most
        wait_for(lambda: begun(tmp_path / "r") == 1, "the first run to begin")
        for pid in processes_of(tmp_path / "r"):
            os.kill(pid, signal.SIGKILL)
        while len(list(records.files(tmp_path / "r"))) < 4:
            time.sleep(0.1)
            most = max(most, len(held(tmp_path / "r" / records.LOCKS)))

    with meanwhile(kill_and_watch):
        assert sweep(runs(tmp_path / "r"), cluster) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert re.fullmatch(
        r"notice: digits/\w+/seed=0: the worker process died \(state FAILED\); Slurm's job \d+_0; .*; its log is .*; "
        r"tried again \(1 of 1\)",
        lines[0],
    )
    assert most == 1
    assert made(tmp_path / "r") == serial
    assert len(archived(tmp_path / "r")) == 1
    lost = (tmp_path / "r" / records.ARCHIVE).rglob("*.json")
    text = next(lost).read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert '"the worker process died (state FAILED)"' in text


def test_jobs_that_a_person_cancelled_are_not_made_and_said_to_be_so(
    runs: Runs, tmp_path: Path, capsys: Capture
) -> None:
    one, two, three, four = runs(tmp_path / "r")
    cluster = slurm(retries=2, parallel=3)

    def cancel() -> None:
        wait_for(lambda: begun(tmp_path / "r") >= 3, "three runs to begin")
        (array,) = cluster.arrays
        said("scancel", f"{array}_0")
        wait_for(lambda: of_sweep(cluster).get(f"{array}_0") == "CANCELLED", "the job to be cancelled")
        wait_for(lambda: len(list(records.files(tmp_path / "r"))) >= 3, "the others to end")
        said("scancel", array)

    with meanwhile(cancel):
        assert sweep([endless(one), two, endless(three), four], cluster) == 1
    out, err = capsys.readouterr()
    assert len(cluster.arrays) == 1
    assert alive(cluster) == {}
    assert "2 of 4 runs are recorded" in out
    assert "2 failed:" in err
    assert err.count("RuntimeError: the job was cancelled in Slurm; Slurm's job ") == 2
    assert "tried again" not in err
    assert {record.status for record in recorded(tmp_path / "r").values()} == {"completed", "failed"}


def test_a_job_that_needs_more_memory_than_it_has_says_so(runs: Runs, tmp_path: Path, capsys: Capture) -> None:
    assert sweep(runs(tmp_path / "r"), slurm(memory_gb=0.1, retries=0, runs_per_job=4)) == 1
    _, err = capsys.readouterr()
    assert "no run of its job began: the job exceeded its memory limit; raise hydra.launcher.memory_gb" in err
    assert recorded(tmp_path / "r") == {}


def test_a_partition_that_is_not_there_is_refused_and_nothing_is_left(runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^the jobs were not accepted: (.|\n)*invalid partition"):
        sweep(runs(tmp_path / "r"), slurm(partition="nowhere"))
    assert look(tmp_path / "r").runs == {}
    assert not (tmp_path / "r" / JOBS).exists()


def test_more_jobs_than_an_array_may_have_are_refused_with_the_remedy(runs: Runs, tmp_path: Path) -> None:
    one = runs(tmp_path / "r")[1]
    with pytest.raises(ConfigError, match=r"MaxArraySize of 11: raise hydra\.launcher\.runs_per_job to 2 or more"):
        sweep([changed(one, "seed", seed) for seed in range(12)], slurm())


def test_jobs_that_will_never_begin_are_said_to_wait_and_why(runs: Runs, tmp_path: Path, capsys: Capture) -> None:
    cluster = slurm(minutes=50)  # the partition allows 30

    def give_up() -> None:
        wait_for(lambda: any("PartitionTimeLimit" in line for line in cluster.queue.said), "the notice")
        asked = cluster.queue.num_calls
        wait_for(lambda: cluster.queue.num_calls > asked, "Slurm to be asked once more")
        interrupt()

    with meanwhile(give_up):
        assert sweep(runs(tmp_path / "r"), cluster) == 130
    notices = [line for line in capsys.readouterr().err.splitlines() if line.startswith("notice")]
    remedy = "hydra.launcher.minutes is more than the partition allows; Ctrl-C ends the sweep"
    assert notices[-1] == f"notice: jobs wait in Slurm's queue for the reason PartitionTimeLimit: {remedy}"
    assert len(set(notices)) == len(notices) <= 2  # at first Slurm may give another reason
    assert alive(cluster) == {}


def test_an_interrupted_sweep_leaves_no_job_though_one_was_queued_again(
    runs: Runs, tmp_path: Path, capsys: Capture
) -> None:
    raws: list[Raw] = [endless(raw) for raw in runs(tmp_path / "r")]
    cluster = slurm()

    def requeue_and_interrupt() -> None:
        wait_for(lambda: begun(tmp_path / "r") == 4, "all runs to begin")
        (array,) = cluster.arrays
        said("scancel", "--signal=USR2", f"{array}_0")
        wait_for(lambda: of_sweep(cluster)[f"{array}_0"] != "RUNNING", "the job to leave")
        interrupt()

    with meanwhile(requeue_and_interrupt):
        assert sweep(raws, cluster) == 130
    assert capsys.readouterr().err == "interrupted; the same command goes on where this one stopped\n"
    assert [record.status for record in recorded(tmp_path / "r").values()] == ["interrupted"] * 3
    assert alive(cluster) == {}
    assert not (tmp_path / "r" / JOBS).exists()
    time.sleep(1)
    assert alive(cluster) == {}


@pytest.fixture
def unseen() -> Iterator[Path]:
    """A folder that the node of the partition `apart` does not see."""
    with tempfile.TemporaryDirectory(dir="/mnt") as folder:
        yield Path(folder)


def test_a_folder_that_the_node_does_not_see_is_named_with_the_remedy(
    runs: Runs, unseen: Path, tmp_path: Path, capsys: Capture
) -> None:
    cluster = slurm(partition="apart", folder=str(unseen), retries=0, runs_per_job=4)
    assert sweep(runs(tmp_path / "r"), cluster) == 1
    _, err = capsys.readouterr()
    assert f"left no log in {unseen}" in err
    assert "which its node perhaps does not see; name one on a shared disk with hydra.launcher.folder" in err
