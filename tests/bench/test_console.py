"""Output that nobody can take costs text and nothing else."""

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import pool
from bench.console import make_tolerant, tolerant
from bench.launchers.batch import Batch
from bench.state import Run, State
from bench.status import status
from tests.bench.helpers import ROOT, TIMEOUT, recorded

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def call(words: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None, **streams: Any) -> int:
    """The exit code of `python -m bench WORDS` in `cwd`. Nothing may be said on a pipe for standard error."""
    command = [sys.executable, "-m", "bench", *words]
    everything = os.environ | {"PYTHONPATH": str(ROOT)} | dict(environment or {})
    done = subprocess.run(command, cwd=cwd, env=everything, timeout=TIMEOUT, check=False, **streams)
    assert not done.stderr
    return done.returncode


@needs_full
def test_a_full_disk_costs_what_is_printed_and_nothing_more() -> None:
    with FULL.open("wb") as file:
        stream = tolerant(file.fileno())
        print("x" * 100_000, file=stream, flush=True)
        stream.flush()
        stream.close()  # as at the end of the process
        assert os.fstat(file.fileno())  # the descriptor is not the stream's to close


def test_a_closed_pipe_costs_what_is_printed_and_nothing_more() -> None:
    reader, writer = os.pipe()
    stream = tolerant(writer)
    print("first", file=stream, flush=True)
    assert os.read(reader, 100) == b"first\n"
    os.close(reader)
    for _ in range(3):
        print("second" * 10_000, file=stream, flush=True)
    stream.close()
    os.close(writer)


def test_a_log_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        stream = tolerant(file.fileno())
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            print("lost", file=stream, flush=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, before)
        print("kept", file=stream, flush=True)
    assert (tmp_path / "log").read_text(encoding="utf-8") == "kept\n"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp932"])
def test_signs_that_the_encoding_lacks_are_written_as_escapes(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "log"
    with path.open("w", encoding=encoding) as like:
        stream = tolerant(like.fileno(), like)
        print("Δ ± α → é 頭 \udcff", file=stream, flush=True)
    text = path.read_bytes().decode(encoding)
    assert text.endswith("\n")
    assert "\\udcff" in text


def test_streams_that_somebody_put_in_place_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    ours = sys.stdout
    make_tolerant()
    assert sys.stdout is ours
    print("seen")
    assert capsys.readouterr().out == "seen\n"


def worker() -> None:
    """The life of a worker that is given nothing to do."""
    ours, theirs = multiprocessing.Pipe()
    ours.close()
    pool._work(theirs)


def job() -> None:
    """A cluster's job without runs."""
    with tempfile.TemporaryDirectory() as folder:
        Batch((), Path(folder) / "told").carry_out()


@needs_full
@pytest.mark.parametrize("begin", [worker, job])
def test_printing_never_fails_in_workers_and_jobs(begin: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    with FULL.open("w", encoding="utf-8") as full:
        for name in ("stdout", "__stdout__", "stderr", "__stderr__"):
            monkeypatch.setattr(sys, name, full)
        begin()
        print("x" * 100_000, flush=True)
        print("x" * 100_000, file=sys.stderr, flush=True)
        assert full not in (sys.stdout, sys.stderr)


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_nothing_is_printed_into_a_file_where_the_streams_are_closed(tmp_path: Path, closed: str) -> None:
    program = (
        "import os; from bench.console import make_tolerant; make_tolerant(); file = open('record', 'w'); "
        "print('lost', flush=True); os.write(1, b'lost'); file.write('kept'); file.close()"
    )
    shell = ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, program]
    done = subprocess.run(shell, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=TIMEOUT, check=False)
    assert done.returncode == 0
    assert (tmp_path / "record").read_text(encoding="utf-8") == "kept"


def test_a_reader_that_goes_away_does_not_end_a_command(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert call(["status", "."], tmp_path, stdout=writer, stderr=subprocess.PIPE) == 0
    os.close(writer)


def test_a_table_that_nobody_reads_any_more_is_watched_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def look(*_: object) -> State:
        looks.append(1)
        assert len(looks) < 10, "it looks again and again"
        return State(runs={tmp_path / "r": Run("digits", "softmax", "c", "0", "f")})

    reader, writer = os.pipe()
    monkeypatch.setattr("bench.status.look", look)
    monkeypatch.setattr(sys, "stdout", tolerant(writer))
    os.close(reader)
    assert status([str(tmp_path), "watch=0.001"]) == 0
    os.close(writer)
    assert len(looks) == 1


def test_a_command_prints_names_that_the_encoding_lacks(tmp_path: Path) -> None:
    (tmp_path / "ünï").mkdir()
    with (tmp_path / "log").open("wb") as log:
        environment = {"PYTHONIOENCODING": "ascii"}
        assert call(["status", "ünï"], tmp_path, environment, stdout=log, stderr=subprocess.PIPE) == 0
    assert (tmp_path / "log").read_bytes() == b"\\xfcn\\xef: no run is recorded here yet\n"


@needs_full
@pytest.mark.slow
def test_runs_are_made_and_the_exit_code_tells_of_them_where_no_output_can_be_written(
    tiny: tuple[str, ...], tmp_path: Path
) -> None:
    words = [word for word in tiny if "epochs" not in word]
    words += ["train.epochs=2", "train.learning_rate=1e30,1e-3", "results_dir=r_${train.learning_rate}", "parallel=1"]
    with FULL.open("wb") as full:
        assert call(["-m", "dataset=digits", "normalizer=softmax", *words], tmp_path, stdout=full, stderr=full) == 1
    assert [record.status for record in recorded(tmp_path / "r_1e+30").values()] == ["failed"]
    assert [record.status for record in recorded(tmp_path / "r_0.001").values()] == ["completed"]
