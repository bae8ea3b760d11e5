"""Sweeps without worker processes: what is made, skipped, made again and said."""

import errno
import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import bench.classification
import bench.sweep
from bench import records
from bench.plan import plan
from bench.records import Record, read
from bench.schema import ConfigError
from bench.sweep import sweep
from datasets import prepare
from tests.bench.helpers import archived, changed, contents, deny, raw, recorded, results
from tests.conftest import Tally

Sweep = Callable[..., tuple[int, str, str]]
Raw = dict[str, Any]


@pytest.fixture
def four(tiny: tuple[str, ...], tmp_path: Path) -> list[Raw]:
    """Two normalizers with two seeds, in this process."""
    words = (*tiny, "parallel=1", f"results_dir={tmp_path / 'r'}")
    return [raw(*words, f"seed={seed}", normalizer=name) for name in ("softmax", "hae") for seed in (0, 1)]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Sweep:
    """A sweep of configurations: exit code, standard output and error."""

    def call(raws: list[Raw]) -> tuple[int, str, str]:
        capsys.readouterr()
        code = sweep(raws)
        return (code, *capsys.readouterr())

    return call


def test_every_run_is_made_once_and_then_skipped(four: list[Raw], say: Sweep, tmp_path: Path) -> None:
    code, out, err = say(four)
    assert (code, err) == (0, "")
    assert out.startswith("4 to run with 1 worker, the longest first\n[1/4] digits/")
    assert out.count(" | now digits/") == 3
    assert f"4 of 4 runs are recorded in {tmp_path / 'r'} (" in out
    first = recorded(tmp_path / "r")
    assert sorted(first) == [("digits", name, seed) for name in ("hae", "softmax") for seed in (0, 1)]
    assert {record.status for record in first.values()} == {"completed"}
    code, out, err = say(four)
    assert (code, err) == (0, "")
    assert out.startswith("4 already done\n4 of 4 runs are recorded in ")
    assert recorded(tmp_path / "r") == first
    assert archived(tmp_path / "r") == []


def test_only_what_is_missing_is_made(four: list[Raw], say: Sweep, tmp_path: Path) -> None:
    say(four[:3])
    before = recorded(tmp_path / "r")
    code, out, _ = say(four)
    assert code == 0
    assert out.startswith("3 already done, skipped (force=true makes them again)\n1 to run with 1 worker")
    after = recorded(tmp_path / "r")
    assert {key: after[key] for key in before} == before
    assert after.keys() - before.keys() == {("digits", "hae", 1)}


def test_force_archives_the_old_record_and_makes_the_same_again(four: list[Raw], say: Sweep, tmp_path: Path) -> None:
    say(four[:2])
    old = recorded(tmp_path / "r")
    code, out, _ = say([changed(content, "force", True) for content in four[:2]])
    assert code == 0
    assert out.startswith("2 to run")
    new = recorded(tmp_path / "r")
    names = [f"seed={seed}-{record.fingerprint}.1.json" for (_, _, seed), record in sorted(old.items())]
    assert archived(tmp_path / "r") == names
    for key, record in old.items():
        assert results(new[key]) == results(record)
        assert new[key].metrics["wall_seconds"] != record.metrics["wall_seconds"]
        place = tmp_path / "r" / records.ARCHIVE / "digits" / "softmax"
        assert read(place / f"seed={key[2]}-{record.fingerprint}.1.json") == record


def failing(four: list[Raw], *rates: float) -> list[Raw]:
    """The four runs, some of them with a learning rate that ends in no number."""
    long = [changed(content, "train.epochs", 2) for content in four]
    bad = [changed(changed(long[0], "seed", 5 + n), "train.learning_rate", rate) for n, rate in enumerate(rates)]
    return [long[0], *bad, *long[1:]]


