"""Whatever becomes of standard output and error, files are written and no traceback is shown."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TextIO

import pytest

from analysis.__main__ import main

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full on this system")


@pytest.fixture
def words(build: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line of an analysis of `grid`."""
    build.save(tmp_path / "records", *build.grid())
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")  # so that what main sets there is taken back
    return [f"records={tmp_path / 'records'}", f"out={tmp_path / 'out'}", "analysis=demo", "figures=false"]


@contextmanager
def streams(monkeypatch: pytest.MonkeyPatch, out: TextIO | None, err: TextIO | None) -> Iterator[None]:
    """`out` and `err` as standard output and error, given back at the end, before they are checked."""
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", out)
        patch.setattr("sys.stderr", err)
        yield


def run(monkeypatch: pytest.MonkeyPatch, words: list[str], out: TextIO | None, err: TextIO | None) -> int:
    """The status of a call with these streams."""
    with streams(monkeypatch, out, err):
        monkeypatch.setattr("sys.argv", ["analysis", *words])
        try:
            main()
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0


def tables(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "out/tables").glob("*.md"))


ALL = ["hae_vs_entmax15.md", "main_results.md", "paired_vs_softmax.md", "runtime.md"]


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii", "cp932"])
def test_an_encoding_without_the_signs_of_tables_gets_letters_and_files_keep_the_signs(
    encoding: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "printed").open("w", encoding=encoding) as out:
        assert run(monkeypatch, words, out, None) == 0
    printed = (tmp_path / "printed").read_text(encoding)
    shown = "Δ accuracy" if encoding == "cp932" else "delta accuracy"
    assert shown in printed
    assert "?" not in printed.replace("did you mean", "").replace("'?", "")
    assert "Δ accuracy" in (tmp_path / "out/tables/paired_vs_softmax.md").read_text("utf-8")
    assert "±" in (tmp_path / "out/report.html").read_text("utf-8")


def test_a_sign_without_letters_is_a_question_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from analysis.console import say, tolerant

    with (tmp_path / "printed").open("w", encoding="ascii") as out, streams(monkeypatch, out, None), tolerant():
        say("é 頭 ± \udcff")
    assert (tmp_path / "printed").read_text("ascii") == "e ? +/- ?\n"


@needs_full
def test_a_full_standard_output_costs_no_file_and_is_told_of(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FULL.open("w") as out, (tmp_path / "err").open("w") as err:
        assert run(monkeypatch, words, out, err) == 0
        # What only prints has failed.
        assert run(monkeypatch, ["power", words[0], "analysis=demo"], out, err) == 1
    assert tables(tmp_path) == ALL
    notice = "notice: standard output cannot be written (No space left on device)\n"
    assert (tmp_path / "err").read_text() == 2 * notice


def test_a_reader_that_has_gone_costs_no_file_and_no_word(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out, (tmp_path / "err").open("w") as err:
        assert run(monkeypatch, words, out, err) == 0
        assert run(monkeypatch, ["power", words[0], "analysis=demo"], out, err) == 0
    assert tables(tmp_path) == ALL
    assert (tmp_path / "err").read_text() == ""


def test_closed_output_and_error_cost_no_file(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, words, None, None) == 0
    assert tables(tmp_path) == ALL
    assert run(monkeypatch, ["recods=x"], None, None) == 2


@needs_full
def test_an_error_that_cannot_be_printed_still_ends_with_status_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")
    with FULL.open("w") as full:
        assert run(monkeypatch, ["recods=x"], full, full) == 2


def test_a_stream_without_a_file_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from analysis.console import tolerant

    out = io.StringIO()
    with streams(monkeypatch, out, out), tolerant() as output:
        print("Δ")
    assert output is None
    assert out.getvalue() == "Δ\n"


def test_a_path_that_is_no_text_is_escaped_in_the_report(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "records").rename(tmp_path / os.fsdecode(b"rec\xff"))
    with (tmp_path / "printed").open("w", encoding="utf-8") as out:
        assert run(monkeypatch, [f"records={tmp_path / os.fsdecode(b'rec%c' % 255)}", *words[1:]], out, None) == 0
    assert "rec\\udcff" in (tmp_path / "out/report.html").read_text("utf-8")
