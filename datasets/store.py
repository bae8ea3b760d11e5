"""Prepare once, verify always: the one way from a source's name to its arrays, for read and for generated data alike.

Prepared arrays lie in `<root>/prepared/<source>[-<option>=<value>…]/`. They are built into a temporary folder beside it
and renamed in one step, under a lock per source (which also covers its raw files), so a folder with the right name is
always whole; whatever a killed process left has another name.
"""

import contextlib
import inspect
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datasets import manifest
from datasets.arrays import Arrays, DataError, Prepared, Source, check
from datasets.locks import lock
from datasets.registry import SOURCES

FOLDER = "prepared"


def prepare(source: str, root: Path, *, built_by: str = "", **options: Any) -> Prepared:
    """The verified, memory-mapped arrays of `source` with `options`, built first where `root` does not hold them yet.

    Safe in any number of processes at once: one builds, the others wait and load. Every call checks the hash of every
    file, and whether raw files were replaced since: then it says so and builds anew. Raises ValueError for an unknown
    source or option, DataError for data that is missing, damaged, of the wrong form or cannot be downloaded, and where
    `root` cannot be written.

    `built_by` says which source code builds them now: it is kept with what is built, for whoever compares the two.
    """
    if source not in SOURCES:
        raise ValueError(f"source={source!r} is unknown; choose one of {', '.join(SOURCES)}")
    entry = SOURCES[source]
    complete = _complete(source, entry, options)
    name = "-".join([source, *(f"{key}={value}" for key, value in complete.items())])
    if Path(name).name != name:
        raise ValueError(f"the options {complete} of {source} cannot name a folder; choose values without a slash")
    folder = root / FOLDER / name
    if not folder.exists() or manifest.replaced(folder, root):
        _build(source, entry, root, folder, complete, built_by)
    return manifest.load(folder, source, complete)


def _complete(source: str, entry: Source, options: dict[str, Any]) -> dict[str, Any]:
    """All options of the source in the order of its signature, defaults filled in: one folder for one meaning."""
    known = [p for p in inspect.signature(entry.build).parameters.values() if p.kind is p.KEYWORD_ONLY]
    unknown = options.keys() - {p.name for p in known}
    if unknown:
        names = ", ".join(p.name for p in known) or "none"
        raise ValueError(f"{source} has no option {', '.join(sorted(unknown))}; its options: {names}")
    return {p.name: options.get(p.name, p.default) for p in known}


def _build(source: str, entry: Source, root: Path, folder: Path, options: dict[str, Any], built_by: str) -> None:
    with _writing(root):
        held = lock(folder.parent / f".{source}.lock")
        held.acquire()
    try:
        if folder.exists():
            replaced = manifest.replaced(folder, root)
            if not replaced:  # another process was faster
                return
            print(f"notice: {replaced} was replaced after {folder} was prepared; it is prepared anew", file=sys.stderr)
        with _writing(root):
            for left in folder.parent.glob(f".{source}.*.part"):  # by a killed process: the lock is ours
                shutil.rmtree(left)
        arrays = _built(source, entry, root, options)
        with (
            _writing(root),
            tempfile.TemporaryDirectory(
                prefix=f".{source}.", suffix=".part", dir=folder.parent, ignore_cleanup_errors=True
            ) as part,
        ):
            manifest.write(Path(part), root, source, entry.kind, options, arrays, built_by)
            Path(part).chmod(folder.parent.stat().st_mode & 0o777)  # temporary folders are private; data may be shared
            before = folder.with_name(f".{source}.replaced.part")
            if folder.exists():
                folder.rename(before)  # whoever has mapped its arrays keeps them
            Path(part).rename(folder)
            shutil.rmtree(before, ignore_errors=True)
    finally:
        held.release()


def _built(source: str, entry: Source, root: Path, options: dict[str, Any]) -> Arrays:
    """The arrays of the source, checked; every error names the source and what can be done."""
    try:
        arrays = entry.build(root, **options)
    except OSError as error:
        raise DataError(f"cannot read {error.filename or root} ({error.strerror or error})") from error
    except DataError:
        raise
    except ValueError as error:  # an option out of its domain
        raise ValueError(f"{source}: {error}") from error
    except Exception as error:
        raise _unusable(source, entry, f"reading it ends in {type(error).__name__}: {error}", root) from error
    try:
        check(entry.kind, arrays)
    except ValueError as error:
        raise _unusable(source, entry, str(error), root, *arrays.raw) from error
    return arrays


def _unusable(source: str, entry: Source, what: str, root: Path, *files: Path) -> DataError:
    """The one message for a source that gives no arrays, or arrays of another form than it promises."""
    where = ", ".join(map(str, files)) or f"the files below {root.absolute()} that it reads"
    return DataError(
        f"the data set {source} cannot be used: {what}. Replace {where} by the official files, or correct "
        f"{entry.build.__module__}.{entry.build.__qualname__}."
    )


@contextlib.contextmanager
def _writing(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"cannot write below {root.absolute()} ({error.strerror or error}). "
            f"Name a folder that can be written, with data.root=... or the environment variable NORMBENCH_DATA."
        ) from error