@pytest.mark.fault("a run whose loss is no number")
def test_failures_leave_the_others_and_are_listed_at_the_end(
    four: list[Raw], say: Sweep, tmp_path: Path, fault: Tally
) -> None:
    raws = failing(four, 1e30, 1e29)
    fault.inject(2)
    code, out, err = say(raws)
    assert code == 1
    assert "4 of 6 runs are recorded" in out
    assert "] digits/softmax/seed=5  FAILED NonFiniteLossError: epoch " in out
    lines = err.splitlines()
    assert lines[1] == "2 failed:"
    assert [line.split(":")[0] for line in lines[2:6:2]] == ["  digits/softmax/seed=5", "  digits/softmax/seed=6"]
    found = recorded(tmp_path / "r")
    named = [Path(line.strip()) for line in lines[3:6:2]]
    assert [records.read(path).seed for path in named] == [5, 6]
    assert lines[6:] == ["The records named hold the tracebacks.", "The same command makes only what is missing."]
    assert sorted(key[2] for key, record in found.items() if record.status == "failed") == [5, 6]
    for seed in (5, 6):
        error = found["digits", "softmax", seed].error
        assert error is not None
        assert 'File "bench/train.py"' in error["traceback"]
    fault.said(err, "digits/softmax/seed=5: NonFiniteLossError")
    good = {path: text for path, text in contents(tmp_path / "r").items() if path not in named}
    # Again: the good ones are done, the failed ones are tried once more and their old records kept.
    code, out, _ = say(raws)
    assert code == 1
    assert out.startswith("4 already done, skipped (force=true makes them again)\n2 to run")
    assert len(archived(tmp_path / "r")) == 2
    fault.kept(good, contents(tmp_path / "r"))


def test_two_failures_of_one_label_are_both_listed(four: list[Raw], say: Sweep) -> None:
    long = changed(four[0], "train.epochs", 2)
    _, _, err = say([changed(long, "train.learning_rate", rate) for rate in (1e30, 1e29)])
    assert "2 failed:" in err


def test_stopping_at_the_first_failure_leaves_the_rest_for_later(four: list[Raw], say: Sweep, tmp_path: Path) -> None:
    later = [changed(content, "seed", content["seed"] + 10) for content in four]
    raws = [changed(content, "on_error", "stop") for content in failing(later, 1e30)]
    code, out, err = say(raws)
    assert code == 1
    assert "stopped at the first failure (on_error=stop)\n0 of 5 runs are recorded" in out
    assert "1 failed:\n  digits/softmax/seed=5: NonFiniteLossError" in err
    assert [key[2] for key in recorded(tmp_path / "r")] == [5]


def test_a_run_asked_for_twice_is_made_once_and_said_so(four: list[Raw], say: Sweep, tmp_path: Path) -> None:
    code, out, err = say([four[0], four[1], four[0], four[1], four[0]])
    assert code == 0
    assert err == "notice: asked for more than once, run once: digits/softmax/seed=0, digits/softmax/seed=1\n"
    assert "2 of 2 runs are recorded" in out
    assert len(recorded(tmp_path / "r")) == 2


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda _: b"", lambda b: b"\xff" + b])
@pytest.mark.fault("a record cut or damaged on the disk")
def test_a_broken_record_is_named_set_aside_and_made_again(
    four: list[Raw], say: Sweep, tmp_path: Path, damage: Callable[[bytes], bytes], fault: Tally
) -> None:
    say(four[:2])
    before = recorded(tmp_path / "r")
    path = next(path for path in records.files(tmp_path / "r") if path.name.startswith("seed=1-"))
    half = damage(path.read_bytes())
    path.write_bytes(half)
    fault.inject()
    code, out, err = say(four[:2])
    assert code == 0
    assert err.startswith(f"notice: {path}: not ")
    assert out.startswith("1 already done, skipped")
    place = tmp_path / "r" / records.ARCHIVE / "digits" / "softmax" / f"{path.stem}.1.json"
    assert "; the run is made again, and this set aside in .archive\n" in err
    assert place.read_bytes() == half
    fault.said(err, "set aside in .archive")
    after = recorded(tmp_path / "r")
    fault.same({key: results(r) for key, r in before.items()}, {key: results(r) for key, r in after.items()})


