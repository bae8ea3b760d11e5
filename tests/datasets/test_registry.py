"""Contracts that every registered data set is held to, with no line of its own here."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from omegaconf import OmegaConf

from datasets import SOURCES, prepare, subset
from datasets.arrays import Arrays

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIGURATIONS = sorted((REPOSITORY / "conf" / "dataset").glob("*.yaml"))
COMMON = {"name", "source", "train_limit", "test_limit", "validation", "epochs"}
OF_KIND = {"image": {"patch", "standardize"}, "tokens": {"mask_padding"}, "vectors": set(), "sequences": set()}
# Of the arrays as first published here: a change of numpy's generator or of scikit-learn's scans would show.
HASHES = {"digits": "83f065ca87e5cb55", "marker": "36e3c82144536c74", "marker_learnable": "64534621f4ad96fe"}
HASHES |= {"informative_tokens": "3511e6977fe44bd5"}


def options_of(source: str) -> list[inspect.Parameter]:
    signature = inspect.signature(SOURCES[source].build, eval_str=True)
    return [p for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]


def configuration(name: str) -> dict[str, Any]:
    """The file of this name, laid over the one that its `defaults` name, as Hydra does."""
    content: dict[str, Any] = OmegaConf.to_container(OmegaConf.load(REPOSITORY / "conf" / "dataset" / f"{name}.yaml"))
    for base in content.pop("defaults", []):
        content = configuration(base) | content
    return content


@pytest.mark.parametrize("source", SOURCES)
def test_a_build_takes_root_and_typed_options_with_defaults(source: str) -> None:
    signature = inspect.signature(SOURCES[source].build, eval_str=True)
    root, *options = signature.parameters.values()
    assert (root.name, root.annotation) == ("root", Path)
    assert signature.return_annotation is Arrays
    assert options == options_of(source)
    for option in options:
        assert option.annotation in (int, float, bool, str) or get_origin(option.annotation) is Literal
        kinds = get_args(option.annotation)
        assert option.default in kinds if kinds else type(option.default) is option.annotation


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_says_where_its_data_come_from(source: str) -> None:
    module = inspect.getmodule(SOURCES[source].build)
    assert module is not None
    assert module.__doc__
    assert any(mark in module.__doc__ for mark in ("doi:", "arXiv:", "ICML", "technical report", "Canay 2026", "PyPI"))


def test_every_source_has_a_configuration() -> None:
    assert {configuration(path.stem)["source"] for path in CONFIGURATIONS} == set(SOURCES)


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_a_configuration_has_exactly_the_keys_that_its_source_has(path: Path) -> None:
    content = configuration(path.stem)
    source = content["source"]
    options = {option.name: option for option in options_of(source)}
    assert set(content) == COMMON | OF_KIND[SOURCES[source].kind] | set(options)
    # Held-out CIFAR-10 goes by the data set's own name: its records say in a note which rows it was tested on.
    assert content["name"].partition("_${")[0] == {"cifar10_heldout": "cifar10"}.get(path.stem, path.stem)
    assert path.read_text().startswith("# ")
    for name, option in options.items():
        choices = get_args(option.annotation)
        assert content[name] in choices if choices else type(content[name]) is option.annotation


@pytest.mark.parametrize(
    ("name", "limits", "epochs"),
    [
        ("cifar10", (8_000, 2_000), 6),
        ("fashion_mnist", (8_000, 2_000), 6),
        ("twenty_newsgroups", (4_000, 1_500), 6),
        ("marker", (8_000, 2_000), 6),
        ("kmnist", (12_000, 3_000), 8),
    ],
)
def test_the_published_settings_are_the_protocols(name: str, limits: tuple[int, int], epochs: int) -> None:
    content = configuration(name)
    assert (content["train_limit"], content["test_limit"]) == limits
    assert content["epochs"] == epochs
    assert content["validation"] == 0
    assert content.get("standardize", False) is content.get("mask_padding", False) is False
    for option in options_of(content["source"]):
        assert content[option.name] == option.default


@pytest.mark.parametrize("name", HASHES)
def test_a_set_that_needs_no_file_is_prepared_as_configured(tmp_path: Path, name: str) -> None:
    content = configuration(name)
    options = {option.name: content[option.name] for option in options_of(content["source"])}
    prepared = prepare(content["source"], tmp_path, **options)
    assert prepared.kind == SOURCES[content["source"]].kind
    limits = {key: content[key] for key in ("train_limit", "test_limit", "validation")}
    rows = subset(len(prepared.train), len(prepared.test), seed=9, **limits)
    assert prepared.train.x[rows.train].shape[0] == content["train_limit"]
    assert prepared.hash == HASHES[name]


def test_importing_and_loading_need_neither_torch_nor_scikit_learn(tmp_path: Path) -> None:
    prepare("digits", tmp_path)
    code = """
import sys
from pathlib import Path
from datasets import prepare
prepare("digits", Path(sys.argv[1]))
print([name for name in ("torch", "torchvision", "sklearn", "scipy", "pandas") if name in sys.modules])
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
