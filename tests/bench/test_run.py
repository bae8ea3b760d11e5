"""One run from configuration to record, on digits."""

import base64
import importlib.metadata
import json
import os
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bench.classification
import bench.run
import bench.trial
from bench import inputs
from bench.classification import decode, encode
from bench.records import Record, read, write
from bench.run import choose_device
from tests.bench.helpers import CODE, ROOT, config, results, run

SIZES = ("train.epochs=3", "dataset.validation=40")


@pytest.fixture(scope="module")
def hae(tiny: tuple[str, ...]) -> Record:
    return run(config(*tiny, *SIZES, "seed=2", normalizer="hae"))


def test_a_completed_record_says_what_it_is(hae: Record) -> None:
    assert (hae.status, hae.key, hae.error, hae.notes) == ("completed", ("digits", "hae", 2), None, [])
    assert set(hae.config) == {"dataset", "normalizer", "model", "train", "seed"}
    assert hae.config["normalizer"] == {"name": "hae", "map": "hae", "gradient": "exact"}
    assert hae.config["train"]["epochs"] == 3
    assert len({hae.fingerprint, hae.cell, hae.setting}) == 3


def test_every_metric_of_the_protocol_is_there(hae: Record) -> None:
    assert set(hae.metrics) == {
        "accuracy",
        "macro_f1",
        "test_loss",
        "support",
        "train_seconds",
        "train_cpu_seconds",
        "inference_seconds",
        "wall_seconds",
        "peak_memory_mb",
        "parameters",
        "alpha_mean",
        "validation_accuracy",
        "validation_macro_f1",
    }
    measured = {name: value for name, value in hae.metrics.items() if value is not None}
    assert len(measured) == len(hae.metrics)
    assert measured["wall_seconds"] > measured["train_seconds"] > measured["inference_seconds"] > 0
    assert 10 < measured["peak_memory_mb"] < 10_000
    # 4·64+64, CLS, 17 positions, two blocks of 49,984, head, 8 of HAE
    assert measured["parameters"] == 320 + 64 + 17 * 64 + 2 * 49_984 + 650 + 8


def test_predictions_decode_to_the_accuracy(hae: Record, tiny: tuple[str, ...]) -> None:
    typed = config(*tiny, *SIZES, "seed=2", normalizer="hae")
    truth = inputs.tensors(typed, inputs.arrays(typed), torch.device("cpu")).test[1].numpy()
    classes = decode(hae.predictions)
    assert hae.predictions["rows"] == len(classes) == 40
    assert (classes == truth).mean() == hae.metrics["accuracy"]


def test_every_curve_has_an_entry_per_epoch(hae: Record) -> None:
    assert hae.curves["epoch"] == [1, 2, 3]
    names = {
        "epoch",
        "train_loss",
        "gradient_norm",
        "seconds",
        "cpu_seconds",
        "alpha",
        "validation_loss",
        "validation_accuracy",
    }
    assert {name: len(curve) for name, curve in hae.curves.items()} == dict.fromkeys(names, 3)
    assert hae.curves["validation_accuracy"][-1] == hae.metrics["validation_accuracy"]
    assert hae.curves["train_loss"][2] < hae.curves["train_loss"][0]


def test_support_and_alpha_are_given_per_block_and_head(hae: Record) -> None:
    support, alpha = np.array(hae.attention["support"]), np.array(hae.attention["alpha"])
    assert support.shape == alpha.shape == (2, 4)
    assert hae.metrics["support"] == pytest.approx(support.mean())
    assert hae.metrics["alpha_mean"] == pytest.approx(alpha.mean())
    assert hae.curves["alpha"][-1] == alpha.tolist()
    # Three steps of Adam at 1e-3 move a by at most 0.003, and α by 0.9/4 of that.
    assert 0 < abs(alpha - 1.5).max() <= 0.003 * 0.9 / 4 * 1.01


def test_a_normalizer_without_alpha_has_none_and_top_k_has_the_support_it_imposes(tiny: tuple[str, ...]) -> None:
    record = run(config(*tiny, normalizer="topk_025"))
    assert record.metrics["alpha_mean"] is None
    assert "validation_accuracy" not in record.metrics
    assert set(record.attention) == {"support", "entropy", "peak"}
    assert np.array(record.attention["support"]) == pytest.approx(np.full((2, 4), 5 / 17))


def test_provenance_names_code_packages_and_hardware(hae: Record) -> None:
    keys = "code_version code_dirty python torch numpy scikit_learn hydra_core system cpu "
    keys += "threads kernel compiled data_hash device map_source model_source data_source"
    assert set(hae.provenance) == set(keys.split())
    assert hae.provenance["torch"] == importlib.metadata.version("torch")
    assert hae.provenance["code_version"] == CODE["code_version"]
    assert re.fullmatch("[0-9a-f]{16}", hae.provenance["data_hash"])


def absolute_paths(content: Any) -> list[str]:
    text = json.dumps(content)
    return re.findall(r"(?<![\w.<])/(?:\w[\w.-]*/)+[\w.-]+|[A-Z]:\\\\", text)


