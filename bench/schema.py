"""Typed configuration: what a resolved Hydra configuration must look like before anything trains.

The options of a data set and of a normalizer are not listed here: they are the keyword-only arguments of the data
set's `build` and of the normalizer's class, so that a new one brings its own schema.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeGuard

from pydantic import BaseModel, Field, ValidationError, create_model

from bench import refusals
from bench.errors import ConfigError as ConfigError
from bench.errors import suggest as suggest
from bench.models import DEFAULT, MODELS, ModelConfig
from bench.records import NAME_PATTERN
from bench.strict import Strict
from bench.train import Schedule
from bench.wandb_limits import ProjectName, Tag
from datasets import SOURCES, Kind
from normalizers import REGISTRY


class DatasetConfig(Strict):
    """What every data set has; the source's own options are added by `_with_options`."""

    name: str = Field(pattern=NAME_PATTERN)
    source: str
    train_limit: int | None = Field(ge=1)
    test_limit: int | None = Field(ge=1)
    validation: int = Field(ge=0)
    epochs: int = Field(ge=1)


class ImageConfig(DatasetConfig):
    patch: int = Field(ge=1)
    standardize: bool


class TokensConfig(DatasetConfig):
    mask_padding: bool


class VectorsConfig(DatasetConfig):
    """Nothing beyond the source's own options."""


class SequencesConfig(DatasetConfig):
    """`train_limit` sequences are drawn anew for each epoch; `test_limit` of each length are taken from the pool."""

    train_limit: int = Field(ge=1)
    validation: Literal[0]


BASES: dict[Kind, type[DatasetConfig]] = {
    "image": ImageConfig,
    "tokens": TokensConfig,
    "vectors": VectorsConfig,
    "sequences": SequencesConfig,
}


class NormalizerConfig(Strict):
    """What every normalizer has; `map` is its entry in the registry, whose options are added by `_with_options`."""

    name: str = Field(pattern=NAME_PATTERN)
    map: str


class TrainConfig(Strict):
    epochs: int = Field(ge=1)
    passes: int = Field(default=1, ge=1)
    batch_size: int | None = Field(ge=1)
    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(ge=0)
    clip_norm: float | None = Field(gt=0)
    precision: Literal["float32", "bf16"]
    beta2: float = Field(default=0.999, ge=0, lt=1)
    warmup: int = Field(default=0, ge=0)
    decay: Literal["none", "cosine"] = "none"


class DataConfig(Strict):
    root: str = Field(min_length=1)


class TrackerConfig(Strict):
    """Who watches the run; see `bench.tracking`. The rest is for `kind: wandb`."""

    kind: Literal["none", "wandb"]
    mode: Literal["online", "offline", "disabled"] = "offline"
    project: ProjectName = "normbench"
    entity: ProjectName | None = None
    dir: str = Field(default=".wandb", min_length=1)
    images: bool = True


class RunConfig(Strict):
    """One run, and how to carry it out. `dataset` and `normalizer` hold their own options as well."""

    dataset: DatasetConfig
    normalizer: NormalizerConfig
    model: ModelConfig
    train: TrainConfig
    seed: int = Field(ge=0, lt=2**63)
    results_dir: str = Field(min_length=1)
    data: DataConfig
    parallel: int | None = Field(ge=1)
    threads: int = Field(ge=1)
    tracker: TrackerConfig
    tags: list[Tag]
    device: Literal["auto", "cpu", "cuda"]
    compile: bool
    force: bool
    on_error: Literal["continue", "stop"]

    @property
    def schedule(self) -> Schedule:
        """How long and how to train."""
        return Schedule(**self.train.model_dump(exclude={"precision"}))

    @property
    def label(self) -> str:
        """The run as a person reads it."""
        return f"{self.dataset.name}/{self.normalizer.name}/seed={self.seed}"

    def dataset_options(self) -> dict[str, Any]:
        """The options of the data set's source."""
        return _own(self.dataset, BASES[SOURCES[self.dataset.source].kind])

    def normalizer_options(self) -> dict[str, Any]:
        """The options of the normalizer's map."""
        return _own(self.normalizer, NormalizerConfig)


