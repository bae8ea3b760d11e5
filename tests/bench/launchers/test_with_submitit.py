"""Jobs of submitit: processes of this machine, and a Slurm whose commands are small scripts."""

import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import records
from bench.launchers.cluster import JOBS
from bench.launchers.settings import LocalSettings, SlurmSettings
from bench.schema import ConfigError
from bench.sweep import sweep
from tests.bench import wandb_log
from tests.bench.helpers import archived, end, finish, group, recorded, results, start, wait_for
from tests.bench.launchers.test_settings import content

pytest.importorskip("submitit", reason="the launchers of submitit need it")
from bench.launchers.with_slurm import Slurm
from bench.launchers.with_submitit import Local

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes through /proc"),
]
Runs = Callable[[Path], list[dict[str, Any]]]
Results = dict[tuple[str, str, int], dict[str, Any]]


def made(folder: Path) -> Results:
    return {key: results(record) for key, record in recorded(folder).items()}


def jobs_in(folder: Path) -> list[int]:
    """The processes in which submitit carries out jobs of the sweep into `folder`."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = line.read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it ended meanwhile
            continue
        if "submitit.core._submit" in words and any(word.startswith(str(folder)) for word in words):
            found.append(int(line.parent.name))
    return found


def locks(folder: Path) -> int:
    """The runs that have begun."""
    return len(list((folder / records.LOCKS).glob("*.lock")))


def test_local_jobs_make_the_bits_of_one_process_though_one_is_killed(
    runs: Runs, serial: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed: list[int] = []

    def kill_one() -> None:
        wait_for(lambda: locks(tmp_path / "r") == 2, "both jobs to have begun")
        killed.extend(jobs_in(tmp_path / "r")[:1])
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    local = Local(LocalSettings(**content("submitit_local", retries=1, runs_per_job=2)), at_once=2)
    code = sweep(runs(tmp_path / "r"), local)
    killer.join()
    out, err = capsys.readouterr()
    assert (code, len(killed)) == (0, 1), err
    assert out.startswith("4 to run with 2 workers, the longest first\n[1/4] digits/")
    assert "4 of 4 runs are recorded" in out
    assert re.fullmatch(
        r"notice: digits/\w+/seed=0: the worker process died \(state FINISHED\).*; its log is (.*); "
        r"tried again \(1 of 1\)\n",
        err,
    )
    assert made(tmp_path / "r") == serial
    assert len(archived(tmp_path / "r")) == 1  # the record of the loss
    assert list((tmp_path / "r" / JOBS).iterdir())  # and the logs


@pytest.mark.usefixtures("fresh_wandb")
def test_local_jobs_that_are_tracked_make_the_same_bits_and_log_each_run(
    runs: Runs, serial: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker = {"kind": "wandb", "mode": "offline", "dir": str(tmp_path / "w"), "images": False}
    local = Local(LocalSettings(**content("submitit_local", runs_per_job=2)), at_once=2)
    assert sweep([one | {"tracker": tracker} for one in runs(tmp_path / "r")], local) == 0
    assert made(tmp_path / "r") == serial
    records_of = {record.fingerprint: record for record in recorded(tmp_path / "r").values()}
    logged = wandb_log.runs(tmp_path / "w")
    assert sorted(one.run.run_id for one in logged) == sorted(records_of)
    for one in logged:
        wandb_log.equal(one, records_of[one.run.run_id])
    assert "W&B: 4 runs are kept offline; send with: wandb sync " in capsys.readouterr().out


def test_the_pool_makes_the_same_bits(runs: Runs, serial: Results, tmp_path: Path) -> None:
    assert sweep(runs(tmp_path / "r")) == 0
    assert made(tmp_path / "r") == serial


def test_an_interrupted_sweep_records_the_runs_of_its_jobs(tiny: tuple[str, ...], tmp_path: Path) -> None:
    words = [word for word in tiny if not word.startswith("train.epochs")]
    folder = tmp_path / "r"
    process = start(
        *("-m", "dataset=digits", "normalizer=softmax", "seed=0,1", "train.epochs=100000", "results_dir=r"),
        *("hydra/launcher=submitit_local", "parallel=2", *words),
        cwd=tmp_path,
    )
    try:
        # The harness is imported in less processor time than this.
        used = lambda: [seconds for pid, seconds in group(process.pid).items() if pid in jobs_in(folder)]  # noqa: E731
        wait_for(lambda: len(used()) == 2 and min(used()) > 6, "both jobs to train", process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        code, out, err = finish(process)
    finally:
        end(process)
    assert code == 130, err
    assert "0 of 2 runs are recorded" in out
    assert err == "interrupted; the same command goes on where this one stopped\n"
    assert [record.status for _, record in records.scan([folder])[0]] == ["interrupted"] * 2
    assert jobs_in(folder) == []


SBATCH = """#!/bin/bash
# Runs the script at once, once for each element of the array. Of the first array a node takes element 0 with it.
set -eu
id=$(( 100 + $(ls "$FAKE_SLURM" | grep -c "sbatch$" || true) ))
cp "$1" "$FAKE_SLURM/$id.sbatch"
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\)%.*/\\1/p' "$1")
export SLURM_JOB_ID=$id
if [ -z "$last" ]; then
  (bash "$FAKE_SLURM/$id.sbatch"; echo COMPLETED > "$FAKE_SLURM/$id.state") > /dev/null 2>&1 &
