"""A tracker tells what the record holds, changes nothing in it, and never stops a run."""

import json
from pathlib import Path
from typing import Any

import pytest

import bench.classification
from bench import inputs
from bench.fingerprint import identify
from bench.records import Record
from bench.run import perform
from bench.schema import RunConfig, validate
from tests.bench import wandb_log
from tests.bench.helpers import CODE, config, raw, results, run


def tracked(tmp_path: Path, tiny: tuple[str, ...], *words: str, normalizer: str = "hae") -> RunConfig:
    tracker = {"kind": "wandb", "mode": "offline", "project": "p", "dir": str(tmp_path / "w"), "images": True}
    content = raw(*tiny, "train.epochs=2", *words, normalizer=normalizer) | {"tracker": tracker, "tags": ["demo"]}
    return validate(content)


@pytest.fixture(autouse=True)
def fresh(fresh_wandb: None) -> None:
    """No notice was said and no server was lost before."""


def test_what_is_logged_offline_is_what_the_record_holds(tmp_path: Path, tiny: tuple[str, ...]) -> None:
    typed = tracked(tmp_path, tiny, "seed=4")
    record = run(typed)
    (logged,) = wandb_log.runs(tmp_path / "w")
    wandb_log.equal(logged, record)
    assert logged.run.display_name == "digits/hae/seed=4"
    assert logged.run.job_type == "run"
    assert set(logged.run.tags) == {"digits", "hae", "protocol-1", "demo", "family-demo"}
    epochs = [entry for entry in logged.history if "train/train_loss" in entry]
    assert len(epochs) == 2
    assert {"train/step_seconds", "train/gradient_norm", "alpha/block2/head3"} <= set(epochs[0])
    assert epochs[-1]["test/accuracy"] == record.metrics["accuracy"]
    assert {"attention/support/block1/head1", "attention/entropy/block2/head4", "test/macro_f1"} <= set(epochs[0])
    assert logged.summary["attention/support/block2/head3"] == record.attention["support"][1][2]
    assert logged.summary["status"] == "completed"
    images = list((tmp_path / "w").glob("wandb/offline-run-*/files/media/images/*.png"))
    assert len(images) == 4 * 8  # rows x blocks x heads
    assert len(list((tmp_path / "w").glob("wandb/offline-run-*/files/media/table/*.json"))) == 1


def test_without_images_the_confusion_matrix_is_logged_all_the_same(tmp_path: Path, tiny: tuple[str, ...]) -> None:
    typed = tracked(tmp_path, tiny)
    run(typed.model_copy(update={"tracker": typed.tracker.model_copy(update={"images": False})}))
    wandb_log.runs(tmp_path / "w")
    assert list((tmp_path / "w").glob("wandb/offline-run-*/files/media/images/*.png")) == []
    (table,) = (tmp_path / "w").glob("wandb/offline-run-*/files/media/table/*.json")
    content = json.loads(table.read_text(encoding="utf-8"))
    assert content["columns"] == ["truth", "predicted", "rows"]
    assert sum(rows for _, _, rows in content["data"]) == 40  # dataset.test_limit


@pytest.mark.parametrize("normalizer", ["hae", "gumbel"])
def test_a_record_is_the_same_with_and_without(tmp_path: Path, tiny: tuple[str, ...], normalizer: str) -> None:
    watched = run(tracked(tmp_path, tiny, normalizer=normalizer))
    alone = run(config(*tiny, "train.epochs=2", normalizer=normalizer))
    assert results(watched) == results(alone)


def test_for_a_disabled_tracker_nothing_is_measured_and_nothing_logged(
    tmp_path: Path, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []
    watched = bench.classification.watched

    def counted(*arguments: Any) -> dict[str, float]:
        measured.append("")
        return watched(*arguments)

    monkeypatch.setattr(bench.classification, "watched", counted)
    typed = tracked(tmp_path, tiny)
    disabled = typed.model_copy(update={"tracker": typed.tracker.model_copy(update={"mode": "disabled"})})
    assert run(disabled).status == "completed"
    assert (measured, (tmp_path / "w").exists()) == ([], False)
    run(typed)
    assert len(measured) == 2  # epochs


def test_a_run_on_sequences_is_watched_by_length(tmp_path: Path, tiny: tuple[str, ...]) -> None:
    tracker = {"kind": "wandb", "mode": "offline", "project": "p", "dir": str(tmp_path / "w"), "images": True}
    words = (tiny[-1], "device=cpu", "train.epochs=2", "dataset.train_limit=128", "dataset.test_limit=9")
    groups = {"model": "causal", "train": "generalization"}
    content = raw(*words, "dataset.test_longest=32", dataset="flip_flop", **groups)
    record = run(validate(content | {"tracker": tracker}))
    assert results(record) == results(run(validate(content)))
    (logged,) = wandb_log.runs(tmp_path / "w")
    exact = record.attention["by_length"]["exact_match"]
    assert [logged.summary[f"exact_match/{length}"] for length in (16, 32)] == exact
    epochs = [entry for entry in logged.history if "test/exact_match/16" in entry]
    assert len(epochs) == 2
    assert epochs[-1]["test/exact_match/16"] == exact[0]
    by_length = record.attention["by_length"]
    assert epochs[-1]["test/loss"] == by_length["loss"][0]
    for name in ("support", "entropy", "peak"):
        heads = [epochs[-1][f"attention/{name}/block2/head{head}"] for head in (1, 2, 3, 4)]
        assert heads == by_length[name][0][1]
        # The summary speaks, as the record does, of the longest.
        assert logged.summary[f"attention/{name}/block2/head1"] == by_length[name][1][1][0]
    assert len(list((tmp_path / "w").glob("wandb/offline-run-*/files/media/images/*.png"))) == 4 * 8


def test_a_failed_run_is_marked_failed_and_repeats_have_the_same_id(tmp_path: Path, tiny: tuple[str, ...]) -> None:
    typed = tracked(tmp_path, tiny, "train.learning_rate=1e30")
    records = [run(typed), run(typed)]
    assert [record.status for record in records] == ["failed", "failed"]
    one, two = wandb_log.runs(tmp_path / "w")
    assert one.run.run_id == two.run.run_id == records[0].fingerprint
    assert one.exit_code == [1]
    assert one.summary["error"].startswith("NonFiniteLossError")


def test_online_without_a_key_goes_on_offline_with_one_notice(
    tmp_path: Path, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    typed = tracked(tmp_path, tiny)
    typed = typed.model_copy(update={"tracker": typed.tracker.model_copy(update={"mode": "online"})})
    assert [run(typed).status, run(typed).status] == ["completed", "completed"]
    assert capsys.readouterr().err.count("notice: tracker: W&B has no key here") == 1
    assert len(wandb_log.runs(tmp_path / "w")) == 2


def test_a_tracker_that_breaks_is_said_once_and_the_run_goes_on(
    tmp_path: Path, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_args: object, **_options: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("wandb.init", broken)
    record: Record = run(tracked(tmp_path, tiny))
    assert record.status == "completed"
    err = capsys.readouterr().err
    assert err.count("notice: tracker: OSError: no space left; records are complete without it") == 1


def test_the_record_is_kept_before_a_tracker_is_waited_for(
    tmp_path: Path, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bench.wandb_tracker.close_run", impatient)
    kept: list[Record] = []
    typed = tracked(tmp_path, tiny)
    with pytest.raises(KeyboardInterrupt):
        perform(typed, identify(typed, inputs.arrays(typed).hash), CODE, kept.append)
    assert [record.status for record in kept] == ["completed"]
