"""The folder of results: all files of an analysis appear together, or none; what an earlier one left is removed."""

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from analysis.errors import InputError

MADE = ".made"
"""Lists what the last analysis wrote, one path a line; nothing else is ever removed."""
PART = ".part-"
"""How the names of folders begin in which files lie until all are written."""


def write(out: Path, contents: Mapping[str, bytes]) -> list[str]:
    """Write `contents` (path below `out` -> bytes) and return the paths of an earlier analysis that were removed.

    Raises InputError for a folder that cannot be written, in which the files of the earlier analysis then stay.
    """
    unchanged = "; what was there before is unchanged"
    try:
        # The list last, so that whatever the earlier analysis wrote is known until it is removed.
        with whole(out) as listed:
            _put(listed / MADE, "".join(f"{name}\n" for name in sorted(contents)).encode())
            with whole(out) as part:
                for name, content in contents.items():
                    _put(part / name, content)
            unchanged = ""
            stale = sorted(_made(out) - set(contents))
            for name in stale:
                (out / name).unlink()
    except OSError as error:
        raise InputError(f"out: cannot write {error.filename or out}: {error.strerror}{unchanged}") from error
    return stale


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """An empty folder, beside the files of `folder`, for new ones: they replace those of `folder` when all are written.

    Where anything is raised before that, `folder` stays as it is. Raises OSError naming the file in `folder`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=PART, dir=folder) as name:
            part = Path(name)
            yield part
            targets = {path: folder / path.relative_to(part) for path in sorted(part.rglob("*")) if path.is_file()}
            # Whatever can fail comes first: after it, files are only renamed.
            for target in targets.values():
                target.parent.mkdir(parents=True, exist_ok=True)
                if target.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
            for path, target in targets.items():
                path.replace(target)
    except OSError as error:
        where = _final(folder, Path(error.filename or folder))
        raise OSError(error.errno, error.strerror or str(error), str(where)) from error


def _final(folder: Path, path: Path) -> Path:
    """Where a file of `whole` comes to lie in `folder`; other paths as they are."""
    if not path.is_relative_to(folder):
        return path
    return folder.joinpath(*(name for name in path.relative_to(folder).parts if not name.startswith(PART)))


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # a full disk may show only here


def _made(out: Path) -> set[str]:
    """The listed files that are still there and lie below `out`, whatever the list says."""
    listed = out / MADE
    lines = listed.read_text(encoding="utf-8", errors="replace").splitlines() if listed.is_file() else []
    below = {name for name in lines if name and ".." not in PurePosixPath(name).parts and not name.startswith("/")}
    return {name for name in below if (out / name).is_file()}
