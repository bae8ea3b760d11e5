"""The models there are, by `model.kind`: how each is configured and built. A new one is a module and an entry here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, model_validator

from bench.attention_model import AttentionModel, Sizes
from bench.model import CompactClassifier, Shape
from bench.pooling import AttentionPooling
from bench.strict import Strict
from normalizers import Normalizer


class ModelConfig(Strict):
    """What every model has; the sizes beside `kind` are those of its shape."""

    kind: str
    width: int = Field(ge=1)
    heads: int = Field(ge=1)
    blocks: int = Field(ge=1)

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "ModelConfig":
        if self.width % self.heads:
            raise ValueError(f"heads={self.heads} does not divide width={self.width}")
        return self


class CompactConfig(ModelConfig):
    kind: Literal["compact"] = "compact"
    feed_forward: int = Field(ge=1)
    dropout: float = Field(ge=0, le=0.99)


class PoolingConfig(ModelConfig):
    kind: Literal["attention_pooling"]
    heads: Literal[1]
    blocks: Literal[1]


@dataclass(frozen=True)
class Entry:
    """`build(shape, normalizers)` makes the model; `takes_ids` says whether its tokens may be ids."""

    config: type[ModelConfig]
    shape: type[Sizes]
    build: Callable[[Any, Sequence[Normalizer]], AttentionModel]
    takes_ids: bool = True


MODELS: dict[str, Entry] = {
    "compact": Entry(CompactConfig, Shape, CompactClassifier),
    "attention_pooling": Entry(PoolingConfig, Sizes, AttentionPooling, takes_ids=False),
}
DEFAULT = "compact"
"""The model of records made before there was a choice."""
