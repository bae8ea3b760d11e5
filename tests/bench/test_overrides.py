"""The first look at the command line."""

import pytest

from bench.overrides import check, forced, known_keys
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
    ],
)
def test_an_unknown_name_or_an_empty_sweep_is_refused_with_near_matches(word: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(["-m", "dataset=digits", word, "--cfg", "job"], CONF)
    assert str(caught.value).startswith(message)


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
    assert forced(words, CONF) == [
        "-m",
        "dataset=digits",
        "++dataset.patch=4",
        "++normalizer.ratio=0.1,0.2",
        "+train.x=1",
        "seed=3",
        "data.root=d",
    ]
