"""The first look at the command line."""

import pytest

from bench.overrides import check, check_flags, for_hydra, known_keys
from bench.schema import ConfigError
from tests.bench.helpers import CONF

KNOWN = known_keys(CONF)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("sed=3", "sed is not a key of the configuration; did you mean seed?"),
        ("normalizer=softmax,sofmax,hae", "normalizer=sofmax is unknown; did you mean softmax"),
        ("dataset=kmist", "dataset=kmist is unknown; did you mean kmnist"),
        (
            "experiment=papr",
            "experiment=papr is unknown; did you mean paper? (there are: attention_pooling, demo, ",
        ),
        ("seed=range(0)", "seed=range(0): an empty sweep, there is nothing to run"),
        ("seed=range(3,3)", "seed=range(3,3): an empty sweep"),
        ("epochs=3", "epochs is not a key of the configuration; did you mean dataset.epochs or train.epochs?"),
        ("train.lr=1", "train.lr is not a key of the configuration"),
        ("normalizer.ration=0.5", "normalizer.ration is not a key of the configuration; did you mean normalizer.ratio"),
        ("model.head=2", "model.head is not a key of the configuration; did you mean model.heads"),
        ("data_root=x", "data_root is not a key of the configuration; did you mean data.root"),
        ("resultsdir=x", "resultsdir is not a key of the configuration; did you mean results_dir"),
        ("seed=[1", "seed=[1: "),
        (
            "tracker.project=a#b",
            "tracker.project=a#b: the value has signs with a meaning of their own; to take them as ",
        ),
    ],
)
def test_an_unknown_name_or_an_empty_sweep_is_refused_with_near_matches(word: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(["-m", "dataset=digits", word, "--cfg", "job"], CONF)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "normalizer=glob(spars_max*)",
            "normalizer=glob(spars_max*): an empty sweep, no choice matches; did you mean sparsemax",
        ),
        ("dataset=glob([x*,y*])", "dataset=glob([x*,y*]): an empty sweep, no choice matches (there are: "),
        ("normalizer=glob(*,exclude=*)", "normalizer=glob(*,exclude=*): an empty sweep, no choice matches"),
        ("seed=glob(*)", "seed=glob(*): an empty sweep, there is nothing to run; list values, as in seed=1,2"),
        ("model.positions=glob(r*)", "model.positions=glob(r*): an empty sweep"),
    ],
)
def test_a_glob_that_matches_nothing_is_refused(word: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(["-m", "dataset=digits", word], CONF)
    assert str(caught.value).startswith(message)


def test_an_unknown_key_names_the_nearest_three_and_where_all_are_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        check(["zzzzzz=3"], CONF)
    start, _, where = str(caught.value).partition(" (")
    near = start.removeprefix("zzzzzz is not a key of the configuration; the nearest are ").split(", ")
    assert len(near) == 3
    assert set(near) <= set(KNOWN)
    assert where == "`python -m bench dataset=digits normalizer=softmax --cfg job` shows the keys of a run)"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("hydra/launcher=basic", "hydra/launcher=basic is unknown (there are: pool, ray, submitit_local, "),
        ("hydra/sweeper=basic", "hydra/sweeper=basic is unknown (there are: planned)"),
        ("hydra/job_logging=default", "hydra/job_logging=default would leave a log file beside the records; hydra/job"),
    ],
)
def test_what_would_run_unplanned_or_leave_files_is_refused(word: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(["-m", "dataset=digits", word], CONF)
    assert str(caught.value).startswith(message)


def test_several_experiments_in_one_command_are_refused() -> None:
    with pytest.raises(ConfigError, match="experiment=demo,paper: demo is a sweep of its own; one command carries out"):
        check(["-m", "experiment=demo,paper"], CONF)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--experimental-rerun", "x"], "--experimental-rerun x: runs leave their record alone"),
        (["--run", "-m"], "--run and --multirun do not go together"),
        (["-m", "--cfg", "job"], "--multirun and --cfg do not go together"),
        (["dataset=digits", "--resolve"], "--resolve goes with --cfg job"),
        (["dataset=digits", "digits"], "digits is not of the form KEY=VALUE"),
    ],
)
def test_flags_that_hydra_would_answer_with_a_traceback_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_flags(words)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "words", [["-m", "dataset=digits"], ["--cfg", "job", "--resolve"], ["~tracker"], ["--config-name", "x"], ["-h"]]
)
def test_flags_that_go_together_pass(words: list[str]) -> None:
    assert check_flags(words) is None


def test_every_fault_has_a_line() -> None:
    with pytest.raises(ConfigError) as caught:
        check(["dataset=digit,kmnis", "sed=1", "normalizer=hae"], CONF)
    assert [line.split(" ")[0] for line in str(caught.value).splitlines()] == [
        "dataset=digit",
        "dataset=kmnis",
        "sed",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["dataset=digits", "experiment=null"],
        ["-m", "dataset=digits,marker", "normalizer=glob(topk*)", "seed=range(5)"],
        ["dataset=digits", "normalizer=topk_025", "normalizer.ratio=0.1,0.2", "normalizer.k=null"],
        [
            "seed=choice(1,2)",
            "train.learning_rate=interval(0,1)",
            "train.epochs=30",
            "model.dropout=0",
            "dataset.mask_padding=true",
        ],
        ["hydra.verbose=true", "hydra/launcher=pool", "+new.key=1", "data.root='a b,c'", "experiment=demo"],
    ],
)
def test_what_is_known_passes(words: list[str]) -> None:
    check(words, CONF)
    assert {word.partition("=")[0] for word in words if "=" in word} & set(KNOWN) or words[0] == "--help"


def test_known_keys_are_those_of_all_files() -> None:
    expected = {
        "seed",
        "data.root",
        "dataset",
        "dataset.split",
        "dataset.vocabulary",
        "normalizer.alpha",
        "model.width",
    }
    assert expected <= set(KNOWN)
    assert {"defaults", "hydra", "hydra.run.dir", "analysis", "analysis.control"} & set(KNOWN) == set()


def test_options_of_a_choice_are_marked_for_hydra_and_nothing_else_is() -> None:
    words = [
        "-m",
        "dataset=digits",
        "dataset.patch=4",
        "normalizer.ratio=0.1,0.2",
        "+train.x=1",
        "seed=3",
        "data.root=d",
    ]
    assert for_hydra(words, CONF) == [
        "-m",
        "dataset=digits",
        "++dataset.patch=4",
        "++normalizer.ratio=0.1,0.2",
        "+train.x=1",
        "seed=3",
        'data.root="d"',
    ]
