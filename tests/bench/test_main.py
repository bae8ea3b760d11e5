"""The command line: what it prints, refuses and leaves behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.sweep import sweep
from tests.bench.helpers import ROOT, finish, raw, recorded, results, start

Command = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("verfy", "x"), "verfy is no command; did you mean verify? (there are: collect, dashboard, data, doctor"),
        (("normalizer=hae",), "dataset"),
        (("dataset=digits",), "normalizer"),
        (("dataset=digits", "normalizer=hae", "sed=3"), "sed is not a key of the configuration; did you mean seed?"),
        (("dataset=digits", "normalizer=hae", "seed=1e1"), "seed=10.0: input should be a valid integer, got float"),
        (("dataset=digits", "normalizer=hae", "dataset.name=???"), "dataset.name is missing; give it as dataset.name="),
        (("dataset=digits", "normalizer=hae", "train.epochs=???"), "train.epochs is missing; give it as train.epochs="),
        (("dataset=digits", "normalizer=softmax", "normalizer.ratio=0.5"), "normalizer.ratio is not a key"),
        (
            ("dataset=digits", "normalizer=topk", "normalizer.ratio=0"),
            "normalizer topk_0.0: ratio must be in (0, 1], got ratio=0.0",
        ),
        (("dataset=digits", "normalizer=softmax", "seed=0,1"), "--multirun"),
        (
            ("-m", "dataset=digits", "normalizer=softmax,sofmax,hae"),
            "normalizer=sofmax is unknown; did you mean softmax",
        ),
        (("-m", "dataset=digits", "normalizer=softmax", "seed=range(0)"), "seed=range(0): an empty sweep"),
        (("-m", "dataset=digits", "normalizer=softmax", "seed=0,1.5"), "seed=1.5: input should be a valid integer"),
        (("-m", "dataset=digits", "normalizer=softmax,topk", "normalizer.ratio=0.5"), "normalizer.ratio is not a key"),
        (("-m", "dataset=digits", "normalizer=softmax", "dataset.patch=2,3"), "dataset.patch=3 does not divide"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_trains(
    command: Command, tiny: tuple[str, ...], words: tuple[str, ...], message: str
) -> None:
    given = {word.split("=")[0] for word in words}
    code, out, err = command(*words, *(word for word in tiny if word.split("=")[0] not in given), "results_dir=r")
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert "Traceback" not in err
    assert not Path("r").exists()


@pytest.mark.parametrize("words", [(), ("--help",), ("-h", "dataset=kmnist")])
def test_help_says_what_there_is(command: Command, words: tuple[str, ...]) -> None:
    code, out, err = command(*words)
    assert (code, err) == (0, "")
    for part in ("python -m bench dataset=digits normalizer=hae seed=3", "experiment=demo", "topk_0125", "kmnist"):
        assert part in out
    assert list(Path.cwd().iterdir()) == []


def test_the_configuration_is_shown_whole_and_nothing_is_run(command: Command) -> None:
    code, out, err = command("dataset=digits", "normalizer=topk", "normalizer.ratio=0.3", "seed=7", "--cfg", "job")
    assert (code, err) == (0, "")
    for line in ("seed: 7", "  train_limit: 1000", "  ratio: 0.3", "  learning_rate: 0.001", "on_error: continue"):
        assert f"\n{line}\n" in f"\n{out}"
    code, out, _ = command("experiment=paper", "--cfg", "job")
    assert code == 0
    assert "\nresults_dir: results/paper/records\n" in out
    assert list(Path.cwd().iterdir()) == []


def test_one_run_leaves_its_record_and_nothing_else(command: Command, tiny: tuple[str, ...]) -> None:
    code, out, err = command("dataset=digits", "normalizer=hae", "seed=3", *tiny, "results_dir=r")
    assert (code, err) == (0, "")
    assert out.startswith("1 to run with 1 worker, the longest first\n[1/1] digits/hae/seed=3  accuracy ")
    assert list(recorded(Path("r"))) == [("digits", "hae", 3)]
    assert [path.name for path in Path.cwd().iterdir()] == ["r"]


def test_a_failed_run_is_the_commands_exit_code(command: Command, tiny: tuple[str, ...]) -> None:
    words = [word for word in tiny if "epochs" not in word]
    bad = ("train.learning_rate=1e30", "train.epochs=2", "results_dir=r")
    code, _, err = command("dataset=digits", "normalizer=softmax", *words, *bad)
    assert code == 1
    assert "1 failed:\n  digits/softmax/seed=0: NonFiniteLossError" in err


@pytest.mark.slow
def test_a_sweep_with_workers_from_another_folder(tiny: tuple[str, ...], tmp_path: Path, command: Command) -> None:
    choices = ("-m", "dataset=digits", "normalizer=softmax,hae", "seed=0,1", *tiny, "parallel=2")
    code, out, err = finish(start(*choices, "results_dir=r", cwd=tmp_path))
    assert (code, err) == (0, "")
    assert out.startswith("4 to run with 2 workers, the longest first\n")
    assert out.count("  accuracy ") == 4
    assert "4 of 4 runs are recorded in r (" in out
    made = recorded(tmp_path / "r")
    assert len(made) == 4
    assert {path.name for path in tmp_path.iterdir()} == {"cwd", "r"}

    code, out, err = command(*choices, f"results_dir={tmp_path / 'r'}")
    assert (code, err) == (0, "")
    assert out.startswith("4 already done\n4 of 4 runs are recorded")

    here = (*tiny, "parallel=1", f"results_dir={tmp_path / 'here'}")
    assert sweep([raw(*here, f"seed={seed}", normalizer=name) for name in ("softmax", "hae") for seed in (0, 1)]) == 0
    assert {key: results(record) for key, record in recorded(tmp_path / "here").items()} == {
        key: results(record) for key, record in made.items()
    }


def test_nothing_of_a_run_lies_in_the_repository() -> None:
    assert not [name for name in ("outputs", "multirun", "multirun.yaml") if (ROOT / name).exists()]
