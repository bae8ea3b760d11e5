"""The configuration: what is accepted, and that every refusal names key, value and near matches."""

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from analysis import names
from analysis.errors import InputError
from analysis.overrides import explained, quoted
from analysis.settings import Family, PowerSettings, Settings, validated

FAMILY = {"datasets": ["digits"], "treatments": ["hae"]}
CONF = Path(__file__).resolve().parents[2] / "conf"


def content(**changes: Any) -> dict[str, Any]:
    """A whole configuration with `changes` in its plan."""
    plan = OmegaConf.to_container(OmegaConf.load(CONF / "analysis" / "demo.yaml"))
    return {"records": ["r"], "out": "o", "analysis": plan | changes}


@pytest.mark.parametrize("choice", ["paper", "demo"])
def test_every_choice_is_valid(choice: str) -> None:
    plan = OmegaConf.to_container(OmegaConf.load(CONF / "analysis" / f"{choice}.yaml"))
    settings = validated({"records": "r", "out": "o", "analysis": plan}, Settings)
    assert settings.records == [Path("r")]
    assert settings.analysis.control == "softmax"
    assert all(name in names.DISPLAY for name in settings.analysis.order)


def test_a_family_has_the_control_of_the_plan_or_its_own() -> None:
    families = {"usual": FAMILY, "own": FAMILY | {"control": "sparsemax"}}
    plan = validated(content(families=families), Settings).analysis
    assert [plan.control_of(family) for family in plan.families.values()] == ["softmax", "sparsemax"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": 1.5}, "target: Input should be less than 1, not 1.5"),
        ({"effect": -0.01}, "effect: Input should be greater than 0, not -0.01"),
        ({"out": "x"}, "unknown key out (value 'x')"),
    ],
)
def test_settings_of_the_power_command(change: dict[str, Any], message: str) -> None:
    given = {"records": "r", "analysis": content()["analysis"]}
    assert validated(given, PowerSettings).target == 0.8
    with pytest.raises(InputError) as error:
        validated(given | change, PowerSettings)
    assert str(error.value).startswith(message)


def test_m_counts_every_planned_test() -> None:
    assert Family(datasets=["a", "b"], treatments=["c", "d", "e"]).m == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"confidance": 0.9}, "unknown key analysis.confidance (value 0.9); did you mean 'confidence'?"),
        ({"confidence": "high"}, "analysis.confidence: Input should be a valid number"),
        ({"confidence": 95}, "analysis.confidence: Input should be less than 1, not 95"),
        ({"missing": "dropp"}, "analysis.missing: 'dropp' is none of refuse, drop; did you mean 'drop'?"),
        ({"order": []}, "analysis.order: List should have at least 1 item"),
        ({"control": "softmx"}, "control: unknown normalizer 'softmx'; did you mean 'softmax'?"),
        (
            {"families": {"demo": {"datasets": ["digits"], "treatments": ["sparsmax"]}}},
            "families.demo.treatments: unknown normalizer 'sparsmax'; did you mean 'sparsemax'?",
        ),
        (
            {"families": {"demo": {"datasets": ["digits"], "treatments": ["hae", "softmax"]}}},
            "families.demo.treatments: 'softmax' is the control",
        ),
        (
            {"families": {"demo": {"datasets": ["digits", "digits"], "treatments": ["hae"]}}},
            "analysis.families.demo.datasets: 'digits' is named twice",
        ),
        ({"families": {"demo": {"datasets": ["digits"]}}}, "analysis.families.demo.treatments: a value is required"),
        ({"pairs": [{"treatment": "hae", "control": "entmax"}]}, "pairs.0.control: unknown normalizer 'entmax'; did"),
        ({"pairs": [{"treatment": "hae", "control": "hae"}]}, "pairs.0: 'hae' is compared with itself"),
        ({"margin": 0}, "analysis.margin: Input should be greater than 0, not 0"),
        ({"selection": "train"}, "analysis.selection: 'train' is none of test, validation"),
        ({"selection": "validation", "choices": {}}, "analysis.selection: 'validation' has nothing to choose from"),
        ({"choices": {"topk": ["topk_025", "topk_25"]}}, "choices.topk: unknown normalizer 'topk_25'; did you mean"),
        ({"choices": {"topk": ["topk_025"]}}, "analysis.choices.topk: List should have at least 2 items"),
        ({"choices": {"topk": ["topk_025", "softmax"]}}, "analysis.choices.topk: 'softmax' is the control"),
        ({"families": {"f": FAMILY | {"control": "sparsmax"}}}, "families.f.control: unknown normalizer 'sparsmax'"),
        ({"families": {"f": FAMILY | {"control": "hae"}}}, "families.f.treatments: 'hae' is the control"),
        ({"families": {"f": FAMILY | {"table": "../x"}}}, "analysis.families.f.table: String should match pattern"),
        ({"families": {"f": FAMILY | {"table": "runtime"}}}, "families.f.table: there is another table 'runtime'"),
        (
            {"families": {"f": FAMILY | {"table": "hae_vs_entmax15"}}},
            "analysis.pairs.0: there is another table 'hae_vs_entmax15'",
        ),
    ],
)
def test_a_wrong_value_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        validated(content(**changes), Settings)
    assert message in str(error.value)


@pytest.mark.parametrize("change", [{"records": [""]}, {"out": ""}, {"records": []}])
def test_an_empty_path_is_not_the_current_directory(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"(records\.0|out): an empty path|records: List should have at least 1 item"):
        validated(content() | change, Settings)


def test_all_wrong_values_are_named_at_once() -> None:
    with pytest.raises(InputError) as error:
        validated(content(confidence=2, missing="no") | {"outt": 1}, Settings)
    assert len(str(error.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("records=a", 'records=["a"]'),
        ("records=a b,c=1", 'records=["a b","c=1"]'),
        ('records=["a,b"]', 'records=["a,b"]'),
        ("out=x(1)", 'out="x(1)"'),
        ('out=a"b\\', 'out="a\\"b\\\\"'),
        ("out='x'", "out='x'"),
        ("analysis=demo", "analysis=demo"),
        ("--help", "--help"),
    ],
)
def test_paths_are_quoted_for_hydra(word: str, expected: str) -> None:
    assert quoted(word) == expected


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("recods=x", "unknown key recods (value 'x'); did you mean 'records'?"),
        ("record", "'record' is not of the form key=value; did you mean 'records'?"),
        (
            "analysis=papr",
            "analysis=papr: no such choice; did you mean 'paper'? (there are attention_pooling, demo, ",
        ),
        ("analysis.mising=drop", "unknown key analysis.mising (value 'drop'); did you mean 'missing'"),
        ("analysis.families.main.dataset=[a]", "refused; did you mean 'datasets'?"),
        ("hydra.run.dir=x", "refused"),
    ],
)
def test_what_hydra_refuses_is_explained(word: str, message: str) -> None:
    assert explained([word], CONF, "refused\n").startswith(message)


def test_display_names_and_their_override() -> None:
    assert names.display("topk_050", {}) == "top-k 0.50"
    assert names.display("entmax15_bisection", {}) == "entmax-1.5 (through bisection)"
    assert names.display("hae", {"hae": "mine"}) == "mine"
    assert names.display("relu", {}) == "relu"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([3], "seed 3"),
        ([3, 5], "seeds 3, 5"),
        ([0, 1], "seeds 0, 1"),
        ([2, 1, 0, 5], "seeds 0-2, 5"),
        (range(10), "seeds 0-9"),
        ([], "no seeds"),
    ],
)
def test_seeds_as_people_write_them(numbers: list[int], text: str) -> None:
    assert names.seeds(numbers) == text
