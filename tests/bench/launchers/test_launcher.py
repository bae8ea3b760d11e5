"""From the command line to a cluster: settings, folders, what is missing, and what is no sweep."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bench.launchers.launcher
from bench.launchers.launcher import absolute

Command = Callable[..., tuple[int, str, str]]
SWEEP = ("-m", "dataset=digits", "normalizer=softmax,hae")


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[dict[str, Any]], Any]]:
    """The configurations and clusters that reach the sweep, which is not carried out."""
    seen: list[tuple[list[dict[str, Any]], Any]] = []

    def sweep(raws: list[dict[str, Any]], cluster: Any) -> int:
        seen.append((raws, cluster))
        return 0

    monkeypatch.setattr(bench.launchers.launcher, "sweep", sweep)
    return seen


def test_settings_reach_the_cluster_and_folders_are_named_from_the_root(
    command: Command, planned: list[tuple[list[dict[str, Any]], Any]]
) -> None:
    pytest.importorskip("submitit", reason="the launchers of submitit need it")
    code, _, err = command(
        *SWEEP, "hydra/launcher=submitit_slurm", "hydra.launcher.partition=gpu", "hydra.launcher.gpus=1", "parallel=7"
    )
    assert (code, err) == (0, "")
    ((raws, cluster),) = planned
    assert (cluster.settings.partition, cluster.settings.gpus, cluster.at_once, cluster.max_in_flight) == (
        "gpu",
        1,
        7,
        7,
    )
    assert {raw["results_dir"] for raw in raws} == {str(Path.cwd() / "results/records")}
    assert all(Path(raw["data"]["root"]).is_absolute() for raw in raws)


def test_a_local_launcher_has_as_many_processes_as_the_pool(
    command: Command, planned: list[tuple[list[dict[str, Any]], Any]]
) -> None:
    pytest.importorskip("submitit", reason="the launchers of submitit need it")
    command(*SWEEP, "hydra/launcher=submitit_local", "parallel=3")
    assert planned[0][1].at_once == planned[0][1].max_in_flight == 3


@pytest.mark.parametrize(
    ("word", "options"),
    [
        ("hydra.launcher.options={nice: 100}", {"nice": 100}),
        ("hydra.launcher.options={mail_type: FAIL, requeue: false}", {"mail-type": "FAIL", "requeue": False}),
        ("+hydra.launcher.options.nice=100", {"nice": 100}),
    ],
)
def test_options_of_sbatch_are_given_as_the_documentation_says(
    command: Command, planned: list[tuple[list[dict[str, Any]], Any]], word: str, options: dict[str, Any]
) -> None:
    pytest.importorskip("submitit", reason="the launchers of submitit need it")
    assert command(*SWEEP, "hydra/launcher=submitit_slurm", word)[::2] == (0, "")
    assert planned[0][1].settings.options == options


def test_folders_of_a_tracker_are_named_from_the_root() -> None:
    raw = {"results_dir": "/r", "data": {"root": "d"}, "tracker": {"kind": "wandb", "dir": "r/.wandb"}}
    assert absolute(raw) == {
        "results_dir": "/r",
        "data": {"root": str(Path.cwd() / "d")},
        "tracker": {"kind": "wandb", "dir": str(Path.cwd() / "r/.wandb")},
    }
    assert raw["data"] == {"root": "d"}


@pytest.mark.parametrize(
    ("name", "package", "module"),
    [
        ("submitit_local", "submitit", "with_submitit"),
        ("submitit_slurm", "submitit", "with_slurm"),
        ("ray", "ray", "with_ray"),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(
    command: Command, monkeypatch: pytest.MonkeyPatch, name: str, package: str, module: str
) -> None:
    monkeypatch.delitem(sys.modules, f"bench.launchers.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = command(*SWEEP, f"hydra/launcher={name}")
    assert code == 2
    message = f"needs the package {package}; install it with: pip install 'normbench[{package}]'\n"
    assert err == f"error: hydra/launcher={name} {message}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("hydra.launcher.minutes=0",), "hydra.launcher.minutes=0: input should be greater than or equal to 2"),
        (("hydra.launcher.minute=1",), "Could not override 'hydra.launcher.minute'"),
        (
            ("+hydra.launcher.minute=1",),
            "hydra.launcher.minute is not a setting of this launcher; did you mean minutes",
        ),
        (("sed=1",), "sed is not a key of the configuration; did you mean seed"),
        (("threads=2", "hydra.launcher.cpus=1"), "threads=2 is more than hydra.launcher.cpus=1"),
        (("device=cuda",), "device=cuda: jobs are given no GPU"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_submitted(
    command: Command, planned: list[tuple[list[dict[str, Any]], Any]], words: tuple[str, ...], message: str
) -> None:
    code, _, err = command(*SWEEP, "hydra/launcher=submitit_slurm", *words)
    assert code == 2
    assert err.startswith(f"error: {message}")
    assert planned == []


def test_a_single_run_is_not_for_a_cluster(command: Command) -> None:
    code, _, err = command("dataset=digits", "normalizer=softmax", "hydra/launcher=ray")
    assert (code, err) == (2, "error: hydra/launcher=ray carries out sweeps; add -m\n")
