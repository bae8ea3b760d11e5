"""Records and an analysis, logged after the fact: the runs that the tracker makes, and the comparison as one more."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import records
from bench.logged import history, summary
from bench.records import record_path
from bench.schema import validate
from tests.bench import wandb_log
from tests.bench.helpers import raw, run
from tests.bench.wandb_server import KEY, serving

pytestmark = pytest.mark.usefixtures("fresh_wandb")

Command = Callable[..., tuple[int, str, str]]
WORDS = ("seed=0", "seed=1")
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c636000000002000148afa4710000000049454e44ae426082"
)
"""One black pixel."""


@pytest.fixture
def results(command: Command, tiny: tuple[str, ...]) -> Path:  # noqa: ARG001
    """Records of four runs, one of them failed, in the folder that the command line is called in."""
    folder = Path("r")
    made = [
        run(validate(raw(*tiny, "train.epochs=2", seed, normalizer=name)))
        for name in ("hae", "softmax")
        for seed in WORDS
    ]
    failed = made.pop().model_copy(update={"status": "failed", "curves": {}, "metrics": {}, "attention": {}})
    made.append(failed.model_copy(update={"error": {"type": "E", "message": "m", "traceback": "t"}}))
    for record in made:
        records.write(record_path(folder / "records", *record.key, record.fingerprint), record, folder / "records")
    return folder


def by_id(folder: Path) -> dict[str, wandb_log.Logged]:
    return {logged.run.run_id: logged for logged in wandb_log.runs(folder)}


def test_four_records_are_four_runs_and_again_the_same(command: Command, results: Path) -> None:
    code, out, err = command("publish", "r", "tags=[demo]", "tracker.project=mine")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "W&B: 4 runs are kept offline; send with: wandb sync r/.wandb/wandb"
    logged = by_id(results / ".wandb")
    found = {record.fingerprint: record for _, record in records.scan([results])[0]}
    assert set(logged) == set(found)
    for fingerprint, record in found.items():
        one = logged[fingerprint]
        assert one.run.project == "mine"
        assert one.run.display_name == "/".join((record.dataset, record.normalizer, f"seed={record.seed}"))
        assert one.run.run_group == f"{record.dataset}/{record.normalizer} {record.cell}"
        assert list(one.run.tags) == ["digits", record.normalizer, "protocol-1", "demo", "family-demo"]
        assert {name: one.config[name] for name in record.config} == record.config
        assert one.config["provenance"] == record.provenance
        for (epoch, values), entry in zip(history(record), one.history, strict=True):
            assert entry["_step"] == epoch
            assert {name: entry[name] for name in values} == values
        assert {name: one.summary[name] for name in summary(record)} == summary(record)
        assert one.exit_code == [int(record.status != "completed")]
    assert sorted(len(one.history) for one in logged.values()) == [0, 2, 2, 2]
    shutil.rmtree(results / ".wandb")
    assert command("publish", "r", "r/records")[0] == 0
    assert sorted(one.run.run_id for one in wandb_log.runs(results / ".wandb")) == sorted(logged)


def test_a_record_of_another_protocol_does_not_say_it_is_of_this_one(command: Command, results: Path) -> None:
    (path, record) = records.scan([results])[0][0]
    records.write(path, record.model_copy(update={"fingerprint": "0" * 12}), results / "records")
    assert command("publish", str(results))[0] == 0
    assert "protocol-1" not in by_id(results / ".wandb")["0" * 12].run.tags


def test_an_analysis_is_one_run_with_its_tables_figures_verdicts_and_records(command: Command, results: Path) -> None:
    for name, content in {
        "tables/claims.csv": "claim,verdict,m\nC1,replicated,24\nC2,not replicated,\n",
        "tables/paired.csv": "normalizer,delta,verdict\nhae,0.5,better\nhae,,\n",
        "report.html": "<p>report</p>",
    }.items():
        (results / name).parent.mkdir(exist_ok=True)
        (results / name).write_text(content, encoding="utf-8")
    (results / "figures").mkdir()
    (results / "figures" / "a.png").write_bytes(PNG)
    code, out, _ = command("publish", "r")
    assert code == 0
    (one,) = [one for one in by_id(results / ".wandb").values() if one.run.job_type == "analysis"]
    assert f"analysis r as {one.run.run_id}\n" in out
    assert (one.run.display_name, list(one.run.tags)) == ("analysis/r", ["analysis"])
    assert one.config["records"] == 4
    claims = {name: value for name, value in one.summary.items() if name.startswith(("claims/", "verdicts/"))}
    assert claims == {
        "claims/C1": "replicated",
        "claims/C2": "not replicated",
        "verdicts/claims/replicated": 1,
        "verdicts/claims/not replicated": 1,
        "verdicts/paired/better": 1,
    }
    assert {one.summary[f"tables/{name}/nrows"] for name in ("claims", "paired")} == {2}
    assert one.summary["figures/a/format"] == "png"
    assert one.summary["report/_type"] == "html-file"
    (artifact,) = [item for item in one.artifacts if item.type == "records"]
    assert artifact.name == "records-r"
    held = {entry.path for entry in artifact.manifest.contents}
    assert held == {path.relative_to("r/records").as_posix() for path in records.files(results / "records")}
    before = one.run.run_id
    (results / "report.html").write_text("<p>another</p>", encoding="utf-8")
    assert before not in command("publish", "r")[1]


def test_of_several_folders_each_analysis_has_its_own_records_and_what_is_completed_wins(
    command: Command, results: Path
) -> None:
    found = [record for _, record in records.scan([results])[0]]
    (failed,) = [record for record in found if record.status == "failed"]
    good = next(record for record in found if record.status == "completed")
    other = Path("s")
    mended = good.model_copy(update={"fingerprint": failed.fingerprint, "seed": failed.seed, "normalizer": "softmax"})
    for record in (good, mended):
        records.write(record_path(other / "records", *record.key, record.fingerprint), record, other / "records")
    for folder in (results, other):
        (folder / "tables").mkdir()
        (folder / "tables" / f"{folder}.csv").write_text("a\n1\n", encoding="utf-8")
    assert command("publish", "r", "s")[0] == 0
    logged = by_id(results / ".wandb")
    assert logged[failed.fingerprint].exit_code == [0]
    assert logged[failed.fingerprint].summary["status"] == "completed"
    held = {}
    for one in logged.values():
        for artifact in one.artifacts:
            if artifact.type == "records":
                held[artifact.name] = {entry.path for entry in artifact.manifest.contents}
    assert held == {
        f"records-{folder}": {path.relative_to(folder / "records").as_posix() for path in records.files(folder)}
        for folder in (results, other)
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "publish needs folders of records or of an analysis"),
        (("nothere",), "publish: nothere is no folder"),
        ((".",), "publish: no record and no analysis in ."),
        ((".", "tracker.projct=a"), "publish: tracker.projct is no option; did you mean tracker.project or "),
        ((".", "tracker.mode=on"), "tracker.mode='on': input should be 'online', 'offline' or 'disabled'"),
    ],
)
def test_what_cannot_be_published_is_refused(command: Command, words: tuple[str, ...], message: str) -> None:
    code, out, err = command("publish", *words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err


def test_a_server_is_told_of_each_record_once(command: Command, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {record.fingerprint: record for _, record in records.scan([results])[0]}
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    with serving("answers") as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        for _ in range(2):
            code, out, err = command("publish", "r", "tracker.mode=online")
            assert (code, err) == (0, "")
            assert "kept offline" not in out
        assert set(server.runs) == set(found)
        for fingerprint, record in found.items():
            lines = server.history.get(fingerprint, {})
            assert [lines[place]["epoch"] for place in sorted(lines)] == record.curves.get("epoch", [])
            assert server.exit_codes[fingerprint] == int(record.status != "completed")
