"""What a sweep says of W&B: what it does not log again, and where the data of its runs lie."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.sweep import sweep
from bench.wandb_sweep import not_sent
from tests.bench import wandb_log
from tests.bench.helpers import changed, raw, recorded, results

Command = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.usefixtures("fresh_wandb")


def test_a_sweep_says_how_to_send_and_how_to_log_what_was_there_before(command: Command, tiny: tuple[str, ...]) -> None:
    words = ("dataset=digits", "normalizer=softmax", "results_dir=my r", "parallel=1", *tiny)
    assert command("seed=0", *words)[0] == 0
    code, out, err = command("-m", "seed=0,1", "tracker=wandb", "tracker.images=false", *words)
    assert code == 0
    assert (
        "notice: tracker: what was recorded before is not logged again; `python -m bench publish 'my r'` logs it" in err
    )
    assert out.splitlines()[-1] == "W&B: 1 run is kept offline; send with: wandb sync 'my r/.wandb/wandb'"
    assert Path(shlex.split(out.splitlines()[-1])[-1]).is_dir()
    assert [path.name for path in Path.cwd().iterdir()] == ["my r"]
    last = out.splitlines()[-1]
    code, out, err = command("-m", "seed=0,1", "tracker=wandb", *words)
    assert (code, out.splitlines()[0], out.splitlines()[-1]) == (0, "2 already done", last)


def test_a_sweep_of_four_is_four_runs_equal_to_their_records_and_again_the_same(
    tiny: tuple[str, ...], tmp_path: Path
) -> None:
    words = (*tiny, "train.epochs=2", "parallel=1", f"results_dir={tmp_path / 'r'}", "tracker.mode=offline")
    raws = [
        raw(*words, f"seed={seed}", normalizer=name, tracker="wandb") for name in ("softmax", "hae") for seed in (0, 1)
    ]
    assert sweep(raws) == 0
    first = {record.fingerprint: record for record in recorded(tmp_path / "r").values()}
    logged = {one.run.run_id: one for one in wandb_log.runs(tmp_path / "r" / ".wandb")}
    assert len(logged) == 4
    assert logged.keys() == first.keys()
    for fingerprint, record in first.items():
        wandb_log.equal(logged[fingerprint], record)
    elsewhere = [changed(content, "tracker.dir", str(tmp_path / "again")) for content in raws]
    assert sweep([changed(content, "force", True) for content in elsewhere]) == 0
    again = {record.fingerprint: record for record in recorded(tmp_path / "r").values()}
    latest = wandb_log.runs(tmp_path / "again")
    assert sorted(one.run.run_id for one in latest) == sorted(first)
    for one in latest:
        wandb_log.equal(one, again[one.run.run_id])
        assert results(again[one.run.run_id]) == results(first[one.run.run_id])


def test_what_is_sent_is_not_counted(tmp_path: Path) -> None:
    for name, file in (("a", "run-a.wandb"), ("b", "run-b.wandb"), ("b", "run-b.wandb.synced")):
        path = tmp_path / "wandb" / f"offline-run-{name}" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert list(not_sent(tmp_path)) == [f"W&B: 1 run is kept offline; send with: wandb sync {tmp_path / 'wandb'}"]
    assert list(not_sent(tmp_path / "nothere")) == []
