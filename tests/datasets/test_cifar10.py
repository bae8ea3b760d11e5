import hashlib
import io
import os
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torchvision.datasets import CIFAR10

from datasets import DataError, cifar10, prepare
from datasets.cifar10 import build
from tests.conftest import Tally

NAMES = (*cifar10.TRAINING, cifar10.TEST)
ROWS = 2
PIXELS = {n: np.random.default_rng(i).integers(0, 256, (ROWS, 3072), dtype=np.uint8) for i, n in enumerate(NAMES)}
LABELS = {n: [i, 9 - i] for i, n in enumerate(NAMES)}
PYTHON = {n: pickle.dumps({"data": PIXELS[n], "labels": LABELS[n]}, protocol=2) for n in NAMES}
BINARY = {n: np.column_stack([np.array(LABELS[n], np.uint8), PIXELS[n]]).tobytes() for n in NAMES}


class Foreign:
    """Unpickled, it makes a folder: what any pickle from elsewhere could do, and worse."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the small batches the official ones, and the network none."""
    monkeypatch.setattr(cifar10, "BATCH_ROWS", ROWS)
    monkeypatch.setattr(cifar10, "BINARY_MD5", {n: md5(BINARY[n]) for n in cifar10.TRAINING})
    monkeypatch.setattr(CIFAR10, "train_list", [[n, md5(PYTHON[n])] for n in cifar10.TRAINING])
    monkeypatch.setattr(CIFAR10, "test_list", [[cifar10.TEST, md5(PYTHON[cifar10.TEST])]])
    monkeypatch.setattr(CIFAR10, "url", "http://127.0.0.1:1/cifar-10-python.tar.gz")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def python_release(root: Path, names: tuple[str, ...] = NAMES) -> Path:
    folder = root / "cifar-10-batches-py"
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(PYTHON[name])
    return folder


def binary_release(root: Path, names: tuple[str, ...] = NAMES) -> Path:
    folder = root / "cifar-10-batches-bin"
    folder.mkdir()
    for name in names:
        (folder / f"{name}.bin").write_bytes(BINARY[name])
    return folder


