"""`python -m analysis animate DIR`: the frames of `python -m bench frames` as a GIF, an MP4 and a still.

Left the learned q with a marker at the step shown, right the attention map at that step.
"""

import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import NDArray
from PIL import Image

from analysis.console import say
from analysis.errors import InputError
from analysis.figures.arrange import plots
from analysis.figures.look import look
from analysis.figures.panel import Scale, nice
from analysis.figures.pooling import draw_map
from analysis.figures.sheet import DIM, GRID, MARGIN, STYLE, Sheet
from analysis.output import whole

NAME = "frames.npz"
RATE = 14
"""Frames per second of the MP4; those of the GIF last 70 ms, the nearest that its hundredths allow."""
REST = 2000
"""Milliseconds that the GIF rests on its last frame."""
SPARSEMAX = 2.0
COLOUR = look("bounded_entmax")["color"]
DPI = 110


@dataclass(frozen=True)
class Frames:
    """Arrays of `frames.npz`: `q` (steps + 1,), `steps` (frames,), `weights` (frames, rows, tokens), `marks` (rows,
    tokens), the rows in the order of their first informative token."""

    q: NDArray[np.float32]
    steps: NDArray[np.int32]
    weights: NDArray[np.float32]
    marks: NDArray[np.bool_]


def animate(folder: Path) -> None:
    """Write animation.gif and animation.png, and animation.mp4 where ffmpeg is installed, into `folder`.

    All of them, or none where one fails. Raises InputError where it holds no frames and where it cannot be written.
    """
    frames = load(folder / NAME)
    with rc_context(STYLE):
        images = [_image(frames, number) for number in range(len(frames.steps))]
    program = shutil.which("ffmpeg")
    if not program:
        say("notice: ffmpeg is not installed, so there is no animation.mp4; the GIF shows the same")
    try:
        with whole(folder) as part:
            _gif(images, part / "animation.gif")
            _still(images[-1], part / "animation.png")
            if program:
                _mp4(images, part / "animation.mp4", program)
            written = sorted(folder / path.name for path in part.iterdir())
    except OSError as error:
        raise InputError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from error
    say(f"{len(images)} frames are drawn in {', '.join(map(str, written))}")


def load(path: Path) -> Frames:
    """The frames in `path`. Raises InputError naming the file where it is not there or not what it should be."""
    try:
        with np.load(path, allow_pickle=False) as content:
            q, steps, weights, marks = (content[name] for name in ("q", "steps", "weights", "marks"))
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there; make it with: python -m bench frames {path.parent}") from error
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(
            f"{path} does not hold whole frames ({error}); make it anew with python -m bench frames"
        ) from error
    fits = weights.ndim == 3 and weights.shape == (len(steps), *marks.shape) and len(steps) and steps.max() < len(q)
    if not fits:
        raise InputError(
            f"{path} does not hold whole frames (weights {weights.shape}, marks {marks.shape}, {len(steps)} frames of "
            f"{len(q) - 1} steps); make it anew with python -m bench frames"
        )
    order = np.lexsort((np.arange(len(marks)), marks.argmax(axis=1)))
    return Frames(q, steps, weights[:, order], marks[order].astype(np.bool_))


def _image(frames: Frames, number: int) -> Image.Image:
    """One frame in full colour."""
    step, tokens = int(frames.steps[number]), frames.marks.shape[1]
    sheet = Sheet()
    scales = [
        (nice([0, len(frames.q) - 1], 2.3), nice([*frames.q, SPARSEMAX], 1.8, upright=True)),
        (Scale(-0.5, tokens - 0.5, tuple(range(0, tokens, max(1, tokens // 4)))), Scale(len(frames.marks) - 0.5, -0.5)),
    ]
    left, right = plots(sheet, MARGIN, scales, "")
    left.frame("learned q over steps")
    sheet.line(left.along([left.x.low, left.x.high], [SPARSEMAX] * 2), color=DIM, linestyle=":", linewidth=1.0)
    every = range(0, len(frames.q), max(1, len(frames.q) // 500))
    sheet.line(left.along(every, frames.q[list(every)]), color=GRID, linewidth=1.3, zorder=1.0)
    so_far = [at for at in every if at < step] + [step]
    sheet.line(left.along(so_far, frames.q[so_far]), color=COLOUR, linewidth=1.5, zorder=2.0)
    sheet.line([left.at(step, frames.q[step])], color=COLOUR, marker="o", markersize=6.5, linestyle="none", zorder=3.0)
    right.frame(f"attention after {step} steps, q = {frames.q[step]:.3f}")
    marked = [np.flatnonzero(row).tolist() for row in frames.marks]
    draw_map(right, frames.weights[number].tolist(), marked, float(frames.weights.max()))
    text = "Dotted: sparsemax, q = 2. A row of cells per test row; the informative tokens are outlined."
    sheet.paragraph(MARGIN, sheet.bottom + 0.2, text, sheet.right - MARGIN)
    figure = sheet.finish()
    figure.set_dpi(DPI)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]  # type: ignore[no-untyped-call]
    # Videos want even sizes.
    return Image.fromarray(np.ascontiguousarray(pixels[: len(pixels) // 2 * 2, : pixels.shape[1] // 2 * 2]))


def _gif(images: list[Image.Image], path: Path) -> None:
    palette = images[-1].quantize(128)
    first, *rest = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    last = [70] * len(rest) + [REST]
    first.save(path, save_all=True, append_images=rest, duration=last, loop=0)


def _still(image: Image.Image, path: Path) -> None:
    image.quantize(128).save(path, optimize=True)


def _mp4(images: list[Image.Image], path: Path, program: str) -> None:
    width, height = images[0].size
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(RATE), "-i", "-"]
    command = [program, "-y", "-loglevel", "error", *raw, "-pix_fmt", "yuv420p", str(path)]
    done = subprocess.run(command, input=b"".join(_bytes(images)), capture_output=True, check=False)
    if done.returncode:
        raise InputError(f"{path.name}: ffmpeg failed: {done.stderr.decode(errors='replace').strip()}")


def _bytes(images: list[Image.Image]) -> Iterator[bytes]:
    return (image.tobytes() for image in images)