def validate(raw: Mapping[str, Any]) -> RunConfig:
    """The typed configuration in `raw`, a resolved plain dictionary.

    Raises ConfigError, with every fault on a line of its own.
    """
    raw = dict(raw)
    faults: list[str] = []
    dataset_type = _choose(raw, "dataset", "source", SOURCES, lambda entry: (BASES[entry.kind], entry.build), faults)
    normalizer_type = _choose(raw, "normalizer", "map", REGISTRY, lambda entry: (NormalizerConfig, entry), faults)
    content = raw.get("model")
    kind = content.get("kind", DEFAULT) if isinstance(content, Mapping) else DEFAULT
    if not isinstance(kind, str) or kind not in MODELS:
        faults.append(f"model.kind={kind} is unknown{suggest(str(kind), MODELS)}")
    if faults:
        raise ConfigError("\n".join(faults))
    types = {"dataset": dataset_type, "normalizer": normalizer_type, "model": MODELS[kind].config}
    typed = _typed_run(**types)
    try:
        return typed.model_validate(raw)
    except ValidationError as error:
        sections = {name: field.annotation for name, field in typed.model_fields.items()}
        known = {name: type_ for name, type_ in sections.items() if _is_model(type_)} | {"": typed}
        raise ConfigError("\n".join(refusals.lines(error, raw, known, _choices))) from error


def _choose(
    raw: Mapping[str, Any],
    group: str,
    key: str,
    registry: Mapping[str, Any],
    parts: Callable[[Any], tuple[type[BaseModel], Callable[..., object]]],
    faults: list[str],
) -> type[BaseModel]:
    """The schema of `raw[group]`, which names its entry of `registry` under `key`."""
    content = raw.get(group)
    value = content.get(key) if isinstance(content, Mapping) else content
    if not isinstance(content, Mapping) or not isinstance(value, str) or value not in registry:
        faults.append(f"{group}.{key}={value} is unknown{suggest(str(value), registry)}")
        return BaseModel
    base, signature_of = parts(registry[content[key]])
    return _with_options(base, signature_of)


def _is_model(type_: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(type_, type) and issubclass(type_, BaseModel)


def _choices(group: str) -> dict[str, type[BaseModel]]:
    """The schema of everything that `dataset`, `normalizer` or `model` can be, by its name in the registry."""
    if group == "dataset":
        return {name: _with_options(BASES[entry.kind], entry.build) for name, entry in SOURCES.items()}
    if group == "normalizer":
        return {name: _with_options(NormalizerConfig, entry) for name, entry in REGISTRY.items()}
    return {name: entry.config for name, entry in MODELS.items()}


@cache
def _typed_run(**types: type[BaseModel]) -> type[RunConfig]:
    return create_model("TypedRun", __base__=RunConfig, **{key: (type_, ...) for key, type_ in types.items()})  # type: ignore[call-overload, no-any-return]


@cache
def _with_options(base: type[BaseModel], signature_of: Callable[..., object]) -> type[BaseModel]:
    """`base` with the keyword-only arguments of `signature_of` as further fields."""
    parameters = inspect.signature(signature_of, eval_str=True).parameters.values()
    own = {
        p.name: (p.annotation, ... if p.default is p.empty else p.default)
        for p in parameters
        if p.kind is p.KEYWORD_ONLY
    }
    return create_model(f"{base.__name__}Options", __base__=base, **own)  # type: ignore[call-overload, no-any-return]


def _own(config: BaseModel, base: type[BaseModel]) -> dict[str, Any]:
    return {name: getattr(config, name) for name in type(config).model_fields if name not in base.model_fields}
