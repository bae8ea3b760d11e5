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
    with pytest.raises(
        DataError, match=r"the data set toy cannot be used: image arrays need scale\. Replace .* or cor"
    ):
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


def from_file(root: Path) -> Arrays:
    """Labels from a raw file, with a file that would be preferred if it were there."""
    preferred = root / "better.npy"
    raw = preferred if preferred.exists() else root / "raw.npy"
    labels = np.load(raw)
    rows = Rows(np.ones((len(labels), 2), dtype=np.int32), labels)
    return Arrays(rows, rows, classes=9, vocabulary=2, raw=(preferred, root / "raw.npy"))


@pytest.fixture
def raw_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(SOURCES, "toy", Source("tokens", from_file))
    path = tmp_path / "raw.npy"
    np.save(path, np.array([1, 2, 3]))
    return path


def later(path: Path) -> None:
    """Let the file have another time, whatever the clock does."""
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1_000_000_000))


@pytest.mark.parametrize(
    ("name", "labels"),
    [("raw.npy", [4, 5]), ("raw.npy", [3, 2, 1]), ("better.npy", [1, 2, 8])],
    ids=["of another size", "of the same size", "that is preferred"],
)
@pytest.mark.fault("a raw data file that was replaced after it was prepared")
@pytest.mark.usefixtures("raw_source")
def test_a_raw_file_that_was_replaced_is_noticed_and_prepared_anew(
    tmp_path: Path,
    name: str,
    labels: list[int],
    capsys: pytest.CaptureFixture[str],
    fault: Tally,
) -> None:
    before = prepare("toy", tmp_path)
    np.save(tmp_path / name, np.array(labels))
    later(tmp_path / name)
    fault.inject()
    after = prepare("toy", tmp_path)
    err = capsys.readouterr().err
    assert err == f"notice: {tmp_path / name} was replaced after {after.folder} was prepared; it is prepared anew\n"
    fault.said(err, "was replaced after")
    assert after.train.y.tolist() == labels
    assert after.hash != before.hash
    assert before.train.y.tolist() == [1, 2, 3]  # who has it goes on with what was verified
    assert prepare("toy", tmp_path).hash == after.hash
    assert capsys.readouterr().err == ""
    assert sorted(path.name for path in after.folder.parent.iterdir()) == [".toy.lock", "toy"]


def test_a_raw_file_that_is_touched_copied_or_removed_is_not_taken_for_another(
    tmp_path: Path, raw_source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "moved"
    first = prepare("toy", tmp_path)
    later(raw_source)
    assert prepare("toy", tmp_path).hash == first.hash
    root.mkdir()
    for name in ("raw.npy", "prepared"):
        (tmp_path / name).rename(root / name)
    assert prepare("toy", root).hash == first.hash
    (root / "raw.npy").unlink()
    assert prepare("toy", root).hash == first.hash
    assert capsys.readouterr().err == ""


def test_a_folder_prepared_before_raw_files_were_noted_is_used_as_it_is(tmp_path: Path, folder: Path) -> None:
    path = folder / manifest.NAME
    facts = json.loads(path.read_bytes())
    del facts["raw"], facts["sha256"]
    path.write_bytes(manifest._text(facts))
    assert prepare("toy", tmp_path).note == "a note"
    assert builds(tmp_path) == 1


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        ([1.0, 2.0], r"train.y is float64 \(2,\), not int64 \(2,\) with rows"),
        ([[1], [2]], r"train.y is int64 \(2, 1\), not int64 \(2,\) with rows"),
        ([1, 20], "train.y lies outside 0 … 8"),
        ([], "train.y is float64"),
    ],
)
@pytest.mark.fault("a raw data array of a wrong shape or type")
def test_a_raw_array_of_the_wrong_form_is_named_with_its_data_set_and_the_remedy(
    tmp_path: Path, raw_source: Path, labels: list[Any], what: str, fault: Tally
) -> None:
    np.save(raw_source, np.array(labels))
    remedy = rf"Replace .*, {raw_source} by the official files, or correct tests.datasets.test_store.from_file\."
    with fault.refused(DataError, match=rf"the data set toy cannot be used: {what}.*{remedy}"):
        prepare("toy", tmp_path)
    assert [path.name for path in (tmp_path / "prepared").iterdir()] == [".toy.lock"]


def test_a_build_that_ends_in_an_error_of_its_own_is_named_with_its_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SOURCES, "toy", Source("tokens", lambda root: {}[root]))
    with pytest.raises(DataError, match=r"the data set toy cannot be used: reading it ends in KeyError: .* or correct"):
        prepare("toy", tmp_path)
    with pytest.raises(ValueError, match=r"^marker: length=1 leaves nothing to search; set it to 2 or more"):
        prepare("marker", tmp_path, length=1)