def test_an_interrupted_run_alone_is_made_again(
    four: list[Raw], say: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []
    predict = bench.classification.predict

    def interrupt_the_third(*arguments: Any) -> Any:
        measured.append("")
        if len(measured) == 3:
            raise KeyboardInterrupt
        return predict(*arguments)

    monkeypatch.setattr(bench.classification, "predict", interrupt_the_third)
    code, out, err = say(four)
    assert code == 130
    assert "2 of 4 runs are recorded" in out
    assert err == "interrupted; the same command goes on where this one stopped\n"
    assert sorted(record.status for record in recorded(tmp_path / "r").values()) == ["completed"] * 2 + ["interrupted"]
    code, out, err = say(four)
    assert (code, err) == (0, "")
    assert out.startswith("2 already done, skipped")
    assert len(recorded(tmp_path / "r")) == 4
    assert len(archived(tmp_path / "r")) == 1


@pytest.mark.fault("a truncated data file under its right name, in a sweep with others")
def test_a_data_set_that_cannot_be_had_is_listed_and_the_others_go_on(
    four: list[Raw], say: Sweep, tmp_path: Path, fault: Tally
) -> None:
    folder = tmp_path / "data" / "KMNIST" / "raw"
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(bytes(100))
    words = (f"results_dir={tmp_path / 'r'}", f"data.root={tmp_path / 'data'}", "parallel=1")
    code, out, err = say([raw(*words, dataset="kmnist"), *four[:2]])
    assert code == 1
    assert "2 of 3 runs are recorded" in out
    reason = "train-images-idx3-ubyte is not the official file: its content has 100 bytes, expected 47040016."
    assert f"1 failed:\n  kmnist/softmax/seed=0: {folder / reason}" in err
    fault.inject()
    fault.said(err, "kmnist/softmax/seed=0", reason)
    assert len(recorded(tmp_path / "r")) == 2


@pytest.mark.parametrize("name", ["train_x.npy", "train_y.npy", "test_x.npy", "test_y.npy", "manifest.json"])
@pytest.mark.fault("a bit of prepared data flipped before a sweep")
def test_one_flipped_bit_of_prepared_data_takes_its_runs_and_is_named(
    four: list[Raw], say: Sweep, tmp_path: Path, name: str, fault: Tally
) -> None:
    path = prepare("digits", tmp_path / "data").folder / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    fault.inject()
    code, out, err = say([changed(four[0], "data.root", str(tmp_path / "data")), four[1]])
    assert code == 1
    fault.said(err, f"{path} is damaged: ")
    assert "1 of 2 runs are recorded" in out
    assert f"1 failed:\n  digits/softmax/seed=0: {path} is damaged: " in err
    assert [key[2] for key in recorded(tmp_path / "r")] == [1]


@pytest.mark.fault("a results folder that cannot be written")
def test_a_folder_that_cannot_be_written_is_a_listed_failure(
    four: list[Raw], say: Sweep, tmp_path: Path, fault: Tally
) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "digits").write_text("a file where the folder should be", encoding="utf-8")
    code, out, err = say(four[:1])
    assert code == 1
    assert "0 of 1 runs are recorded" in out
    fault.inject()
    fault.said(err, f"digits/softmax/seed=0: {tmp_path / 'r'} cannot be written (Not a directory)")
    assert "tracebacks" not in err


@pytest.mark.fault("a disk that is full when records are written")
def test_a_disk_that_is_full_for_a_while_costs_only_the_runs_that_end_then(
    four: list[Raw], say: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Tally
) -> None:
    fsync, calls = os.fsync, count(1)

    def full_in_between(descriptor: int) -> None:
        if next(calls) in (2, 3):
            fault.inject()
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_in_between)
        code, out, err = say(four)
    assert code == 1
    assert "2 of 4 runs are recorded" in out
    reason = f" and 1 more runs: {tmp_path / 'r'} cannot be written (No space left on device)\n"
    assert "2 failed:\n  digits/" in err
    assert reason in err
    fault.said(err, reason.strip())
    assert "tracebacks" not in err
    assert len(recorded(tmp_path / "r")) == 2
    assert not list(tmp_path.rglob("*.part"))
    before = contents(tmp_path / "r")
    code, out, _ = say(four)
    assert code == 0
    assert out.startswith("2 already done, skipped (force=true makes them again)\n2 to run")
    fault.kept(before, contents(tmp_path / "r"))
    whole = [changed(content, "results_dir", str(tmp_path / "whole")) for content in four]
    say(whole)
    fault.same(*({key: results(r) for key, r in recorded(tmp_path / name).items()} for name in ("whole", "r")))


