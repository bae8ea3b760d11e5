"""Batches on a cluster that exists in this process only: what is told, lost, tried again and stopped."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import bench.launchers.batch
from bench import planfile, records
from bench.launchers.batch import Batch
from bench.launchers.cluster import End
from bench.launchers.dispatch import JOBS, _Submission, in_batches
from bench.launchers.settings import LocalSettings, Settings
from bench.plan import Job, plan
from bench.schema import ConfigError
from bench.state import look
from bench.sweep import sweep
from bench.work import Outcome
from tests.bench.helpers import archived, by_epochs, changed, raw

DONE = Outcome("completed", 0.5, 1.0, left=True)
DIED = End("died", "the node burnt down")
Raw = dict[str, Any]


@pytest.fixture
def raws(tiny: tuple[str, ...], tmp_path: Path) -> list[Raw]:
    """Five runs that differ in their epochs, the longest first, as a plan orders them."""
    one = raw(*tiny, f"results_dir={tmp_path / 'r'}")
    return [changed(one, "train.epochs", epochs) for epochs in (5, 4, 3, 2, 1)]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The epochs of the runs that were made, which here are not: each is done at once."""
    seen: list[int] = []

    def carry_out(job: Job, **_options: bool) -> Outcome:
        seen.append(job.raw["train"]["epochs"])
        return DONE

    monkeypatch.setattr(bench.launchers.batch, "carry_out", carry_out)
    return seen


class Fake:
    """Carries each batch out when it is asked whether it ended; `deaths` names the runs at which a job ends.

    `how` says in which way these end. The jobs in `never` do not begin. After batches as many as it `accepts` it
    refuses more.
    """

    environment: Mapping[str, str | None] = MappingProxyType({})
    at_once = 2
    here = False

    def __init__(
        self,
        *,
        size: int = 1,
        retries: int = 0,
        max_in_flight: int | None = None,
        deaths: Sequence[int] = (),
        accepts: int = 1000,
        never: Sequence[int] = (),
        how: End = DIED,
        bounds_first: bool = False,
    ) -> None:
        self.never = never
        self.how = how
        self.bounds_first = bounds_first
        self.accepts = accepts
        self.settings = Settings(runs_per_job=size, retries=retries, folder=None)
        self.max_in_flight = max_in_flight
        self.deaths = list(deaths)
        self.batches: list[Batch] = []
        self.submitted: list[list[int]] = []
        self.stopped: list[Any] | None = None
        self.most_in_flight = self.in_flight = 0
        self.in_flight_when_submitted: list[int] = []

    def connect(self) -> None:
        pass

    def submit(self, batches: Sequence[Batch], folder: Path) -> list[int]:
        if len(self.submitted) >= self.accepts:
            raise ConfigError("the jobs were not accepted: too many")
        assert all(batch.told.parent == folder.absolute() for batch in batches)
        self.in_flight_when_submitted.append(self.in_flight)
        self.in_flight += len(batches)
        self.submitted += [[job.raw["train"]["epochs"] for job in batch.jobs] for batch in batches]
        self.batches += batches
        return list(range(len(self.batches) - len(batches), len(self.batches)))

    def ended(self, handles: Sequence[int]) -> list[int]:
        self.most_in_flight = max(self.most_in_flight, len(handles))
        self.in_flight -= 1
        batch = self.batches[handles[0]]
        if handles[0] in self.never:
            return [handles[0]]
        told = [{"start": "started"}]
        for number, job in enumerate(batch.jobs):
            if number in batch.outcomes():
                continue
            told.append({"begun": number})
            if (epochs := job.raw["train"]["epochs"]) in self.deaths:
                self.deaths.remove(epochs)
                break
            told.append({"number": number, **asdict(bench.launchers.batch.carry_out(job, wait=False))})
        with batch.told.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in told)
        return [handles[0]]

    def end(self, handle: int) -> End:
        return self.how

    def stop(self, handles: Sequence[Any]) -> bool:
        self.stopped = list(handles)
        return True


