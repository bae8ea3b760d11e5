"""Sweeps as submitit's local jobs: one is killed, all are interrupted, all are tracked."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import records
from bench.launchers.dispatch import JOBS
from bench.launchers.settings import LocalSettings
from bench.launchers.with_submitit import Local
from bench.sweep import sweep
from tests.bench import wandb_log
from tests.bench.helpers import archived, changed, end, finish, group, recorded, start, wait_for
from tests.bench.launchers.test_settings import content
from tests.cluster.helpers import Results, begun, endless, made, meanwhile, processes_of

Runs = Callable[[Path], list[dict[str, Any]]]
Capture = pytest.CaptureFixture[str]


def local(**changes: Any) -> Local:
    return Local(LocalSettings(**content("submitit_local", **changes)), at_once=2)


def test_local_jobs_make_the_bits_of_one_process_though_one_is_killed(
    runs: Runs, serial: Results, tmp_path: Path, capsys: Capture
) -> None:
    killed: list[int] = []

    def kill_one() -> None:
        wait_for(lambda: begun(tmp_path / "r") == 2, "both jobs to have begun")
        killed.extend(processes_of(tmp_path / "r")[:1])
        os.kill(killed[0], signal.SIGKILL)

    with meanwhile(kill_one):
        code = sweep(runs(tmp_path / "r"), local(retries=1, runs_per_job=2))
    out, err = capsys.readouterr()
    assert (code, len(killed)) == (0, 1), err
    assert out.startswith("4 to run with 2 workers, the longest first\n[1/4] digits/")
    assert "4 of 4 runs are recorded" in out
    assert re.fullmatch(
        r"notice: digits/\w+/seed=0: the worker process died \(state FINISHED\).*; its log is (.*); "
        r"tried again \(1 of 1\)\n",
        err,
    )
    assert made(tmp_path / "r") == serial
    assert len(archived(tmp_path / "r")) == 1  # the record of the loss
    assert list((tmp_path / "r" / JOBS).iterdir())  # and the logs


@pytest.mark.usefixtures("fresh_wandb")
def test_local_jobs_that_are_tracked_make_the_same_bits_and_log_each_run(
    runs: Runs, serial: Results, tmp_path: Path, capsys: Capture
) -> None:
    tracker = {"kind": "wandb", "mode": "offline", "dir": str(tmp_path / "w"), "images": False}
    raws = [one | {"tracker": tracker} for one in runs(tmp_path / "r")]
    assert sweep(raws, local(runs_per_job=2)) == 0
    assert made(tmp_path / "r") == serial
    records_of = {record.fingerprint: record for record in recorded(tmp_path / "r").values()}
    logged = wandb_log.runs(tmp_path / "w")
    assert sorted(one.run.run_id for one in logged) == sorted(records_of)
    for one in logged:
        wandb_log.equal(one, records_of[one.run.run_id])
    assert "W&B: 4 runs are kept offline; send with: wandb sync " in capsys.readouterr().out


def test_the_pool_makes_the_same_bits(runs: Runs, serial: Results, tmp_path: Path) -> None:
    assert sweep(runs(tmp_path / "r")) == 0
    assert made(tmp_path / "r") == serial


def test_a_local_time_limit_fails_only_the_run_that_is_too_long_for_it(
    runs: Runs, tmp_path: Path, capsys: Capture
) -> None:
    one, *others = runs(tmp_path / "r")
    raws = [endless(one), *(changed(other, "train.epochs", 1) for other in others)]
    assert sweep(raws, local(runs_per_job=4, minutes=1)) == 1
    out, err = capsys.readouterr()
    assert "not done within hydra.launcher.minutes=1, 1 time; raise it" in err
    assert "1 failed:" in err
    assert "3 of 4 runs are recorded" in out


def test_an_interrupted_sweep_records_the_runs_of_its_jobs_and_leaves_no_logs(
    tiny: tuple[str, ...], tmp_path: Path
) -> None:
    words = [word for word in tiny if not word.startswith("train.epochs")]
    folder = tmp_path / "r"
    process = start(
        *("-m", "dataset=digits", "normalizer=softmax", "seed=0,1", "train.epochs=100000", "results_dir=r"),
        *("hydra/launcher=submitit_local", "parallel=2", *words),
        cwd=tmp_path,
    )
    try:
        # The harness is imported in less processor time than this.
        used = lambda: [seconds for pid, seconds in group(process.pid).items() if pid in processes_of(folder)]  # noqa: E731
        wait_for(lambda: len(used()) == 2 and min(used()) > 6, "both jobs to train", process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        code, out, err = finish(process)
    finally:
        end(process)
    assert code == 130, err
    assert "0 of 2 runs are recorded" in out
    assert err == "interrupted; the same command goes on where this one stopped\n"
    assert [record.status for _, record in records.scan([folder])[0]] == ["interrupted"] * 2
    assert processes_of(folder) == []
    assert not (folder / JOBS).exists()
