"""CIFAR-10: 50,000 train and 10,000 test colour images of 32x32 pixels, 10 classes.

A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", technical report, University of Toronto, 2009.
Read from the official python release (`<root>/cifar-10-batches-py`, or its archive) or the official binary release
(`<root>/cifar-10-batches-bin`), whichever holds the batches needed; otherwise the python release is downloaded.
"""

import pickle
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from datasets.arrays import Arrays, DataError, Rows
from datasets.files import download, verify_md5

SCALE = 255.0
BATCH_ROWS = 10_000
IMAGE_BYTES = 3 * 32 * 32
TRAINING = tuple(f"data_batch_{batch}" for batch in range(1, 6))
TEST = "test_batch"
BINARY_FOLDER = "cifar-10-batches-bin"
BINARY_MD5 = {
    "data_batch_1": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5": "53f37980c15c3d472c316c40844f3f0d",
}
HELD_OUT_NOTE = "test = official batch 5"

Batch = tuple[NDArray[np.uint8], NDArray[np.int64]]  # images (n, 32, 32, 3), labels (n,)


def build(root: Path, *, split: Literal["official", "heldout"] = "official") -> Arrays:
    """Images (n, 32, 32, 3); official: 50,000 train, 10,000 test; heldout: batches 1-4 against batch 5.

    heldout never touches the official test batch and says so in `note`.
    Raises DataError for a damaged file or a failed download, ValueError for another `split`.
    """
    train: Sequence[str]
    test: Sequence[str]
    if split == "official":
        train, test, note = TRAINING, (TEST,), ""
    elif split == "heldout":
        train, test, note = TRAINING[:4], TRAINING[4:], HELD_OUT_NOTE
    else:
        raise ValueError(f"split={split!r} is unknown; choose 'official' or 'heldout'")
    names = (*train, *test)
    path, read = _reader(root, names)
    raw = tuple(map(path, names))
    return Arrays(_rows(map(read, train)), _rows(map(read, test)), classes=10, scale=SCALE, note=note, raw=raw)


def _rows(batches: Iterable[Batch]) -> Rows:
    images, labels = zip(*batches, strict=True)
    return Rows(np.concatenate(images), np.concatenate(labels))


def _reader(root: Path, batches: Sequence[str]) -> tuple[Callable[[str], Path], Callable[[str], Batch]]:
    """From a batch's name to its file, and to its (images, labels), in the release that holds all of `batches`."""
    from torchvision.datasets import CIFAR10

    folder, binary = root / CIFAR10.base_folder, root / BINARY_FOLDER
    if not all((folder / batch).exists() for batch in batches):
        if all((binary / f"{batch}.bin").exists() for batch in batches):
            return lambda batch: binary / f"{batch}.bin", lambda batch: _read_binary(binary / f"{batch}.bin")
        _provide_python_release(root, batches)
    md5 = dict(CIFAR10.train_list + CIFAR10.test_list)
    return lambda batch: folder / batch, lambda batch: _read_python(folder / batch, md5[batch])


def _read_python(path: Path, md5: str) -> Batch:
    content = path.read_bytes()
    verify_md5(path, content, md5)  # before unpickling, which would run whatever a foreign file says
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the pickles of 2009 describe their dtype in a way numpy now deprecates
        batch = pickle.loads(content, encoding="latin1")
    images, labels = np.asarray(batch["data"]), np.asarray(batch["labels"])
    if images.dtype != np.uint8 or images.shape != (len(labels), IMAGE_BYTES) or labels.dtype.kind != "i":
        raise DataError(
            f"{path} holds images {images.dtype} {images.shape} and labels {labels.dtype} {labels.shape}, not uint8 "
            f"(n, {IMAGE_BYTES}) and whole numbers (n,). Replace it by the official file."
        )
    return _images(images), labels.astype(np.int64)


def _read_binary(path: Path) -> Batch:
    content = path.read_bytes()
    if path.stem in BINARY_MD5:
        verify_md5(path, content, BINARY_MD5[path.stem])
    # Of the binary release only the archive's md5 is published, and no official copy of its test batch was at hand to
    # compute one from, so that file is checked by its size and its labels only.
    elif len(content) != BATCH_ROWS * (1 + IMAGE_BYTES):
        raise DataError(_broken_test_batch(path, f"{len(content)} bytes, not {BATCH_ROWS * (1 + IMAGE_BYTES)}"))
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + IMAGE_BYTES)
    labels = rows[:, 0].astype(np.int64)
    if labels.max() > 9:
        raise DataError(_broken_test_batch(path, f"label {labels.max()} in row {labels.argmax()}, not 0 … 9"))
    return _images(rows[:, 1:]), labels


def _broken_test_batch(path: Path, what: str) -> str:
    return (
        f"{path} is not the official test batch: it has {what}. Replace it by the file of cifar-10-binary.tar.gz, "
        f"delete it to download the python release, or use split=heldout, which does not need it."
    )


def _images(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(n, 3072) in channel, row, column order -> (n, 32, 32, 3)."""
    return np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _provide_python_release(root: Path, batches: Sequence[str]) -> None:
    """Put the python release in place from its archive, downloaded first where it is not there."""
    from torchvision.datasets import CIFAR10

    archive = root / CIFAR10.filename
    if archive.exists():
        verify_md5(archive, archive.read_bytes(), CIFAR10.tgz_md5)
    else:
        try:
            download([CIFAR10.url], archive, CIFAR10.tgz_md5)
        except DataError as error:
            raise DataError(f"{error} {_what_would_do(root, batches)}") from error
    with tempfile.TemporaryDirectory(prefix=".cifar10-", dir=root) as part:
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(part, filter="data")
        except tarfile.TarError as error:  # among them any member that would lie elsewhere
            raise DataError(f"{archive} cannot be unpacked ({error}). Replace it by the official file.") from error
        folder = root / CIFAR10.base_folder
        folder.mkdir(exist_ok=True)
        for file in (Path(part) / CIFAR10.base_folder).iterdir():
            file.replace(folder / file.name)


def _what_would_do(root: Path, batches: Sequence[str]) -> str:
    absent = [f"{batch}.bin" for batch in batches if not (root / BINARY_FOLDER / f"{batch}.bin").exists()]
    text = f"{root / BINARY_FOLDER} of the binary release would do as well, but lacks {', '.join(absent)}."
    return text + (" split=heldout does without the test batch." if absent == [f"{TEST}.bin"] else "")
