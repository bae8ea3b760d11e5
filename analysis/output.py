"""The folder of results: files are written, and those that only an earlier analysis wrote there are removed."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from analysis.errors import InputError

MADE = ".made"
"""Lists what the last analysis wrote, one path a line; nothing else is ever removed."""


def write(out: Path, contents: Mapping[str, bytes]) -> list[str]:
    """Write `contents` (path below `out` -> bytes) and return the paths of an earlier analysis that were removed.

    Raises InputError for a folder that cannot be written.
    """
    try:
        for name, content in contents.items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        stale = sorted(_made(out) - set(contents))
        for name in stale:
            (out / name).unlink()
        (out / MADE).write_text("".join(f"{name}\n" for name in sorted(contents)), encoding="utf-8")
    except OSError as error:
        raise InputError(f"out: cannot write {error.filename or out}: {error.strerror}") from error
    return stale


def _made(out: Path) -> set[str]:
    """The listed files that are still there and lie below `out`, whatever the list says."""
    listed = out / MADE
    lines = listed.read_text(encoding="utf-8", errors="replace").splitlines() if listed.is_file() else []
    below = {name for name in lines if name and ".." not in PurePosixPath(name).parts and not name.startswith("/")}
    return {name for name in below if (out / name).is_file()}
