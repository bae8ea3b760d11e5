"""Record files: whole or not at all, never overwritten, refused by name where they are not whole."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench import domains, records
from bench.records import Record, RecordError, UnreadableError, read, record_path, scan, write
from tests.bench.helpers import ROOT
from tests.conftest import Tally

FIELDS: dict[str, Any] = {
    "schema": 1,
    "dataset": "digits",
    "normalizer": "hae",
    "seed": 3,
    "fingerprint": "0123456789ab",
    "setting": "s",
    "cell": "c",
    "status": "completed",
    "notes": ["α says: „so“"],
    "config": {"seed": 3},
    "metrics": {"accuracy": 0.1 + 0.2, "alpha_mean": None},
    "curves": {"train_loss": [1.5, 1e-300]},
    "error": {"type": "E", "message": "m\n", "traceback": ""},
}


def made(**changes: Any) -> Record:
    return Record(**FIELDS | changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return record_path(tmp_path, "digits", "hae", 3, "0123456789ab")


def test_the_path_can_be_read_by_a_person(path: Path, tmp_path: Path) -> None:
    assert path.relative_to(tmp_path).as_posix() == "digits/hae/seed=3-0123456789ab.json"


def test_what_is_written_is_read_and_lies_alone(path: Path, tmp_path: Path) -> None:
    write(path, made(), tmp_path)
    assert read(path) == made()
    assert read(path).key == ("digits", "hae", 3)
    assert list(path.parent.iterdir()) == [path]
    assert path.read_text(encoding="utf-8").count("\n") == 1


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace"])
@pytest.mark.parametrize("old", [True, False])
def test_a_crash_while_writing_leaves_no_half_file_and_the_old_content(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, old: bool
) -> None:
    if old:
        write(path, made(cell="old"), tmp_path)

    def crash(*_arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(call, crash)
        with pytest.raises(OSError, match="No space"):
            write(path, made(cell="new"), tmp_path)
    found, broken = scan([tmp_path, tmp_path / records.ARCHIVE])
    assert broken == []
    assert [record.cell for _, record in found] == ["old"] * old
    assert not list(tmp_path.rglob("*.part"))


def test_no_reader_ever_sees_a_part(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    real = os.fsync

    def look(descriptor: int) -> None:
        real(descriptor)
        seen.append(([p.name for p in path.parent.iterdir()], list(records.files(tmp_path))))

    monkeypatch.setattr(os, "fsync", look)
    write(path, made(), tmp_path)
    names, visible = seen[0]
    assert len(names) == 1
    assert names[0].startswith(f".{path.name}.")
    assert visible == []


def test_nothing_is_overwritten_however_often_a_record_is_written(path: Path, tmp_path: Path) -> None:
    for number in range(3):
        write(path, made(cell=f"{number}"), tmp_path)
    archive = tmp_path / records.ARCHIVE / "digits" / "hae"
    assert read(path).cell == "2"
    names = [f"seed=3-0123456789ab.{number}.json" for number in (1, 2)]
    assert [read(archive / name).cell for name in names] == ["0", "1"]
    assert sorted(place.name for place in archive.iterdir()) == names


def test_a_broken_file_is_archived_as_it_is(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff\x00half")
    place = records.archive(path, tmp_path)
    assert place.read_bytes() == b"\xff\x00half"
    assert not path.exists()


def test_a_folder_in_the_place_of_a_record_is_archived_with_all_it_holds(path: Path, tmp_path: Path) -> None:
    path.mkdir(parents=True)
    (path / "notes.txt").write_text("kept", encoding="utf-8")
    write(path, made(), tmp_path)
    assert read(path) == made()
    place = tmp_path / records.ARCHIVE / "digits" / "hae" / f"{path.stem}.1.json"
    assert (place / "notes.txt").read_text(encoding="utf-8") == "kept"


def text(**changes: Any) -> bytes:
    return json.dumps(FIELDS | changes).encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (text()[: len(text()) // 2], "not whole JSON"),
        (b"", "not whole JSON"),
        (b"\xff\xfe{}", "not UTF-8 text"),
        (text().replace("α".encode(), b"\xb1") if "α".encode() in text() else b'{"a": "\xb1"}', "not UTF-8 text"),
        (b"[" * 100_000, "not whole JSON"),
        (b'{"a":' * 100_000, "not whole JSON"),
        (b"[1]", "holds a JSON list, not an object"),
        (text(schema=2), "has schema 2; this version reads schema 1"),
        (b"{}", "has schema None"),
        (text(surprise=1), "field surprise: Extra inputs are not permitted"),
        (text(metrics={"accuracy": float("nan")}), "holds NaN, which is no number of a result"),
        (text(metrics={"accuracy": -float("inf")}), "holds -Infinity, which is no number of a result"),
        (text().replace(b"0.30000000000000004", b"1e999"), "holds 1e999, which is no number of a result"),
        (text(metrics={"accuracy": "0.5"}), "field metrics.accuracy: Input should be a valid number"),
        (text(curves={"a": [{"b": -0.5}]}).replace(b"-0.5", b"-1e999"), "holds -1e999, which is no number of a result"),
        (text().replace(b'"seed": 3', b'"seed": 3' + b"0" * 5000), "not whole JSON (Exceeds the limit"),
        (text(curves={"loss": [10**400]}), "holds 1" + 29 * "0" + "..., which is no number of a result"),
        (text(metrics={"accuracy": True}), "field metrics.accuracy: Input should be a valid number"),
        (text(seed=2**63), f"field seed: Input should be less than {2**63}"),
        (text(seed=3.0), "field seed: Input should be a valid integer"),
        (text(seed=-1), "field seed: Input should be greater than or equal to 0"),
        (text(status="done"), "field status: Input should be 'completed', 'failed' or 'interrupted'"),
        (text(dataset="../etc"), "field dataset: String should match pattern"),
        (text(normalizer="hae\n"), "field normalizer: String should match pattern"),
        (text(fingerprint="/../../etc"), "field fingerprint: String should match pattern"),
        (text(fingerprint="\ud800"), "field fingerprint: Input should be a valid string"),
        (text(fingerprint="a\0b"), "field fingerprint: String should match pattern"),
        (text(fingerprint="a" * 300), "field fingerprint: String should match pattern"),
        (text(dataset="d" * 300), "field dataset: String should match pattern"),
        (text(notes=["\x1b[2J"]), "field notes.0: String should match pattern"),
        (text(error={"x": "y"}), "field error: Value error, an error has a type and a message"),
        (text(config={"a": "x"}).replace(b'"x"', b"[" * 19 + b"]" * 19), "is nested more than 20 levels deep"),
        (b'{"a":' * 900 + b"1" + b"}" * 900, "has schema None"),
        (text(error=None)[:-1] + b', "seed": 4}', "holds a key twice, among schema, dataset, "),
        (b"\xef\xbb\xbf" + text(), "not whole JSON (Unexpected UTF-8 BOM"),
        (json.dumps({k: v for k, v in FIELDS.items() if k != "cell"}).encode(), "field cell: Field required"),
    ],
)
@pytest.mark.fault("a record that is hostile, odd or of another schema")
def test_what_is_no_record_is_refused_by_file_and_reason(
    path: Path, tmp_path: Path, content: bytes, reason: str, fault: Tally
) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(RecordError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: {reason}")
    fault.inject()
    fault.said(str(caught.value), str(path))
    whole = tmp_path / "digits" / "softmax" / "seed=0-0.json"
    write(whole, made(), tmp_path)
    found, broken = scan([tmp_path])
    assert [p for p, _ in found] == [whole]
    assert [error.path for error in broken] == [path]
    fault.same({whole: made()}, dict(found))


def test_a_record_may_be_nested_to_the_limit(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(text(config={"a": "x"}).replace(b'"x"', b"[" * 18 + b"]" * 18))
    assert read(path).config["a"] != "x"


@pytest.mark.parametrize("field", ["curves", "attention"])
def test_nan_is_refused_wherever_it_stands(path: Path, field: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(text(**{field: {"support": [float("nan")]}}))
    with pytest.raises(RecordError, match="NaN"):
        read(path)


def test_hidden_files_and_folders_are_no_records(path: Path, tmp_path: Path) -> None:
    write(path, made(), tmp_path)
    write(path, made(), tmp_path)
    for name in (".hidden.json", f".{path.name}.1.part", "notes.txt"):
        (path.parent / name).write_text("{", encoding="utf-8")
    (tmp_path / ".locks").mkdir()
    (tmp_path / ".locks" / "x.json").write_text("{", encoding="utf-8")
    assert list(records.files(tmp_path)) == [path]
    assert scan([tmp_path / "nowhere"]) == ([], [])


def test_a_linked_folder_is_looked_into_and_a_circle_is_not_followed_twice(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "other disk"
    write(elsewhere / "hae" / path.name, made(), elsewhere)
    here = tmp_path / "records"
    here.mkdir()
    (here / "digits").symlink_to(elsewhere, target_is_directory=True)
    (here / "digits" / "again").symlink_to(here, target_is_directory=True)
    assert [p.relative_to(here).as_posix() for p in records.files(here)] == [f"digits/hae/{path.name}"]


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_path: Any) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(os, "scandir", denied)
    found, [error] = scan([tmp_path])
    assert found == []
    assert str(error) == f"{tmp_path}: cannot be listed (Permission denied)"
    with pytest.raises(UnreadableError):
        list(records.files(tmp_path))


@pytest.mark.parametrize(("number", "error"), [(13, UnreadableError), (5, UnreadableError), (2, RecordError)])
def test_a_record_that_cannot_be_read_is_not_taken_for_a_broken_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: type[RecordError]
) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(RecordError, match=r"cannot be read \(no\)") as caught:
        read(path)
    assert type(caught.value) is error


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(field=st.sampled_from(sorted(FIELDS)), value=JSON)
def test_whatever_a_field_holds_the_record_is_read_or_refused_by_name(path: Path, field: str, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(FIELDS | {field: value}), encoding="utf-8")
    found, broken = scan([path.parent])
    assert len(found) + len(broken) == 1
    assert [error.path for error in broken] == [path] * len(broken)
    for _, record in found:
        error = record.error or {"type": "", "message": ""}
        assert {"type", "message"} <= set(error)
        assert record_path(path.parent, *record.key, record.fingerprint).parent.parent.parent == path.parent
        assert len(record.fingerprint) <= 220


@pytest.mark.parametrize(
    ("part", "name", "value", "domain"),
    [
        ("metrics", "train_seconds", -5.0, "a number of seconds, 0 or more"),
        ("metrics", "support", 7.5, "a share of 1; a percentage must be divided by 100"),
        ("metrics", "validation_macro_f1", 83.0, "a share of 1; a percentage must be divided by 100"),
        ("metrics", "test_loss", -0.1, "a cross-entropy, 0 or more"),
        ("metrics", "alpha_mean", 0.5, "an α of entmax, 1 or more"),
        ("metrics", "peak_memory_mb", -1.0, "a number of MiB, 0 or more"),
        ("attention", "support", [[0.5, 1.0], [7.5, 0.5]], "a share of 1; a percentage must be divided by 100"),
        ("attention", "entropy", [[-1.0]], "an entropy in nats, 0 or more"),
    ],
)
def test_an_impossible_number_is_refused_with_its_file(
    path: Path, tmp_path: Path, part: str, name: str, value: Any, domain: str
) -> None:
    write(path, made(), tmp_path)
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | {part: {name: value}}), encoding="utf-8")
    number = max(np.ravel(value), key=abs)
    with pytest.raises(records.ImpossibleError) as refused:
        read(path)
    assert str(refused.value) == f"{path}: {part}.{name} is {number:g}, which is not {domain}"


def test_numbers_at_the_ends_of_their_domains_and_beside_them_by_rounding_are_taken(path: Path, tmp_path: Path) -> None:
    metrics = {"accuracy": 0.0, "support": 1.0 + 1e-7, "macro_f1": 1.0, "train_seconds": 0.0, "alpha_mean": 1.0}
    record = made(metrics=metrics | {"informative_mass": 1.5, "anything": -3.0})
    write(path, record, tmp_path)
    assert read(path) == record


def test_every_metric_that_a_run_writes_has_a_domain() -> None:
    written = {name for folder in (ROOT / "results").glob("*/records") for name in _metrics_of(folder)}
    assert {"accuracy", "informative_mass", "wall_seconds"} <= written
    assert written <= set(domains.METRICS)


def _metrics_of(folder: Path) -> set[str]:
    """The names of the metrics of one record of each data set below `folder`."""
    first = {path.parent.parent: path for path in records.files(folder)}
    return {name for path in first.values() for name in read(path).metrics}
