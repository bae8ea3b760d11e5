"""Code that is edited after a sweep was planned makes no record, whoever carries the runs out."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import ROOT
from bench.launchers.cluster import Cluster
from bench.launchers.dispatch import in_batches
from bench.launchers.settings import LocalSettings, RaySettings
from bench.launchers.with_ray import Ray
from bench.launchers.with_submitit import Local
from bench.plan import plan
from bench.work import CHANGED
from tests.bench.helpers import end, finish, recorded, start, wait_for
from tests.bench.launchers.test_settings import content
from tests.cluster.helpers import begun, slurm

Runs = Callable[[Path], list[dict[str, Any]]]


def cluster_of(name: str) -> Cluster:
    if name == "ray":
        return Ray(RaySettings(**content(name, address=os.environ["NORMBENCH_RAY"])), 1, threads=1)
    return slurm() if name == "submitit_slurm" else Local(LocalSettings(**content(name)), at_once=1)


@pytest.mark.parametrize("name", ["submitit_local", "submitit_slurm", "ray"])
def test_a_run_that_was_planned_with_other_source_is_refused_where_it_is_carried_out(
    name: str, runs: Runs, tmp_path: Path
) -> None:
    jobs = [replace(job, source="0" * 12) for job in plan(runs(tmp_path / "r")).jobs[:2]]
    cluster = cluster_of(name)
    cluster.connect()
    outcomes = [(outcome.status, outcome.error) for _, outcome, _ in in_batches(jobs, cluster)]
    assert outcomes == [("failed", CHANGED)] * 2
    assert recorded(tmp_path / "r") == {}


@pytest.mark.parametrize("name", ["submitit_local", "submitit_slurm"])
def test_a_job_that_starts_after_the_code_was_edited_makes_no_record(
    name: str, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    for package in ("bench", "normalizers", "datasets", "analysis", "conf"):
        shutil.copytree(ROOT / package, checkout / package, ignore=shutil.ignore_patterns("__pycache__"))
    words = [*(word for word in tiny if "epochs" not in word), "train.epochs=30", f"results_dir={tmp_path / 'r'}"]
    launcher = (f"hydra/launcher={name}", "hydra.launcher.minutes=10", "parallel=1")
    sweep = ("-m", "dataset=digits", "normalizer=softmax", "seed=0,1", *launcher)
    process = start(*sweep, *words, cwd=checkout, path=(checkout,))
    try:
        wait_for(lambda: begun(tmp_path / "r") == 1, "the first run to begin", process)
        with (checkout / "normalizers" / "softmax.py").open("a", encoding="utf-8") as file:
            file.write("\n# edited while a job waits\n")
        code, out, err = finish(process)
    finally:
        end(process)
    assert code == 1, err
    assert "1 of 2 runs are recorded" in out
    assert f"1 failed:\n  digits/softmax/seed=1: {CHANGED}\n" in err
    assert [record.seed for record in recorded(tmp_path / "r").values()] == [0]


def test_a_sweep_inside_a_slurm_job_is_submitted_as_from_outside(tiny: tuple[str, ...], tmp_path: Path) -> None:
    words = ["-m", "dataset=digits", "normalizer=softmax", "seed=0,1", "hydra/launcher=submitit_slurm", *tiny]
    settings = ["hydra.launcher.memory_gb=1.5", "hydra.launcher.minutes=10", f"results_dir={tmp_path / 'r'}"]
    inside = [
        "srun",
        "--partition=short",
        "--mem-per-cpu=900",
        f"--chdir={tmp_path}",
        f"--export=ALL,PYTHONPATH={ROOT}",
    ]
    python = [sys.executable, "-m", "bench"]
    done = subprocess.run([*inside, *python, *words, *settings], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 runs are recorded" in done.stdout
