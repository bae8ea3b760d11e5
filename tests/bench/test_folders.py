"""Paths on the command line mean what is written."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser

from bench.folders import KEYS, divided, notices, quoted
from tests.bench.helpers import CONF

PATHS = [
    *("r/ünï", "a b", "a#b", "a,b", "a(b", "a)b", "a=b", "a:b", "{x}", "[x", "a'b", 'a"b', "頭", "~/x"),
    *("r\\a", "r\\\\a", "a\\", 'a\\"b', "\\\\host\\share", "runs(1)", " lead", "a$b", "a%b"),
]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_taken_as_it_stands(path: str) -> None:
    override = OverridesParser.create().parse_override(quoted(f"results_dir={path}"))
    assert override.value() == path
    # This is how Hydra hands the word on to the jobs of a sweep.
    again = f"{override.get_key_element()}={override.get_value_element_as_str()}"
    assert OverridesParser.create().parse_override(again).value() == path


def test_every_path_of_a_run_may_have_any_signs_and_interpolations_work() -> None:
    words = [f"{key}=a#,(b)/${{seed}}" for key in KEYS if not key.startswith("hydra.launcher")]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose(
            "config", ["dataset=digits", "normalizer=softmax", "tracker=wandb", "seed=3", *map(quoted, words)]
        )
    assert [config.results_dir, config.data.root, config.tracker.dir] == ["a#,(b)/3"] * 3


@pytest.mark.parametrize(
    "word",
    [
        *("results_dir='a,b'", 'data.root="a b"', "results_dir=choice(a,b)", "results_dir=", "tracker.dir=null"),
        *("tags=[a,b]", "seed=1,2", "results_dir", "normalizer=softmax,hae"),
    ],
)
def test_what_is_quoted_or_no_path_stays_as_it_is(word: str) -> None:
    assert quoted(word) == word


def test_records_and_folders_with_an_equals_sign_are_paths_and_the_rest_are_overrides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a=b").mkdir()
    words = ["a=b", "r/hae/seed=0-x.json", "data.root=/d", "device=cpu", "r"]
    assert divided(words) == (["data.root=/d", "device=cpu"], ["a=b", "r/hae/seed=0-x.json", "r"])


def test_a_comma_in_the_folder_of_a_sweep_is_told_of() -> None:
    words = ["-m", "results_dir=a,b", "hydra.launcher.folder=c,d", "data.root=${oc.env:ROOT,data}", "seed=1,2"]
    assert list(notices(words)) == [
        "results_dir=a,b is one folder; a sweep over several is written results_dir=choice(A,B)"
    ]
    assert list(notices(words[1:])) == []
