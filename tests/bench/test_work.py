"""One run and what can go wrong around it."""

import errno
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bench.run
import bench.work
from bench import interrupts, records
from bench.plan import Job, plan
from bench.records import LOCKS
from bench.work import carry_out, finished, write_lost
from tests.bench.helpers import changed, raw, recorded
from tests.conftest import Tally

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def job(tiny: tuple[str, ...], tmp_path: Path) -> Job:
    return plan([raw(*tiny, f"results_dir={tmp_path / 'r'}")]).jobs[0]


def refuse(*_arguments: Any, **_options: Any) -> None:
    raise FULL


@pytest.mark.parametrize("make", [lambda job: carry_out(job, wait=False), lambda job: write_lost(job, "it died")])
@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.mkdir", "pathlib.Path.replace"])
@pytest.mark.fault("a disk that is full when records are written")
def test_a_full_disk_fails_the_run_and_leaves_no_part_of_a_record(
    job: Job, monkeypatch: pytest.MonkeyPatch, make: Any, call: str, fault: Tally
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(call, refuse)
        outcome = make(job)
    fault.inject()
    fault.said(outcome.error, "cannot be written (No space left on device)")
    assert (outcome.status, outcome.left) == ("failed", False)
    assert outcome.error == f"{job.results_dir} cannot be written (No space left on device)"
    assert [path for path in job.results_dir.rglob("*") if path.is_file() and LOCKS not in path.parts] == []


def test_a_run_that_another_sweep_finished_is_not_recorded_as_lost(job: Job) -> None:
    assert carry_out(job, wait=False).status == "completed"
    before = job.path.read_bytes()
    assert write_lost(job, "it died").status == "present"
    assert job.path.read_bytes() == before
    assert not (job.results_dir / records.ARCHIVE).exists()


def test_a_forced_run_that_is_lost_leaves_the_finished_record(job: Job) -> None:
    assert carry_out(job, wait=False).status == "completed"
    before = job.path.read_bytes()
    outcome = write_lost(replace(job, force=True), "it died")
    assert (outcome.status, outcome.error) == ("failed", "it died; the finished record that is there stays")
    assert job.path.read_bytes() == before
    assert not (job.results_dir / records.ARCHIVE).exists()


def test_an_interrupt_while_a_record_is_written_waits_for_it(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def interrupted(descriptor: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        fsync(descriptor)

    before = signal.getsignal(signal.SIGINT)
    interrupts.listen(signal.SIGINT)
    monkeypatch.setattr(os, "fsync", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            carry_out(job, wait=False)
    finally:
        signal.signal(signal.SIGINT, before)
        interrupts.listen()
    assert records.read(job.path).status == "completed"


def test_a_run_that_another_sweep_is_making_is_not_recorded_as_lost(job: Job) -> None:
    with records.lock(job.results_dir, job.identity.fingerprint, wait=False):
        assert write_lost(job, "it died").status == "busy"
        assert carry_out(job, wait=False).status == "busy"
    assert not job.path.exists()


def test_a_good_record_is_never_set_aside_for_a_broken_one_that_was_there_before(job: Job) -> None:
    # Two sweeps saw the broken record; the first has made the run again when the second comes to it.
    job.path.parent.mkdir(parents=True)
    job.path.write_text("{", encoding="utf-8")
    assert carry_out(job, wait=False).status == "completed"
    assert carry_out(job, wait=False).status == "present"
    assert len(list((job.results_dir / records.ARCHIVE).rglob("*.json"))) == 1


def test_the_record_of_another_run_does_not_count(job: Job, tiny: tuple[str, ...]) -> None:
    carry_out(job, wait=False)
    other = plan([changed(raw(*tiny, f"results_dir={job.results_dir}"), "seed", 1)]).jobs[0]
    other.path.write_bytes(job.path.read_bytes())
    with pytest.raises(records.RecordError, match=r"is the record of another run, \('digits', 'softmax', 0\) with"):
        finished(other)
    assert carry_out(other, wait=False).status == "completed"
    assert sorted(recorded(job.results_dir)) == [("digits", "softmax", 0), ("digits", "softmax", 1)]


@pytest.mark.fault("a record that may not be read (permission denied)")
def test_a_place_that_may_not_be_looked_at_is_named(job: Job, monkeypatch: pytest.MonkeyPatch, fault: Tally) -> None:
    def deny(_path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", deny)
        with pytest.raises(records.RecordError, match=rf"{job.path}: cannot be read \(Permission denied\)") as caught:
            finished(job)
    fault.inject()
    fault.said(str(caught.value), "Permission denied")


def test_a_record_that_cannot_be_made_fails_by_name(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_record(*_arguments: Any) -> None:
        raise ValueError("metrics.x is no number")

    monkeypatch.setattr(bench.work, "perform", no_record)
    outcome = carry_out(job, wait=False)
    assert (outcome.status, outcome.error) == ("failed", "ValueError: metrics.x is no number")


@pytest.mark.parametrize(("raised", "status"), [(KeyboardInterrupt(), "interrupted"), (ValueError("no"), "failed")])
@pytest.mark.fault("a finished run that is forced, and then interrupted or fails")
def test_a_forced_run_that_comes_to_nothing_leaves_the_finished_record(
    job: Job, monkeypatch: pytest.MonkeyPatch, raised: BaseException, status: str, fault: Tally
) -> None:
    assert carry_out(job, wait=False).status == "completed"
    before = job.path.read_bytes()

    def refused(*_arguments: Any) -> None:
        raise raised

    monkeypatch.setattr(bench.run, "make_model", refused)
    fault.inject()
    outcome = carry_out(replace(job, force=True), wait=False)
    assert (outcome.status, outcome.left) == (status, False)
    fault.said(outcome.error, "the finished record that is there stays")
    fault.same({job.path: before}, {path: path.read_bytes() for path in records.files(job.results_dir)})
    [apart] = (job.results_dir / records.ARCHIVE).rglob("*.json")
    assert f'"status":"{status}"' in apart.read_text(encoding="utf-8")


def test_a_record_that_cannot_be_read_is_left_alone(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    assert carry_out(job, wait=False).status == "completed"
    before = job.path.read_bytes()

    def denied(path: Path) -> None:
        raise records.UnreadableError(path, "cannot be read (Input/output error)")

    with monkeypatch.context() as patch:
        patch.setattr(records, "read", denied)
        outcome = carry_out(job, wait=False)
    assert (outcome.status, outcome.left) == ("failed", False)
    assert "Input/output error" in outcome.error
    assert job.path.read_bytes() == before
    assert not (job.results_dir / records.ARCHIVE).exists()