else
  for n in $(seq 0 "$last"); do
    export SLURM_ARRAY_JOB_ID=$id SLURM_ARRAY_TASK_ID=$n
    if [ "$id.$n" = 100.0 ]; then echo NODE_FAIL > "$FAKE_SLURM/${id}_$n.state"; continue; fi
    (bash "$FAKE_SLURM/$id.sbatch"; echo COMPLETED > "$FAKE_SLURM/${id}_$n.state") > /dev/null 2>&1 &
  done
fi
echo "Submitted batch job $id"
"""
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do case $1 in --output | --error) shift 2 ;; *) shift ;; esac; done
exec "$@"
"""
SACCT = """#!/bin/bash
echo "JobID|State|NodeList"
for file in "$FAKE_SLURM"/*.state; do
  name=$(basename "$file" .state)
  echo "$name|$(cat "$file")|here"
done
"""
SCANCEL = """#!/bin/bash
echo "$@" >> "$FAKE_SLURM/cancelled"
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Slurm's commands on the path; in the folder returned lies what was submitted."""
    commands, folder = tmp_path / "bin", tmp_path / "slurm"
    commands.mkdir()
    folder.mkdir()
    for name, script in {"sbatch": SBATCH, "srun": SRUN, "sacct": SACCT, "scancel": SCANCEL}.items():
        (commands / name).write_text(script, encoding="utf-8")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(folder))
    return folder


def test_an_array_of_slurm_makes_the_bits_of_one_process_though_a_node_fails(
    runs: Runs, serial: Results, slurm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {
        "runs_per_job": 2,
        "memory_gb": 2.5,
        "gpus": 1,
        "minutes": 30,
        "partition": "short",
        "account": "me",
        "qos": "low",
        "constraint": "avx2",
        "setup": ["export PREPARED=1"],
        "options": {"nice": 100},
    }
    settings = SlurmSettings(**content("submitit_slurm", **changes))
    assert sweep(runs(tmp_path / "r"), Slurm(settings, parallel=3, threads=2)) == 0
    out, err = capsys.readouterr()
    assert out.startswith("4 to run with 2 workers, the longest first\n")
    assert re.search(
        r"seed=0: the worker process died \(state NODE_FAIL\); its log is .*; tried again \(1 of 2\)\n", err
    )
    assert made(tmp_path / "r") == serial
    lines = (slurm / "100.sbatch").read_text(encoding="utf-8").splitlines()
    assert {
        "#SBATCH --array=0-1%2",
        "#SBATCH --cpus-per-task=2",
        "#SBATCH --mem=2560MB",
        "#SBATCH --gpus-per-node=1",
        "#SBATCH --time=30",
        "#SBATCH --partition=short",
        "#SBATCH --account=me",
        "#SBATCH --qos=low",
        "#SBATCH --constraint=avx2",
        "#SBATCH --requeue",
        "#SBATCH --nice=100",
        "export PREPARED=1",
    } <= set(lines)
    assert not (slurm / "cancelled").exists()


def test_a_job_that_slurm_refuses_is_said_to_be(runs: Runs, slurm: Path, tmp_path: Path) -> None:
    (slurm.parent / "bin" / "sbatch").write_text(
        "#!/bin/bash\necho 'invalid partition: x' >&2; exit 1\n", encoding="utf-8"
    )
    settings = SlurmSettings(**content("submitit_slurm", partition="x"))
    with pytest.raises(ConfigError, match=r"^the jobs were not accepted: (.|\n)*invalid partition: x"):
        sweep(runs(tmp_path / "r"), Slurm(settings, parallel=None, threads=1))


def test_without_slurm_its_launcher_is_refused(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    settings = SlurmSettings(**content("submitit_slurm"))
    with pytest.raises(ConfigError, match="there is no srun on this machine"):
        sweep(runs(tmp_path / "r"), Slurm(settings, parallel=None, threads=1))
