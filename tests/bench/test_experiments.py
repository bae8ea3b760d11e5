"""What an experiment chooses is so, unless the command line says otherwise."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir

import bench.__main__
from tests.bench.helpers import CONF

Command = Callable[..., tuple[int, str, str]]
OWN = """# @package _global_
defaults:
  - override /dataset: marker_learnable
  - override /normalizer: hae
  - override /model: attention_pooling
  - override /train: pooling
  - override /tracker: wandb
  - override /hydra/launcher: submitit_local
  - override /hydra/job_logging: stdout
tracker: {mode: disabled}
seed: 7
hydra:
  mode: MULTIRUN
  launcher: {runs_per_job: 3}
"""
EMPTY = """# @package _global_
defaults:
  - override /dataset: digits
  - override /normalizer: softmax
hydra:
  mode: MULTIRUN
  sweeper: {params: {normalizer: glob(none_*)}}
"""


STRANGE = """# @package _global_
defaults:
  - override /dataset: digits
  - override /normalizer: softmax
  - override /hydra/launcher: basic
hydra: {mode: MULTIRUN}
"""


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the configuration with the experiments `own`, `empty` and `strange` besides."""
    folder = tmp_path_factory.mktemp("copy") / "conf"
    shutil.copytree(CONF, folder)
    for name, text in (("own", OWN), ("empty", EMPTY), ("strange", STRANGE)):
        (folder / "experiment" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def composed(conf: Path, *words: str) -> Any:
    with initialize_config_dir(str(conf), version_base="1.3"):
        return compose("config", list(words), return_hydra_config=True)


CHOSEN = {
    **{"dataset": "marker_learnable", "normalizer": "hae", "model": "attention_pooling", "train": "pooling"},
    **{"tracker": "wandb", "hydra/launcher": "submitit_local", "hydra/job_logging": "stdout"},
}


def test_an_experiment_gets_what_it_overrides(conf: Path) -> None:
    config = composed(conf, "experiment=own")
    choices = config.hydra.runtime.choices
    assert {group: choices[group] for group in CHOSEN} == CHOSEN
    assert (config.hydra.launcher.runs_per_job, config.hydra.launcher.minutes) == (3, 1440)
    assert (config.seed, config.tracker.mode) == (7, "disabled")


@pytest.mark.parametrize(
    ("group", "choice"),
    [
        *(("dataset", "digits"), ("normalizer", "softmax"), ("model", "compact"), ("train", "protocol")),
        *(("tracker", "none"), ("hydra/launcher", "ray"), ("hydra/job_logging", "none")),
    ],
)
def test_the_command_line_wins_over_an_experiment(conf: Path, group: str, choice: str) -> None:
    words = ["experiment=own", f"{group}={choice}"]
    kept = {"experiment": "own"} | CHOSEN | {group: choice}
    choices = composed(conf, *words, *(["~tracker.mode"] if group == "tracker" else [])).hydra.runtime.choices
    assert {name: choices[name] for name in kept} == kept


def test_without_an_experiment_the_pool_carries_out_a_planned_sweep(conf: Path) -> None:
    choices = composed(conf, "dataset=digits", "normalizer=softmax").hydra.runtime.choices
    names = ("hydra/launcher", "hydra/sweeper", "hydra/job_logging", "hydra/hydra_logging", "tracker")
    assert [choices[name] for name in names] == ["pool", "planned", "none", "none", "none"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("empty", "error: an empty sweep, there is nothing to run: one of normalizer=glob(none_*) has no value\n"),
        ("strange", "error: hydra/launcher=basic carries out no sweep here; use pool, or see --help"),
    ],
)
def test_an_experiment_that_cannot_be_carried_out_is_refused_and_leaves_nothing(
    conf: Path, command: Command, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.setattr(bench.__main__, "CONF", conf)
    code, out, err = command(f"experiment={name}")
    assert (code, out) == (2, "")
    assert err.startswith(message)
    assert list(Path.cwd().iterdir()) == []
