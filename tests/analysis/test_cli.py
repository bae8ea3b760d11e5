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
    tables = ("main_results", "paired_vs_softmax", "hae_vs_entmax15", "runtime")
    drawings = ("accuracy_by_dataset", "support_accuracy")
    assert sorted(out) == sorted(
        ["report.html"]
        + [f"tables/{name}.{kind}" for name in tables for kind in ("md", "csv")]
        + [f"figures/{name}.{kind}" for name in drawings for kind in ("png", "svg")]
    )
    shutil.rmtree(tmp_path / "results (1)")
    assert call(*words, cwd=tmp_path).returncode == 0
    assert contents(tmp_path / "results (1)") == out


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
