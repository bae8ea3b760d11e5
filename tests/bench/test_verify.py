"""Repeating a recorded run."""

from pathlib import Path
from typing import Any

import pytest

from bench import tolerance
from bench.records import Record, read, write
from bench.schema import ConfigError
from bench.verify import differences, verify
from normalizers import native
from tests.bench.helpers import CONF, config, run


@pytest.fixture
def record(tmp_path: Path, tiny: tuple[str, ...]) -> Path:
    path = tmp_path / "seed=3-x.json"
    write(path, run(config(*tiny, "seed=3", "dataset.validation=20", normalizer="hae")), tmp_path)
    return path


def alter(path: Path, **changes: object) -> Record:
    altered = read(path).model_copy(update=changes)
    write(path, altered, path.parent)
    return altered


def test_a_record_is_repeated_to_the_bit(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = record.read_bytes()
    assert verify([str(record), "device=cpu"], CONF) == 0
    assert f"identical {record}" in capsys.readouterr().out
    assert record.read_bytes() == before


def test_a_record_from_before_some_key_was_there_is_repeated(record: Path) -> None:
    config = {group: dict(part) if isinstance(part, dict) else part for group, part in read(record).config.items()}
    del config["model"]["kind"], config["train"]["passes"]
    alter(record, config=config)
    assert verify([str(record), "device=cpu"], CONF) == 0


def test_one_changed_bit_is_found_and_named(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = read(record).metrics
    alter(record, metrics=metrics | {"test_loss": metrics["test_loss"] * (1 + 2**-52), "train_seconds": 0.0})
    assert verify([str(record), "device=cpu"], CONF) == 1
    out = capsys.readouterr().out
    assert "metrics.test_loss: recorded" in out
    assert "train_seconds" not in out
    assert "0 of 1 records are repeated" in out


OTHER = {"cpu": "another one"}


def test_another_kind_of_machine_must_come_close(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = read(record)
    loss = old.metrics["test_loss"] or 0.0
    alter(record, metrics=old.metrics | {"test_loss": loss * 1.05}, provenance=old.provenance | OTHER)
    assert verify([str(record), "device=cpu"], CONF) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"close     {record}\n  (code_version: recorded with test, now ")
    assert "\n  (cpu: recorded with another one, now " in out
    assert (
        "0 of 1 records are repeated to the bit\n1 of another kind of machine are repeated within the toleranc" in out
    )


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("metrics", "accuracy", lambda a: a + 0.031),
        ("metrics", "test_loss", lambda loss: 1.2 * loss),
        ("metrics", "alpha_mean", lambda _: None),
        ("metrics", "macro_f1", lambda score: score + 0.031),
        ("curves", "train_loss", lambda losses: [losses[0] * 1.002, *losses[1:]]),
    ],
)
def test_what_is_too_far_away_on_another_kind_of_machine_differs(
    record: Path, capsys: pytest.CaptureFixture[str], part: str, name: str, value: Any
) -> None:
    old = read(record)
    content = getattr(old, part)
    alter(record, **{part: content | {name: value(content[name])}, "provenance": old.provenance | OTHER})
    assert verify([str(record), "device=cpu"], CONF) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"differs   {record}\n  {part}.{name}")
    assert "(cpu: recorded with another one, now" in out


def test_another_seed_is_outside_of_the_tolerance(tiny: tuple[str, ...]) -> None:
    one, two = (run(config(*tiny, f"seed={seed}", normalizer="hae")) for seed in (0, 1))
    assert tolerance.exceeded(one, one) == []
    assert any(line.startswith("curves.train_loss.0: recorded") for line in tolerance.exceeded(one, two))


@pytest.mark.skipif(native.variant() == "torch", reason="without a compiler there are no kernels to switch off")
def test_a_run_without_kernels_is_within_the_tolerance(tiny: tuple[str, ...]) -> None:
    typed = config(*tiny, "train.epochs=3", normalizer="hae")
    with_kernels = run(typed)
    with native.switched_off():
        without = run(typed)
    assert differences(with_kernels, without) != []
    assert tolerance.exceeded(with_kernels, without) == []