@pytest.mark.fault("a results folder on a read-only file system")
def test_a_folder_that_cannot_be_written_is_refused_before_anything_trains_and_only_if_it_must_be(
    four: list[Raw], say: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Tally
) -> None:
    say(four[:1])
    before = contents(tmp_path / "r")

    def deny(**_options: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(bench.sweep.tempfile, "TemporaryFile", deny)
    with pytest.raises(ConfigError, match=r"results_dir=.*/r cannot be written \(Read-only file system\)") as caught:
        say(four[:2])
    fault.inject()
    fault.said(str(caught.value), "Read-only file system")
    code, out, _ = say(four[:1])
    assert (code, out[:14]) == (0, "1 already done")
    fault.kept(before, contents(tmp_path / "r"))


@pytest.mark.fault("a folder in the place of a record")
def test_a_folder_in_the_place_of_a_record_is_named_and_set_aside(
    four: list[Raw], say: Sweep, tmp_path: Path, fault: Tally
) -> None:
    path = plan(four[:1]).jobs[0].path
    path.mkdir(parents=True)
    code, _, err = say(four[:1])
    assert (code, err[: len(f"notice: {path}")]) == (0, f"notice: {path}")
    fault.inject()
    fault.said(err, f"notice: {path}", "cannot be read (Is a directory)")
    assert len(recorded(tmp_path / "r")) == len(list((tmp_path / "r" / records.ARCHIVE).rglob("*.json"))) == 1


@pytest.mark.fault("a clock set back by an hour at every look")
def test_a_clock_set_back_changes_nothing(
    four: list[Raw], say: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Tally
) -> None:
    say([changed(content, "results_dir", str(tmp_path / "whole")) for content in four])
    say(four[:2])
    before = contents(tmp_path / "r")
    for path in tmp_path.rglob("*"):
        os.utime(path, (2**32, 2**32))  # a hundred years ahead
    falling = count(2**31, -3600)
    monkeypatch.setattr(time, "time", lambda: next(falling))
    fault.inject()
    code, out, err = say(four)
    assert (code, err) == (0, "")
    assert out.startswith("2 already done, skipped (force=true makes them again)\n2 to run")
    made = recorded(tmp_path / "r")
    assert len(made) == 4
    assert all(0 < (record.metrics["wall_seconds"] or 0) < 100 for record in made.values())
    fault.kept(before, contents(tmp_path / "r"))
    fault.same(*({key: results(r) for key, r in recorded(tmp_path / name).items()} for name in ("whole", "r")))
    fault.unsaid()


def test_a_record_with_the_name_of_another_run_is_no_other_runs_record(
    four: list[Raw], say: Sweep, tmp_path: Path
) -> None:
    say(four[:1])
    say([changed(four[0], "train.batch_size", 30)])
    found = [record for _, record in records.scan([tmp_path / "r"])[0]]
    assert len(found) == 2
    assert len({record.fingerprint for record in found}) == 2
    assert all(isinstance(record, Record) and record.key == ("digits", "softmax", 0) for record in found)


def test_a_record_that_cannot_be_read_fails_by_name_and_stays(
    four: list[Raw], say: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(four[:2])
    before = recorded(tmp_path / "r")
    [first, _] = sorted(records.files(tmp_path / "r"))
    with monkeypatch.context() as patch:
        deny(patch, first)
        code, out, err = say(four[:2])
    assert code == 1
    assert "1 already done" in out
    assert "it may be whole, so that the run is not made again" in err
    assert recorded(tmp_path / "r") == before
    assert archived(tmp_path / "r") == []


def test_a_full_disk_under_the_log_costs_its_lines_alone(
    four: list[Raw], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: Any) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bench.sweep.Progress, "line", full)
    assert sweep(four[:2]) == 0
    assert len(recorded(tmp_path / "r")) == 2


@pytest.mark.slow
def test_a_sweep_of_five_thousand_runs_begins_in_seconds(
    tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = [raw(*tiny, f"results_dir={tmp_path / 'r'}", normalizer=name) for name in ("softmax", "hae")]
    raws = [kind | {"seed": seed} for kind in kinds for seed in range(2500)]
    planned = plan(raws)
    monkeypatch.setattr(bench.sweep, "plan", lambda *_arguments, **_options: planned)
    started: list[int] = []

    def start(todo: list[Any], *_arguments: Any) -> tuple[int, Any]:
        started.append(len(todo))
        return 1, (item for item in [])  # nothing is made

    monkeypatch.setattr(bench.sweep, "_start", start)
    begin = time.process_time()
    assert sweep(raws) == 0
    assert started == [5000]
    assert time.process_time() - begin < 5
