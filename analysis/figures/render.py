"""Sheets -> the bytes of their SVG and PNG files, the same every time, by two processes where there are two cores."""

import io
import multiprocessing
import os
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG

from analysis.figures.sheet import STYLE, Sheet

DPI = 130

Job = tuple[str, Sheet, str]
"""Stem of the files, sheet and title."""


def rendered(sheets: Mapping[str, tuple[Sheet, str]]) -> dict[str, bytes]:
    """`stem`.svg and `stem`.png for each stem of `sheets` (sheet, title), in its order."""
    jobs = [(stem, sheet, title) for stem, (sheet, title) in sheets.items()]
    # What takes longest first, so that both get as much.
    jobs.sort(key=lambda job: -len(job[1].figure.get_children()))
    files = _by_two(jobs[::2], jobs[1::2]) if len(jobs) > 1 and _cores() > 1 else _files(jobs)
    return {name: files[name] for stem in sheets for name in (f"{stem}.svg", f"{stem}.png")}


def _cores() -> int:
    """Those that a forked process could use; 1 where processes cannot be forked."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _by_two(ours: Sequence[Job], others: Sequence[Job]) -> dict[str, bytes]:
    # A forked process has the figures already and loads nothing.
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_send, args=(sender, others), daemon=True)
    child.start()
    sender.close()
    files = _files(ours)
    try:
        files |= receiver.recv()
    except EOFError:
        # It died (of too little memory, say): what it did not make is made here.
        files |= _files(others)
    child.join()
    return files


def _send(sender: Connection, jobs: Sequence[Job]) -> None:
    sender.send(_files(jobs))


def _files(jobs: Sequence[Job]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with rc_context(STYLE):
        for stem, sheet, title in jobs:
            figure, png, svg = sheet.finish(), io.BytesIO(), io.BytesIO()
            figure.set_dpi(DPI)
            # The canvases themselves: savefig would lay everything out once more, for each format.
            FigureCanvasAgg(figure).print_png(png, pil_kwargs={"compress_level": 3})  # type: ignore[no-untyped-call]
            about = {"Date": None, "Title": title}
            FigureCanvasSVG(figure).print_svg(svg, metadata=about)  # type: ignore[no-untyped-call]
            files |= {f"{stem}.svg": svg.getvalue(), f"{stem}.png": png.getvalue()}
    return files