def test_another_data_hash_is_another_run(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alter(record, fingerprint="0" * 12)
    assert verify([str(record), "device=cpu"], CONF) == 1
    assert "fingerprint: recorded 000000000000 on data" in capsys.readouterr().out


def test_differences_see_what_is_missing_on_either_side(record: Path) -> None:
    old = read(record)
    short = old.model_copy(update={"curves": {}})
    assert differences(old, old) == []
    assert "curves.train_loss.0: recorded" in "\n".join(differences(old, short))
    assert "recorded nothing" in "\n".join(differences(short, old))


def test_what_is_no_finished_run_is_refused(record: Path, tmp_path: Path) -> None:
    alter(record, status="interrupted")
    with pytest.raises(ConfigError, match="this run is interrupted"):
        verify([str(record)], CONF)
    with pytest.raises(ConfigError, match="cannot be read"):
        verify([str(tmp_path / "nothing.json")], CONF)
    with pytest.raises(ConfigError, match="at least one record"):
        verify([], CONF)


def test_a_folder_stands_for_the_records_below_it(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify([str(record.parent), "device=cpu"], CONF) == 0
    assert "1 of 1 records are repeated to the bit" in capsys.readouterr().out


def test_what_is_no_finished_run_in_a_folder_is_left_out_and_said(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = record.with_name("seed=4-x.json")
    write(other, read(record).model_copy(update={"status": "interrupted"}), record.parent)
    assert verify([str(record.parent)], CONF) == 0
    out, err = capsys.readouterr()
    assert "1 of 1 records are repeated to the bit" in out
    assert err == f"notice: left out: {other}: this run is interrupted, there is no result to verify\n"


def test_an_option_of_the_run_itself_is_refused(record: Path) -> None:
    with pytest.raises(ConfigError, match=r"train.epochs=3: a record is verified as it was made; .* data.root, device"):
        verify([str(record), "train.epochs=3"], CONF)


def test_an_interrupt_ends_it_and_is_no_difference(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_arguments: Any) -> Record:
        return read(record).model_copy(update={"status": "interrupted", "metrics": {}})

    monkeypatch.setattr("bench.verify.perform", interrupted)
    with pytest.raises(KeyboardInterrupt):
        verify([str(record)], CONF)


def test_the_device_is_that_of_the_record(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def look(config: Any, *_arguments: Any) -> Record:
        asked.append(config.device)
        return read(record)

    monkeypatch.setattr("bench.verify.perform", look)
    verify([str(record)], CONF)
    alter(record, provenance=read(record).provenance | {"device": "a GPU"})
    verify([str(record)], CONF)
    assert asked == ["cpu", "auto"]


def test_a_record_sets_nothing_but_its_run(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = {"tracker": {"kind": "wandb", "mode": "online"}, "data": {"root": str(tmp_path / "theirs")}}
    alter(record, config=read(record).config | odd)
    assert verify([str(record), "device=cpu"], CONF) == 0
    assert "1 of 1 records are repeated" in capsys.readouterr().out
    assert not (tmp_path / "theirs").exists()


def test_one_record_that_cannot_be_repeated_does_not_end_the_others(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    old = read(record)
    write(other, old.model_copy(update={"config": old.config | {"model": {"depth": 3}}}), tmp_path)
    assert verify([str(other), str(record), "device=cpu"], CONF) == 1
    out = capsys.readouterr().out
    assert f"refused   {other}" in out
    assert f"identical {record}" in out
    with pytest.raises(ConfigError, match="depth"):
        verify([str(other)], CONF)


def test_another_number_of_threads_is_named(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = read(record)
    loss = old.metrics["test_loss"] or 0.0
    alter(record, metrics=old.metrics | {"test_loss": loss * 1.05}, provenance=old.provenance | {"threads": 2})
    assert verify([str(record), "device=cpu", "threads=1"], CONF) == 0
    assert "(threads: recorded with 2, now 1)" in capsys.readouterr().out
