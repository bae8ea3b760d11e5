"""The command line: what it prints, refuses and leaves behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.launcher import composed
from bench.sweep import sweep
from tests.bench.helpers import CONF, ROOT, finish, raw, recorded, results, start

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
        (
            ("-m", "dataset=digits", "normalizer=softmax,topk", "normalizer.ratio=0.5"),
            "normalizer.ratio is not a key of normalizer softmax (there are: map, name); bottomk and topk can have it: "
            "give it in a command without normalizer softmax",
        ),
        (
            ("-m", "dataset=digits,marker", "normalizer=softmax", "dataset.answer=next"),
            "dataset.answer is not a key of dataset digits (there are: ",
        ),
        (
            ("-m", "dataset=digits", "model=compact,attention_pooling", "normalizer=softmax", "model.dropout=0.2"),
            "model.dropout is not a key of model attention_pooling (there are: blocks, heads, kind, width); compact",
        ),
        (("dataset=digits", "normalizer=softmax", "tracker=wandb", 'tags=[""]'), "tags.0='': string should have at"),
        (
            ("dataset=digits", "normalizer=softmax", "tracker=wandb", f"tags=[{'t' * 65}]"),
            f"tags.0='{'t' * 65}': string should have at most 64 characters",
        ),
        (
            ("dataset=digits", "normalizer=softmax", "tracker=wandb", "tracker.project=a/b"),
            "tracker.project='a/b': must be without / ",
        ),
        (("-m", "dataset=digits", "normalizer=glob(spars_max*)"), "did you mean sparsemax"),
        (("-m", "dataset=digits", "normalizer=softmax", "seed=glob(*)"), "seed=glob(*): an empty sweep"),
        (("-m", "dataset=digits", "normalizer=softmax", "hydra/launcher=basic"), "hydra/launcher=basic is unknown"),
        (("dataset=digits", "normalizer=softmax", "hydra/job_logging=default"), "would leave a log file"),
        (("--experimental-rerun", "x", "dataset=digits", "normalizer=softmax"), "runs leave their record alone"),
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


def test_help_says_what_can_be_set_and_where_a_plus_is_needed(command: Command) -> None:
    _, out, _ = command("--help")
    for part in ("+hydra.launcher.options.nice=100", "results_dir=choice(", "normalizer=topk normalizer.ratio=0.3"):
        assert part in out
    content = composed(
        CONF, "dataset=digits", "normalizer=topk", "normalizer.ratio=0.3", 'tracker.project="a(b"', "tracker=wandb"
    )
    assert (content["normalizer"]["ratio"], content["tracker"]["project"]) == (0.3, "a(b")
    slurm = (
        "dataset=digits",
        "normalizer=softmax",
        "hydra/launcher=submitit_slurm",
        "+hydra.launcher.options.nice=100",
    )
    code, out, _ = command(*slurm, "--cfg", "hydra")
    assert code == 0
    assert "    options:\n      nice: 100\n" in out


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


ODD = "a #,(b) ünï\\c"


def test_every_command_takes_folders_as_they_stand(command: Command, tiny: tuple[str, ...], data_root: Path) -> None:
    one, swept, root, other = (f"{name} {ODD}" for name in ("one", "swept", "data", "other"))
    Path(root).symlink_to(data_root)
    words = [word for word in tiny if not word.startswith("data.root")]
    run = ("dataset=digits", "normalizer=softmax", *words, f"data.root={root}")
    for folder, flags in ((one, ()), (swept, ("-m", "parallel=1"))):
        code, out, err = command(*flags, *run, f"results_dir={folder}")
        assert code == 0
        assert f"1 of 1 runs are recorded in {folder} (" in out
        assert err.count("is one folder") == len(flags) // 2
    (path,) = Path(one).rglob("seed=*.json")
    for call in (
        ("status", one),
        ("verify", str(path), f"data.root={root}", "device=cpu"),
        ("collect", one, f"into={other}"),
        ("data", "digits", f"data.root={root}"),
    ):
        assert command(*call)[::2] == (0, "")
    assert recorded(Path(other)) == recorded(Path(one))
    assert list(recorded(Path(swept))) == [("digits", "softmax", 0)]
    assert {entry.name for entry in Path.cwd().iterdir()} == {one, swept, root, other}


@pytest.mark.parametrize("flags", [(), ("-m", "parallel=1")])
def test_folders_begin_where_the_command_was_typed_wherever_hydra_goes(
    command: Command, tiny: tuple[str, ...], data_root: Path, flags: tuple[str, ...]
) -> None:
    Path("d").symlink_to(data_root)
    words = [word for word in tiny if not word.startswith("data.root")]
    elsewhere = ("hydra.job.chdir=true", "hydra.run.dir=X", "hydra.sweep.dir=X")
    folders = ("data.root=d", "results_dir=rel")
    here = Path.cwd()
    code, out, err = command(*flags, "dataset=digits", "normalizer=softmax", *words, *elsewhere, *folders)
    assert (code, err) == (0, "")
    assert "1 of 1 runs are recorded in rel (" in out
    assert Path.cwd() == here
    assert len(recorded(here / "rel")) == 1
    assert [path for path in here.rglob("*") if path.is_relative_to(here / "X")] in ([], [here / "X"])


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
