"""Frames -> GIF, still, and a video where there is ffmpeg."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from analysis import animation
from analysis.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def content(frames: int = 3) -> dict[str, Any]:
    random = np.random.default_rng(0)
    marks = np.zeros((18, 8), dtype=np.bool_)
    marks[np.arange(18), 7 - np.arange(18) % 8] = True
    return {
        "q": np.linspace(1.557, 1.9, 21, dtype=np.float32),
        "steps": np.linspace(0, 20, frames).astype(np.int32),
        "weights": random.dirichlet(np.ones(8), (frames, 18)).astype(np.float32),
        "marks": marks,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / animation.NAME, **content())
    return tmp_path


def program(folder: Path, body: str) -> str:
    """A stand-in for ffmpeg."""
    path = folder / "ffmpeg"
    path.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_every_frame_is_in_the_gif_and_the_last_rests(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    animation.animate(folder)
    with Image.open(folder / "animation.gif") as gif:
        assert gif.n_frames == 3
        durations = []
        for number in range(3):
            gif.seek(number)
            durations.append(gif.info["duration"])
        assert durations == [70, 70, 2000]
        assert gif.info["loop"] == 0
        with Image.open(folder / "animation.png") as still:
            assert still.size == gif.size
    assert "ffmpeg is not installed" in capsys.readouterr().out
    assert not (folder / "animation.mp4").exists()


def test_ffmpeg_gets_every_pixel_of_every_frame(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "open(sys.argv[-1], 'w').write(f\"{sys.argv[sys.argv.index('-s') + 1]} {len(sys.stdin.buffer.read())}\")"
    monkeypatch.setattr("shutil.which", lambda _: program(folder, body))
    animation.animate(folder)
    size, received = (folder / "animation.mp4").read_text().split()
    width, height = map(int, size.split("x"))
    assert width % 2 == height % 2 == 0
    assert int(received) == 3 * width * height * 3


def test_what_ffmpeg_complains_of_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: program(folder, "sys.stdin.buffer.read(); sys.exit('no encoder')"))
    with pytest.raises(InputError, match="ffmpeg failed: no encoder"):
        animation.animate(folder)


def test_a_failure_leaves_the_earlier_animation(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("animation.gif", "animation.png", "animation.mp4")
    for name in names:
        (folder / name).write_text("whole")
    torn = "open(sys.argv[-1], 'w').write('torn'); sys.exit('disk full')"
    monkeypatch.setattr("shutil.which", lambda _: program(folder, torn))
    with pytest.raises(InputError, match=r"animation\.mp4: ffmpeg failed: disk full"):
        animation.animate(folder)
    assert [(folder / name).read_text() for name in names] == ["whole"] * 3


def test_rows_stand_in_the_order_of_their_first_informative_token(folder: Path) -> None:
    frames = animation.load(folder / animation.NAME)
    first = frames.marks.argmax(axis=1)
    assert first.tolist() == sorted(first.tolist())
    raw = content()
    order = [int(np.flatnonzero((raw["weights"][0] == row).all(axis=1))[0]) for row in frames.weights[0]]
    assert np.array_equal(raw["marks"][order], frames.marks)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.zeros((2, 18, 8), np.float32)}, r"does not hold whole frames \(weights \(2, 18, 8\)"),
        ({"steps": np.array([0, 10, 21], np.int32)}, "3 frames of 20 steps"),
        ({"marks": np.array([{}], dtype=object)}, "does not hold whole frames"),
    ],
)
def test_frames_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / animation.NAME, **content() | change)
    with pytest.raises(InputError, match=message):
        animation.load(tmp_path / animation.NAME)


def test_a_folder_without_frames_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not there; make it with: python -m bench frames"):
        animation.animate(tmp_path)
    (tmp_path / animation.NAME).write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(InputError, match="does not hold whole frames"):
        animation.animate(tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [((), "animate takes one folder"), (("a", "b"), "animate takes one folder"), (("gone",), "gone/frames.npz is not")],
)
def test_the_command_refuses_in_one_line(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "analysis", "animate", *words]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