def ends(outcomes: Iterator[tuple[Job, Outcome, list[str]]]) -> list[tuple[int, str]]:
    return [(job.raw["train"]["epochs"], outcome.status) for job, outcome, _ in outcomes]


@pytest.mark.usefixtures("made")
def test_runs_go_out_in_batches_and_come_back_one_by_one(raws: list[Raw], tmp_path: Path) -> None:
    fake = Fake(size=2)
    assert ends(in_batches(plan(raws).jobs, fake)) == [(epochs, "completed") for epochs in (5, 4, 3, 2, 1)]
    assert fake.submitted == [[5, 4], [3, 2], [1]]
    assert fake.stopped == []
    assert not (tmp_path / "r" / JOBS).exists()


@pytest.mark.usefixtures("made")
def test_no_more_batches_are_handed_over_than_may_be(raws: list[Raw]) -> None:
    fake = Fake(max_in_flight=2)
    assert len(ends(in_batches(plan(raws).jobs, fake))) == 5
    assert fake.most_in_flight == 2


@pytest.mark.usefixtures("made")
def test_a_run_that_is_tried_again_waits_until_the_array_leaves_room_for_it(raws: list[Raw]) -> None:
    fake = Fake(max_in_flight=2, bounds_first=True, retries=1, deaths=[5])
    assert len(ends(in_batches(plan(raws).jobs, fake))) == 5
    assert fake.submitted == [[5], [4], [3], [2], [1], [5]]
    assert fake.in_flight_when_submitted == [0, 1]


