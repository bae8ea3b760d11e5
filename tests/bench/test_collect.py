"""`python -m bench collect`: records of several machines in one folder, none lost, none replaced."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import records
from bench.records import Record, read, record_path, write
from tests.bench.helpers import deny
from tests.bench.test_records import made
from tests.conftest import Tally

Collect = Callable[..., tuple[int, str, str]]


@pytest.fixture
def collect(command: Collect, tmp_path: Path) -> Collect:
    """`python -m bench collect WORDS into=<tmp_path>/all`."""
    return lambda *words: command("collect", *map(str, words), f"into={tmp_path / 'all'}")


@pytest.fixture
def machines(tmp_path: Path) -> list[Path]:
    """Two folders with a finished record each, of seeds 0 and 1."""
    folders = [tmp_path / "a", tmp_path / "b"]
    for seed, folder in enumerate(folders):
        put(folder, seed=seed)
    return folders


def put(folder: Path, *, seed: int, **changes: Any) -> Path:
    record = made(seed=seed, fingerprint=f"{seed:012}", **changes)
    path = record_path(folder, *record.key, record.fingerprint)
    write(path, record, folder)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """All files below `folder`, hidden ones too, but locks."""
    paths = (path for path in folder.rglob("*") if path.is_file() and records.LOCKS not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_records_of_two_machines_are_brought_together_byte_for_byte(
    collect: Collect, machines: list[Path], tmp_path: Path
) -> None:
    before = [contents(folder) for folder in machines]
    code, out, err = collect(*machines)
    assert (code, out, err) == (0, f"{tmp_path / 'all'}: 2 copied\n", "")
    assert contents(tmp_path / "all") == before[0] | before[1]
    assert [contents(folder) for folder in machines] == before
    code, out, err = collect(*machines, machines[0])
    assert (code, out, err) == (0, f"{tmp_path / 'all'}: 3 skipped as identical\n", "")
    assert contents(tmp_path / "all") == before[0] | before[1]


def test_without_into_they_go_where_runs_are_recorded(command: Collect, machines: list[Path]) -> None:
    code, out, _ = command("collect", *map(str, machines))
    assert (code, out) == (0, "results/records: 2 copied\n")
    assert len(list(records.files(Path("results/records")))) == 2


@pytest.mark.fault("two machines with two contents of one run")
def test_one_run_with_two_contents_is_named_and_nothing_is_copied(
    collect: Collect, machines: list[Path], tmp_path: Path, fault: Tally
) -> None:
    rival = put(machines[1], seed=0, metrics={"accuracy": 0.5})
    code, out, err = collect(*machines)
    own = record_path(machines[0], "digits", "hae", 0, f"{0:012}")
    assert (code, out) == (1, "")
    assert f"conflict: {rival} and {own} are records of one run and differ in metrics\nnothing was copied" in err
    fault.inject()
    fault.said(err, "conflict: ")
    assert not (tmp_path / "all").exists()


def test_a_finished_record_in_the_target_is_never_replaced(
    collect: Collect, machines: list[Path], tmp_path: Path
) -> None:
    put(tmp_path / "all", seed=1, cell="another")
    before = contents(tmp_path / "all")
    code, _, err = collect(*machines)
    assert code == 1
    assert f"conflict: {machines[1]}/digits/hae/seed=1-{1:012}.json and {tmp_path / 'all'}/digits/hae/" in err
    assert contents(tmp_path / "all") == before


def test_a_finished_record_takes_the_place_of_a_failed_or_broken_one_which_is_kept(
    collect: Collect, machines: list[Path], tmp_path: Path
) -> None:
    failed, broken = put(tmp_path / "all", seed=0, status="failed"), put(tmp_path / "all", seed=1)
    broken.write_bytes(b"{")
    old = [failed.read_bytes(), b"{"]
    code, out, err = collect(*machines)
    assert (code, out) == (0, f"{tmp_path / 'all'}: 2 copied\n")
    assert f"notice: what lay at {broken} and is no finished record is set aside" in err
    assert [read(path).status for path in (failed, broken)] == ["completed"] * 2
    kept = tmp_path / "all" / records.ARCHIVE / "digits" / "hae"
    assert [(kept / f"{path.stem}.1.json").read_bytes() for path in (failed, broken)] == old


@pytest.mark.fault("a broken record among those collected")
def test_what_is_broken_or_unfinished_is_left_out_and_counted(
    collect: Collect, machines: list[Path], tmp_path: Path, fault: Tally
) -> None:
    put(machines[0], seed=2, status="interrupted")
    half = put(machines[1], seed=3)
    half.write_bytes(half.read_bytes()[:100])
    fault.inject(2)
    code, out, err = collect(*machines)
    fault.said(err, str(half))
    assert (code, out) == (1, f"{tmp_path / 'all'}: 1 broken, 1 not completed, 2 copied\n")
    assert err.startswith(f"{half}: not whole JSON")
    assert [record.seed for _, record in records.scan([tmp_path / "all"])[0]] == [0, 1]


@pytest.mark.fault("records collected while a sweep makes one of them")
def test_a_run_that_a_sweep_is_making_is_left_to_it(
    collect: Collect, machines: list[Path], tmp_path: Path, fault: Tally
) -> None:
    with records.lock(tmp_path / "all", f"{1:012}", wait=False):
        code, out, err = collect(*machines)
    assert (code, out) == (1, f"{tmp_path / 'all'}: 1 copied, 1 being made by a sweep\n")
    assert f"seed=1-{1:012}.json: a sweep is making this run" in err
    fault.inject()
    fault.said(err, "a sweep is making this run")


def test_a_run_finished_by_a_sweep_meanwhile_is_not_replaced(
    collect: Collect, machines: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = records.lock

    def finish_first(folder: Path, fingerprint: str, *, wait: bool) -> Any:
        if fingerprint == f"{1:012}":
            put(folder, seed=1, cell="the sweep's")
        return lock(folder, fingerprint, wait=wait)

    monkeypatch.setattr(records, "lock", finish_first)
    code, out, err = collect(*machines)
    assert (code, out) == (1, f"{tmp_path / 'all'}: 1 in conflict, 1 copied\n")
    assert "differ in cell" in err
    found: list[Record] = [record for _, record in records.scan([tmp_path / "all"])[0]]
    assert [record.cell for record in found] == ["c", "the sweep's"]
    assert not (tmp_path / "all" / records.ARCHIVE).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "collect needs folders of records"),
        (("a", "into="), "collect needs folders of records"),
        (("nowhere",), "collect: nowhere is no folder of records"),
    ],
)
def test_what_cannot_be_collected_is_refused(command: Collect, words: tuple[str, ...], message: str) -> None:
    code, out, err = command("collect", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")


def test_a_target_that_cannot_be_written_is_named(command: Collect, machines: list[Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _, err = command("collect", str(machines[0]), f"into={tmp_path / 'file'}")
    assert code == 2
    assert err.startswith(f"error: into={tmp_path / 'file'} cannot be written (")


def test_a_record_in_the_target_that_cannot_be_read_is_not_replaced(
    collect: Collect, machines: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = put(tmp_path / "all", seed=1, notes=["of the target"])
    before = contents(tmp_path / "all")
    with monkeypatch.context() as patch:
        deny(patch, there)
        code, _, err = collect(*machines)
    assert code == 2
    assert "it may be whole, so that nothing takes its place" in err
    assert contents(tmp_path / "all") == before
