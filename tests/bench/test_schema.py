"""What is refused before anything trains: with the key, the value and what would do."""

from typing import Any

import pytest

from bench.run import make_normalizer
from bench.schema import ConfigError, suggest, validate
from datasets import SOURCES
from normalizers import REGISTRY, Normalizer
from tests.bench.helpers import CONF, changed, config, raw


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONF / "dataset").glob("*.yaml")))
def test_every_data_set_file_is_valid_and_is_labelled_as_its_file(name: str) -> None:
    typed = config(dataset=name)
    label = name.removesuffix("_heldout")  # the same data set, less of it
    models_own = "none"  # what a data set of sequences is labelled with where the model has no positions
    options = [*typed.dataset_options().values(), models_own]
    assert typed.dataset.name in {label, *(f"{label}_{value}" for value in options)}
    assert typed.dataset.source in SOURCES
    assert typed.train.epochs == typed.dataset.epochs


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONF / "normalizer").glob("*.yaml")))
def test_every_normalizer_file_is_valid_and_is_labelled_as_its_file(name: str) -> None:
    typed = config(normalizer=name)
    label = typed.normalizer.name  # a free choice says its option, as in topk_0.25
    assert label in {name, *(f"{name}_{value}" for value in typed.normalizer_options().values())}
    assert isinstance(make_normalizer(typed), REGISTRY[typed.normalizer.map])


def test_the_protocol_is_the_published_one() -> None:
    typed = config(dataset="cifar10")
    assert typed.train.model_dump() == {
        "epochs": 6,
        "passes": 1,
        "batch_size": 96,
        "learning_rate": 1e-3,
        "weight_decay": 1e-4,
        "clip_norm": 5.0,
        "precision": "float32",
        **{"beta2": 0.999, "warmup": 0, "decay": "none"},
    }
    assert typed.model.model_dump() == {
        "kind": "compact",
        "width": 64,
        "heads": 4,
        "blocks": 2,
        "feed_forward": 256,
        "dropout": 0.1,
    }
    assert typed.label == "cifar10/softmax/seed=0"
    assert typed.dataset_options() == {"split": "official"}


def test_options_are_those_of_source_and_map() -> None:
    typed = config(dataset="marker", normalizer="topk_025")
    assert typed.dataset_options() == {"vocabulary": 20_000, "length": 96, "answer": "next"}
    assert typed.normalizer_options() == {"ratio": 0.25, "k": None}


