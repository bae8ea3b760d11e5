"""Processes and what kills them: nothing half written, nothing lost but the run in progress."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bench.sweep
from bench import records
from bench.plan import Job
from bench.pool import STOP_SECONDS
from tests.bench import wandb_log
from tests.bench.helpers import (
    ROOT,
    TIMEOUT,
    archived,
    by_epochs,
    changed,
    contents,
    end,
    finish,
    group,
    raw,
    recorded,
    results,
    start,
    sweep_and_tell,
    wait_for,
    wait_until_training,
)
from tests.conftest import Tally

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


@pytest.mark.fault("a sweep killed with all its workers (SIGKILL)")
def test_a_sweep_killed_with_all_its_workers_goes_on_where_it_stopped(
    started: Start, raws: list[Raw], folder: Path, capsys: pytest.CaptureFixture[str], fault: Tally
) -> None:
    process = started(2)
    wait_until_training(process, folder, done=3)
    os.killpg(process.pid, signal.SIGKILL)
    fault.inject()
    wait_for(lambda: not group(process.pid), "the end of all processes")
    assert by_epochs(folder) == SHORT
    before = contents(folder)
    assert bench.sweep.sweep(raws) == 0
    out = capsys.readouterr().out
    assert out.startswith("3 already done, skipped (force=true makes them again)\n1 to run")
    fault.said(out, "3 already done")
    assert by_epochs(folder) == dict.fromkeys(EPOCHS, "completed")
    fault.kept(before, contents(folder))
    assert archived(folder) == []


@pytest.mark.fault("a sweep killed without its workers (SIGKILL)")
def test_no_worker_outlives_a_sweep_that_is_killed_alone(
    started: Start, folder: Path, left: Callable[[], list[int]], capsys: pytest.CaptureFixture[str], fault: Tally
) -> None:
    process = started(2)
    wait_until_training(process, folder, done=3)
    assert len(group(process.pid)) >= 3
    before = contents(folder)
    os.kill(process.pid, signal.SIGKILL)
    fault.inject()
    wait_for(lambda: not group(process.pid), "the end of the workers")
    assert by_epochs(folder) == SHORT
    assert left() == [EPOCHS[3]]
    fault.kept(before, contents(folder))
    fault.said(capsys.readouterr().out, "3 already done")


@pytest.mark.parametrize(
    ("number", "workers"),
    [(signal.SIGINT, 2), (signal.SIGINT, 1), (signal.SIGTERM, 2), (signal.SIGTERM, 1)],
    ids=["Ctrl-C with workers", "Ctrl-C without", "SIGTERM with workers", "SIGTERM without"],
)
@pytest.mark.fault("a sweep interrupted (SIGINT, SIGTERM)")
def test_an_interrupt_records_the_run_in_progress_and_leaves_the_rest(
    started: Start, folder: Path, left: Callable[[], list[int]], number: signal.Signals, workers: int, fault: Tally
) -> None:
    done = SHORT if workers == 2 else {}
    process = started(workers)
    wait_until_training(process, folder, done=len(done))
    before = contents(folder)
    # A terminal sends Ctrl-C to every process of the group; a scheduler ends the one it started.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    sent = time.monotonic()
    fault.inject()
    code, out, err = finish(process)
    assert time.monotonic() - sent < STOP_SECONDS
    assert code == 130, err
    assert f"{len(done)} of 4 runs are recorded in {folder}" in out
    assert err == "interrupted; the same command goes on where this one stopped\n"
    assert by_epochs(folder) == done | {EPOCHS[3]: "interrupted"}
    assert sorted(left()) == sorted(set(EPOCHS) - set(done))
    fault.kept(before, contents(folder))
    fault.said(err, "interrupted; the same command goes on where this one stopped")


KILLS = 20


def tables(folder: Path) -> dict[str, bytes]:
    """The tables of the records in `folder` by name; those of clocks left out."""
    words = [f"records={folder}", f"out={folder.with_suffix('.out')}", "analysis=demo", "analysis.missing=drop"]
    subprocess.run([sys.executable, "-m", "analysis", *words], cwd=ROOT, check=True, capture_output=True)
    made = folder.with_suffix(".out") / "tables"
    return {path.name: path.read_bytes() for path in made.iterdir() if path.stem != "runtime"}


@pytest.mark.fault("a sweep killed again and again, at random moments (SIGKILL)")
def test_a_sweep_killed_twenty_times_ends_in_the_tables_of_one_left_alone(
    tiny: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: Tally
) -> None:
    def runs(name: str) -> list[Raw]:
        words = (*tiny, "parallel=1", f"results_dir={tmp_path / name}")
        return [raw(*words, f"seed={seed}", normalizer=name) for name in ("softmax", "sparsemax") for seed in range(15)]

    assert bench.sweep.sweep(runs("whole")) == 0
    whole = recorded(tmp_path / "whole")
    a_run = min(record.metrics["wall_seconds"] or 0 for record in whole.values())
    killed, moment = tmp_path / "killed", random.Random(0)
    # A server that has imported torch once forks the sweeps that are killed.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["bench.sweep"])
    for _ in range(KILLS):
        before, begun = contents(killed), context.Event()
        process = context.Process(target=sweep_and_tell, args=(runs("killed"), begun))
        process.start()
        assert begun.wait(TIMEOUT)
        time.sleep(moment.uniform(0, 1.5 * a_run))
        process.kill()
        fault.inject()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        found, broken = records.scan([killed])
        assert broken == []
        fault.kept(before, contents(killed))
        assert {record.status for _, record in found} <= {"completed"}
    left = 30 - len(list(records.files(killed)))
    capsys.readouterr()
    assert bench.sweep.sweep(runs("killed")) == 0
    assert left > 0
    fault.said(capsys.readouterr().out, f"{left} to run with 1 worker")
    again = recorded(killed)
    fault.same({key: results(r) for key, r in whole.items()}, {key: results(r) for key, r in again.items()})
    assert archived(killed) == []
    made = tables(killed)
    assert {"main_results.csv", "paired_vs_softmax.csv"} <= set(made)
    assert made == tables(tmp_path / "whole")


@pytest.mark.fault("a worker killed, as for want of memory (SIGKILL)")
def test_a_killed_worker_costs_its_own_run(
    raws: list[Raw], folder: Path, capsys: pytest.CaptureFixture[str], fault: Tally
) -> None:
    before: dict[Path, bytes] = {}

    def kill_the_first() -> None:
        wait_for(lambda: len(list(records.files(folder))) == 3, "three records")
        first = min(multiprocessing.active_children(), key=lambda child: child._identity)  # it has the longest run
        assert first.pid is not None
        before.update(contents(folder))
        os.kill(first.pid, signal.SIGKILL)
        fault.inject()

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
    fault.kept(before, contents(folder))
    fault.said(err, "the worker process died with signal 9", "try fewer workers with parallel=")
    failed = next(record for _, record in records.scan([folder])[0] if record.status == "failed")
    assert failed.error is not None
    assert failed.error["message"].startswith("the worker process died with signal 9")
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("fresh_wandb")
def test_a_killed_worker_is_told_of_to_the_tracker_that_went_with_it(raws: list[Raw], folder: Path) -> None:
    tracker = {"kind": "wandb", "mode": "offline", "dir": str(folder / ".wandb"), "images": False}
    planned = [changed(content, "parallel", 2) | {"tracker": tracker} for content in (raws[0], raws[3])]

    def kill_the_first() -> None:
        begun = lambda: len(wandb_log.files(folder / ".wandb")) == 2  # noqa: E731
        wait_for(lambda: len(list(records.files(folder))) == 1 and begun(), "a record and a log")
        first = min(multiprocessing.active_children(), key=lambda child: child._identity)  # it has the longest run
        assert first.pid is not None
        os.kill(first.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    code = bench.sweep.sweep(planned)
    killer.join()
    assert code == 1
    failed = next(record for _, record in records.scan([folder])[0] if record.status == "failed")
    _, latest = wandb_log.files(folder / ".wandb", failed.fingerprint)
    logged = wandb_log.ended(latest)
    wandb_log.equal(logged, failed)
    assert logged.summary["status"] == "failed"
    assert logged.summary["error"].startswith("RuntimeError: the worker process died with signal 9")
    assert logged.exit_code == [1]


@pytest.mark.fault("two sweeps at once over one folder, and no data prepared")
def test_two_sweeps_at_once_share_the_work_from_an_empty_data_folder(
    raws: list[Raw], tmp_path: Path, folder: Path, fault: Tally
) -> None:
    sizes = ("dataset.train_limit=60", "dataset.test_limit=40", "device=cpu", "parallel=1")
    words = ("-m", "dataset=digits", "normalizer=softmax", "train.epochs=1,2,3,4", f"data.root={tmp_path / 'data'}")
    both = [start(*words, *sizes, f"results_dir={folder}", cwd=tmp_path) for _ in range(2)]
    (code_1, out_1, err_1), (code_2, out_2, err_2) = [finish(process) for process in both]
    fault.inject()
    assert (code_1, err_1, code_2, err_2) == (0, "", 0, "")
    assert "4 of 4 runs are recorded" in out_1
    assert "4 of 4 runs are recorded" in out_2
    assert by_epochs(folder) == dict.fromkeys((1, 2, 3, 4), "completed")
    assert archived(folder) == []
    assert (out_1 + out_2).count("  accuracy ") == 4
    fault.said(out_1 + out_2, "already done")
    alone = [changed(changed(raws[0], "train.epochs", n), "results_dir", str(tmp_path / "alone")) for n in (1, 2, 3, 4)]
    assert bench.sweep.sweep(alone) == 0
    fault.same(*({r.fingerprint: results(r) for _, r in records.scan([f])[0]} for f in (tmp_path / "alone", folder)))
    assert [path.name for path in (tmp_path / "data" / "prepared").glob("[!.]*")] == ["digits"]
