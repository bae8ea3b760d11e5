"""The frames of attention pooling: taken from the run that a record is made of, and written whole."""

from pathlib import Path

import numpy as np
import pytest

from bench.frames import NAME, frame_steps, frames
from bench.records import Record
from bench.schema import ConfigError
from tests.bench.helpers import CONF, config, run

SIZES = ("dataset.train_limit=60", "dataset.test_limit=30", "device=cpu")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    return (*SIZES, f"data.root={tmp_path_factory.mktemp('data')}")


@pytest.fixture(scope="module")
def record(words: tuple[str, ...]) -> Record:
    steps = ("train.epochs=2", "train.passes=6")
    groups = {"model": "attention_pooling", "train": "pooling"}
    return run(config(*words, *steps, dataset="informative_tokens", normalizer="bounded_entmax", **groups))


@pytest.mark.parametrize("last", [1, 12, 140, 4000])
def test_frames_begin_and_end_with_the_run_and_are_denser_at_the_start(last: int) -> None:
    steps = frame_steps(last)
    assert (steps[0], steps[-1]) == (0, last)
    gaps = np.diff(steps)
    assert (gaps >= 1).all()
    assert len(steps) == min(140, last + 1)
    assert gaps[: len(gaps) // 2].sum() <= gaps[len(gaps) // 2 :].sum()


def test_the_last_frame_is_what_the_record_of_the_run_holds(
    words: tuple[str, ...], record: Record, tmp_path: Path
) -> None:
    assert frames([str(tmp_path / "new"), *words, "train.epochs=12"], CONF) == 0
    with np.load(tmp_path / "new" / NAME, allow_pickle=False) as content:
        assert content["q"].shape == (13,)
        assert content["q"][0] == pytest.approx(1.5572, abs=1e-4)
        # Adam's first step is the learning rate, whatever the gradient: r = -1 ± 0.005.
        assert abs(content["q"][1] - content["q"][0]) == pytest.approx(0.00167, abs=1e-5)
        assert content["q"][[6, 12]] == pytest.approx(np.ravel(record.curves["alpha"]), abs=1e-6)
        assert content["steps"].tolist() == list(range(13))
        assert content["weights"][-1] == pytest.approx(np.array(record.attention["map"]["weights"]), abs=1e-6)
        places = [np.flatnonzero(row).tolist() for row in content["marks"]]
        assert places == record.attention["map"]["marks"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == [NAME]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("train.passes=2", "leave train.passes=1"),
        ("train.batch_size=10", "train.batch_size=null"),
        ("normalizer=sparsemax", "normalizer=sparsemax learns no q; choose bounded_entmax"),
        ("dataset=digits", "dataset.source=digits marks no informative tokens"),
        ("elsewhere", "frames go into one folder"),
    ],
)
def test_what_makes_no_frames_is_refused_before_anything_trains(
    words: tuple[str, ...], word: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        frames([str(tmp_path), *words, word], CONF)
    assert list(tmp_path.iterdir()) == []
