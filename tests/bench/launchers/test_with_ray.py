"""Tasks of Ray on this machine, and addresses at which there is no Ray. With several nodes: tests/cluster."""

import secrets
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.launchers.settings import RaySettings
from bench.schema import ConfigError
from bench.sweep import sweep
from tests.bench.helpers import recorded, results
from tests.bench.launchers.test_settings import content

ray = pytest.importorskip("ray", reason="the launcher of Ray needs it")
from bench.launchers import with_ray  # noqa: E402
from bench.launchers.with_ray import Ray  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Ray runs on Linux here"),
]
Runs = Callable[[Path], list[dict[str, Any]]]
Results = dict[tuple[str, str, int], dict[str, Any]]


@pytest.mark.parametrize(
    ("address", "variable", "asked"),
    [(None, None, "local"), (None, "", "local"), (None, "a:1", "a:1"), ("auto", None, "auto"), ("b:2", "a:1", "b:2")],
)
def test_without_an_address_ray_is_told_to_begin_here(
    monkeypatch: pytest.MonkeyPatch, address: str | None, variable: str | None, asked: str | None
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if variable is not None:
        monkeypatch.setenv("RAY_ADDRESS", variable)
    monkeypatch.setattr(with_ray, "_check_reachable", lambda _address: None)
    told: list[str | None] = []
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda where, **_options: told.append(where))
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": {"CPU": 4.0}}])
    Ray(RaySettings(**content("ray", address=address)), parallel=None, threads=1).connect()
    assert told == [asked]


def test_tasks_of_ray_on_this_machine_make_the_bits_of_one_process(
    runs: Runs, serial: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))  # else Ray writes one into the home folder
    monkeypatch.setenv("RAY_AUTH_MODE", "")  # which Ray sets in this process: at the end it is as it was
    monkeypatch.delenv("RAY_AUTH_MODE")
    settings = RaySettings(**content("ray", runs_per_job=2))
    assert sweep(runs(tmp_path / "r"), Ray(settings, None, threads=1)) == 0
    assert capsys.readouterr().out.startswith("2 to run with 1 worker, the longest first\n")
    assert {key: results(record) for key, record in recorded(tmp_path / "r").items()} == serial
    assert not ray.is_initialized()


def test_a_cluster_that_is_not_there_is_named(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    settings = RaySettings(**content("ray", address="nobody:here"))
    with pytest.raises(ConfigError, match=r"^hydra.launcher.address=nobody:here: "):
        sweep(runs(tmp_path / "r"), Ray(settings, None, threads=1))


def test_an_address_where_nobody_listens_is_refused_at_once(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        began = time.monotonic()
        for given in (address, f"ray://{address}", None):
            settings = RaySettings(**content("ray", address=given))
            with pytest.raises(
                ConfigError, match=rf"address=(ray://)?{address}: nobody answers there \(Connection refused"
            ):
                sweep(runs(tmp_path / "r"), Ray(settings, None, threads=1))
        assert time.monotonic() - began < 60
