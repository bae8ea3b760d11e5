import gzip
import hashlib
import multiprocessing
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torchvision.datasets

from datasets import DataError, mnist, prepare
from datasets.files import Expected
from datasets.mnist import build_fashion_mnist, build_kmnist
from tests.conftest import Tally

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


@pytest.mark.usefixtures("raw")
def test_two_processes_and_an_empty_folder_download_once(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_server(server, monkeypatch)
    context = multiprocessing.get_context("fork")  # what is patched, and what took seconds to import, is there at once
    both, told = context.Barrier(2), context.SimpleQueue()

    def prepared() -> None:
        both.wait()
        told.put(prepare("fashion_mnist", tmp_path).hash)

    processes = [context.Process(target=prepared) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert told.get() == told.get() != ""
    # torchvision asks twice for each file: once to follow redirections, once for the content.
    assert sorted(server.requested) == sorted([*PACKED, *PACKED])


def test_a_replaced_file_is_refused_although_it_was_prepared_before(tmp_path: Path, raw: Path) -> None:
    write(raw, PACKED)
    before = prepare("fashion_mnist", tmp_path)
    name = "train-labels-idx1-ubyte"
    write(raw, {name: CONTENT[name][:-1] + b"\x05"})  # unpacked, so that it would be read in place of the packed one
    with pytest.raises(DataError, match=f"{name} is not the official file"):
        prepare("fashion_mnist", tmp_path)
    write(raw, {name: CONTENT[name]})
    assert prepare("fashion_mnist", tmp_path).hash == before.hash


@pytest.mark.parametrize("content", [CONTENT["train-labels-idx1-ubyte"], b"PK\x03\x04 something", b""])
def test_a_file_that_is_no_array_of_images_is_named(
    tmp_path: Path, raw: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "train-images-idx3-ubyte"
    known = mnist.FILES["FashionMNIST"] | {name: Expected(len(content), hashlib.sha256(content).hexdigest())}
    monkeypatch.setitem(mnist.FILES, "FashionMNIST", known)
    write(raw, CONTENT | {name: content})
    with pytest.raises(DataError, match=f"{name} holds no array of images: .* Replace it by the official file"):
        prepare("fashion_mnist", tmp_path)


def use_server(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server.content.update(PACKED)
    official = torchvision.datasets.FashionMNIST
    monkeypatch.setattr(official, "mirrors", [server.url])
    monkeypatch.setattr(official, "resources", [(name, hashlib.md5(c).hexdigest()) for name, c in PACKED.items()])
