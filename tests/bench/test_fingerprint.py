"""Fingerprints depend on everything that changes a result, and on nothing else."""

from typing import Any

import pytest

from bench import fingerprint
from bench.fingerprint import Identity, identify
from bench.schema import validate
from tests.bench.helpers import changed, raw

DATA = "0123456789abcdef"


def of(content: dict[str, Any], data: str = DATA) -> Identity:
    return identify(validate(content), data)


def test_the_fingerprint_of_a_known_run_stays() -> None:
    # A changed value: some default or the protocol changed, so every record made before is of another run. Where that
    # is meant, raise fingerprint.PROTOCOL if numbers change for the same configuration, and pin the new values here.
    # Where it is not meant (a new option whose default is what was done before), records made before would be made
    # again for nothing: leave the option out of the hash while it has that default.
    assert of(raw("seed=3", dataset="cifar10", normalizer="hae")) == Identity(
        "d5250217ba73", "577dbc698393", "5348c6f44cec"
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("results_dir", "elsewhere"),
        ("data.root", "elsewhere"),
        ("parallel", 7),
        ("threads", 2),
        ("device", "cpu"),
        ("force", True),
        ("on_error", "stop"),
        ("compile", True),
        ("dataset.name", "my_digits"),
        ("normalizer.name", "my_topk"),
        ("dataset.epochs", 99),
        ("train.learning_rate", 0.0010),
        ("train.clip_norm", 5),
    ],
)
def test_labels_folders_and_workers_do_not_matter(key: str, value: Any) -> None:
    content = raw(normalizer="topk_025")
    assert of(changed(content, key, value)) == of(content)


def test_the_order_of_keys_does_not_matter() -> None:
    def reversed_(content: Any) -> Any:
        return {k: reversed_(content[k]) for k in reversed(content)} if isinstance(content, dict) else content

    content = raw(normalizer="topk_025")
    assert list(reversed_(content)) != list(content)
    assert of(reversed_(content)) == of(content)


def test_a_default_left_out_is_the_default_written_out() -> None:
    content = raw(normalizer="hae")
    short = changed(content, "normalizer", {"name": "hae", "map": "hae"})
    assert content["normalizer"]["gradient"] == "exact"
    assert of(short) == of(content)


EVERYTHING = [
    ("normalizer.ratio", 0.3),
    ("normalizer", {"name": "topk_025", "map": "topk", "k": 4, "ratio": None}),
    ("normalizer", {"name": "topk_025", "map": "softmax"}),
    ("train.epochs", 16),
    ("train.batch_size", 95),
    ("train.learning_rate", 2e-3),
    ("train.weight_decay", 0.0),
    ("train.clip_norm", 4.0),
    ("train.precision", "bf16"),
    ("model.dropout", 0.0),
    ("model.width", 32),
    ("model.heads", 2),
    ("model.blocks", 3),
    ("model.feed_forward", 128),
    ("dataset.train_limit", 999),
    ("dataset.test_limit", None),
    ("dataset.validation", 100),
    ("dataset.patch", 4),
    ("dataset.standardize", True),
    ("seed", 1),
]


@pytest.mark.parametrize(("key", "value"), EVERYTHING)
def test_everything_that_changes_a_result_matters_at_its_level(key: str, value: Any) -> None:
    content = raw(normalizer="topk_025")
    one, two = of(content), of(changed(content, key, value))
    assert one.fingerprint != two.fingerprint
    assert (one.cell == two.cell) == (key == "seed")
    assert (one.setting == two.setting) == (key == "seed" or key.startswith("normalizer"))


ADDED = {
    "model.kind": {"dataset": "informative_tokens", "model": "attention_pooling"},
    "train.passes": {"train": "pooling"},
    "bounded_entmax.gradient": {"normalizer": "bounded_entmax_bisection"},
    **{key: {"train": "generalization"} for key in ("train.beta2", "train.warmup", "train.decay")},
}
"""Key of `fingerprint.ADDED` -> a choice in which it has another value than the one that is not hashed."""


def test_every_added_key_is_tested() -> None:
    assert set(ADDED) == set(fingerprint.ADDED)


@pytest.mark.parametrize("key", ADDED)
def test_a_configuration_from_before_a_key_was_there_is_the_same_run(key: str) -> None:
    content = raw(normalizer="bounded_entmax")
    owner, name = key.split(".")
    group = owner if owner in content else "normalizer"
    before = content | {group: {option: value for option, value in content[group].items() if option != name}}
    assert before != content
    assert of(before) == of(content)


@pytest.mark.parametrize(("key", "choice"), ADDED.items())
def test_an_added_key_is_hashed_at_any_other_value(
    key: str, choice: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, new = raw(normalizer="bounded_entmax"), raw(**choice)
    before, after = of(usual), of(new)
    monkeypatch.delitem(fingerprint.ADDED, key)
    assert of(usual) != before
    assert of(new) == after


def test_all_of_them_differ_from_one_another() -> None:
    content = raw(normalizer="topk_025")
    assert len({of(changed(content, *change)).fingerprint for change in EVERYTHING}) == len(EVERYTHING)


def test_the_gradient_matters_and_the_gradient_only() -> None:
    exact, published = (of(raw(normalizer=name)) for name in ("entmax15", "entmax15_bisection"))
    assert exact.fingerprint != published.fingerprint
    assert exact.setting == published.setting


@pytest.mark.parametrize("package", fingerprint.MAJORS)
def test_another_major_version_of_what_draws_numbers_matters(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = dict.fromkeys(fingerprint.MAJORS, "2.99.1")
    monkeypatch.setattr(fingerprint, "version", lambda name: versions[name])
    before = of(raw())
    assert before == of(raw())
    versions[package] = "3.0.0"
    after = of(raw())
    assert not {before.fingerprint, before.cell, before.setting} & {after.fingerprint, after.cell, after.setting}


def test_data_and_protocol_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    before = of(raw())
    assert len({before.setting, of(raw(), "f" * 16).setting}) == 2
    monkeypatch.setattr(fingerprint, "PROTOCOL", fingerprint.PROTOCOL + 1)
    after = of(raw())
    assert not {before.fingerprint, before.cell, before.setting} & {after.fingerprint, after.cell, after.setting}
