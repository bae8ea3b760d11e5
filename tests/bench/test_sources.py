"""What source a process has, and which of it belongs to a part."""

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench import sources
from bench.models import MODELS
from datasets import SOURCES
from normalizers import REGISTRY
from tests.bench.helpers import ROOT

RELU = """
from normalizers.softmax import Softmax

class Relu(Softmax):
    def forward(self, scores, mask=None, queries=None):
        return scores.relu()
"""


def edited(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As if this process had started with another text in the file `name`."""
    assert name in sources.AT_START
    monkeypatch.setattr(sources, "AT_START", {**sources.AT_START, name: sources.AT_START[name] + b"# edited\n"})
    sources.of.cache_clear()


@pytest.fixture(autouse=True)
def no_cache() -> Any:
    yield
    sources.of.cache_clear()


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("normalizers/hae.py", {"hae"}),
        ("normalizers/bisection.py", {"hae", "entmax15", "entmax", "bounded_entmax", "asentmax"}),
        ("normalizers/topk.py", {"topk", "bottomk"}),
        ("normalizers/registry.py", set()),
        ("normalizers/__init__.py", set()),
        ("bench/model.py", set()),
    ],
)
def test_an_edited_module_changes_the_maps_that_use_it_and_no_other(
    file: str, changes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: sources.of(map_) for name, map_ in REGISTRY.items()}
    edited(monkeypatch, file)
    after = {name: sources.of(map_) for name, map_ in REGISTRY.items()}
    assert {name for name in REGISTRY if before[name] != after[name]} == changes


@pytest.mark.parametrize("name", ["kernels.c", "tiles.h"])
def test_an_edited_kernel_changes_the_maps_that_use_kernels_and_no_other(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hashes() -> list[str]:
        three = REGISTRY["sparsemax"], MODELS["compact"].build, SOURCES["digits"].build
        return [sources.of(part) for part in three]

    before = hashes()
    edited(monkeypatch, f"normalizers/native/{name}")
    after = hashes()
    assert before[0] != after[0]
    assert before[1:] == after[1:]


def test_models_and_builders_have_the_source_that_they_use(monkeypatch: pytest.MonkeyPatch) -> None:
    causal, pooling = (sources.of(MODELS[kind].build) for kind in ("causal", "attention_pooling"))
    edited(monkeypatch, "bench/positions.py")
    assert sources.of(MODELS["causal"].build) != causal
    assert sources.of(MODELS["attention_pooling"].build) == pooling
    kmnist, digits = (sources.of(SOURCES[name].build) for name in ("kmnist", "digits"))
    edited(monkeypatch, "datasets/files.py")
    assert sources.of(SOURCES["kmnist"].build) != kmnist
    assert sources.of(SOURCES["digits"].build) == digits


def test_the_whole_source_is_all_code_that_makes_a_record() -> None:
    names = set(sources.AT_START)
    assert {"bench/run.py", "normalizers/softmax.py", "normalizers/native/kernels.c", "datasets/store.py"} <= names
    assert {name.partition("/")[0] for name in names} == {"bench", "normalizers", "datasets"}


def test_the_whole_source_is_the_same_in_another_folder_and_another_when_a_file_is_edited(tmp_path: Path) -> None:
    for package in sources.PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "bench" / ".#run.py").symlink_to("nobody@nowhere")  # as editors leave it
    assert sources.short_hash(sources.read_all(tmp_path)) == sources.short_hash(sources.read_all(ROOT))
    (tmp_path / "normalizers" / "native" / "vectors.h").write_text("", encoding="utf-8")
    assert sources.short_hash(sources.read_all(tmp_path)) != sources.short_hash(sources.read_all(ROOT))


def test_code_that_changes_while_it_is_imported_has_no_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sources.imported() == sources.short_hash(sources.AT_START)
    edited(monkeypatch, "bench/run.py")
    assert sources.imported() is None


def test_a_map_from_a_file_of_its_own_has_the_hash_of_that_file_and_of_those_beside_it_that_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    path, helper, other = (tmp_path / f"{name}.py" for name in ("a_map", "a_helper", "unrelated"))
    helper.write_text("X = 1\n", encoding="utf-8")
    path.write_text(f"import a_helper\n{RELU}", encoding="utf-8")

    def fresh() -> str:
        sources.of.cache_clear()
        map_ = load(path, "a_map").Relu
        assert sources.is_foreign(map_)
        return sources.of(map_)

    first = fresh()
    other.write_text("X = 1\n", encoding="utf-8")
    assert fresh() == first
    helper.write_text("X = 2\n", encoding="utf-8")
    second = fresh()
    path.write_text(path.read_text(encoding="utf-8") + "# more\n", encoding="utf-8")
    assert len({first, second, fresh()}) == 3


def test_a_map_from_a_package_of_its_own_has_the_hash_of_what_it_uses_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "some_maps"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "unrelated.py").write_text("", encoding="utf-8")
    (package / "helper.py").write_text("X = 1\n", encoding="utf-8")
    (package / "relu.py").write_text(f"from . import helper\n{RELU}", encoding="utf-8")
    map_ = importlib.import_module("some_maps.relu").Relu
    found = []
    for file in ("relu.py", "unrelated.py", "helper.py"):
        (package / file).write_text((package / file).read_text(encoding="utf-8") + "# more\n", encoding="utf-8")
        sources.of.cache_clear()
        found.append(sources.of(map_))
    assert found[0] == found[1] != found[2]


def test_a_map_without_a_source_file_is_refused_by_name() -> None:
    space: dict[str, Any] = {"__name__": "typed_in"}
    exec(RELU, space)
    with pytest.raises(ValueError, match="Relu comes from no source file; define it in a module of its own"):
        sources.of(space["Relu"])
