"""The doctor names what is there, what lacks and what is broken."""

from pathlib import Path

import pytest

from bench import doctor as module
from bench.doctor import doctor
from datasets import prepare
from tests.bench.helpers import CONF


@pytest.fixture
def root(tmp_path: Path) -> Path:
    prepare("digits", tmp_path / "data")
    return tmp_path / "data"


def lines(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_what_is_there_and_what_is_not(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor([f"data.root={root}"], CONF) == 0
    out = lines(capsys)
    assert f"hash {prepare('digits', root).hash}" in out
    assert f"not prepared in {root}\n" in out
    assert f"-> python -m bench data kmnist data.root={root}\n" in out
    assert "-> python -m bench data kmnist" in out
    assert "broken  " not in out
    assert "torch" in out


def test_a_flipped_bit_is_broken_with_the_way_out(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = (root / "prepared" / "digits").glob("train_x*.npy")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert doctor([f"data.root={root}"], CONF) == 1
    out = lines(capsys)
    assert file.name in out
    assert f"-> delete {file.parent}, it is made again" in out


@pytest.mark.parametrize("content", ["{", "[]", "null", None])
def test_a_torn_manifest_is_broken(root: Path, capsys: pytest.CaptureFixture[str], content: str | None) -> None:
    manifest = root / "prepared" / "digits" / "manifest.json"
    manifest.unlink() if content is None else manifest.write_text(content, encoding="utf-8")
    assert doctor([f"data.root={root}"], CONF) == 1
    assert "broken   data digits" in lines(capsys)


def test_too_little_room_is_broken(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "ROOM_MB", 10**9)
    assert doctor([f"data.root={root}"], CONF) == 1
    assert "-> free at least" in lines(capsys)


def test_without_kernels_it_says_what_helps(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.native, "variant", lambda: "torch")
    assert doctor([f"data.root={root}"], CONF) == 0
    assert "-> install a C compiler" in lines(capsys)


def test_a_user_without_a_home_folder_is_told_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unknown(_uid: int) -> None:
        raise KeyError

    for name in ("HOME", "NETRC", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert doctor([f"data.root={root}"], CONF) == 0
    assert "without a key" in lines(capsys)


def test_the_mode_of_tracking_is_the_one_asked_for(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    doctor([f"data.root={root}", "tracker=wandb", "tracker.mode=offline"], CONF)
    assert "tracker=wandb, tracker.mode=offline" in lines(capsys)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    doctor([f"data.root={root}"], CONF)
    assert "WANDB_MODE=disabled" in lines(capsys)
