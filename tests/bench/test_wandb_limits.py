"""Names within what Weights & Biases takes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wandb
from pydantic import TypeAdapter, ValidationError

from bench import records
from bench.comparison import Comparison
from bench.logged import described
from bench.wandb_limits import NAME, TAG, ProjectName, Tag, run_id, shortened
from bench.wandb_run import check_environment
from tests.bench.test_logged import record

Command = Callable[..., tuple[int, str, str]]


def settings(said: dict[str, Any]) -> wandb.Settings:
    """What the wandb package makes of the arguments of `wandb.init`; it refuses what is over its limits."""
    return wandb.Settings(run_id=said["id"], run_name=said["name"], run_group=said["group"], run_tags=said["tags"])


def test_a_name_that_fits_stays_and_longer_ones_stay_apart() -> None:
    assert shortened("n" * NAME) == "n" * NAME
    names = {shortened("n" * NAME + end, limit) for end in ("1", "2") for limit in (NAME, TAG)}
    assert len(names) == 4
    assert sorted(map(len, names)) == [TAG, TAG, NAME, NAME]


def test_the_longest_labels_are_taken_and_stay_apart() -> None:
    said = []
    for end in "ab":
        labels = {"dataset": "d" * 127 + end, "normalizer": "n" * 127 + end}
        said.append(described(record(**labels).model_dump(), ["protocol-1", "t" * TAG]))
    for one in said:
        assert settings(one).run_tags is not None
        assert max(len(one["name"]), len(one["group"])) <= NAME
        assert all(0 < len(tag) <= TAG for tag in one["tags"])
        assert len(one["tags"]) == 4
    for key in ("name", "group"):
        assert said[0][key] != said[1][key]
    assert set(said[0]["tags"]) & set(said[1]["tags"]) == {"protocol-1", "t" * TAG}


def test_seeds_of_one_cell_share_a_group_however_long_their_labels_are() -> None:
    groups = {described(record(dataset="d" * 128, seed=seed).model_dump(), [])["group"] for seed in range(3)}
    assert len(groups) == 1


@pytest.mark.parametrize("fingerprint", ["a#b", "a;b", " a", "it's", "x" * 200])
def test_an_id_that_wandb_would_refuse_is_replaced_by_a_hash_of_it(fingerprint: str) -> None:
    said = described(record(fingerprint=fingerprint).model_dump(), [])
    assert settings(said).run_id == said["id"]
    assert said["id"] != run_id(fingerprint + "x")
    assert run_id("0123456789ab") == "0123456789ab"


def test_an_analysis_in_a_folder_with_a_long_name_fits(tmp_path: Path) -> None:
    first, second = (Comparison(tmp_path / ("f" * 200 + end), (), (), None).name for end in "ab")
    assert first != second
    assert len(f"records-{first}") <= NAME
    assert len(f"analysis/{first}") <= NAME


@pytest.mark.usefixtures("fresh_wandb")
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("WANDB_TAGS", "a,,b", "Tag at index 1 is empty"),
        ("WANDB_TAGS", "t" * 65, "is 65 characters"),
        ("WANDB_PROJECT", "a/b", "Invalid project name 'a/b'"),
        ("WANDB_MODE", "sometimes", "Input should be "),
    ],
)
def test_what_the_environment_has_and_wandb_refuses_is_refused_before_training(
    command: Command, tiny: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    run = ("dataset=digits", "normalizer=softmax", *tiny, "results_dir=r")
    monkeypatch.setenv(name, value)
    code, out, err = command(*run, "tracker=wandb")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: the environment variable {name}={value}: ")
    assert reason in err
    assert list(records.files(Path("r"))) == []


@pytest.mark.usefixtures("fresh_wandb")
def test_an_environment_that_wandb_takes_passes_and_a_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TAGS": "a,b", "PROJECT": "p", "MODE": "offline", "API_KEY": "/", "UNKNOWN": "/"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    assert check_environment() is None


@pytest.mark.parametrize("name", ["a/b", "a b:c", "100%", "p" * 129, ""])
def test_a_project_that_wandb_refuses_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(ProjectName).validate_python(name)
    if name:
        with pytest.raises(wandb.errors.UsageError):
            wandb.Settings(project=name)


@pytest.mark.parametrize("name", ["normbench", "my project-2_x.y", "p" * 128])
def test_a_project_that_wandb_takes_is_taken(name: str) -> None:
    assert TypeAdapter(ProjectName).validate_python(name) == wandb.Settings(project=name).project


@pytest.mark.parametrize("tag", ["", "t" * 65, " ", "a\nb"])
def test_a_tag_that_nobody_could_read_or_wandb_refuses_is_refused(tag: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Tag).validate_python(tag)
