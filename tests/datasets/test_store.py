import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datasets import SOURCES, DataError, Source, manifest, prepare, store
from datasets.arrays import Arrays, Rows
from tests.conftest import Tally

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = ["train_x.npy", "train_y.npy", "test_x.npy", "test_y.npy"]
REMEDY = "Delete the folder .* and run again"

# A source that is slow to build and counts its builds, as a process of its own sees it.
TOY = """
import sys, time
from pathlib import Path
import numpy as np
from datasets import SOURCES, Source, prepare
from datasets.arrays import Arrays, Rows

def build(root, *, length: int = 3):
    with (root / "builds").open("a") as file:
        file.write("x")
    time.sleep(0.3)
    ids = np.arange(6 * length, dtype=np.int32).reshape(6, length)
    rows = Rows(ids, np.arange(6) % 2)
    return Arrays(rows, rows, classes=2, vocabulary=100, note="a note")

SOURCES["toy"] = Source("tokens", build)
"""


def toy(root: Path, *, length: int = 3) -> Arrays:
    with (root / "builds").open("a") as file:
        file.write("x")
    ids = np.arange(6 * length, dtype=np.int32).reshape(6, length)
    labels = np.arange(6) % 2
    return Arrays(Rows(ids, labels), Rows(ids[::-1].copy(), labels), classes=2, vocabulary=100, note="a note")


@pytest.fixture(autouse=True)
def toy_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "toy", Source("tokens", toy))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepare("toy", tmp_path).folder


def start(code: str, root: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", TOY + code, str(root)]
    return subprocess.Popen(command, cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def builds(root: Path) -> int:
    return len((root / "builds").read_text())


def test_what_was_built_comes_back_memory_mapped(tmp_path: Path) -> None:
    built = toy(tmp_path)
    for _ in range(2):
        found = prepare("toy", tmp_path)
        for name, array in found.named().items():
            assert isinstance(array, np.memmap)
            assert not array.flags.writeable
            assert np.array_equal(array, built.named()[name])
        assert (found.kind, found.classes, found.vocabulary, found.scale) == ("tokens", 2, 100, None)
        assert found.note == "a note"
        assert found.folder == tmp_path / "prepared" / "toy-length=3"
    assert builds(tmp_path) == 2  # the one above and one by prepare


def test_default_and_explicit_options_mean_one_folder_and_others_another(tmp_path: Path) -> None:
    assert prepare("toy", tmp_path, length=3).folder == prepare("toy", tmp_path).folder
    other = prepare("toy", tmp_path, length=4)
    assert other.folder.name == "toy-length=4"
    assert other.train.x.shape == (6, 4)
    assert builds(tmp_path) == 2


def test_the_hash_is_the_same_wherever_it_was_prepared_and_changes_with_the_values(tmp_path: Path) -> None:
    roots = [tmp_path / "a", tmp_path / "b"]
    for root in roots:
        root.mkdir()
    first, second = (prepare("toy", root) for root in roots)
    assert first.hash == second.hash
    assert len(first.hash) == 16
    assert int(first.hash, 16) > 0
    train = Rows(first.train.x, np.array(first.train.y))
    train.y[0] ^= 1
    assert manifest.content_hash(Arrays(train, first.test, classes=2)) != first.hash
    assert manifest.content_hash(Arrays(first.test, first.train, classes=2)) != first.hash


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
@pytest.mark.fault("a bit of a prepared file flipped")
def test_a_changed_byte_anywhere_is_found(tmp_path: Path, folder: Path, name: str, fault: Tally) -> None:
    path = folder / name
    whole = path.read_bytes()
    places = range(len(whole)) if name == "manifest.json" else [0, 6, 60, 120, 128, len(whole) - 1]
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with fault.refused(DataError, match=f"{re.escape(str(path))} is damaged: .*{REMEDY}"):
            prepare("toy", tmp_path)
    path.write_bytes(whole)
    assert prepare("toy", tmp_path).note == "a note"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("length", [0, 100, -1])
@pytest.mark.fault("a prepared file truncated")
def test_a_truncated_array_is_named(tmp_path: Path, folder: Path, name: str, length: int, fault: Tally) -> None:
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:length])
    with fault.refused(DataError, match=f"{name} is damaged: its content has sha256 .*{REMEDY}"):
        prepare("toy", tmp_path)


@pytest.mark.fault("prepared files exchanged, lengthened or missing")
def test_appended_bytes_swapped_files_and_missing_files_are_found(tmp_path: Path, folder: Path, fault: Tally) -> None:
    whole = (folder / "train_x.npy").read_bytes()
    (folder / "train_x.npy").write_bytes(whole + b"\0")
    with fault.refused(DataError, match=r"train_x.npy is damaged"):
        prepare("toy", tmp_path)
    (folder / "train_x.npy").write_bytes((folder / "test_x.npy").read_bytes())
    (folder / "test_x.npy").write_bytes(whole)
    with fault.refused(DataError, match=r"train_x.npy is damaged"):
        prepare("toy", tmp_path)
    (folder / "train_x.npy").unlink()
    with fault.refused(DataError, match=f"train_x.npy is damaged: it cannot be read .*{REMEDY}"):
        prepare("toy", tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "3", "{}", '{"sha256": "0"}', "[" * 100_000])
@pytest.mark.fault("a manifest that is none")
def test_a_corrupt_manifest_is_named(tmp_path: Path, folder: Path, content: str, fault: Tally) -> None:
    (folder / "manifest.json").write_text(content)
    with fault.refused(DataError, match=f"manifest.json is damaged: .*{REMEDY}"):
        prepare("toy", tmp_path)