def test_a_job_that_ends_before_its_first_run_is_submitted_again_as_it_was_and_no_run_is_to_blame(
    raws: list[Raw], made: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = Fake(size=3, retries=1, never=[0])
    assert sweep(raws, fake) == 0
    assert fake.submitted == [[5, 4, 3], [2, 1], [5, 4, 3]]
    assert (sorted(made), archived(tmp_path / "r")) == ([1, 2, 3, 4, 5], [])
    said = "notice: digits/softmax/seed=0: no run of its job began: the node burnt down; tried again (1 of 1)\n"
    assert capsys.readouterr().err == said
    assert sweep([changed(one, "seed", 1) for one in raws], Fake(size=3, retries=1, never=[0, 2])) == 1
    out, err = capsys.readouterr()
    assert out.count("FAILED no run of its job began: the node burnt down") == 3
    assert "3 failed:\n" in err
    assert by_epochs(tmp_path / "r") == {}


def test_what_a_person_cancelled_is_not_submitted_again(
    raws: list[Raw], made: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = Fake(size=3, retries=2, deaths=[4], never=[1], how=End("cancelled", "cancelled by somebody", "log: x"))
    assert sweep(raws, fake) == 1
    assert fake.submitted == [[5, 4, 3], [2, 1]]
    assert made == [5]
    out, err = capsys.readouterr()
    assert out.count("FAILED RuntimeError: cancelled by somebody; log: x") == 1
    assert out.count("FAILED cancelled by somebody; log: x") == 3
    assert "4 failed:\n" in err
    assert by_epochs(tmp_path / "r") == {4: "failed"}
    (found,), _ = records.scan([tmp_path / "r"])
    assert found[1].error is not None
    assert found[1].error["message"] == "cancelled by somebody"  # where the log is belongs to the screen alone


def test_a_run_that_its_jobs_time_did_not_suffice_for_is_not_to_blame_unless_it_had_all_of_it(
    raws: list[Raw], made: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    over = End("out_of_time", "the time limit was over")
    fake = Fake(size=5, deaths=[4, 3, 2], how=over)  # each had done another before
    assert sweep(raws, fake) == 0
    assert fake.submitted == [[5, 4, 3, 2, 1]] * 4
    assert (made, archived(tmp_path / "r")) == ([5, 4, 3, 2, 1], [])
    assert capsys.readouterr().err == ""
    raws = [changed(one, "seed", 1) for one in raws]
    fake = Fake(size=5, retries=1, deaths=[5, 5], how=over)
    fake.settings = LocalSettings(runs_per_job=5, retries=1, folder=None, minutes=7)
    assert sweep(raws, fake) == 1
    assert made[5:] == [4, 3, 2, 1]
    assert fake.submitted == [[5, 4, 3, 2, 1]] * 3
    said = "digits/softmax/seed=1: RuntimeError: not done within hydra.launcher.minutes=7, 2 times; raise it\n"
    assert f"1 failed:\n  {said}" in capsys.readouterr().err


def test_a_refused_sweep_leaves_the_plan_that_was_there(raws: list[Raw], made: list[int], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="too many"):
        sweep(raws, Fake(accepts=0))
    assert look(tmp_path / "r").count("left") == 0
    assert not (tmp_path / "r" / planfile.NAME).exists()
    assert sweep(raws[3:], Fake()) == 0
    before = planfile.read(tmp_path / "r")
    assert before is not None
    with pytest.raises(ConfigError, match="too many"):
        sweep(raws, Fake(accepts=0))
    assert planfile.read(tmp_path / "r") == before
    assert made == [2, 1]


def test_a_lost_run_is_recorded_and_those_after_it_are_made(
    raws: list[Raw], made: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = Fake(size=3, deaths=[4])
    assert sweep(raws, fake) == 1
    out, err = capsys.readouterr()
    assert out.startswith("5 to run with 2 workers, the longest first\n")
    assert "digits/softmax/seed=0  FAILED RuntimeError: the node burnt down" in out
    assert "1 failed:\n  digits/softmax/seed=0: RuntimeError: the node burnt down" in err
    assert fake.submitted == [[5, 4, 3], [2, 1], [3]]
    assert sorted(made) == [1, 2, 3, 5]
    assert by_epochs(tmp_path / "r") == {4: "failed"}


def test_a_lost_run_is_tried_again_as_often_as_is_set(
    raws: list[Raw], made: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep(raws[:2], Fake(retries=2, deaths=[4, 4])) == 0
    assert sorted(made) == [4, 5]
    lost = "notice: digits/softmax/seed=0: the node burnt down; tried again ({} of 2)\n"
    assert capsys.readouterr().err == lost.format(1) + lost.format(2)
    assert len(archived(tmp_path / "r")) == 1  # the second loss set the first one's record aside
    assert sweep(raws[:2], Fake(retries=1, deaths=[4, 4])) == 1


@pytest.mark.usefixtures("made")
def test_jobs_that_are_refused_after_others_have_failed_and_the_sweep_is_summed_up(
    raws: list[Raw], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "w" / "wandb" / "offline-run-a" / "run-a.wandb"
    kept.parent.mkdir(parents=True)
    kept.touch()
    tracker = raws[0]["tracker"] | {"kind": "wandb", "dir": str(tmp_path / "w")}
    fake = Fake(size=3, deaths=[5], accepts=2)
    assert sweep([content | {"tracker": tracker} for content in raws], fake) == 1
    out, err = capsys.readouterr()
    assert fake.submitted == [[5, 4, 3], [2, 1]]
    assert out.count("FAILED the jobs were not accepted: too many") == 2  # those that came after the lost one
    assert "3 failed:\n" in err
    assert " and 1 more runs: the jobs were not accepted: too many\n" in err
    assert out.splitlines()[-2].startswith("0 of 5 runs are recorded in ")
    assert out.splitlines()[-1].startswith("W&B: 2 runs are kept offline; send with: wandb sync ")  # and the lost one


def test_jobs_that_are_refused_at_once_are_a_fault_of_the_sweep(raws: list[Raw]) -> None:
    with pytest.raises(ConfigError, match="too many"):
        sweep(raws, Fake(accepts=0))


def test_on_error_stop_stops_the_jobs(raws: list[Raw], made: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    fake = Fake(deaths=[5])
    assert sweep([changed(content, "on_error", "stop") for content in raws], fake) == 1
    assert "stopped at the first failure (on_error=stop)" in capsys.readouterr().out
    assert fake.stopped is not None
    assert len(fake.stopped) == 4
    assert made == []


@pytest.mark.usefixtures("made")
def test_what_is_recorded_is_not_submitted_and_a_fault_is_refused_before(
    raws: list[Raw], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep([changed(raws[4], "parallel", 1)]) == 0
    fake = Fake()
    assert sweep(raws[3:], fake) == 0
    assert fake.submitted == [[2]]
    assert "1 already done, skipped" in capsys.readouterr().out
    with pytest.raises(ValueError, match="batch_size"):
        sweep([*raws, changed(raws[0], "train.batch_size", 0)], fake)
    assert fake.submitted == [[2]]


@pytest.mark.usefixtures("made")
def test_this_machine_need_not_have_what_jobs_have(raws: list[Raw]) -> None:
    fake = Fake()
    assert sweep([changed(raws[0], "threads", 4096)], fake) == 0
    assert fake.submitted == [[5]]


def batch(raws: list[Raw], tmp_path: Path) -> Batch:
    return Batch(tuple(plan(raws).jobs), tmp_path / "told")


def test_a_batch_that_begins_again_goes_on_where_it_was(raws: list[Raw], made: list[int], tmp_path: Path) -> None:
    one = batch(raws, tmp_path)
    assert (one.at(), one.outcomes()) == (None, {})
    one.carry_out()
    assert made == [5, 4, 3, 2, 1]
    assert one.outcomes() == dict.fromkeys(range(5), DONE)
    lines = one.told.read_text(encoding="utf-8").splitlines(keepends=True)
    one.told.write_text("".join(lines[:8]) + lines[8][:20], encoding="utf-8")  # it was killed as it wrote the fourth
    assert (list(one.outcomes()), one.at()) == ([0, 1, 2], 3)
    one.carry_out()
    assert made[5:] == [2, 1]


def test_a_run_that_another_process_is_at_comes_last_and_is_waited_for(
    raws: list[Raw], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, bool]] = []

    def carry_out(job: Job, *, wait: bool) -> Outcome:
        asked.append((job.raw["train"]["epochs"], wait))
        return Outcome("present" if wait else "busy") if asked[-1][0] == 4 else DONE

    monkeypatch.setattr(bench.launchers.batch, "carry_out", carry_out)
    one = batch(raws[:3], tmp_path)
    one.carry_out()
    assert asked == [(5, False), (4, False), (3, False), (4, True)]
    assert {number: outcome.status for number, outcome in one.outcomes().items()} == {
        0: "completed",
        1: "present",
        2: "completed",
    }


def test_the_run_that_a_dead_batch_was_at_is_the_one_to_blame(
    raws: list[Raw], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carry_out(job: Job, **_options: bool) -> Outcome:
        if job.raw["train"]["epochs"] == 4:
            raise SystemExit  # as good as dead
        return Outcome("busy")

    monkeypatch.setattr(bench.launchers.batch, "carry_out", carry_out)
    one = batch(raws[:3], tmp_path)
    with pytest.raises(SystemExit):
        one.carry_out()
    assert [job.raw["train"]["epochs"] for job in _Submission(one).left()] == [4, 5, 3]


def test_an_interrupted_run_ends_its_batch(raws: list[Raw], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.launchers.batch, "carry_out", lambda *_, **__: Outcome("interrupted", left=True))
    one = batch(raws, tmp_path)
    one.carry_out()
    assert list(one.outcomes()) == [0]


@pytest.mark.usefixtures("made")
def test_a_run_lost_while_another_process_has_it_is_said_to_be_so(
    raws: list[Raw], capsys: pytest.CaptureFixture[str]
) -> None:
    (job,) = plan(raws[:1]).jobs
    with records.lock(job.results_dir, job.identity.fingerprint, wait=False):
        assert sweep(raws[:1], Fake(deaths=[5])) == 1
    assert "the node burnt down; another process has the run now" in capsys.readouterr().err


def test_variables_of_the_batch_hold_where_it_is_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_A", "1")
    monkeypatch.setenv("NORMBENCH_B", "1")
    Batch((), tmp_path / "told", {"NORMBENCH_A": "2", "NORMBENCH_B": None}).carry_out()
    assert (os.environ["NORMBENCH_A"], "NORMBENCH_B" in os.environ) == ("2", False)