def test_a_new_normalizer_brings_its_own_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tempered(Normalizer):
        def __init__(self, heads: int, *, temperature: float, steps: int = 3) -> None: ...

        def forward(self, scores: Any, mask: Any = None, queries: Any = None) -> Any: ...

    monkeypatch.setitem(REGISTRY, "tempered", Tempered)
    own = {"name": "tempered", "map": "tempered"}
    typed = validate(raw() | {"normalizer": own | {"temperature": 2.0}})
    assert typed.normalizer_options() == {"temperature": 2.0, "steps": 3}
    with pytest.raises(
        ConfigError, match=r"normalizer.temperature is missing; give it as normalizer.temperature=VALUE"
    ):
        validate(raw() | {"normalizer": own})
    with pytest.raises(ConfigError, match=r"normalizer.step is not a key .*did you mean steps"):
        validate(raw() | {"normalizer": own | {"temperature": 1.0, "step": 1}})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("seed", 10.0, "seed=10.0: input should be a valid integer, got float"),
        ("seed", 2.0, "seed=2.0: input should be a valid integer, got float"),
        ("seed", "3", "seed='3': input should be a valid integer, got str"),
        ("seed", True, "seed=True: input should be a valid integer, got bool"),
        ("seed", None, "seed=None: input should be a valid integer, got NoneType"),
        ("seed", -1, "seed=-1: input should be greater than or equal to 0"),
        ("seed", 2**63, f"seed={2**63}: input should be less than {2**63}"),
        ("sed", 3, "sed is not a key of this configuration; did you mean seed?"),
        ("train.epochs", 0, "train.epochs=0: input should be greater than or equal to 1"),
        ("train.epoch", 1, "train.epoch is not a key of this configuration; did you mean epochs?"),
        ("train.learning_rate", 0.0, "train.learning_rate=0.0: input should be greater than 0"),
        ("train.learning_rate", float("nan"), "train.learning_rate=nan: input should be a finite number"),
        ("train.learning_rate", "1e-3x", "train.learning_rate='1e-3x': input should be a valid number, got str"),
        ("model.dropout", 1.0, "model.dropout=1.0: input should be less than or equal to 0.99"),
        ("model.heads", 3, "model: heads=3 does not divide width=64"),
        ("model.width", 66, "model: heads=4 does not divide width=66"),
        ("dataset.patch", 0, "dataset.patch=0: input should be greater than or equal to 1"),
        ("dataset.train_limit", 0, "dataset.train_limit=0: input should be greater than or equal to 1"),
        ("dataset.validation", -1, "dataset.validation=-1: input should be greater than or equal to 0"),
        ("dataset.mask_padding", True, "dataset.mask_padding is not a key of dataset digits (there are: "),
        ("dataset.source", "digit", "dataset.source=digit is unknown; did you mean digits? (there are: "),
        ("dataset.name", "Digits 1", "dataset.name='Digits 1': string should match pattern"),
        ("normalizer.map", "sofmax", "normalizer.map=sofmax is unknown; did you mean softmax"),
        (
            "normalizer.ratio",
            0.5,
            "normalizer.ratio is not a key of normalizer softmax (there are: map, name); bottomk and topk can have",
        ),
        ("normalizer", None, "normalizer.map=None is unknown"),
        ("parallel", 0, "parallel=0: input should be greater than or equal to 1"),
        ("device", "gpu", "device='gpu': input should be 'auto', 'cpu' or 'cuda'"),
        ("on_error", "go", "on_error='go': input should be 'continue' or 'stop'"),
        ("force", "yes", "force='yes': input should be a valid boolean"),
        ("model.positions", "rope", "model.positions is not a key of model compact (there are: "),
        ("tags", [""], "tags.0='': string should have at least 1 character"),
        ("tags", ["good", "t" * 65], f"tags.1='{'t' * 65}': string should have at most 64 characters"),
        ("tags", [" "], "tags.0=' ': must be printable text"),
        (
            "tracker.project",
            "a/b",
            "tracker.project='a/b': must be without / \\ # ? % : for W&B to take it",
        ),
        ("tracker.project", "p" * 129, f"tracker.project='{'p' * 129}': string should have at most 128 characters"),
        ("tracker.project", "a\nb", "tracker.project='a\\nb': must be printable text"),
        ("tracker.entity", "", "tracker.entity='': string should have at least 1 character"),
        ("tracker.entity", "me/mine", "tracker.entity='me/mine': must be without"),
        ("data.rot", "d", "data.rot is not a key of this configuration; did you mean root?"),
    ],
)
def test_a_bad_value_is_refused_with_key_value_and_what_would_do(key: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate(changed(raw(), key, value))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["seed", "train.clip_norm", "dataset.validation", "model.width", "data.root"])
def test_a_missing_value_is_named_by_its_full_key(key: str) -> None:
    content = raw()
    *groups, last = key.split(".")
    del (content[groups[0]] if groups else content)[last]
    with pytest.raises(ConfigError, match=rf"^{key} is missing; give it as {key}=VALUE$"):
        validate(content)


def test_every_fault_is_named_in_one_go() -> None:
    content = changed(changed(raw(), "seed", -1), "train.epochs", 0)
    with pytest.raises(ConfigError) as caught:
        validate(content)
    assert [line.partition("=")[0] for line in str(caught.value).splitlines()] == ["train.epochs", "seed"]


def test_whole_numbers_do_for_a_real_one_and_are_the_same_value() -> None:
    assert validate(changed(raw(), "train.learning_rate", 1)).train.learning_rate == 1.0


def test_a_long_list_of_choices_is_shown_only_without_a_near_match() -> None:
    many = [f"choice_{number}" for number in range(30)]
    assert suggest("choice_3x", many).startswith("; did you mean choice_3")
    assert "there are" not in suggest("choice_3x", many)
    assert suggest("zzz", many).startswith(" (there are: choice_0, ")
    assert suggest("sofmax", ["softmax", "hae"]) == "; did you mean softmax? (there are: hae, softmax)"
