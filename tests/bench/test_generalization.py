"""A run on sequences: fresh batches, test rows of each length, and what is measured of them."""

import csv
import subprocess
import sys

import numpy as np
import pytest
import torch

from bench import inputs, sequences
from bench.causal import CausalShape, CausalTransformer, decode
from bench.fingerprint import identify
from bench.generalization import written
from bench.plan import plan
from bench.schema import ConfigError
from bench.sequences import NO_ANSWER, Batches, Lot
from bench.streams import global_stream
from normalizers import build
from tests.bench.helpers import ROOT, config, raw, results, run

SMALL = (
    *("device=cpu", "train.epochs=2", "dataset.train_limit=96", "train.batch_size=32", "train.warmup=2"),
    *("dataset.test_limit=20", "dataset.test_longest=64"),
)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    return (*SMALL, f"data.root={tmp_path_factory.mktemp('data')}")


def typed(*words: str, dataset: str = "flip_flop", **choice: str):
    return config(*words, dataset=dataset, model="causal", train="generalization", **choice)


def test_a_record_holds_every_length(words) -> None:
    record = run(typed(*words))
    assert record.status == "completed", record.error
    found = record.attention["by_length"]
    assert (found["length"], found["rows"]) == ([16, 32, 64], [20, 20, 20])
    for name in ("exact_match", "token_accuracy", "loss"):
        assert len(found[name]) == 3
    for name in ("entropy", "peak", "support"):
        assert np.array(found[name]).shape == (3, 2, 4)
        assert record.attention[name] == found[name][-1]
    assert record.metrics["accuracy"] == found["exact_match"][-1]
    assert record.metrics["test_loss"] == found["loss"][-1]
    assert record.metrics["support"] == pytest.approx(np.mean(found["support"][-1]))
    assert len(record.curves["train_loss"]) == 2


def test_a_run_repeats_to_the_bit_and_another_seed_differs(words) -> None:
    first, again, other = (run(typed(*words, f"seed={seed}")) for seed in (3, 3, 4))
    assert results(first) == results(again)
    assert first.curves["train_loss"] != other.curves["train_loss"]


def batches(*words: str, seed: int = 0, **choice: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    made = typed(*words, f"seed={seed}", **choice)
    source = Batches(made, made.schedule, torch.device("cpu"))
    return [*source(), *source()]


def test_batches_are_fresh_and_the_same_for_every_normalizer(words) -> None:
    softmax, entmax, other = batches(*words), batches(*words, normalizer="entmax15"), batches(*words, seed=1)
    assert len(softmax) == 6
    for (x, y), (x2, y2) in zip(softmax, entmax, strict=True):
        assert torch.equal(x, x2)
        assert torch.equal(y, y2)
    assert not all(x.shape == z.shape and torch.equal(x, z) for (x, _), (z, _) in zip(softmax, other, strict=True))
    rows = {tuple(row) for x, _ in batches(*words, dataset="copy") for row in x.tolist()}
    assert len(rows) > 0.97 * 6 * 32  # a sequence of four symbols may come twice


def test_classes_are_what_follows_an_answer_place(words) -> None:
    for x, y in batches(*words, dataset="copy"):
        length = (x.shape[1] + 1) // 2
        assert 4 <= length <= 16
        assert (y[:, :length] == NO_ANSWER).all()
        assert torch.equal(y[:, length:], x[:, :length][:, : y.shape[1] - length])


def test_a_seed_draws_its_test_rows_from_the_pool(words) -> None:
    made, other = typed(*words, "seed=0"), typed(*words, "seed=1")
    prepared = inputs.arrays(made)
    first, again, second = (sequences.lots(c, prepared, torch.device("cpu")) for c in (made, made, other))
    assert [part.length for part in first] == [16, 32, 64]
    for a, b, c in zip(first, again, second, strict=True):
        assert a.ids.shape == (20, 2 * a.length)
        assert torch.equal(a.ids, b.ids)
        assert not torch.equal(a.ids, c.ids)


def test_one_pass_finds_exactly_what_greedy_decoding_writes(words) -> None:
    """On a model trained so little that some rows are right and others are not."""
    shape = CausalShape(inputs=16, tokens=99, classes=16, tokens_are_ids=True, positions="nape")
    with global_stream(1, "weights"):
        model = CausalTransformer(shape, [build("softmax", 4, 16) for _ in range(2)])
    made = typed(*words, "train.epochs=1", "dataset.train_limit=3200")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for x, y in Batches(made, made.schedule, torch.device("cpu"))():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x)[0], y).backward()
        optimizer.step()
    tested = sequences.lots(made, inputs.arrays(made), torch.device("cpu"))[0]
    decoded = decode(model, tested.ids, tested.answers)
    found = written(model, tested)
    exact = (decoded == tested.ids).all(1).float().mean().item()
    assert 0 < exact < 1
    assert found.exact_match == pytest.approx(exact)
    assert exact <= found.token_accuracy < 1


