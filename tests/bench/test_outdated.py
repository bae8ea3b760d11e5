"""Runs that other source made than is here now: recorded, skipped with a notice, refused where it would be misnamed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import parts, plan, pool, records, sources, work
from bench.fingerprint import identify
from bench.records import Record
from bench.sweep import sweep
from normalizers import REGISTRY
from normalizers.softmax import Softmax
from tests.bench.helpers import CONF, changed, config, contents, raw, recorded
from tests.bench.test_sources import RELU, edited, load

Say = Callable[..., tuple[int, str, str]]
CHANGED = "the code changed after the sweep was planned; the same command plans anew"


@pytest.fixture(autouse=True)
def no_cache() -> Any:
    sources.of.cache_clear()
    yield
    sources.of.cache_clear()


@pytest.fixture
def raws(tiny: tuple[str, ...], tmp_path: Path) -> list[dict[str, Any]]:
    """Two normalizers with two seeds, in this process."""
    words = (*tiny, "parallel=1", f"results_dir={tmp_path / 'r'}")
    return [raw(*words, f"seed={seed}", normalizer=name) for name in ("softmax", "topk_025") for seed in (0, 1)]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def call(raws: list[dict[str, Any]]) -> tuple[int, str, str]:
        capsys.readouterr()
        code = sweep(raws)
        return (code, *capsys.readouterr())

    return call


def test_a_record_says_which_source_its_map_model_and_builder_had(raws: list[dict[str, Any]], tmp_path: Path) -> None:
    sweep(raws)
    found = recorded(tmp_path / "r")
    softmax, topk = (found["digits", name, 0].provenance for name in ("softmax", "topk_025"))
    typed = config()
    assert {name: softmax[name] for name in parts.NAMES} == parts.source_hashes(typed)
    assert softmax["map_source"] != topk["map_source"]
    assert softmax["model_source"] == topk["model_source"]
    assert softmax["data_source"] == topk["data_source"]
    assert len({softmax[name] for name in parts.NAMES}) == 3


@pytest.mark.parametrize(
    ("file", "count", "first", "what"),
    [
        ("normalizers/topk.py", 2, "topk_025", "the map topk"),
        ("bench/model.py", 4, "softmax", "the model compact"),
        ("datasets/digits.py", 4, "softmax", "the code that builds the data set digits"),
    ],
)
def test_skipping_a_run_of_other_source_of_its_own_part_is_said_once(
    raws: list[dict[str, Any]],
    say: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    count: int,
    first: str,
    what: str,
) -> None:
    assert say(raws)[0] == 0
    before = contents(tmp_path / "r")
    edited(monkeypatch, file)
    code, out, err = say(raws)
    assert code == 0
    assert out.startswith("4 already done")
    runs = f"{count} finished runs, such as digits/{first}/seed=0, were made by other source of {what} and skipped"
    assert err == f"notice: {runs}; force=true makes them again\n"
    assert contents(tmp_path / "r") == before
    assert say([changed(content, "force", True) for content in raws])[2] == ""
    assert say(raws)[2] == ""


def test_an_edited_unrelated_map_is_not_mentioned(
    raws: list[dict[str, Any]], say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert say(raws)[0] == 0
    edited(monkeypatch, "normalizers/hae.py")
    assert say(raws)[2] == ""


def test_a_record_that_does_not_say_its_source_is_skipped_without_a_word(
    raws: list[dict[str, Any]], say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert say(raws)[0] == 0
    for path, record in records.scan([tmp_path / "r"])[0]:
        origin = {name: value for name, value in record.provenance.items() if name not in parts.NAMES}
        records.write(path, record.model_copy(update={"provenance": origin}), tmp_path / "r")
    edited(monkeypatch, "normalizers/topk.py")
    code, out, err = say(raws)
    assert (code, err) == (0, "")
    assert out.startswith("4 already done")


def test_the_notice_names_the_command_that_makes_these_runs_again(
    command: Callable[..., tuple[int, str, str]], tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = (*tiny, "parallel=1", f"results_dir={tmp_path / 'r'}")
    words = ("-m", "dataset=digits", "normalizer=softmax,topk_025", *sizes)
    assert command(*words, "seed=0,1")[0] == 0
    edited(monkeypatch, "normalizers/topk.py")
    code, _, err = command(*words, "seed=range(3)")
    assert code == 0
    assert err.count("notice:") == 1
    shown = err.partition("to make them again: python -m bench ")[2].split()
    assert shown[-4:] == ["dataset=digits", "normalizer=topk_025", "seed=0,1", "force=true"]
    code, out, err = command(*shown)
    assert (code, err) == (0, "")
    assert out.startswith("2 to run")


def test_a_map_from_elsewhere_enters_the_fingerprint_by_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "relu_map.py"
    content = raw()
    own = identify(config(), "d")
    found = []
    for text in (RELU, RELU.replace("relu()", "relu() ** 2"), RELU):
        sources.of.cache_clear()
        path.write_text(text, encoding="utf-8")
        monkeypatch.setitem(REGISTRY, "relu", load(path, "relu_map").Relu)
        typed = work.validate(changed(changed(content, "normalizer.map", "relu"), "normalizer.name", "relu"))
        found.append(identify(typed, "d"))
    assert found[0] == found[2]
    assert len({found[0].fingerprint, found[1].fingerprint, own.fingerprint}) == 3
    assert len({found[0].cell, found[1].cell, own.cell}) == 3
    assert {identity.setting for identity in found} == {own.setting}


def test_a_map_from_elsewhere_runs_and_an_edit_of_it_makes_its_runs_new(
    raws: list[dict[str, Any]], say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "relu_map.py"
    foreign = [changed(changed(c, "normalizer", {"name": "relu", "map": "relu"}), "seed", 5) for c in raws[:1]]
    for text in (RELU, RELU.replace("relu()", "relu() ** 2")):
        sources.of.cache_clear()
        path.write_text(text, encoding="utf-8")
        monkeypatch.setitem(REGISTRY, "relu", load(path, "relu_map").Relu)
        code, out, err = say(foreign)
        assert (code, err) == (0, "")
        assert out.startswith("1 to run")
    assert len({record.fingerprint for _, record in records.scan([tmp_path / "r"])[0]}) == 2


def test_a_map_that_comes_from_no_file_is_refused_before_anything_runs(
    raws: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REGISTRY, "typed", type("Typed", (Softmax,), {"__module__": "typed_in"}))
    with pytest.raises(plan.ConfigError, match="normalizer t: Typed comes from no source file; define it in a module"):
        plan.plan([changed(raws[0], "normalizer", {"name": "t", "map": "typed"})])


def test_a_process_with_other_source_than_was_planned_refuses_the_run(
    raws: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = plan.plan(raws[:1]).jobs[0]
    monkeypatch.setattr(plan, "SOURCE", "another")
    assert work.carry_out(job, wait=False) == work.Outcome("failed", error=CHANGED)
    assert contents(tmp_path / "r") == {}
    monkeypatch.undo()
    assert work.carry_out(job, wait=False).status == "completed"


def test_a_process_with_other_source_of_a_map_from_elsewhere_refuses_the_run(raws: list[dict[str, Any]]) -> None:
    job = plan.plan(raws[:1]).jobs[0]
    other = replace(job, part_sources={**job.part_sources, "map_source": "another"})
    assert work.carry_out(other, wait=False) == work.Outcome("failed", error=CHANGED)


def test_runs_that_were_refused_are_listed_at_the_end_of_the_sweep(
    raws: list[dict[str, Any]], say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = work.perform

    def change(*arguments: Any) -> Record:
        record = real(*arguments)
        monkeypatch.setattr(plan, "SOURCE", "another")  # as in the process that takes the place of this one
        return record

    monkeypatch.setattr(work, "perform", change)
    code, out, err = say(raws)
    assert code == 1
    assert "1 of 4 runs are recorded" in out
    assert "3 failed:" in err
    assert f" and 2 more runs: {CHANGED}\n" in err
    assert len(contents(tmp_path / "r")) == 1


def test_a_worker_that_starts_after_the_code_was_edited_makes_no_record(
    raws: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "code"
    for name, content in sources.AT_START.items():
        path = copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content + (b"\n# edited\n" if name == "normalizers/softmax.py" else b""))
    (copy / "conf").symlink_to(CONF)
    jobs = plan.plan(raws[:1]).jobs
    monkeypatch.syspath_prepend(copy)  # where a worker imports from
    monkeypatch.chdir(copy)
    outcomes = [outcome for _, outcome, _ in pool.in_workers(jobs, 1)]
    assert outcomes == [work.Outcome("failed", error=CHANGED)]
    assert contents(tmp_path / "r") == {}


def test_nothing_is_planned_by_a_process_whose_code_changed_while_it_was_imported(
    raws: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "SOURCE", None)
    with pytest.raises(plan.ConfigError, match="changed while this process imported it; start again"):
        plan.plan(raws)
