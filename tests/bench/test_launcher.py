"""From Hydra's jobs to the configurations of one sweep."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

import bench.launcher
import bench.sweep
from bench.fingerprint import identify
from bench.launcher import plain
from bench.schema import ConfigError, validate
from tests.bench.helpers import PUBLISHED

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The configurations that reach the sweep, which is not carried out."""
    seen: list[dict[str, Any]] = []

    def sweep(raws: list[dict[str, Any]]) -> int:
        seen.extend(raws)
        return 0

    monkeypatch.setattr(bench.launcher, "sweep", sweep)
    return seen


def test_jobs_keep_their_order_and_their_seeds(command: Command, planned: list[dict[str, Any]]) -> None:
    code, _, err = command("-m", "dataset=digits", "normalizer=hae,topk", "seed=range(3)", "normalizer.name=x,y")
    assert (code, err) == (0, "")
    found = [(raw["normalizer"]["map"], raw["seed"], raw["normalizer"]["name"]) for raw in planned]
    assert found == [(name, seed, label) for name in ("hae", "topk") for seed in range(3) for label in "xy"]
    planned[0]["normalizer"]["name"] = "changed"
    assert planned[2]["normalizer"]["name"] == "x"


def test_jobs_that_differ_in_the_seed_alone_are_composed_once(
    command: Command, planned: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    composed: list[tuple[str, ...]] = []
    compose_one = bench.launcher.PoolLauncher._compose_one

    def counting(launcher: Any, overrides: tuple[str, ...]) -> dict[str, Any]:
        composed.append(overrides)
        return compose_one(launcher, overrides)

    monkeypatch.setattr(bench.launcher.PoolLauncher, "_compose_one", counting)
    command("-m", "dataset=digits", "normalizer=softmax,hae", "seed=range(6)")
    assert len(planned) == 12
    assert composed == [("dataset=digits", "normalizer=softmax"), ("dataset=digits", "normalizer=hae")]


def test_a_large_sweep_is_composed_once_per_cell_all_in_all(
    command: Command, planned: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hydra._internal.config_loader_impl import ConfigLoaderImpl

    calls = Counter[str]()
    load = ConfigLoaderImpl.load_sweep_config

    def counting(*arguments: Any) -> Any:
        calls["load"] += 1
        return load(*arguments)

    monkeypatch.setattr(ConfigLoaderImpl, "load_sweep_config", counting)
    command("-m", "dataset=digits", "normalizer=softmax,hae", "seed=range(6)")
    assert len(planned) == 12
    assert calls["load"] == 2


SIZES = {
    "cifar10": (8000, 2000, 6),
    "fashion_mnist": (8000, 2000, 6),
    "twenty_newsgroups": (4000, 1500, 6),
    "marker": (8000, 2000, 6),
    "kmnist": (12_000, 3000, 8),
}


def test_the_paper_sweep_is_the_published_350_runs(command: Command, planned: list[dict[str, Any]]) -> None:
    code, _, err = command("experiment=paper", "results_dir=r")
    assert (code, err) == (0, "")
    assert {raw["results_dir"] for raw in planned} == {"r"}
    found = [(raw["dataset"]["name"], raw["normalizer"]["name"], raw["seed"]) for raw in planned]
    assert found == [(name, normalizer, seed) for name in SIZES for normalizer in PUBLISHED for seed in range(10)]
    for raw in planned[::10]:
        typed = validate(raw)
        train, test, epochs = SIZES[typed.dataset.name]
        assert (typed.dataset.train_limit, typed.dataset.test_limit, typed.train.epochs) == (train, test, epochs)
        assert typed.dataset.validation == 0
        assert typed.model.model_dump() == planned[0]["model"]
        assert typed.train.model_dump(exclude={"epochs"}) == {
            "passes": 1,
            "batch_size": 96,
            "learning_rate": 1e-3,
            "weight_decay": 1e-4,
            "clip_norm": 5.0,
            "precision": "float32",
            **{"beta2": 0.999, "warmup": 0, "decay": "none"},
        }


def test_the_demonstration_is_70_runs_and_takes_overrides(command: Command, planned: list[dict[str, Any]]) -> None:
    code, _, err = command("experiment=demo", "train.epochs=2")
    assert (code, err) == (0, "")
    found = Counter((raw["dataset"]["name"], raw["normalizer"]["name"]) for raw in planned)
    assert found == dict.fromkeys(((d, n) for d in ("digits", "marker_learnable") for n in PUBLISHED), 5)
    assert {raw["train"]["epochs"] for raw in planned} == {2}


def test_a_glob_names_all_choices_that_match(command: Command, planned: list[dict[str, Any]]) -> None:
    code, _, err = command("-m", "dataset=digits", "normalizer=glob(topk_0*)")
    assert (code, err) == (0, "")
    assert [raw["normalizer"]["name"] for raw in planned] == list(PUBLISHED[4:])


def test_an_interval_has_no_values_and_is_refused_in_a_line(command: Command, planned: list[dict[str, Any]]) -> None:
    code, _, err = command("-m", "dataset=digits", "normalizer=softmax", "train.learning_rate=interval(0,1)")
    assert code == 2
    assert err.startswith("error: ")
    assert "INTERVAL" in err
    assert planned == []


def test_the_sweeps_exit_code_is_the_commands(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.launcher, "sweep", lambda _: 130)
    assert command("-m", "dataset=digits", "normalizer=softmax,hae")[0] == 130


def test_plain_resolves_and_leaves_hydras_own_part_out() -> None:
    config = OmegaConf.create({"a": {"b": 1}, "c": "${a.b}", "hydra": {"x": "???"}})
    assert plain(config) == {"a": {"b": 1}, "c": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": {"b": "???"}}, "^a.b is missing; give it as a.b=VALUE$"),
        ({"b": "???", "a": "???"}, "^a is missing; give it as a=VALUE\nb is missing; give it as b=VALUE$"),
        ({"a": {"b": "${nowhere}"}}, "^a.b: Interpolation key 'nowhere' not found"),
        ({"a": {"b": "${oc.env:NO_SUCH}"}}, "^a.b: .*NO_SUCH"),
    ],
)
def test_what_is_missing_is_named_by_its_full_key(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plain(OmegaConf.create(content))


def test_a_value_that_refers_to_the_seed_follows_it(command: Command, planned: list[dict[str, Any]]) -> None:
    command("-m", "dataset=digits", "normalizer=softmax", "seed=3,4", "results_dir=r/s${seed}")
    assert [(content["seed"], content["results_dir"]) for content in planned] == [(3, "r/s3"), (4, "r/s4")]


def test_one_value_has_one_label_and_one_fingerprint_however_it_is_written(
    command: Command, planned: list[dict[str, Any]]
) -> None:
    code, _, err = command("-m", "dataset=digits", "normalizer=entmax", "normalizer.alpha=2,2.0,2e0,1.5")
    assert (code, err) == (0, "")
    assert [raw["normalizer"]["name"] for raw in planned] == ["entmax_2.0"] * 3 + ["entmax_1.5"]
    assert len({identify(validate(raw), "data").fingerprint for raw in planned}) == 2
    command("-m", "dataset=digits", "normalizer=topk", "normalizer.ratio=1", "normalizer.k=null")
    assert planned[-1]["normalizer"] == {"name": "topk_1.0", "map": "topk", "ratio": 1.0, "k": None}
    command("-m", "dataset=digits", "normalizer=topk", "normalizer.ratio=null", "normalizer.k=3", "normalizer.name=k3")
    assert planned[-1]["normalizer"] == {"name": "k3", "map": "topk", "ratio": None, "k": 3}


def test_the_order_of_overrides_and_the_way_a_run_is_started_do_not_change_its_fingerprint(
    command: Command, planned: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.sweep, "sweep", bench.launcher.sweep)  # that of a run without -m
    words = ["dataset=digits", "normalizer=topk", "normalizer.ratio=0.5", "train.epochs=3", "seed=4", "dataset.patch=4"]
    command(*words)
    command(*reversed(words), "results_dir=elsewhere", "parallel=2")
    command("-m", *words[3:], *words[:3], "experiment=null")
    command("-m", *words[:4], "seed=3,4", *words[5:])
    assert len(planned) == 5
    found = {identify(validate(raw), "data").fingerprint for raw in planned if raw["seed"] == 4}
    assert len(found) == 1


def test_a_sweep_leaves_nothing_in_the_working_directory(command: Command, planned: list[dict[str, Any]]) -> None:
    command("-m", "dataset=digits", "normalizer=softmax,hae")
    assert len(planned) == 2
    assert list(Path.cwd().iterdir()) == []
