"""A server that is there, that fails, or that never answers: the run ends, is recorded, and its data are kept."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import wandb_run
from bench.logged import history
from bench.records import Record, scan
from bench.schema import RunConfig, validate
from bench.sweep import sweep
from bench.wandb_sweep import not_sent
from tests.bench import wandb_log
from tests.bench.helpers import raw, results, run
from tests.bench.wandb_server import KEY, Server, serving

NOWHERE = "http://127.0.0.1:9"
SOON = 1.0
PATIENT = wandb_run.START_SECONDS

Online = Callable[..., dict[str, object]]


@pytest.fixture
def online(tmp_path: Path, tiny: tuple[str, ...], fresh_wandb: None, monkeypatch: pytest.MonkeyPatch) -> Online:  # noqa: ARG001
    """The configuration of a run that is tracked at the server of this address, with a key."""

    def make(url: str, *words: str) -> dict[str, object]:
        monkeypatch.setenv("WANDB_BASE_URL", url)
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        tracker = {"kind": "wandb", "mode": "online", "project": "p", "dir": str(tmp_path / "w"), "images": False}
        return raw(*tiny, "train.epochs=2", "parallel=1", f"results_dir={tmp_path / 'r'}", *words) | {
            "tracker": tracker
        }

    return make


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every wait for a server, W&B's own for the content of a table among them, ends after `SOON`."""
    import wandb

    monkeypatch.setattr(wandb_run, "START_SECONDS", SOON)
    monkeypatch.setattr(wandb_run, "END_SECONDS", SOON)
    monkeypatch.setattr(wandb.Api, "_HTTP_TIMEOUT", SOON)


def test_a_server_is_told_what_the_record_holds(online: Online) -> None:
    with serving("answers") as server:
        record = run(validate(online(server.url, "seed=2")))
        told = server.runs[record.fingerprint]
        assert told["displayName"] == "digits/softmax/seed=2"
        assert told["groupName"] == f"digits/softmax {record.cell}"
        lines = [server.history[record.fingerprint][place] for place in sorted(server.history[record.fingerprint])]
        for (number, values), line in zip(history(record), lines, strict=True):
            assert line["epoch"] == number
            assert {name: line[name] for name in values} == values
        assert server.exit_codes == {record.fingerprint: 0}
        assert server.artifacts == ["run_table"]  # the confusion matrix, asked for no images


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("behaviour", ["500", "401", "silent", "nowhere"])
def test_a_server_that_fails_leaves_the_run_whole_and_its_data_here(
    online: Online, tmp_path: Path, capfd: pytest.CaptureFixture[str], behaviour: str
) -> None:
    with serving(behaviour) as server:
        typed = validate(online(NOWHERE if behaviour == "nowhere" else server.url))
        first, second = run(typed), run(typed)
    assert [first.status, second.status] == ["completed", "completed"]
    assert results(first) == results(run(untracked(typed)))
    assert capfd.readouterr().err.count("notice: tracker: W&B cannot be reached (") == 1
    assert [logged.run.run_id for logged in wandb_log.runs(tmp_path / "w")] == [first.fingerprint] * 2


@pytest.mark.usefixtures("impatient")
def test_a_server_lost_on_the_way_is_not_waited_for_long(
    online: Online, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving("answers") as server:
        typed = validate(online(server.url))
        monkeypatch.setattr(wandb_run, "START_SECONDS", PATIENT)
        record = lose_after_start(server, monkeypatch, typed)
    assert record.status == "completed"
    said = capfd.readouterr().err
    assert (
        f"notice: tracker: W&B did not take all data of a run within {SOON:g} s; they are kept, and `wandb sync" in said
    )
    (log,) = (tmp_path / "w").glob("wandb/run-*/run-*.wandb")
    logged = wandb_log.Logged(wandb_log.entries(log))
    assert [entry["epoch"] for entry in logged.history] == [1, 2]
    command = f"wandb sync --include-online {tmp_path / 'w' / 'wandb'}"
    assert list(not_sent(tmp_path / "w")) == [f"W&B: 1 run is not sent whole; send with: {command}"]
    Path(f"{log}.synced").touch()
    assert list(not_sent(tmp_path / "w")) == []


@pytest.mark.usefixtures("impatient")
def test_what_was_kept_offline_is_sent_by_the_command_named_and_twice_is_one_run(
    online: Online, tmp_path: Path
) -> None:
    record = run(validate(online(NOWHERE)))
    (line,) = not_sent(tmp_path / "w")
    words = shlex.split(line.partition("send with: ")[2])
    assert words[0] == "wandb"
    with serving("answers") as server:
        environment = os.environ | {"WANDB_BASE_URL": server.url}
        for extra in ([], ["--include-synced"]):
            command = [sys.executable, "-m", *words, *extra]
            subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120, stdin=subprocess.DEVNULL)
        assert list(server.runs) == [record.fingerprint]
        assert [line["epoch"] for line in server.history[record.fingerprint].values()] == [1, 2]
        assert server.exit_codes == {record.fingerprint: 0}
    assert list(not_sent(tmp_path / "w")) == []


@pytest.mark.slow
def test_a_sweep_asks_once_and_goes_on_offline(
    online: Online, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving("401") as server:
        assert sweep([online(server.url, f"seed={seed}") for seed in range(2)]) == 0
    said = capfd.readouterr()
    assert said.err.count("notice: tracker: W&B cannot be reached (AuthenticationError") == 1
    assert f"W&B: 2 runs are kept offline; send with: wandb sync {tmp_path / 'w' / 'wandb'}\n" in said.out
    assert len(scan([tmp_path / "r"])[0]) == 2


def untracked(typed: RunConfig) -> RunConfig:
    return typed.model_copy(update={"tracker": typed.tracker.model_copy(update={"kind": "none"})})


def lose_after_start(server: Server, monkeypatch: pytest.MonkeyPatch, typed: RunConfig) -> Record:
    """The record of a run whose server answers its start and nothing after."""
    opened = wandb_run.open_run

    def then_silent(*arguments: object) -> object:
        started = opened(*arguments)  # type: ignore[arg-type]
        server.behaviour = "silent"
        return started

    monkeypatch.setattr("bench.wandb_tracker.open_run", then_silent)
    return run(typed)