def archive(*others: tarfile.TarInfo) -> bytes:
    """The release as an archive, with empty members besides."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in NAMES:
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(PYTHON[name])
            tar.addfile(member, io.BytesIO(PYTHON[name]))
        for member in others:
            tar.addfile(member)
    return buffer.getvalue()


def member(name: str, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = (tarfile.SYMTYPE, link) if link else (tarfile.REGTYPE, "")
    return made


@pytest.mark.parametrize("release", [python_release, binary_release])
def test_both_releases_give_the_same_rows_in_the_official_order(tmp_path: Path, release: Any) -> None:
    release(tmp_path)
    arrays = build(tmp_path)
    assert arrays.note == ""
    assert arrays.train.y.tolist() == [label for n in cifar10.TRAINING for label in LABELS[n]]
    assert arrays.test.y.tolist() == LABELS[cifar10.TEST]
    assert arrays.train.x.shape == (10, 32, 32, 3)
    image = PIXELS["data_batch_2"][1]
    for row, column, channel in ((0, 0, 0), (31, 0, 1), (5, 30, 2)):
        assert arrays.train.x[3, row, column, channel] == image[1024 * channel + 32 * row + column]


@pytest.mark.parametrize("release", [python_release, binary_release])
def test_held_out_needs_no_test_batch_and_says_what_it_is(tmp_path: Path, release: Any) -> None:
    release(tmp_path, cifar10.TRAINING)
    arrays = build(tmp_path, split="heldout")
    assert arrays.note == "test = official batch 5"
    assert arrays.test.y.tolist() == LABELS["data_batch_5"]
    assert len(arrays.train) == 8
    assert np.array_equal(arrays.test.x[0, :, :, 0].ravel(), PIXELS["data_batch_5"][0, :1024])


@pytest.mark.fault("a foreign pickle in the place of a data file")
def test_a_foreign_pickle_is_refused_before_it_runs(tmp_path: Path, fault: Tally) -> None:
    folder = python_release(tmp_path)
    ran = tmp_path / "ran"
    payload = pickle.dumps(Foreign(str(ran)))
    (folder / "data_batch_3").write_bytes(payload)
    with fault.refused(DataError, match=r"data_batch_3 is not the official file: .* expected md5"):
        build(tmp_path)
    assert not ran.exists()
    pickle.loads(payload)
    assert ran.exists()


@pytest.mark.fault("a data file of another size under a right name")
def test_a_damaged_binary_training_batch_is_named(tmp_path: Path, fault: Tally) -> None:
    folder = binary_release(tmp_path)
    (folder / "data_batch_4.bin").write_bytes(BINARY["data_batch_4"][:-1])
    with fault.refused(DataError, match=r"data_batch_4.bin is not the official file: it has 6145 bytes"):
        build(tmp_path)


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"1" * 100, "100 bytes, not 6146"), (b"\x0a" + BINARY["test_batch"][1:], "label 10 in row 0")],
)
def test_a_damaged_binary_test_batch_is_named_by_size_or_label(tmp_path: Path, content: bytes, what: str) -> None:
    folder = binary_release(tmp_path)
    (folder / "test_batch.bin").write_bytes(content)
    with pytest.raises(DataError, match=f"test_batch.bin is not the official test batch: it has {what}"):
        build(tmp_path)


def test_official_without_test_batch_or_network_names_url_place_and_the_way_out(tmp_path: Path) -> None:
    binary_release(tmp_path, cifar10.TRAINING)
    with pytest.raises(DataError) as caught:
        build(tmp_path)
    message = str(caught.value)
    assert CIFAR10.url in message
    assert f"put the file at {tmp_path / 'cifar-10-python.tar.gz'} by hand" in message
    assert "lacks test_batch.bin. split=heldout does without the test batch." in message


def test_the_release_is_downloaded_and_unpacked(tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server.content["c.tar.gz"] = archive()
    monkeypatch.setattr(CIFAR10, "url", f"{server.url}c.tar.gz")
    monkeypatch.setattr(CIFAR10, "tgz_md5", md5(server.content["c.tar.gz"]))
    assert len(build(tmp_path).train) == 10
    assert {path.name for path in tmp_path.iterdir()} == {"cifar-10-batches-py", "cifar-10-python.tar.gz"}


@pytest.mark.parametrize("mode", ["404", "html", "half"])
@pytest.mark.fault("a download that fails: 403, 404, HTML, half, stalled")
def test_a_failed_download_leaves_nothing(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch, mode: str, fault: Tally
) -> None:
    server.content["c.tar.gz"] = archive()
    server.mode = mode
    monkeypatch.setattr(CIFAR10, "url", f"{server.url}c.tar.gz")
    monkeypatch.setattr(CIFAR10, "tgz_md5", md5(server.content["c.tar.gz"]))
    with fault.refused(DataError, match=r"could not download cifar-10-python.tar.gz from http://127"):
        build(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_archive_put_there_by_hand_is_checked_and_completes_a_partial_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python_release(tmp_path, cifar10.TRAINING)
    content = archive()
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(content)
    monkeypatch.setattr(CIFAR10, "tgz_md5", md5(content + b"x"))
    with pytest.raises(DataError, match=r"cifar-10-python.tar.gz is not the official file"):
        build(tmp_path)
    monkeypatch.setattr(CIFAR10, "tgz_md5", md5(content))
    assert build(tmp_path).test.y.tolist() == LABELS[cifar10.TEST]


@pytest.mark.parametrize(
    "evil",
    [
        [member("../../outside")],
        [member("cifar-10-batches-py/../../../outside")],
        [member("cifar-10-batches-py/up", "../.."), member("cifar-10-batches-py/up/outside")],
    ],
    ids=["parent", "within", "link"],
)
@pytest.mark.fault("an archive that would write outside the data folder")
def test_an_archive_cannot_write_outside_the_data_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evil: list[tarfile.TarInfo], fault: Tally
) -> None:
    # md5 sums guard against damage and not against malice, so this one has the right sum.
    content = archive(*evil)
    root = tmp_path / "in" / "root"
    root.mkdir(parents=True)
    (root / "cifar-10-python.tar.gz").write_bytes(content)
    monkeypatch.setattr(CIFAR10, "tgz_md5", md5(content))
    with fault.refused(DataError, match=r"cifar-10-python.tar.gz cannot be unpacked \(.*outside.*\). Replace it by"):
        build(root)
    assert not list(tmp_path.rglob("outside"))
    assert [path.name for path in root.iterdir()] == ["cifar-10-python.tar.gz"]


def test_another_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="split='test' is unknown; choose 'official' or 'heldout'"):
        build(tmp_path, split="test")  # type: ignore[arg-type]


def test_a_batch_of_another_form_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, name = python_release(tmp_path), cifar10.TRAINING[0]
    for data, labels in ((PIXELS[name][:, :5], [0, 1]), (PIXELS[name].astype(float), [0, 1]), (PIXELS[name], [0.5, 1])):
        content = pickle.dumps({"data": data, "labels": labels}, protocol=2)
        (folder / name).write_bytes(content)
        known = [[n, md5(content) if n == name else md5(PYTHON[n])] for n in cifar10.TRAINING]
        monkeypatch.setattr(CIFAR10, "train_list", known)
        with pytest.raises(DataError, match=rf"{name} holds images .* not uint8 \(n, 3072\) .* by the official file"):
            build(tmp_path)


@pytest.mark.parametrize("release", [python_release, binary_release])
def test_a_batch_that_was_replaced_is_noticed(tmp_path: Path, release: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = release(tmp_path)
    before = prepare("cifar10", tmp_path)
    [path] = folder.glob(f"{cifar10.TEST}*")
    with path.open("r+b") as file:
        file.write(b"\x00")
    os.utime(path, ns=(1, 1))
    if release is python_release:
        with pytest.raises(DataError, match=f"{path} is not the official file"):
            prepare("cifar10", tmp_path)
    else:  # the one file whose official content is not published
        assert prepare("cifar10", tmp_path).hash != before.hash
    assert f"notice: {path} was replaced after" in capsys.readouterr().err
