"""What is written, and what of an earlier analysis is removed."""

from pathlib import Path

import pytest

from analysis.errors import InputError
from analysis.output import MADE, write


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_of_an_earlier_analysis_go_and_foreign_ones_stay(tmp_path: Path) -> None:
    assert write(tmp_path, {"tables/a.md": b"1", "tables/b.md": b"2", "report.html": b"3"}) == []
    (tmp_path / "tables" / "mine.md").write_bytes(b"mine")
    assert write(tmp_path, {"tables/b.md": b"4", "report.html": b"5"}) == ["tables/a.md"]
    assert contents(tmp_path) == {
        "tables/b.md": b"4",
        "tables/mine.md": b"mine",
        "report.html": b"5",
        MADE: b"report.html\ntables/b.md\n",
    }


def test_a_listed_file_outside_the_folder_is_never_removed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("kept")
    out = tmp_path / "out"
    out.mkdir()
    (out / MADE).write_text(f"../outside\n{outside}\n\ngone.md\n")
    assert write(out, {"report.html": b""}) == []
    assert outside.read_text() == "kept"


def test_twice_the_same_is_the_same(tmp_path: Path) -> None:
    write(tmp_path, {"b": b"1", "a": b"2"})
    first = contents(tmp_path)
    write(tmp_path, {"a": b"2", "b": b"1"})
    assert contents(tmp_path) == first


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=f"out: cannot write {tmp_path / 'file'}"):
        write(tmp_path / "file", {"report.html": b""})
