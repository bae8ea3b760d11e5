"""Attention pooling: the formula, its initial weights, and a run from configuration to record."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import bench.launcher
from bench import inputs
from bench.attention_model import Sizes
from bench.pooling import AttentionPooling
from bench.records import Record, record_path, write
from bench.run import make_model
from bench.schema import ConfigError, RunConfig, validate
from normalizers import build
from tests.bench.helpers import config, run

POOLING = ("device=cpu", "dataset.train_limit=40", "dataset.test_limit=30", "train.epochs=3", "train.passes=4")
SIZES = Sizes(inputs=16, tokens=8, classes=4, tokens_are_ids=False, width=12, heads=1, blocks=1)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    return (*POOLING, f"data.root={tmp_path_factory.mktemp('data')}")


def record(*words: str, **choice: str) -> Record:
    return run(config(*words, dataset="informative_tokens", model="attention_pooling", train="pooling", **choice))


def test_it_is_the_formula_of_its_docstring() -> None:
    torch.manual_seed(0)
    model = AttentionPooling(SIZES, [build("entmax15", 1)]).double()
    x = torch.randn(5, 8, 16, dtype=torch.float64)
    scores = (x @ model.key) @ model.query / 12**0.5
    weights = build("entmax15", 1)(scores)
    expected = (weights.unsqueeze(-1) * (x @ model.value)).sum(1) @ model.head + model.bias
    found, (attention,) = model(x)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(attention, weights[:, None, None])


def test_weights_start_as_declared() -> None:
    torch.manual_seed(1)
    wide = Sizes(inputs=400, tokens=2, classes=100, tokens_are_ids=False, width=100, heads=1, blocks=1)
    model = AttentionPooling(wide, [build("softmax", 1)])
    for weights, inputs_ in ((model.key, 400), (model.query, 100), (model.value, 400), (model.head, 100)):
        assert weights.std().item() == pytest.approx(inputs_**-0.5, rel=0.25 if weights.ndim == 1 else 0.02)
    assert not model.bias.any()


def test_one_head_and_one_block_are_all_it_has() -> None:
    with pytest.raises(ValueError, match="one head and one block, got 2 and 1"):
        AttentionPooling(Sizes(**vars(SIZES) | {"heads": 2}), [build("softmax", 2)])


def test_all_methods_of_a_seed_start_alike_and_see_the_same_rows(words: tuple[str, ...]) -> None:
    kinds = ("softmax", "bounded_entmax")
    typed = [
        config(*words, dataset="informative_tokens", model="attention_pooling", train="pooling", normalizer=kind)
        for kind in kinds
    ]
    models = []
    for one in typed:
        prepared = inputs.arrays(one)
        models.append(make_model(one, inputs.shape(one, prepared), torch.device("cpu")).state_dict())
    assert [name for name in models[1] if name not in models[0]] == ["normalizer.r"]
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[0])


def test_the_record_holds_mass_map_and_the_learned_q(words: tuple[str, ...], tmp_path: Path) -> None:
    made = record(*words, "dataset.length=6", normalizer="bounded_entmax")
    assert (made.status, made.dataset, made.error) == ("completed", "informative_tokens_6", None)
    assert made.metrics["informative_mass"] == made.attention["informative_mass"][0][0]
    weights, marks = np.array(made.attention["map"]["weights"]), made.attention["map"]["marks"]
    assert weights.shape == (18, 6)
    assert weights.sum(1) == pytest.approx(np.ones(18), abs=0.004)
    assert {len(places) for places in marks} == {3}
    assert [len(curve) for curve in made.curves.values()] == [3] * len(made.curves)
    # 12 steps of Adam at 5e-3 move r by at most 0.06, and q by at most 1.7/4 of that.
    learned = np.ravel(made.curves["alpha"])
    assert 0 < abs(learned - 1.5572).max() <= 0.06 * 1.7 / 4 * 1.01
    assert learned[-1] == made.metrics["alpha_mean"]
    write(path := record_path(tmp_path, *made.key, made.fingerprint), made, tmp_path)
    assert path.stat().st_size < 30_000


def test_mass_and_map_speak_of_the_same_rows(words: tuple[str, ...]) -> None:
    made = record(*words, "dataset.test_limit=18", normalizer="softmax")
    rows = zip(made.attention["map"]["weights"], made.attention["map"]["marks"], strict=True)
    mass = float(np.mean([sum(weights[place] for place in marks) for weights, marks in rows]))
    assert made.metrics["informative_mass"] == pytest.approx(mass, abs=0.002)


def test_passes_make_longer_epochs_of_the_same_steps(words: tuple[str, ...]) -> None:
    short, long = (record(*words, f"train.passes={p}", f"train.epochs={e}") for p, e in ((1, 6), (3, 2)))
    assert short.metrics["test_loss"] == long.metrics["test_loss"]
    assert np.mean(short.curves["train_loss"][:3]) == pytest.approx(long.curves["train_loss"][0], rel=1e-6)
    assert short.fingerprint != long.fingerprint


def test_a_full_batch_is_a_batch_of_all_rows(words: tuple[str, ...]) -> None:
    whole, drawn = (record(*words, f"train.batch_size={size}") for size in ("null", "40"))
    assert whole.metrics["test_loss"] == pytest.approx(drawn.metrics["test_loss"], rel=1e-4)
    assert whole.setting != drawn.setting


def test_gradients_are_never_clipped(words: tuple[str, ...]) -> None:
    free, bound = (record(*words, f"train.clip_norm={norm}") for norm in ("null", "1e30"))
    assert free.metrics["test_loss"] == bound.metrics["test_loss"]
    assert free.curves["gradient_norm"] == bound.curves["gradient_norm"]
    assert free.metrics["test_loss"] != record(*words, "train.clip_norm=1e-4").metrics["test_loss"]


def test_the_compact_classifier_takes_vectors_too(words: tuple[str, ...]) -> None:
    made = run(config(*words, "train.batch_size=20", dataset="informative_tokens"))
    assert made.status == "completed"
    assert np.array(made.attention["informative_mass"]).shape == (2, 4)
    assert np.array(made.attention["map"]["weights"]).shape == (18, 17)  # CLS and 16 tokens
    assert min(min(places) for places in made.attention["map"]["marks"]) >= 1


def test_ids_are_refused(words: tuple[str, ...]) -> None:
    sizes = ("dataset.vocabulary=30", "dataset.length=4")
    typed = config(words[-1], *sizes, dataset="marker", model="attention_pooling")
    with pytest.raises(
        ConfigError, match=r"model.kind=attention_pooling takes data of kind image or vectors, and .*=marker"
    ):
        inputs.shape(typed, inputs.arrays(typed))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("model.heads=2", "model.heads"),
        ("model.kind=pool", r"model.kind=pool is unknown.*there are: attention_pooling, causal, compact"),
        ("model.dropout=0.1", "model.dropout is not a key of model attention_pooling"),
        ("train.passes=0", "train.passes"),
    ],
)
def test_what_it_does_not_have_is_refused_by_name(word: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(word, dataset="informative_tokens", model="attention_pooling", train="pooling")


BANDS = {"softmax": (0.945, 0.76), "sparsemax": (0.962, 0.86), "bounded_entmax": (0.963, 0.86)}
"""Normalizer -> accuracy and mass on informative tokens at L = 16 after 5,000 steps, means of 3 seeds."""


@pytest.mark.slow
def test_a_short_study_lands_in_the_bands(words: tuple[str, ...]) -> None:
    steps = ("dataset.train_limit=512", "dataset.test_limit=2000", "train.epochs=20", "train.passes=50")
    found: dict[str, list[Record]] = {
        name: [record(*words, *steps, f"seed={seed}", normalizer=name) for seed in range(3)] for name in BANDS
    }
    for name, (accuracy, mass) in BANDS.items():
        metrics = [made.metrics for made in found[name]]
        assert np.mean([m["accuracy"] for m in metrics]) == pytest.approx(accuracy, abs=0.015)
        assert np.mean([m["informative_mass"] for m in metrics]) == pytest.approx(mass, abs=0.06)
    learned = [made.metrics["alpha_mean"] or 0.0 for made in found["bounded_entmax"]]
    assert 1.62 < np.mean(learned) < 2.0  # on its way from 1.557 to sparsemax


@pytest.mark.parametrize(
    ("words", "lengths", "normalizers"),
    [
        ((), [4, 8, 16, 32], 4),
        (("dataset.length=64,128",), [64, 128], 4),
        (("normalizer=bounded_entmax_bisection", "dataset.length=4,64"), [4, 64], 1),
    ],
)
def test_the_sweep_is_that_of_the_study_or_what_the_command_line_puts_in_its_place(
    command: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    lengths: list[int],
    normalizers: int,
) -> None:
    planned: list[RunConfig] = []
    monkeypatch.setattr(bench.launcher, "sweep", lambda raws: planned.extend(map(validate, raws)) or 0)
    code, _, err = command("experiment=attention_pooling", *words)
    assert (code, err) == (0, "")
    assert len(planned) == len({one.label for one in planned}) == 10 * normalizers * len(lengths)
    assert {one.dataset.name for one in planned} == {f"informative_tokens_{length}" for length in lengths}
    assert {(one.model.kind, one.train.passes * one.train.epochs) for one in planned} == {("attention_pooling", 5000)}
