"""The command line end to end, in processes of its own."""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis.__main__ import main
from analysis.errors import InputError
from analysis.figures import FIGURES
from analysis.run import analyse
from analysis.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


def call(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`python -m analysis` in `cwd`, the project importable from there."""
    script = "import sys; sys.path.insert(0, sys.argv.pop(1)); from analysis.__main__ import main; main()"
    command = [sys.executable, "-W", "error", "-c", script, str(ROOT), *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def tables_of(out: dict[str, bytes]) -> list[Path]:
    return [Path(name) for name in out if name.startswith("tables/") and name.endswith(".md")]


def test_a_whole_analysis_writes_what_it_says_and_nothing_else(build: SimpleNamespace, tmp_path: Path) -> None:
    values = build.accuracy | dict.fromkeys(("topk_0125", "topk_025", "topk_050"), build.accuracy["sparsemax"])
    records = [*build.grid(values), build.make("digits", "hae", 4, None, status="failed")]
    paths = build.save(tmp_path / "in, put", *records)
    paths[0].write_text("{")
    words = ('records=["in, put"]', "out=results (1)", "analysis=demo")
    first = call(*words, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert first.stderr == ""
    assert "Read 27 completed runs\n  digits: 27 runs, 7 normalizers, seeds 0-3\n" in first.stdout
    assert "## Paired comparison with softmax\n\n### Family demo: m = 12 planned tests" in first.stdout
    assert "missing seed 0 of softmax" in first.stdout
    assert f"- {Path('in, put') / paths[0].relative_to(tmp_path / 'in, put')}: not whole JSON" in first.stdout
    assert "report   results (1)/report.html" in first.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in, put", "results (1)"]
    out = contents(tmp_path / "results (1)")
    written = [f"tables/{path.stem}.{kind}" for path in tables_of(out) for kind in ("csv", "md", "tex")]
    drawn = [f"figures/{name}.{kind}" for name in FIGURES for kind in ("png", "svg")]
    assert {path.stem for path in tables_of(out)} >= {
        *("main_results", "paired_vs_softmax", "hae_vs_entmax15", "selected", "runtime"),
    }
    assert {name for name in out if name not in drawn} == {".made", "report.html", *written}
    assert {"figures/accuracy_by_dataset.png", "figures/support_accuracy.svg"} <= set(out)
    assert out[".made"].decode().split() == sorted(set(out) - {".made"})
    shutil.rmtree(tmp_path / "results (1)")
    assert call(*words, cwd=tmp_path).returncode == 0
    assert contents(tmp_path / "results (1)") == out


def test_a_page_of_the_theory_beside_the_folder_is_linked(build: SimpleNamespace, tmp_path: Path) -> None:
    build.save(tmp_path / "records", *build.grid())
    words = ("records=records", "out=sweep", "analysis=demo", "analysis.missing=drop", "figures=false")
    for there in (False, True):
        if there:
            (tmp_path / "explorer.html").touch()
        assert call(*words, cwd=tmp_path).returncode == 0
        assert ("../explorer.html" in (tmp_path / "sweep/report.html").read_text(encoding="utf-8")) == there


def test_two_folders_are_separated_by_a_comma(build: SimpleNamespace, tmp_path: Path) -> None:
    records = build.grid()
    build.save(tmp_path / "a", *records[:8])
    build.save(tmp_path / "b", *records[8:])
    done = call("records=a,b", "out=out", "analysis=demo", "analysis.missing=drop", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Read 16 completed runs" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "error: records: a value is required, as records=DIR\nout: a value is required, as out=DIR\n"),
        (["recods=x", "out=y"], "error: unknown key recods (value 'x'); did you mean 'records'?\n"),
        (["records=x", "out=y"], "error: records: no such folder or file: x\n"),
        (["records=x", "out=y", "analysis=papr"], "error: analysis=papr: no such choice; did you mean 'paper'?"),
        (
            ["records=x", "out=y", "analysis.confidence=high"],
            "error: analysis.confidence: Input should be a valid number",
        ),
        (
            ["records=x", "out=y", "analysis.families.main.treatments=[sparsmax]"],
            "error: analysis.families.main.treatments: unknown normalizer 'sparsmax'; did you mean 'sparsemax'?",
        ),
        (["records=x", "out=y", "+foo=1"], "error: unknown key foo (value 1)"),
        (["records=x", "out=y", "-m"], "error: one call makes one report"),
        (["records=x", "out=y", "analysis.order=[a"], "error: "),
        (["records=x", "out=y", "analysis=null"], "error: analysis=null: no such choice"),
        (["records=???", "out=y"], "error: records: a value is required, as records=DIR\n"),
        (
            ["records=x", "out=y", "analysis.margin=0"],
            "error: analysis.margin: Input should be greater than 0, not 0\n",
        ),
        (["power"], "error: records: a value is required, as records=DIR\n"),
        (["power", "records=x"], "error: records: no such folder or file: x\n"),
        (["power", "recods=x"], "error: unknown key recods (value 'x'); did you mean 'records'?\n"),
        (["power", "records=x", "out=y"], "error: unknown key out (value 'y')"),
        (["power", "records=x", "target=2"], "error: target: Input should be less than 1, not 2\n"),
    ],
)
def test_a_mistake_is_one_message_and_status_2(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["analysis", *words])
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")  # so that what main sets there is taken back
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert said.err.startswith(message)
    assert said.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_in_a_process_of_its_own_shows_no_traceback(tmp_path: Path) -> None:
    done = call("recods=x", "out=y", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: unknown key recods (value 'x'); did you mean 'records'?\n"
    assert list(tmp_path.iterdir()) == []


def test_an_out_that_cannot_be_written(build: SimpleNamespace, tmp_path: Path) -> None:
    build.save(tmp_path / "records", *build.grid())
    (tmp_path / "file").write_text("")
    settings = Settings(records=[tmp_path / "records"], out=tmp_path / "file", analysis=build.plan())
    with pytest.raises(InputError, match=f"out: cannot write {tmp_path / 'file'}"):
        analyse(settings, "")


def test_help_is_short_and_the_configuration_can_be_seen(tmp_path: Path) -> None:
    shown = call("--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert "python -m analysis records=DIR out=DIR" in shown.stdout
    assert len(shown.stdout.splitlines()) < 25
    configuration = call("--cfg", "job", cwd=tmp_path)
    assert "records: ???" in configuration.stdout
    assert list(tmp_path.iterdir()) == []


def test_neither_torch_nor_scipy_stats_nor_matplotlib_is_loaded_for_the_statistics(tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import analysis.__main__, analysis.run; "
        "print([name for name in ('torch', 'scipy.stats', 'matplotlib') if name in sys.modules])"
    )
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, str(ROOT)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    print(f"start-up with all imports: {time.perf_counter() - began:.2f} s")
    assert done.stdout == "[]\n", done.stderr


def piped(words: list[str], lines: int, cwd: Path) -> tuple[str, str]:
    """Standard error and the first `lines` lines, of a call whose reader then goes away."""
    script = "import sys; sys.path.insert(0, sys.argv.pop(1)); from analysis.__main__ import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(ROOT), *words],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        seen = "".join(process.stdout.readline() for _ in range(lines))
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(timeout=60) == 0
    return said, seen


def test_a_reader_that_stops_early_costs_neither_a_traceback_nor_the_files(
    build: SimpleNamespace, tmp_path: Path
) -> None:
    build.save(tmp_path / "records", *build.grid())
    words = ["records=records", "out=out", "analysis=demo", "figures=false"]
    assert piped(words, 1, tmp_path) == ("", "Read 16 completed runs\n")
    assert (tmp_path / "out" / "tables" / "runtime.tex").is_file()
    assert (tmp_path / "out" / "report.html").is_file()
    assert not (tmp_path / "out" / "figures").exists()
    assert piped(["power", "--help"], 0, tmp_path) == ("", "")


def test_tables_that_are_no_longer_made_are_removed(build: SimpleNamespace, tmp_path: Path) -> None:
    build.save(tmp_path / "records", *build.grid())

    def analysed(**changes: object) -> set[str]:
        settings = Settings(
            records=[tmp_path / "records"], out=tmp_path / "out", analysis=build.plan(**changes), figures=False
        )
        analyse(settings, "")
        return {name for name in contents(tmp_path / "out") if name.endswith(".csv")}

    with_pair = analysed()
    (tmp_path / "out" / "tables" / "mine.csv").write_text("")
    assert analysed(pairs=[]) == with_pair - {"tables/hae_vs_entmax15.csv"} | {"tables/mine.csv"}


def test_selection_on_validation_rows_that_no_record_has(build: SimpleNamespace, tmp_path: Path) -> None:
    build.save(tmp_path / "records", *build.grid())
    plan = build.plan(choices={"any": ["sparsemax", "hae"]}, selection="validation")
    with pytest.raises(InputError, match=r"dataset\.validation=N"):
        analyse(Settings(records=[tmp_path / "records"], out=tmp_path / "out", analysis=plan), "")
    assert not (tmp_path / "out").exists()


def test_power_prints_a_table_from_a_pilot(build: SimpleNamespace, tmp_path: Path) -> None:
    build.save(
        tmp_path / "records",
        *build.grid(build.accuracy | dict.fromkeys(("topk_0125", "topk_025", "topk_050"), build.accuracy["hae"])),
    )
    done = call("power", "records=records", "analysis=demo", "effect=0.01", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("## Seeds for a power of 0.8\n\n### Family demo: m = 12, α = 0.05, α/m = 0.004167\n")
    assert [path.name for path in tmp_path.iterdir()] == ["records"]