def test_a_missing_manifest_and_one_of_another_format_or_folder_are_named(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, folder.with_name("toy-length=5"))
    with pytest.raises(DataError, match=r"describes toy \{'length': 3\}, not toy \{'length': 5\}"):
        prepare("toy", tmp_path, length=5)
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "FORMAT", 2)
        with pytest.raises(DataError, match=f"has format 1; this version reads format 2. {REMEDY}"):
            prepare("toy", tmp_path)
    (folder / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"manifest.json is damaged: it cannot be read"):
        prepare("toy", tmp_path)


def test_deleting_the_folder_is_the_remedy_it_says(tmp_path: Path, folder: Path) -> None:
    before = prepare("toy", tmp_path).hash
    (folder / "test_y.npy").write_bytes(b"")
    with pytest.raises(DataError, match=r"test_y.npy"):
        prepare("toy", tmp_path)
    shutil.rmtree(folder)
    assert prepare("toy", tmp_path).hash == before


@pytest.mark.fault("four processes preparing one data set at once")
def test_four_processes_at_once_build_once_and_see_the_same(tmp_path: Path, fault: Tally) -> None:
    code = 'p = prepare("toy", Path(sys.argv[1])); print(p.hash, p.train.x.sum())'
    processes = [start(code, tmp_path) for _ in range(4)]
    results = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, results
    fault.inject(4)
    fault.unsaid()
    assert len({out for out, _ in results}) == 1
    assert builds(tmp_path) == 1
    assert sorted(path.name for path in (tmp_path / "prepared").iterdir()) == [".toy.lock", "toy-length=3"]


@pytest.mark.fault("a process killed while it prepares data (SIGKILL)")
def test_a_killed_process_leaves_nothing_that_matters(tmp_path: Path, fault: Tally) -> None:
    code = """
def hang(*arguments, **options):
    print("writing", flush=True)
    time.sleep(60)
from datasets import manifest
manifest.content_hash = hang
prepare("toy", Path(sys.argv[1]))
"""
    process = start(code, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    os.kill(process.pid, signal.SIGKILL)
    fault.inject()
    fault.unsaid()
    process.communicate(timeout=10)
    left = list((tmp_path / "prepared").glob(".toy.*.part"))
    assert len(left) == 1
    assert (left[0] / "train_x.npy").exists()
    began = time.monotonic()
    assert len(prepare("toy", tmp_path).train) == 6
    assert time.monotonic() - began < 5
    assert not left[0].exists()


def test_a_failed_build_leaves_nothing_and_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_root: Path) -> Arrays:
        raise DataError("no such data")

    monkeypatch.setitem(SOURCES, "toy", Source("tokens", refuse))
    for _ in range(2):
        with pytest.raises(DataError, match="no such data"):
            prepare("toy", tmp_path)
    assert [path.name for path in (tmp_path / "prepared").iterdir()] == [".toy.lock"]


def test_a_raw_file_that_cannot_be_read_and_broken_promises_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SOURCES, "toy", Source("tokens", lambda root: Arrays(*read(root / "raw"), classes=2)))
    with pytest.raises(DataError, match=rf"cannot read {tmp_path / 'raw'} \(No such file or directory\)"):
        prepare("toy", tmp_path)
    monkeypatch.setitem(SOURCES, "toy", Source("image", toy))
    with pytest.raises(ValueError, match="image arrays need scale"):
        prepare("toy", tmp_path)


def read(path: Path) -> Any:
    return path.read_bytes()


@pytest.mark.fault("a data folder that cannot be written")
def test_a_root_that_cannot_be_written_is_named_with_the_remedy(tmp_path: Path, fault: Tally) -> None:
    root = tmp_path / "file"
    root.write_text("not a folder")  # and not a missing permission, which root does not notice
    with fault.refused(DataError, match=rf"cannot write below {root} .*data.root=\.\.\. or .* NORMBENCH_DATA"):
        prepare("toy", root)


@pytest.mark.fault("a disk that is full when data are prepared")
def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Tally) -> None:
    def full(*_arguments: Any, **_options: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "save", full)
        with fault.refused(DataError, match=rf"cannot write below {tmp_path} \(No space left on device\)"):
            prepare("toy", tmp_path)
    assert [path.name for path in (tmp_path / "prepared").iterdir()] == [".toy.lock"]


def test_a_prepared_set_is_read_from_where_nothing_can_be_written(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(store, "lock", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert prepare("toy", tmp_path).folder == folder


def test_unknown_names_and_options_are_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="source='mnist' is unknown; choose one of cifar10, fashion_mnist"):
        prepare("mnist", tmp_path)
    with pytest.raises(ValueError, match="toy has no option lenght; its options: length"):
        prepare("toy", tmp_path, lenght=3)
    with pytest.raises(ValueError, match="digits has no option split; its options: none"):
        prepare("digits", tmp_path, split="official")
    with pytest.raises(ValueError, match="choose values without a slash"):
        prepare("cifar10", tmp_path, split="../x")
    assert list(tmp_path.iterdir()) == []


def test_the_manifest_states_what_a_reader_needs(folder: Path) -> None:
    facts = json.loads((folder / "manifest.json").read_text())
    assert facts["source"] == "toy"
    assert facts["options"] == {"length": 3}
    assert list(facts["files"]) == FILES
    assert facts["files"]["train_x.npy"]["shape"] == [6, 3]
    assert facts["files"]["train_x.npy"]["dtype"] == "int32"
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777
