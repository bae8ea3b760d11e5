"""The manifest of a prepared folder: what its files must be, and whether they are.

`manifest.json` holds the facts of the data set, the sha256, shape and dtype of every array file, and a sha256 of all
this itself, so a changed byte anywhere in the folder is found.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.arrays import Arrays, DataError, Kind, Prepared, Rows

FORMAT = 1
NAME = "manifest.json"
HASH_DIGITS = 16


def write(
    folder: Path, root: Path, source: str, kind: Kind, options: dict[str, Any], arrays: Arrays, built_by: str = ""
) -> None:
    """Write the arrays and their manifest into `folder`; raw files are named from `root`.

    `built_by`: the source code that built the arrays, "" where it is not known. Raises OSError where the disk refuses.
    """
    files = {}
    for name, array in arrays.named().items():
        path = folder / f"{name}.npy"
        np.save(path, array, allow_pickle=False)
        files[path.name] = {"sha256": _file_hash(path), "shape": list(array.shape), "dtype": str(array.dtype)}
    facts = {
        "format": FORMAT,
        "source": source,
        "options": options,
        "kind": kind,
        "classes": arrays.classes,
        "vocabulary": arrays.vocabulary,
        "scale": arrays.scale,
        "note": arrays.note,
        "hash": content_hash(arrays),
        "files": files,
        "built_by": built_by,
        "raw": {_name(path, root): _raw(path) for path in arrays.raw},
    }
    (folder / NAME).write_bytes(_text(facts))


def load(folder: Path, source: str, options: dict[str, Any]) -> Prepared:
    """The arrays of `folder`, verified and memory-mapped.

    Raises DataError, naming the file, what is wrong with it and the remedy, for anything but what `write` left.
    """
    facts = _facts(folder)
    if (facts["source"], facts["options"]) != (source, options):
        raise damaged(folder / NAME, f"it describes {facts['source']} {facts['options']}, not {source} {options}")
    arrays = {name.removesuffix(".npy"): _array(folder / name, expected) for name, expected in facts["files"].items()}
    return Prepared(
        train=Rows(arrays["train_x"], arrays["train_y"], arrays.get("train_marks")),
        test=Rows(arrays["test_x"], arrays["test_y"], arrays.get("test_marks")),
        folder=folder,
        built_by=facts.get("built_by", ""),
        **{key: facts[key] for key in ("kind", "classes", "vocabulary", "scale", "note", "hash")},
    )


def replaced(folder: Path, root: Path) -> Path | None:
    """The first raw file below `root` that is another now than when `folder` was prepared; None where none is.

    One that is gone does not count, one that was not there before does. The content is read only where size or time of
    the file are others. Raises DataError where the manifest is damaged.
    """
    for name, before in _facts(folder).get("raw", {}).items():  # folders prepared in earlier versions do not say it
        path = Path(root, name)
        if path.exists() and (before is None or _differs(path, before)):
            return path
    return None


def _differs(path: Path, before: dict[str, Any]) -> bool:
    now = path.stat()
    if (now.st_size, now.st_mtime_ns) == (before["size"], before["time_ns"]):
        return False
    return bool(now.st_size != before["size"] or _file_hash(path) != before["sha256"])


def _raw(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    stat = path.stat()
    return {"size": stat.st_size, "time_ns": stat.st_mtime_ns, "sha256": _file_hash(path)}


def _name(path: Path, root: Path) -> str:
    """`path` from `root`, where it lies below, so that a data folder may be moved as a whole."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path.absolute())


def content_hash(arrays: Arrays) -> str:
    """16 hexadecimal digits of a sha256 over names, dtypes, shapes and values of the arrays.

    Taken over the values and not over the files, whose headers may change with the version of numpy.
    """
    digest = hashlib.sha256()
    for name, array in arrays.named().items():
        little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
        digest.update(f"{name} {array.dtype.name} {array.shape}\n".encode())
        digest.update(little.data)
    return digest.hexdigest()[:HASH_DIGITS]


def damaged(path: Path, what: str) -> DataError:
    """The one message for everything that is wrong in a prepared folder."""
    return DataError(f"{path} is damaged: {what}. Delete the folder {path.parent} and run again to prepare it anew.")


def _facts(folder: Path) -> dict[str, Any]:
    path = folder / NAME
    try:
        text = path.read_bytes()
        facts = json.loads(text)
        facts.pop("sha256")
    except OSError as error:
        raise damaged(path, f"it cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise damaged(path, f"it is not a whole manifest ({type(error).__name__}: {error})") from error
    if text != _text(facts):
        raise damaged(path, "its content does not have the sha256 that it states")
    if facts["format"] != FORMAT:
        raise damaged(path, f"it has format {facts['format']}; this version reads format {FORMAT}")
    return facts  # type: ignore[no-any-return]  # an object, since it had a pop and a valid hash


def _array(path: Path, expected: dict[str, Any]) -> NDArray[Any]:
    try:
        found = _file_hash(path)
    except OSError as error:
        raise damaged(path, f"it cannot be read ({error.strerror})") from error
    if found != expected["sha256"]:
        raise damaged(path, f"its content has sha256 {found}, expected {expected['sha256']}")
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    if (list(array.shape), str(array.dtype)) != (expected["shape"], expected["dtype"]):
        raise damaged(path, f"it holds {array.dtype} {array.shape}, expected {expected['dtype']} {expected['shape']}")
    return array


def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text(facts: dict[str, Any]) -> bytes:
    """The manifest as it is written: `facts` after their own sha256, in one form only, so no byte of it is free."""
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return json.dumps({"sha256": digest, **facts}, indent=1).encode() + b"\n"