def test_no_absolute_path_stands_in_a_record(hae: Record, tmp_path: Path) -> None:
    assert absolute_paths({"traceback": 'File "/home/me/x.py", line 1'}) == ["/home/me/x.py"]
    assert absolute_paths(hae.model_dump()) == []
    path = tmp_path / "digits" / "hae" / "seed=2.json"
    write(path, hae, tmp_path)
    assert results(read(path)) == results(hae)


def test_the_same_run_gives_the_same_bits_in_any_state_of_the_process(hae: Record, tiny: tuple[str, ...]) -> None:
    torch.manual_seed(99)
    torch.set_num_threads(2)
    again = run(config(*tiny, *SIZES, "seed=2", normalizer="hae"))
    assert results(again) == results(hae)
    assert results(run(config(*tiny, *SIZES, "seed=3", normalizer="hae"))) != results(hae)


def test_standardizing_makes_another_run(tiny: tuple[str, ...]) -> None:
    plain, standard = (run(config(*tiny, f"dataset.standardize={flag}")) for flag in ("false", "true"))
    assert standard.status == "completed"
    assert standard.metrics["test_loss"] != plain.metrics["test_loss"]
    assert standard.setting != plain.setting


def test_digits_are_learned(tiny: tuple[str, ...]) -> None:
    sizes = ("dataset.train_limit=400", "dataset.test_limit=200", "train.batch_size=16", "train.epochs=8")
    record = run(config(*tiny, *sizes, "dataset.standardize=true"))
    assert (record.metrics["accuracy"] or 0) > 0.5  # chance is 0.1


def test_a_failing_run_is_recorded_with_its_traceback_and_without_folders(tiny: tuple[str, ...]) -> None:
    record = run(config(*tiny, "train.epochs=3", "train.learning_rate=1e30"))
    assert record.status == "failed"
    assert record.metrics == {}
    assert record.error is not None
    assert record.error["type"] == "NonFiniteLossError"
    assert re.search(r"epoch \d ends with training loss \S+ and gradient norm (nan|inf)", record.error["message"])
    assert 'File "bench/train.py", line' in record.error["traceback"]
    assert absolute_paths(record.model_dump()) == []


def test_a_test_loss_that_is_no_number_fails_the_run(tiny: tuple[str, ...]) -> None:
    record = run(config(*tiny, "train.learning_rate=1e30"))  # one step: its loss is that of the start
    assert record.status == "failed"
    assert record.error is not None
    assert "the test loss is nan" in record.error["message"]


def fail(error: BaseException) -> Any:
    def call(*_arguments: Any) -> Any:
        raise error

    return call


def test_an_interrupt_is_recorded_as_such(tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.classification, "predict", fail(KeyboardInterrupt()))
    record = run(config(*tiny))
    assert (record.status, record.metrics, record.error) == ("interrupted", {}, None)


def test_a_traceback_through_other_packages_names_no_folder(
    tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(*_arguments: Any) -> Any:
        return json.loads("{")

    monkeypatch.setattr(bench.classification, "predict", call)
    record = run(config(*tiny))
    assert record.status == "failed"
    assert absolute_paths(record.model_dump()) == []


def test_the_record_of_a_lost_process_says_why(tiny: tuple[str, ...]) -> None:
    typed = config(*tiny)
    identity = bench.run.Identity("f" * 12, "c" * 12, "s" * 12)
    record = bench.run.lost(typed, identity, CODE, "the worker process died with signal 9")
    assert (record.status, record.fingerprint) == ("failed", "f" * 12)
    assert record.error is not None
    assert record.error["message"] == "the worker process died with signal 9"
    assert record.config == run(typed).config


def test_encoded_predictions_are_little_endian_16_bit() -> None:
    content = encode(np.array([1, 258, 19]))
    assert zlib.decompress(base64.b64decode(content["classes"])) == b"\x01\x00\x02\x01\x13\x00"
    assert decode(content).tolist() == [1, 258, 19]


@pytest.mark.parametrize(("name", "expected"), [("cpu", "cpu"), ("auto", "cpu"), ("cuda", "cuda")])
def test_the_device_is_the_one_asked_for(name: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device(name).type == expected


def test_auto_takes_cuda_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == "cuda"


@pytest.mark.real_data
def test_fashion_mnist_is_learned_in_one_epoch() -> None:
    root = Path(os.environ.get("NORMBENCH_DATA") or ROOT / "data")
    if not (root / "FashionMNIST" / "raw").is_dir():
        pytest.skip(f"Fashion-MNIST is not below {root}; set NORMBENCH_DATA")
    sizes = ("dataset.train_limit=2000", "dataset.test_limit=500", "train.epochs=1", "device=cpu")
    record = run(config(f"data.root={root}", *sizes, dataset="fashion_mnist"))
    assert record.metrics["parameters"] == 104_970
    assert (record.metrics["accuracy"] or 0) > 0.2  # chance is 0.1 with a standard deviation of 0.013


def test_a_run_with_an_impossible_number_has_failed(tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.trial, "peak_mb", lambda _device: -1.0)
    record = run(config(*tiny))
    assert record.status == "failed"
    assert record.error is not None
    assert record.error["message"] == "peak_memory_mb is -1, which is not a number of MiB, 0 or more"
    assert record.metrics == {}
