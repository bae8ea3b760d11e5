"""What the harness asks of any model: scores, the attention weights behind them, and its normalizers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normalizers import Normalizer


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model. `inputs` is the width of a token, or the vocabulary where `tokens_are_ids`."""

    inputs: int
    tokens: int
    classes: int
    tokens_are_ids: bool
    width: int = 64
    heads: int = 4
    blocks: int = 2
    mask_padding: bool = False

    @property
    def keys(self) -> int:
        """How many keys a row of attention has."""
        return self.tokens

    @property
    def fewest_keys(self) -> int:
        """How many it has in the shortest rows of a run."""
        return self.keys

    @property
    def fewest_kept(self) -> int | None:
        """How many the query that sees the fewest may give weight to; None where every query sees all tokens."""
        return None


class AttentionModel(nn.Module, ABC):
    """A model with `shape.blocks` blocks of attention and `shape.heads` heads in each."""

    shape: Sizes

    @abstractmethod
    def forward(self, tokens: Tensor, *, full_rows: bool = False) -> tuple[Tensor, list[Tensor]]:
        """Class scores (batch, classes) and the attention weights of each block (batch, heads, queries, keys).

        `tokens` is (batch, tokens, inputs) or ids (batch, tokens). The last keys are the tokens in their order. The
        class scores come from the first query of the last block; `full_rows` asks for the weights of all queries.
        A model that writes sequences gives scores (batch, classes, tokens), of what follows each token.
        """

    @abstractmethod
    def normalizers(self) -> list[Normalizer]:
        """The normalizer of each block."""

    def draw_dropout_from(self, generator: torch.Generator) -> None:
        """Let every dropout layer draw from `generator`; there is none unless a model says otherwise."""
        return
