"""Fixtures of the harness's tests: prepared data, and the command line inside the test's own process."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton

from datasets import prepare
from tests.bench.helpers import ROOT, TINY


@pytest.fixture(scope="session")
def data_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which digits is prepared."""
    root = tmp_path_factory.mktemp("data")
    prepare("digits", root)
    return root


@pytest.fixture(scope="session")
def tiny(data_root: Path) -> tuple[str, ...]:
    """Overrides that make a run of digits take a tenth of a second."""
    return (*TINY, f"data.root={data_root}")


@pytest.fixture(autouse=True)
def process_state() -> Iterator[None]:
    """What a sweep changes in its process is put back."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    threads, path = torch.get_num_threads(), list(sys.path)
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    torch.set_num_threads(threads)
    sys.path[:] = path


@pytest.fixture
def fresh_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """W&B as in a process that has not used it: no key, nothing said, no server lost, and nothing of it at home."""
    import wandb

    from bench import wandb_run

    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    for name in ("HOME", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    monkeypatch.setattr(wandb_run, "_said", set())
    monkeypatch.setattr(wandb_run, "_lost", set())
    wandb.teardown()
    yield
    wandb.teardown()


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """`python -m bench WORDS` in this process, from an empty folder: exit code, standard output and error."""
    from bench.__main__ import main

    sys.path.append(str(ROOT / "bench" / "plugins"))
    Singleton._instances.pop(Plugins, None)  # Hydra looks for plugins once in a process
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bench", *words])
        monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "bench", *words])
        capsys.readouterr()
        try:
            code = main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        out, err = capsys.readouterr()
        return code, out, err

    return call
