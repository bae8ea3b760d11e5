"""Processes and what kills them: nothing half written, nothing lost but the run in progress."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bench.sweep
from bench import records
from bench.plan import Job
from tests.bench.helpers import (
    archived,
    by_epochs,
    changed,
    end,
    finish,
    group,
    raw,
    start,
    wait_for,
    wait_until_training,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes through /proc"),
]
EPOCHS = (1, 2, 3, 400)  # three short runs and one of several seconds, which is the first to begin
SHORT = dict.fromkeys(EPOCHS[:3], "completed")
Start = Callable[[int], subprocess.Popen[str]]
Raw = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "r"


@pytest.fixture
def raws(tiny: tuple[str, ...], folder: Path) -> list[Raw]:
    """The four runs, for a sweep in this process."""
    one = raw(*tiny, f"results_dir={folder}", "parallel=1")
    return [changed(one, "train.epochs", epochs) for epochs in EPOCHS]


@pytest.fixture
def started(tiny: tuple[str, ...], folder: Path) -> Iterator[Start]:
    """Starts a sweep of the four runs with so many workers; whatever is left of it is killed."""
    processes: list[subprocess.Popen[str]] = []

    def call(parallel: int) -> subprocess.Popen[str]:
        sizes = [word for word in tiny if not word.startswith("train.epochs")]
        epochs = f"train.epochs={','.join(map(str, EPOCHS))}"
        words = ("-m", "dataset=digits", "normalizer=softmax", epochs, f"results_dir={folder}", f"parallel={parallel}")
        processes.append(start(*words, *sizes, cwd=folder.parent))
        return processes[-1]

    yield call
    for process in processes:
        end(process)


@pytest.fixture
def left(raws: list[Raw], monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """The epochs of the runs that the same sweep would make now."""

    def call() -> list[int]:
        asked: list[int] = []

        def only_look(jobs: list[Job]) -> Iterator[Any]:
            asked.extend(job.raw["train"]["epochs"] for job in jobs)
            yield from ()

        monkeypatch.setattr(bench.sweep, "in_this_process", only_look)
        bench.sweep.sweep(raws)
        return asked

    return call


def test_a_sweep_killed_with_all_its_workers_goes_on_where_it_stopped(
    started: Start, raws: list[Raw], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = started(2)
    wait_until_training(process, folder, done=3)
    os.killpg(process.pid, signal.SIGKILL)
    wait_for(lambda: not group(process.pid), "the end of all processes")
    assert by_epochs(folder) == SHORT
    before = {path: path.read_bytes() for path in records.files(folder)}
    assert bench.sweep.sweep(raws) == 0
    assert capsys.readouterr().out.startswith("3 already done, skipped (force=true makes them again)\n1 to run")
    assert by_epochs(folder) == dict.fromkeys(EPOCHS, "completed")
    assert {path: path.read_bytes() for path in before} == before
    assert archived(folder) == []


def test_no_worker_outlives_a_sweep_that_is_killed_alone(
    started: Start, folder: Path, left: Callable[[], list[int]]
) -> None:
    process = started(2)
    wait_until_training(process, folder, done=3)
    assert len(group(process.pid)) >= 3
    os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: not group(process.pid), "the end of the workers")
    assert by_epochs(folder) == SHORT
    assert left() == [EPOCHS[3]]


@pytest.mark.parametrize(
    ("number", "workers"),
    [(signal.SIGINT, 2), (signal.SIGTERM, 1)],
    ids=["Ctrl-C with workers", "SIGTERM without"],
)
def test_an_interrupt_records_the_run_in_progress_and_leaves_the_rest(
    started: Start, folder: Path, left: Callable[[], list[int]], number: signal.Signals, workers: int
) -> None:
    done = SHORT if workers == 2 else {}
    process = started(workers)
    wait_until_training(process, folder, done=len(done))
    # A terminal sends Ctrl-C to every process of the group; a scheduler ends the one it started.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    code, out, err = finish(process)
    assert code == 130, err
    assert f"{len(done)} of 4 runs are recorded in {folder}" in out
    assert err == "interrupted; the same command goes on where this one stopped\n"
    assert by_epochs(folder) == done | {EPOCHS[3]: "interrupted"}
    assert sorted(left()) == sorted(set(EPOCHS) - set(done))


def test_a_killed_worker_costs_its_own_run(raws: list[Raw], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def kill_the_first() -> None:
        wait_for(lambda: len(list(records.files(folder))) == 3, "three records")
        first = min(multiprocessing.active_children(), key=lambda child: child._identity)  # it has the longest run
        assert first.pid is not None
        os.kill(first.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    code = bench.sweep.sweep([changed(content, "parallel", 2) for content in raws])
    killer.join()
    out, err = capsys.readouterr()
    assert code == 1
    assert "4 to run with 2 workers, the longest first\n" in out
    assert "3 of 4 runs are recorded" in out
    assert "1 failed:\n  digits/softmax/seed=0: RuntimeError: the worker process died with signal 9 (killed, " in err
    assert by_epochs(folder) == SHORT | {EPOCHS[3]: "failed"}
    failed = next(record for _, record in records.scan([folder])[0] if record.status == "failed")
    assert failed.error is not None
    assert failed.error["message"].startswith("the worker process died with signal 9")
    assert multiprocessing.active_children() == []


def test_two_sweeps_at_once_share_the_work_from_an_empty_data_folder(tmp_path: Path, folder: Path) -> None:
    sizes = ("dataset.train_limit=60", "dataset.test_limit=40", "device=cpu", "parallel=1")
    words = ("-m", "dataset=digits", "normalizer=softmax", "train.epochs=1,2,3,4", f"data.root={tmp_path / 'data'}")
    both = [start(*words, *sizes, f"results_dir={folder}", cwd=tmp_path) for _ in range(2)]
    (code_1, out_1, err_1), (code_2, out_2, err_2) = [finish(process) for process in both]
    assert (code_1, err_1, code_2, err_2) == (0, "", 0, "")
    assert "4 of 4 runs are recorded" in out_1
    assert "4 of 4 runs are recorded" in out_2
    assert by_epochs(folder) == dict.fromkeys((1, 2, 3, 4), "completed")
    assert archived(folder) == []
    assert (out_1 + out_2).count("  accuracy ") == 4
    assert [path.name for path in (tmp_path / "data" / "prepared").glob("[!.]*")] == ["digits"]
