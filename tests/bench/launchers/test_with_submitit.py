"""Jobs of submitit: processes of this machine, and a Slurm whose commands are small scripts.

With a real Slurm: tests/cluster.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.launchers.batch import Batch
from bench.launchers.dispatch import JOBS
from bench.launchers.settings import LocalSettings, SlurmSettings
from bench.schema import ConfigError
from bench.sweep import sweep
from tests.bench.helpers import recorded, results
from tests.bench.launchers.test_settings import content

pytest.importorskip("submitit", reason="the launchers of submitit need it")
from bench.launchers import slurm_queue
from bench.launchers.slurm_queue import FORGOTTEN, Queue
from bench.launchers.with_slurm import Slurm
from bench.launchers.with_submitit import Local

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-ins for Slurm's commands need bash"),
]
Runs = Callable[[Path], list[dict[str, Any]]]
Results = dict[tuple[str, str, int], dict[str, Any]]


def made(folder: Path) -> Results:
    return {key: results(record) for key, record in recorded(folder).items()}


def test_local_jobs_make_the_bits_of_one_process_and_leave_no_other_file(
    runs: Runs, serial: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local = Local(LocalSettings(**content("submitit_local", runs_per_job=2)), at_once=1)
    assert sweep(runs(tmp_path / "r"), local) == 0
    out, err = capsys.readouterr()
    assert out.startswith("2 to run with 1 worker, the longest first\n[1/2] digits/")
    assert err == ""
    assert made(tmp_path / "r") == serial
    assert not (tmp_path / "r" / JOBS).exists()


SBATCH = """#!/bin/bash
# Runs the script at once, once for each element of the array.
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
    echo RUNNING > "$FAKE_SLURM/${id}_$n.state"
    (bash "$FAKE_SLURM/$id.sbatch"; echo COMPLETED > "$FAKE_SLURM/${id}_$n.state") > /dev/null 2>&1 &
  done
