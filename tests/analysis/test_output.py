"""What is written, and what of an earlier analysis is removed."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from analysis.errors import InputError
from analysis.output import MADE, whole, write
from tests.conftest import Tally


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


@contextmanager
def disk_full_after(size: int) -> Iterator[None]:
    """No file grows beyond `size` bytes, as where a disk fills up."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.fault("a disk that fills up while an analysis is written")
def test_a_full_disk_leaves_every_file_of_the_earlier_analysis(tmp_path: Path, fault: Tally) -> None:
    write(tmp_path, {"tables/a.md": b"1", "tables/old.md": b"2", "report.html": b"3"})
    before = contents(tmp_path)
    new = {"tables/a.md": b"4", "tables/new.md": b"5", "report.html": b"6" * 10_000}
    with disk_full_after(1000), fault.refused(InputError, match="out: cannot write .*; what was there before is unch"):
        write(tmp_path, new)
    fault.kept(before, contents(tmp_path))
    assert contents(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [MADE, "report.html", "tables"]
    assert write(tmp_path, new) == ["tables/old.md"]


def test_a_folder_in_the_place_of_a_file_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": b"1"})
    (tmp_path / "report.html").mkdir()
    with pytest.raises(InputError, match=f"cannot write {tmp_path / 'report.html'}: Is a directory"):
        write(tmp_path, {"a.md": b"2", "report.html": b"3"})
    assert contents(tmp_path)["a.md"] == b"1"


def test_a_failure_names_the_file_that_was_to_be_made(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no disk") as error, whole(tmp_path) as part:
        raise OSError(28, "no disk", str(part / "tables" / "a.md"))
    assert error.value.filename == str(tmp_path / "tables" / "a.md")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc, in which nobody can write")
def test_a_folder_that_takes_no_files_is_named_itself() -> None:
    with pytest.raises(InputError, match=r"^out: cannot write /proc: "):
        write(Path("/proc"), {"report.html": b""})
