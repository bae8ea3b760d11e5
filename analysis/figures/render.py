"""Sheets -> the bytes of their SVG and PNG files, the same every time, by two processes where there are two cores."""

import io
import multiprocessing
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from analysis.figures.sheet import STYLE, Sheet
from analysis.report.pictures import LARGEST_SVG

DPI = 130

Job = tuple[str, Sheet, str]
"""Key of the result, sheet and title."""
Picture = tuple[str, bytes]
"""`svg` or `png`, and the content."""


@dataclass(frozen=True)
class Rendered:
    """A sheet as files; `parts` are the same from top to bottom in pieces that a page can hold.

    Of a sheet for phones there is the SVG alone.
    """

    svg: bytes
    png: bytes = b""
    parts: tuple[Picture, ...] = ()


def rendered(sheets: Mapping[str, tuple[Sheet, str]]) -> dict[str, Rendered]:
    """The files of each of `sheets` (sheet, title), by the same keys."""
    jobs = [(key, sheet, title) for key, (sheet, title) in sheets.items()]
    # What takes longest first, so that both get as much.
    jobs.sort(key=lambda job: -len(job[1].figure.get_children()))
    files = _by_two(jobs[::2], jobs[1::2]) if len(jobs) > 1 and _cores() > 1 else _files(jobs)
    return {key: files[key] for key in sheets}


def _cores() -> int:
    """Those that a forked process could use; 1 where processes cannot be forked."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _by_two(ours: Sequence[Job], others: Sequence[Job]) -> dict[str, Rendered]:
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


def _files(jobs: Sequence[Job]) -> dict[str, Rendered]:
    with rc_context(STYLE), warnings.catch_warnings():
        # A notice of ours says which characters the font lacks, once.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
        return {key: _rendered(sheet, title) for key, sheet, title in jobs}


def _rendered(sheet: Sheet, title: str) -> Rendered:
    whole = _svg(sheet.finish(), title)
    if sheet.phone:
        return Rendered(whole)
    png = _png(sheet.finish(), title)
    kind, content, drawn = ("svg", whole, _svg) if len(whole) <= LARGEST_SVG else ("png", png, _png)
    parts = ((kind, drawn(part, title)) for part in sheet.parts()) if sheet.cuts else [(kind, content)]
    return Rendered(whole, png, tuple(parts))


# The canvases themselves: savefig would lay everything out once more, for each format.
def _svg(figure: Figure, title: str) -> bytes:
    content = io.BytesIO()
    about: dict[str, Any] = {"Date": None, "Title": title}
    FigureCanvasSVG(figure).print_svg(content, metadata=about)  # type: ignore[no-untyped-call]
    return content.getvalue()


def _png(figure: Figure, _title: str) -> bytes:
    content = io.BytesIO()
    figure.set_dpi(DPI)
    FigureCanvasAgg(figure).print_png(content, pil_kwargs={"compress_level": 3})  # type: ignore[no-untyped-call]
    return content.getvalue()