fi
echo "Submitted batch job $id"
"""
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do case $1 in --output | --error) shift 2 ;; *) shift ;; esac; done
exec "$@"
"""
SQUEUE = """#!/bin/bash
for file in "$FAKE_SLURM"/*.state; do
  echo "$(basename "$file" .state)|$(cat "$file")|None"
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
    for name, script in {"sbatch": SBATCH, "srun": SRUN, "squeue": SQUEUE, "scancel": SCANCEL}.items():
        (commands / name).write_text(script, encoding="utf-8")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(folder))
    return folder


def test_an_array_of_slurm_makes_the_bits_of_one_process(
    runs: Runs, serial: Results, slurm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {
        "memory_gb": 2.5,
        "gpus": 1,
        "minutes": 30,
        "partition": "short",
        "account": "me",
        "qos": "low",
        "constraint": "avx2",
        "setup": ["export PREPARED=1"],
        "options": {"nice": 100, "mail_type": "FAIL", "exclusive": False},
    }
    settings = SlurmSettings(**content("submitit_slurm", **changes))
    assert sweep(runs(tmp_path / "r"), Slurm(settings, parallel=3, threads=2)) == 0
    out, err = capsys.readouterr()
    assert out.startswith("2 to run with 2 workers, the longest first\n")
    assert err == ""
    assert made(tmp_path / "r") == serial
    lines = (slurm / "100.sbatch").read_text(encoding="utf-8").splitlines()
    assert {
        "#SBATCH --array=0-1%2",
        "#SBATCH --cpus-per-task=2",
        "#SBATCH --mem=2560MB",
        "#SBATCH --gpus-per-node=1",
        "#SBATCH --time=30",
        "#SBATCH --signal=USR2@30",
        "#SBATCH --partition=short",
        "#SBATCH --account=me",
        "#SBATCH --qos=low",
        "#SBATCH --constraint=avx2",
        "#SBATCH --requeue",
        "#SBATCH --nice=100",
        "#SBATCH --mail-type=FAIL",
        "export PREPARED=1",
    } <= set(lines)
    assert not any("exclusive" in line for line in lines)
    assert not (slurm / "cancelled").exists()


SUBMITTED = """#!/bin/bash
cp "$1" "$FAKE_SLURM/sbatch"
env > "$FAKE_SLURM/environment"
echo "Submitted batch job 7"
"""


@pytest.fixture
def submitted(slurm: Path, tmp_path: Path) -> Callable[..., tuple[Slurm, Any]]:
    """Submits a batch of nothing with some settings; what was submitted is kept and not run."""
    (slurm.parent / "bin" / "sbatch").write_text(SUBMITTED, encoding="utf-8")

    def submit(**changes: Any) -> tuple[Slurm, Any]:
        cluster = Slurm(SlurmSettings(**content("submitit_slurm", **changes)), None, threads=1)
        cluster.connect()
        (job,) = cluster.submit([Batch((), tmp_path / "told")], tmp_path / "jobs")
        return cluster, job

    return submit


def test_jobs_that_are_not_to_be_queued_again_are_submitted_so(
    submitted: Callable[..., tuple[Slurm, Any]], slurm: Path
) -> None:
    submitted(options={"requeue": False})
    lines = (slurm / "sbatch").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "requeue" in line] == ["#SBATCH --no-requeue"]


def test_jobs_hear_nothing_of_a_job_that_they_are_submitted_from(
    submitted: Callable[..., tuple[Slurm, Any]], slurm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = {"SLURM_MEM_PER_CPU": "900", "SLURM_ARRAY_JOB_ID": "3", "SUBMITIT_EXECUTOR": "local"}
    people = {"SLURM_CONF": "/etc/c", "SBATCH_ACCOUNT": "me"}
    for name, value in {**inside, **people}.items():
        monkeypatch.setenv(name, value)
    submitted()
    lines = (slurm / "environment").read_text(encoding="utf-8").splitlines()
    given = dict(line.split("=", 1) for line in lines if "=" in line)
    assert {name: given.get(name) for name in {**inside, **people}} == {**dict.fromkeys(inside), **people}
    assert all(os.environ[name] == value for name, value in inside.items())


@pytest.mark.parametrize(
    ("state", "log", "kind", "reason"),
    [
        (
            "CANCELLED",
            "x\nslurmstepd: error: JobId=7 exceeded memory limit (2 > 1), being killed\nsrun: error: n1: Killed\n",
            "died",
            "the job exceeded its memory limit; raise hydra.launcher.memory_gb",
        ),
        ("OUT_OF_MEMORY", "", "died", "the job exceeded its memory limit; raise hydra.launcher.memory_gb"),
        (
            "CANCELLED",
            "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED ***\n",
            "cancelled",
            "the job was cancelled in Slurm",
        ),
        ("TIMEOUT", "", "out_of_time", "the time limit was over"),
        ("NODE_FAIL", "x\n", "died", "the worker process died (state NODE_FAIL)"),
    ],
)
def test_the_reason_for_which_a_job_ended_is_found_anywhere_in_its_log_and_names_no_machine(
    submitted: Callable[..., tuple[Slurm, Any]], slurm: Path, state: str, log: str, kind: str, reason: str
) -> None:
    cluster, job = submitted()
    (slurm / "7.state").write_text(state, encoding="utf-8")
    job.paths.stderr.write_text(log, encoding="utf-8")
    assert cluster.ended([job]) == [job]
    end = cluster.end(job)
    assert (end.kind, end.reason) == (kind, reason)
    assert f"Slurm's job 7; {log.splitlines()[-1] + '; ' if log else ''}its log is {job.paths.stderr}" == end.detail


def test_slurm_that_does_not_answer_is_said_once_and_no_job_is_taken_for_dead(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_answer() -> dict[str, tuple[str, str]]:
        raise subprocess.CalledProcessError(1, "squeue", stderr="Unable to contact slurm controller\n")

    queue = Queue(60)
    monkeypatch.setattr(slurm_queue, "states", no_answer)
    assert [queue.is_done("7_0", mode="force") for _ in range(3)] == [False] * 3
    said = "notice: Slurm cannot be asked for the jobs, which go on: Unable to contact slurm controller\n"
    assert capsys.readouterr().err == said
    monkeypatch.setattr(slurm_queue, "states", lambda: {"7_1": ("RUNNING", "None")})
    time.sleep(0.01)  # submitit asks again after a millisecond at the soonest
    assert queue.is_done("7_0", mode="force")
    assert queue.get_state("7_0", mode="cache") == FORGOTTEN
    assert not queue.is_done("7_1")


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
    with pytest.raises(ConfigError, match="there is no sbatch on this machine"):
        sweep(runs(tmp_path / "r"), Slurm(settings, parallel=None, threads=1))
