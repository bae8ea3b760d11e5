"""The rules of the house that a machine can check: directions of imports, sizes, one list of the seven."""

import ast
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from bench.models import MODELS
from datasets import SOURCES
from normalizers import REGISTRY

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("normalizers", "datasets", "bench", "analysis")
MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
ALLOWED = {
    "normalizers": {"normalizers"},
    "datasets": {"datasets"},
    "bench": {"bench", "normalizers", "datasets"},
    "analysis": {"analysis", "bench.records"},
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module


def identify(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=identify)
def test_imports_point_one_way(path):
    package = path.relative_to(ROOT).parts[0]
    ours = [name for name in imports(path) if name.split(".")[0] in PACKAGES]
    strangers = [name for name in ours if name not in ALLOWED[package] and name.split(".")[0] not in ALLOWED[package]]
    assert strangers == []


@pytest.mark.parametrize("path", MODULES, ids=identify)
def test_modules_stay_small_and_say_what_they_are(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 220
    assert ast.get_docstring(ast.parse(text))


def configurations(group):
    """The files of a group by name, interpolations as they stand."""
    paths = sorted((ROOT / "conf" / group).glob("*.yaml"))
    return {path.stem: OmegaConf.to_container(OmegaConf.load(path)) for path in paths}


def test_every_registered_normalizer_has_a_configuration():
    found = configurations("normalizer")
    assert {content["map"] for content in found.values()} == set(REGISTRY)
    assert all(name == content["name"].partition("_${")[0] for name, content in found.items())


def test_every_registered_data_set_has_a_configuration():
    assert {content.get("source") for content in configurations("dataset").values()} >= set(SOURCES)


def test_the_pooling_sweep_and_its_analysis_name_the_same_cells():
    params = configurations("experiment")["attention_pooling"]["hydra"]["sweeper"]["params"]
    plan = configurations("analysis")["attention_pooling"]
    family = plan["families"]["published"]
    lengths = params["++dataset.length"].split(",")
    assert family["datasets"] == [f"informative_tokens_{length}" for length in lengths]
    assert [plan["control"], *family["treatments"]] == params["normalizer"].split(",")
    assert {target["normalizer"] for target in plan["targets"]} <= set(plan["order"])


def test_the_sweep_of_lengths_and_its_analysis_name_the_same_cells():
    params = configurations("experiment")["length_generalization"]["hydra"]["sweeper"]["params"]
    plan = configurations("analysis")["length_generalization"]
    family = plan["families"]["longest"]
    tasks, positions = params["dataset"].split(","), params["++model.positions"].split(",")
    assert family["datasets"] == [f"{task}_{choice}" for task in tasks for choice in positions]
    assert [plan["control"], *family["treatments"]] == params["normalizer"].split(",")


def test_every_model_has_a_configuration_of_its_kind():
    assert {name: content["kind"] for name, content in configurations("model").items()} == {k: k for k in MODELS}


@pytest.mark.parametrize("name", ["paper", "demo"])
def test_sweep_and_analysis_name_the_same_cells(name):
    params = configurations("experiment")[name]["hydra"]["sweeper"]["params"]
    plan = configurations("analysis")[name]
    normalizers, datasets = params["normalizer"].split(","), params["dataset"].split(",")
    assert normalizers == plan["order"]
    assert sorted(datasets) == sorted(d for family in plan["families"].values() for d in family["datasets"])
    for family in plan["families"].values():
        assert family["treatments"] == [normalizer for normalizer in normalizers if normalizer != plan["control"]]
