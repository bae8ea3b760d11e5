"""The models there are, by `model.kind`: how each is configured and built. A new one is a module and an entry here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, model_validator

from bench.attention_model import AttentionModel, Sizes
from bench.causal import CausalShape, CausalTransformer
from bench.model import CompactClassifier, Shape
from bench.pooling import AttentionPooling
from bench.positions import Positions
from bench.strict import Strict
from datasets import Kind
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


class CausalConfig(ModelConfig):
    kind: Literal["causal"]
    feed_forward: int = Field(ge=1)
    positions: Positions

    @model_validator(mode="after")
    def _heads_have_positions(self) -> "CausalConfig":
        if self.positions == "nape" and self.heads % 2:
            raise ValueError(f"positions=nape gives half of the heads a bias, and heads={self.heads} is odd")
        if self.positions == "rope" and self.width // self.heads % 2:
            raise ValueError(f"positions=rope turns pairs, and width/heads={self.width // self.heads} is odd")
        return self


@dataclass(frozen=True)
class Entry:
    """`build(shape, normalizers)` makes the model; `takes` says of which kinds its data may be."""

    config: type[ModelConfig]
    shape: type[Sizes]
    build: Callable[[Any, Sequence[Normalizer]], AttentionModel]
    takes: tuple[Kind, ...]


MODELS: dict[str, Entry] = {
    "compact": Entry(CompactConfig, Shape, CompactClassifier, takes=("image", "tokens", "vectors")),
    "attention_pooling": Entry(PoolingConfig, Sizes, AttentionPooling, takes=("image", "vectors")),
    "causal": Entry(CausalConfig, CausalShape, CausalTransformer, takes=("sequences",)),
}
DEFAULT = "compact"
"""The model of records made before there was a choice."""
