"""Fashion-MNIST and KMNIST: 60,000 train and 10,000 test grey images of 28x28 pixels, 10 classes.

Fashion-MNIST: Xiao, Rasul and Vollgraf 2017, arXiv:1708.07747, licence MIT. KMNIST: "KMNIST Dataset" (created by
CODH), adapted from "Kuzushiji Dataset" (created by NIJL and others), doi:10.20676/00000341; Clanuwat et al. 2018,
arXiv:1812.01718, licence CC BY-SA 4.0. Files lie where torchvision keeps them, `<root>/<name>/raw`, unpacked or as .gz.
"""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from datasets.arrays import Arrays, DataError, Rows
from datasets.files import Expected, download, unpack, verify

SCALE = 255.0
TRAIN, TEST = "train", "t10k"

# Of the unpacked files, since their names and sizes are shared by every set of this family. Computed from the official
# releases, whose .gz files have the md5 sums that torchvision carries.
FILES: dict[str, dict[str, Expected]] = {
    "FashionMNIST": {
        "train-images-idx3-ubyte": Expected(
            47_040_016, "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"
        ),
        "train-labels-idx1-ubyte": Expected(60_008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
        "t10k-images-idx3-ubyte": Expected(
            7_840_016, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"
        ),
        "t10k-labels-idx1-ubyte": Expected(10_008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
    },
    "KMNIST": {
        "train-images-idx3-ubyte": Expected(
            47_040_016, "7112ba9ec422d98de4885262d4a4dff14cc4fefb81c11ace8bf563a8255df5c3"
        ),
        "train-labels-idx1-ubyte": Expected(60_008, "2a16eeae62da984b8bd24fa32e31d47291f01dac3fe84d5594f304f71e7d374b"),
        "t10k-images-idx3-ubyte": Expected(
            7_840_016, "76fbd229ce87db80dd281af5e6670de4ad0e42fb30a7bd643972994c47c1f42e"
        ),
        "t10k-labels-idx1-ubyte": Expected(10_008, "a11dc742be8e781a40a92f53d6a4957e7b7d36df2faa097659131ebfd8fd60c6"),
    },
}


def build_fashion_mnist(root: Path) -> Arrays:
    """Fashion-MNIST, images (n, 28, 28, 1). Raises DataError for a damaged file or a failed download."""
    return _build(root, "FashionMNIST")


def build_kmnist(root: Path) -> Arrays:
    """KMNIST, images (n, 28, 28, 1). Raises DataError for a damaged file or a failed download."""
    return _build(root, "KMNIST")


def _build(root: Path, name: str) -> Arrays:
    train, test = _rows(root, name, TRAIN), _rows(root, name, TEST)
    # Both forms of each file: an unpacked one that is put beside the packed one later would be read in its place.
    raw = (path for file in FILES[name] for path in _places(root, name, file))
    return Arrays(train, test, classes=10, scale=SCALE, raw=tuple(raw))


def _places(root: Path, name: str, file: str) -> tuple[Path, Path]:
    """Where the file may lie, unpacked and packed."""
    path = root / name / "raw" / file
    return path, path.with_name(f"{file}.gz")


def _rows(root: Path, name: str, split: str) -> Rows:
    images, labels = (
        _idx(_content(root, name, file), file) for file in (f"{split}-images-idx3-ubyte", f"{split}-labels-idx1-ubyte")
    )
    return Rows(images[..., None], labels.astype(np.int64))


def _content(root: Path, name: str, file: str) -> bytes:
    """The verified content of one unpacked file, which may lie there as .gz only, or not at all yet."""
    path, packed = _places(root, name, file)
    if path.exists():
        content = path.read_bytes()
    else:
        if not packed.exists():
            _fetch(name, packed)
        path, content = packed, unpack(packed)
    verify(path, content, FILES[name][file])
    return content


def _fetch(name: str, packed: Path) -> None:
    from torchvision import datasets as torchvision_datasets

    official = getattr(torchvision_datasets, name)
    md5 = dict(official.resources)[packed.name]
    download([f"{mirror}{packed.name}" for mirror in official.mirrors], packed, md5)


def _idx(content: bytes, file: str) -> NDArray[np.uint8]:
    """An idx file of unsigned bytes: two zeros, type 8, the rank, each size as big-endian uint32, then the values.

    Raises DataError, naming the file, for anything else.
    """
    rank = content[3] if content[:3] == b"\0\0\x08" else 0
    header = 4 + 4 * rank
    shape = [int(size) for size in np.frombuffer(content[4:header], dtype=">u4")]
    if rank != (3 if "idx3" in file else 1) or len(content) != header + math.prod(shape):
        raise DataError(
            f"{file} holds no array of {'images' if 'idx3' in file else 'labels'}: an idx file of rank {rank}, shape "
            f"{shape} and {len(content)} bytes. Replace it by the official file."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)