def test_measures_by_hand() -> None:
    """Uniform attention: entropy log n and peak 1/n over the n keys that the query of an answer sees."""
    shape = CausalShape(inputs=16, tokens=9, classes=16, tokens_are_ids=True, positions="nope")
    model = CausalTransformer(shape, [build("softmax", 4, 16) for _ in range(2)])
    for block in model.blocks:
        torch.nn.init.zeros_(block.attention.query_key_value.weight)
    torch.nn.init.zeros_(model.head.weight)
    model.head.bias.data = torch.nn.functional.one_hot(torch.tensor(7), 16).float() * 3
    ids = torch.tensor([[4, 5, 7, 7], [4, 5, 7, 6]])
    answers = torch.tensor([[False, False, True, True], [False, False, False, True]])
    found = written(model, Lot(2, ids, answers))
    assert (found.rows, found.exact_match, found.token_accuracy) == (2, 0.5, pytest.approx(2 / 3))
    every = np.log(15 + np.e**3)
    assert found.loss == pytest.approx((2 * (every - 3) + every) / 3, rel=1e-5)
    assert found.attention["entropy"] == pytest.approx(np.full((2, 4), (np.log(2) + 2 * np.log(3)) / 3), rel=1e-5)
    assert found.attention["peak"] == pytest.approx(np.full((2, 4), (1 / 2 + 2 / 3) / 3), rel=1e-5)
    assert found.attention["support"] == pytest.approx(np.ones((2, 4)))


def test_the_entropy_of_a_trained_softmax_model_grows_with_length(words) -> None:
    record = run(typed(*words, "train.epochs=1", "dataset.train_limit=6400", "train.batch_size=64"))
    found = record.attention["by_length"]
    assert found["exact_match"][0] > 0.3  # it has learned something: by chance, a row in two to the power of its reads
    entropy = np.mean(found["entropy"], axis=(1, 2))
    assert (np.diff(entropy) > 0.05).all()
    without_positions = np.array(found["entropy"])[:, :, 2:].mean((1, 2))
    assert without_positions[-1] - without_positions[0] > 0.5 * np.log(64 / 16)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("dataset.test_limit=2000",), r"dataset.test_limit=2000 must lie between 1 and the 1024 rows .*of length 16"),
        (("dataset.validation=5",), "dataset.validation"),
        (("model.positions=napa",), "model.positions"),
        (("model.heads=1",), "positions=nape gives half of the heads a bias, and heads=1 is odd"),
        (("model.positions=rope", "model.width=12"), "positions=rope turns pairs, and width/heads=3 is odd"),
        (("dataset.vocabulary=5",), "vocabulary=5 is too small for task=flip_flop"),
        (("train.decay=linear",), "train.decay"),
    ],
)
def test_what_cannot_be_is_refused_by_name(words, changes, message) -> None:
    def planned() -> None:
        made = typed(*words, *changes)
        inputs.shape(made, inputs.arrays(made))

    with pytest.raises((ConfigError, ValueError), match=message):
        planned()


def test_a_map_that_cannot_do_with_one_key_and_an_endless_warmup_are_refused_in_planning(words) -> None:
    choices = {"dataset": "flip_flop", "model": "causal", "train": "generalization"}
    with pytest.raises(ConfigError, match=r"constrained_sparsemax_0.5 on flip_flop_nape .*sees 1 of 127 keys"):
        plan([raw(*words, normalizer="constrained_sparsemax", **choices)])
    with pytest.raises(ConfigError, match=r"train.warmup=6 is no less than the 6 steps of the training"):
        plan([raw(*words, "train.warmup=6", **choices)])


def test_the_last_batch_of_an_epoch_is_as_short_as_it_falls(words) -> None:
    assert [len(x) for x, _ in batches(*words, "dataset.train_limit=70")] == [32, 32, 6] * 2


def test_models_and_data_that_do_not_fit_are_refused(words) -> None:
    root = words[-1]
    made = typed("device=cpu", root, dataset="digits")
    with pytest.raises(ConfigError, match=r"model.kind=causal takes data of kind sequences, .*gives image.*=compact"):
        inputs.shape(made, inputs.arrays(made))
    made = config("device=cpu", root, dataset="flip_flop")
    with pytest.raises(ConfigError, match=r"model.kind=compact takes .* gives sequences; .* model=causal"):
        inputs.shape(made, inputs.arrays(made))


def test_positions_are_part_of_what_a_run_is(words) -> None:
    made = [typed(*words, f"model.positions={positions}") for positions in ("nape", "rope", "nope", "alibi")]
    assert len({identify(one, "hash").fingerprint for one in made}) == 4


@pytest.mark.parametrize("name", ["asentmax", "topk_4", "stick_breaking", "sink_softmax", "scalable_softmax"])
def test_every_normalizer_of_the_study_runs_on_every_task(words, name) -> None:
    for task in ("two_back", "multi_query_recall", "sort"):
        record = run(typed(*words, "train.epochs=1", "dataset.test_longest=32", dataset=task, normalizer=name))
        assert record.status == "completed", record.error
        assert np.isfinite(record.metrics["test_loss"])


def test_the_quick_study_from_its_command_to_its_tables(command, tmp_path) -> None:
    folder = tmp_path / "records"
    # A quarter of its steps and half of its lengths, without the start of workers.
    sizes = ("dataset.train_limit=800", "train.warmup=10", "dataset.test_longest=64", "dataset.test_limit=64")
    words = (f"results_dir={folder}", f"data.root={tmp_path / 'data'}", "parallel=1")
    code, out, err = command("experiment=length_generalization_quick", *words, *sizes)
    assert (code, err) == (0, "")
    assert "6 of 6 runs are recorded" in out
    analysis = [f"records={folder}", f"out={tmp_path / 'out'}", "analysis=length_generalization", "figures=false"]
    subprocess.run([sys.executable, "-m", "analysis", *analysis], cwd=ROOT, check=True, capture_output=True)
    with (tmp_path / "out" / "tables" / "dispersion_by_length.csv").open(encoding="utf-8") as file:
        changes = {(row["normalizer"], row["measure"]): float(row["change"]) for row in csv.DictReader(file)}
    assert changes["softmax", "entropy"] > 0.5
    assert changes["softmax", "peak"] < 0 < changes["softmax", "entropy"] - changes["asentmax", "entropy"]
