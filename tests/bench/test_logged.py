"""Names and numbers that W&B is told, from records written by hand."""

from typing import Any

from bench.logged import by_head, described, epoch_values, families, history, summary
from bench.records import Record

CURVES = {
    "epoch": [1, 2],
    "train_loss": [2.0, 1.5],
    "seconds": [6.0, 3.0],
    "validation_loss": [1.9, 1.4],
    "alpha": [[[1.5, 1.4]], [[1.6, 1.3]]],
}


def record(**changes: Any) -> Record:
    fields: dict[str, Any] = {
        "schema": 1,
        "dataset": "kmnist",
        "normalizer": "hae",
        "seed": 3,
        "fingerprint": "f" * 12,
        "setting": "s",
        "cell": "c",
        "status": "completed",
        "config": {"dataset": {"train_limit": 100}, "train": {"batch_size": 32}},
        "metrics": {"accuracy": 0.5, "alpha_mean": None},
        "attention": {"support": [[0.5, 0.25]], "alpha": [[1.6, 1.3]]},
        "curves": CURVES,
        "provenance": {"torch": "2"},
    }
    return Record(**fields | changes)


def test_a_run_is_described_by_its_record() -> None:
    said = described(record().model_dump(), ["protocol-1", "paper", "kmnist"])
    assert said["id"] == "f" * 12
    assert (said["name"], said["group"], said["job_type"]) == ("kmnist/hae/seed=3", "kmnist/hae c", "run")
    assert said["tags"] == ["kmnist", "hae", "protocol-1", "paper", "family-kmnist"]
    assert said["config"]["train"] == {"batch_size": 32}
    assert said["config"]["provenance"] == {"torch": "2"}


def test_families_are_those_of_the_analysis_of_the_experiment() -> None:
    assert families("cifar10", ["paper"]) == ["main"]
    assert families("cifar10", ["demo", "mine"]) == []


def test_the_history_of_a_record_has_the_names_of_panels() -> None:
    assert list(history(record())) == [
        (
            1,
            {
                "train/train_loss": 2.0,
                "train/seconds": 6.0,
                "validation/loss": 1.9,
                "alpha/block1/head1": 1.5,
                "alpha/block1/head2": 1.4,
                "train/step_seconds": 1.5,  # 100 rows in batches of 32 are 4 steps
            },
        ),
        (
            2,
            {
                "train/train_loss": 1.5,
                "train/seconds": 3.0,
                "validation/loss": 1.4,
                "alpha/block1/head1": 1.6,
                "alpha/block1/head2": 1.3,
                "train/step_seconds": 0.75,
            },
        ),
    ]


def test_where_the_number_of_steps_is_not_recorded_no_step_is_timed() -> None:
    whole = record(config={"dataset": {"train_limit": None}, "train": {"batch_size": 32}})
    for one in (whole, record(config={})):
        assert all("train/step_seconds" not in values for _, values in history(one))
    assert "train/step_seconds" not in epoch_values({"seconds": 1.0}, None)


def test_a_failed_run_has_no_history_and_says_why() -> None:
    failure = {"type": "ValueError", "message": "no", "traceback": "t"}
    failed = record(status="failed", error=failure, metrics={}, attention={}, curves={})
    assert list(history(failed)) == []
    assert summary(failed) == {"status": "failed", "notes": [], "error": "ValueError: no"}


def test_the_summary_names_learned_parameters_apart_from_what_is_measured() -> None:
    assert summary(record()) == {
        "accuracy": 0.5,
        "attention/support/block1/head1": 0.5,
        "attention/support/block1/head2": 0.25,
        "alpha/block1/head1": 1.6,
        "alpha/block1/head2": 1.3,
        "status": "completed",
        "notes": [],
    }


def test_blocks_and_heads_are_counted_from_one() -> None:
    assert by_head("a", [[1.0], [2.0]]) == {"a/block1/head1": 1.0, "a/block2/head1": 2.0}
