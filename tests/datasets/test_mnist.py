import gzip
import hashlib
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torchvision.datasets

from datasets import DataError, mnist
from datasets.files import Expected
from datasets.mnist import build_fashion_mnist, build_kmnist
from tests.conftest import Tally

REPOSITORY = Path(__file__).resolve().parents[2]
PIXELS = {"train": np.arange(3 * 28 * 28), "t10k": np.arange(2 * 28 * 28)[::-1]}
LABELS = {"train": [9, 0, 4], "t10k": [1, 2]}


def idx_files() -> dict[str, bytes]:
    """Four small idx files, written by the format's description."""
    made = {}
    for split, labels in LABELS.items():
        n = len(labels)
        pixels = (PIXELS[split] % 256).astype(np.uint8).tobytes()
        made[f"{split}-images-idx3-ubyte"] = struct.pack(">HBBIII", 0, 8, 3, n, 28, 28) + pixels
        made[f"{split}-labels-idx1-ubyte"] = struct.pack(">HBBI", 0, 8, 1, n) + bytes(labels)
    return made


CONTENT = idx_files()
PACKED = {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in CONTENT.items()}


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty raw folder of a Fashion-MNIST whose official files are the small ones."""
    expected = {name: Expected(len(c), hashlib.sha256(c).hexdigest()) for name, c in CONTENT.items()}
    monkeypatch.setitem(mnist.FILES, "FashionMNIST", expected)
    folder = tmp_path / "FashionMNIST" / "raw"
    folder.mkdir(parents=True)
    return folder


def write(folder: Path, content: dict[str, bytes]) -> None:
    for name, data in content.items():
        (folder / name).write_bytes(data)


def assert_small(root: Path) -> None:
    arrays = build_fashion_mnist(root)
    assert (arrays.classes, arrays.scale) == (10, 255.0)
    for rows, split in ((arrays.train, "train"), (arrays.test, "t10k")):
        assert rows.y.tolist() == LABELS[split]
        assert rows.x.shape == (len(rows), 28, 28, 1)
        assert np.array_equal(rows.x.ravel(), PIXELS[split] % 256)


def test_unpacked_files_are_read(tmp_path: Path, raw: Path) -> None:
    write(raw, CONTENT)
    assert_small(tmp_path)


def test_packed_files_alone_are_read(tmp_path: Path, raw: Path) -> None:
    write(raw, PACKED)
    assert_small(tmp_path)


@pytest.mark.parametrize("name", CONTENT)
@pytest.mark.fault("a data file of another size under a right name")
def test_a_truncated_file_under_the_right_name_is_named(tmp_path: Path, raw: Path, name: str, fault: Tally) -> None:
    cut = CONTENT[name][:100] if "images" in name else CONTENT[name][:9]
    write(raw, CONTENT | {name: cut})
    size = len(CONTENT[name])
    with fault.refused(DataError, match=rf"{name} is not the official file: .* {len(cut)} bytes, expected {size}\."):
        build_fashion_mnist(tmp_path)


def test_the_100_byte_file_of_the_report_is_named_with_the_official_size(tmp_path: Path) -> None:
    folder = tmp_path / "KMNIST" / "raw"
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(bytes(100))
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte .* 100 bytes, expected 47040016. Delete it and run"):
        build_kmnist(tmp_path)


@pytest.mark.fault("a data file with a changed byte")
def test_a_changed_pixel_and_a_packed_file_of_other_content_are_named(tmp_path: Path, raw: Path, fault: Tally) -> None:
    name = "t10k-images-idx3-ubyte"
    changed = CONTENT[name][:-1] + b"\xff"
    write(raw, CONTENT | {name: changed})
    with fault.refused(DataError, match=f"{name} is not the official file: its content has sha256"):
        build_fashion_mnist(tmp_path)
    (raw / name).unlink()
    write(raw, {f"{name}.gz": gzip.compress(changed)})
    with fault.refused(DataError, match=f"{name}.gz is not the official file: its content has sha256"):
        build_fashion_mnist(tmp_path)


def test_what_is_missing_is_downloaded_and_the_rest_left_alone(
    tmp_path: Path, raw: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_server(server, monkeypatch)
    name = "train-images-idx3-ubyte"
    write(raw, {name: CONTENT[name]})
    assert_small(tmp_path)
    assert set(server.requested) == set(PACKED) - {f"{name}.gz"}
    assert {path.name for path in raw.iterdir()} == set(PACKED) - {f"{name}.gz"} | {name}


@pytest.mark.parametrize("mode", ["403", "html", "half"])
@pytest.mark.fault("a download that fails: 403, 404, HTML, half, stalled")
def test_a_failed_download_is_one_clear_error_and_leaves_nothing(
    tmp_path: Path, raw: Path, server: Any, monkeypatch: pytest.MonkeyPatch, mode: str, fault: Tally
) -> None:
    use_server(server, monkeypatch)
    server.mode = mode
    place = raw / "train-images-idx3-ubyte.gz"
    with fault.refused(DataError, match=f"from {server.url}train-images-idx3-ubyte.gz .*put the file at {place} by"):
        build_fashion_mnist(tmp_path)
    assert list(raw.iterdir()) == []


def test_two_processes_and_an_empty_folder_download_once(tmp_path: Path, server: Any) -> None:
    server.content.update(PACKED)
    code = """
import hashlib, pickle, sys
from pathlib import Path
import torchvision.datasets
from datasets import mnist, prepare
from datasets.files import Expected
content, packed = pickle.loads(bytes.fromhex(sys.argv[3]))
mnist.FILES["FashionMNIST"] = {n: Expected(len(c), hashlib.sha256(c).hexdigest()) for n, c in content.items()}
torchvision.datasets.FashionMNIST.mirrors = [sys.argv[2]]
torchvision.datasets.FashionMNIST.resources = [(n, hashlib.md5(c).hexdigest()) for n, c in packed.items()]
print(prepare("fashion_mnist", Path(sys.argv[1])).hash)
"""
    small = pickle.dumps((CONTENT, PACKED)).hex()
    command = [sys.executable, "-c", code, str(tmp_path), server.url, small]
    processes = [subprocess.Popen(command, cwd=REPOSITORY, text=True, stdout=subprocess.PIPE) for _ in range(2)]
    hashes = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert hashes[0] == hashes[1] != ""
    # torchvision asks twice for each file: once to follow redirections, once for the content.
    assert sorted(server.requested) == sorted([*PACKED, *PACKED])


def use_server(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server.content.update(PACKED)
    official = torchvision.datasets.FashionMNIST
    monkeypatch.setattr(official, "mirrors", [server.url])
    monkeypatch.setattr(official, "resources", [(name, hashlib.md5(c).hexdigest()) for name, c in PACKED.items()])
