"""The table of a sweep: from records, the plan beside them and the locks held, without touching any of these."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench import planfile, records, state
from bench.fingerprint import Identity
from bench.plan import Job, plan
from bench.records import Record, record_path
from bench.sweep import sweep
from tests.bench.helpers import ROOT, raw

Command = Callable[..., tuple[int, str, str]]


def record(normalizer: str, seed: int, accuracy: float | None, seconds: float = 10.0) -> Record:
    failure = {"type": "ValueError", "message": "no\nmore", "traceback": "t"}
    return Record(
        **{"schema": 1, "dataset": "digits", "normalizer": normalizer, "seed": seed, "setting": "s", "cell": "c"},
        fingerprint=f"{normalizer}{seed}",
        status="failed" if accuracy is None else "completed",
        error=failure if accuracy is None else None,
        config={},
        metrics={} if accuracy is None else {"accuracy": accuracy, "wall_seconds": seconds},
    )


def job(folder: Path, normalizer: str, seed: int, cost: float) -> Job:
    fingerprint = f"{normalizer}{seed}"
    path = record_path(folder, "digits", normalizer, seed, fingerprint)
    label = f"digits/{normalizer}/seed={seed}"
    return Job({}, label, Identity(fingerprint, "c", "s"), path, folder, {}, cost, force=False)


def begun(folder: Path) -> Path:
    """A sweep by two workers: of hae two done, one failed and one left; of softmax two left."""
    (folder / records.LOCKS).mkdir(parents=True)
    jobs = [job(folder, "hae", seed, 2.0) for seed in range(4)]
    jobs += [job(folder, "softmax", seed, 1.0) for seed in range(2)]
    planfile.write(jobs, jobs, workers=2)
    for made in (record("hae", 0, 0.8), record("hae", 1, 0.9, 20.0), record("hae", 2, None)):
        keep(folder, made)
    return folder


def keep(folder: Path, made: Record) -> None:
    records.write(record_path(folder, *made.key, made.fingerprint), made, folder)


def begin_again(folder: Path, *, force: bool) -> None:
    """A later sweep of four runs of hae, two done and one failed: it makes what is not done, or all by force."""
    jobs = [job(folder, "hae", seed, 2.0) for seed in range(4)]
    planfile.write(jobs, jobs if force else jobs[2:], workers=2)


def test_cells_are_counted_and_what_failed_is_named(command: Command) -> None:
    begun(Path("r"))
    assert command("status", "r") == (
        0,
        "r: 2 done, 1 failed, 3 left of 6 runs\n"
        "\n"
        "data set  normalizer  done  running  failed  left       accuracy  n  s a run\n"
        "digits    hae          2/4        0       1     1  0.850 ± 0.071  2     15.0\n"
        "          softmax      0/2        0       0     2              -  0        -\n"
        "\n"
        "failed:  digits/hae/seed=2  ValueError: no\n",
        "",
    )


@pytest.mark.skipif(not state.LOCKED.is_file(), reason="the system keeps no list of locks")
def test_what_holds_its_lock_is_running_and_the_time_left_is_told(command: Command) -> None:
    folder = begun(Path("r"))
    with records.lock(folder, "softmax1", wait=False), records.lock(folder, "other", wait=False):
        _, out, _ = command("status", "r")
        # hae takes 15 s; softmax half of that, by its cost; two workers share 15 + 7.5 + 7.5 s.
        assert out.startswith("r: 2 done, 2 running, 1 failed, 2 left of 7 runs; about 15 s left with 2 workers\n")
        assert "running: digits/softmax/seed=1\n" in out
        assert "running: other, which is in no plan here\n" in out
    assert command("status", "r")[1].startswith("r: 2 done, 1 failed, 3 left of 6 runs\n")


@pytest.mark.skipif(not state.LOCKED.is_file(), reason="the system keeps no list of locks")
def test_looking_never_stands_in_the_way_of_a_worker(tmp_path: Path) -> None:
    folder = begun(tmp_path / "r")
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            state.look(folder)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(200):
            with records.lock(folder, "softmax0", wait=False):
                pass  # filelock.Timeout where somebody has it
    finally:
        ended.set()
        watcher.join()


def test_without_a_plan_the_records_are_what_there_is(command: Command) -> None:
    folder = begun(Path("r"))
    for stale in ("", "[]", '{"workers": 1}', '{"workers": "x", "costs": {}}'):
        (folder / planfile.NAME).write_text(stale, encoding="utf-8")
        assert command("status", "r")[1].startswith("r: 2 done, 1 failed of 3 runs\n")


def test_a_broken_file_is_named_and_a_folder_above_will_do(command: Command) -> None:
    begun(Path("above/r"))
    Path("above/r/digits/hae/x.json").write_text("{", encoding="utf-8")
    _, out, _ = command("status", "above")
    assert out.startswith("above: 2 done, 1 failed, 3 left of 6 runs\n")
    assert "broken:  above/r/digits/hae/x.json: not whole JSON" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "status needs one folder of records: python -m bench status RECORDS [watch=SECONDS]"),
        (("a", "b"), "status needs one folder of records"),
        (("nothere",), "status: nothere is no folder of records; name the results_dir of a sweep"),
        ((".", "wach=2"), "status: wach is no option; did you mean watch?"),
        ((".", "watch=0"), "status: watch=0 is no number of seconds above 0"),
        ((".", "watch=soon"), "status: watch=soon is no number of seconds above 0"),
    ],
)
def test_what_is_no_status_is_refused(command: Command, words: tuple[str, ...], message: str) -> None:
    code, out, err = command("status", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")


def test_an_empty_folder_says_so(command: Command) -> None:
    assert command("status", ".") == (0, ".: no run is recorded here yet\n", "")


def test_watching_ends_when_nothing_is_left(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begun(Path("r"))
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        keep(folder, record("softmax", len(waits) - 1, 0.5) if len(waits) < 3 else record("hae", 3, 0.7))

    monkeypatch.setattr("bench.status.time.sleep", wait)
    _, out, _ = command("status", "r", "watch=5")
    assert waits == [5.0, 5.0, 5.0]
    assert [line for line in out.splitlines() if line.startswith("r: ")] == [
        "r: 2 done, 1 failed, 3 left of 6 runs",
        "r: 3 done, 1 failed, 2 left of 6 runs",
        "r: 4 done, 1 failed, 1 left of 6 runs",
        "r: 5 done, 1 failed of 6 runs",
    ]


def test_a_failed_run_that_is_made_again_is_left_until_it_has_ended(command: Command) -> None:
    folder = begun(Path("r"))
    begin_again(folder, force=False)
    _, out, _ = command("status", "r")
    assert out.startswith("r: 2 done, 2 left of 4 runs\n")
    assert "failed:" not in out
    keep(folder, record("hae", 2, None))
    _, out, _ = command("status", "r")
    assert out.startswith("r: 2 done, 1 failed, 1 left of 4 runs\n")
    assert "failed:  digits/hae/seed=2  ValueError: no\n" in out


def test_what_is_made_again_by_force_counts_only_once_it_is(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begun(Path("r"))
    keep(folder, record("hae", 3, 0.7))
    begin_again(folder, force=True)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        keep(folder, record("hae", len(waits), 0.6))
        waits.append(seconds)

    monkeypatch.setattr("bench.status.time.sleep", wait)
    _, out, _ = command("status", "r", "watch=5")
    assert waits == [5.0] * 4
    assert [line for line in out.splitlines() if line.startswith("r: ")] == [
        "r: 0 done, 4 left of 4 runs",
        "r: 1 done, 3 left of 4 runs",
        "r: 2 done, 2 left of 4 runs",
        "r: 3 done, 1 left of 4 runs",
        "r: 4 done of 4 runs",
    ]


def test_finished_runs_count_as_done_after_the_clock_was_set_back(command: Command) -> None:
    folder = begun(Path("r"))
    begin_again(folder, force=True)
    for seed in range(4):
        keep(folder, record("hae", seed, 0.6))
    for path in records.files(folder):
        os.utime(path, (1e9, 1e9))  # written when the clock was set back, long before the plan was
    assert command("status", "r")[1].startswith("r: 4 done of 4 runs\n")
    begin_again(folder, force=True)
    os.utime(folder / planfile.NAME, (5e8, 5e8))  # planned when it was set back, long before they were written
    assert command("status", "r")[1].startswith("r: 0 done, 4 left of 4 runs\n")


def test_runs_of_different_settings_have_rows_of_their_own(command: Command, tiny: tuple[str, ...]) -> None:
    words = (*tiny, "results_dir=r", "parallel=1")
    raws = [raw(*words, f"train.epochs={epochs}", f"seed={seed}") for epochs in (1, 2) for seed in range(2)]
    assert sweep(raws) == 0
    out = command("status", "r")[1].splitlines()
    assert out[0] == "r: 4 done of 4 runs"
    header = "data set  normalizer  setting  done  running  failed  left  accuracy  n  s a run"
    assert re.split(r"  +", out[2]) == header.split("  ")
    rows = [re.split(r"  +", line.strip()) for line in out[3:]]
    means = {}
    for row in rows:
        name, setting, done, *counts, accuracy, n, _ = row[-9:]
        assert (name, done, counts, n) == ("softmax", "2/2", ["0", "0", "0"], "2")
        means[setting] = accuracy
    expected = {}
    for epochs in (1, 2):
        found = [r for r in recorded_of(Path("r")) if r.config["train"]["epochs"] == epochs]
        values = [r.metrics["accuracy"] or 0.0 for r in found]
        expected[f"train.epochs={epochs}"] = f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"
    assert means == expected


def recorded_of(folder: Path) -> list[Record]:
    return [record for _, record in records.scan([folder])[0]]


def test_settings_that_are_only_planned_have_rows_of_their_own(command: Command, tiny: tuple[str, ...]) -> None:
    Path("r").mkdir()
    jobs = plan([raw(*tiny, "results_dir=r", f"train.epochs={epochs}") for epochs in (1, 2)]).jobs
    planfile.write(jobs, jobs, workers=1)
    out = command("status", "r")[1]
    assert "softmax     train.epochs=2   0/1" in out
    assert "softmax     train.epochs=1   0/1" in out


def test_a_table_for_an_output_without_the_sign_has_one_that_it_can_show(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(Path("r"))
    monkeypatch.setattr(type(sys.stdout), "encoding", "ascii", raising=False)
    assert "0.850 +- 0.071" in command("status", "r")[1]


def test_a_sweep_leaves_its_plan_and_a_single_run_leaves_that_as_it_is(tmp_path: Path, tiny: tuple[str, ...]) -> None:
    words = (*tiny, f"results_dir={tmp_path}", "parallel=1")
    assert sweep([raw(*words, f"seed={seed}") for seed in range(2)]) == 0
    made = {path.relative_to(tmp_path).as_posix() for path in records.files(tmp_path)}
    assert set(json.loads((tmp_path / planfile.NAME).read_text(encoding="utf-8"))["costs"]) == made
    assert sweep([raw(*words, "seed=5")]) == 0
    left = planfile.read(tmp_path)
    assert left is not None
    assert (set(left.costs), left.todo, left.workers) == (made, made, 1)
    assert list(tmp_path.glob(".*.part")) == []
    assert state.look(tmp_path).count("done") == 3


def test_it_loads_no_torch(tmp_path: Path) -> None:
    code = "import sys; from bench.__main__ import main; main(); print('torch' in sys.modules)"
    command = [sys.executable, "-c", code, "status", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.endswith("no run is recorded here yet\nFalse\n")
