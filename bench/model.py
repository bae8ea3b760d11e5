"""The compact classifier (Canay 2026): a post-norm transformer encoder in which only the normalizer is exchanged.

tokens -> embedding, CLS prepended, positions added -> blocks -> CLS row -> linear -> class scores
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.attention_model import AttentionModel, Sizes
from normalizers import Normalizer


@dataclass(frozen=True)
class Shape(Sizes):
    """Sizes of the classifier. `inputs` is the pixels of a patch, or the vocabulary where `tokens_are_ids`."""

    feed_forward: int = 256
    dropout: float = 0.1

    @property
    def keys(self) -> int:
        """CLS and the tokens."""
        return self.tokens + 1


class Dropout(nn.Module):
    """Inverted dropout that draws from a generator of its own, so that nothing else can shift its masks.

    Four 16-bit draws come out of each 64-bit random number, which makes it several times as fast as a draw per
    element; the rate is rounded to a multiple of 1/65,536.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.dropped = round(rate * 2**16)
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.dropped == 0:
            return x
        words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device)
        words.random_(-(2**63), None, generator=self.generator)
        draws = words.view(torch.int16)[: x.numel()].view(x.shape).to(x.dtype)
        # How far a whole number lies above the dropped ones, cut to 0 or 1: passes over floats are the fastest.
        keep = draws.sub_(self.dropped - 2**15 - 1).clamp_(0, 1)
        return x * keep.mul_(2**16 / (2**16 - self.dropped))


class Attention(nn.Module):
    """Multi-head attention whose scores q·k/√d go through `normalizer`."""

    def __init__(self, shape: Sizes, normalizer: Normalizer) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query_key_value = nn.Linear(shape.width, 3 * shape.width)
        self.output = nn.Linear(shape.width, shape.width)
        self.normalizer = normalizer

    def forward(self, x: Tensor, rows: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Attend from `rows` (batch, queries, width) to `x` (batch, keys, width).

        Returns the result, in the shape of `rows`, and the weights (batch, heads, queries, keys).
        """
        q, k, v = (self._split(projected) for projected in self._project(x, rows))
        weights: Tensor = self.normalizer(self.scores(q, k), mask, q)
        return self.output((weights @ v).transpose(1, 2).flatten(2)), weights

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Scores (batch, heads, queries, keys) of queries and keys (batch, heads, …, width of a head)."""
        scores: Tensor = (q * q.shape[-1] ** -0.5) @ k.mT
        return scores

    def _project(self, x: Tensor, rows: Tensor) -> Sequence[Tensor]:
        width = x.shape[-1]
        if rows is x:
            return self.query_key_value(x).split(width, dim=-1)  # type: ignore[no-any-return]
        weight, bias = self.query_key_value.weight, self.query_key_value.bias
        return [
            F.linear(rows, weight[:width], bias[:width]),
            *F.linear(x, weight[width:], bias[width:]).split(width, -1),
        ]

    def _split(self, x: Tensor) -> Tensor:
        batch, rows, width = x.shape
        return x.view(batch, rows, self.heads, width // self.heads).transpose(1, 2)


class Block(nn.Module):
    """Post-norm encoder block: LayerNorm after each residual sum."""

    def __init__(self, shape: Shape, normalizer: Normalizer) -> None:
        super().__init__()
        self.attention = Attention(shape, normalizer)
        self.norm1 = nn.LayerNorm(shape.width)
        self.expand = nn.Linear(shape.width, shape.feed_forward)
        self.contract = nn.Linear(shape.feed_forward, shape.width)
        self.norm2 = nn.LayerNorm(shape.width)
        self.dropouts = nn.ModuleList(Dropout(shape.dropout) for _ in range(3))

    def forward(self, x: Tensor, rows: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The block's output for `rows`, a subset of the rows of `x`, and their attention weights."""
        attended, weights = self.attention(x, rows, mask)
        rows = self.norm1(rows + self.dropouts[0](attended))
        hidden = self.contract(self.dropouts[1](F.gelu(self.expand(rows))))
        return self.norm2(rows + self.dropouts[2](hidden)), weights


class CompactClassifier(AttentionModel):
    """See the module's docstring. `normalizers` holds one per block.

    Raises ValueError where their number is not `shape.blocks`.
    """

    def __init__(self, shape: Shape, normalizers: Sequence[Normalizer]) -> None:
        super().__init__()
        self.shape: Shape = shape
        self.embedding: nn.Module
        if shape.tokens_are_ids:
            self.embedding = nn.Embedding(shape.inputs, shape.width, padding_idx=0)
        else:
            self.embedding = nn.Linear(shape.inputs, shape.width)
        self.cls = nn.Parameter(torch.empty(1, 1, shape.width))
        self.positions = nn.Parameter(torch.empty(1, shape.tokens + 1, shape.width))
        nn.init.normal_(self.cls, std=0.02)
        nn.init.normal_(self.positions, std=0.02)
        self.blocks = nn.ModuleList(
            Block(shape, normalizer) for _, normalizer in zip(range(shape.blocks), normalizers, strict=True)
        )
        self.head = nn.Linear(shape.width, shape.classes)

    def forward(self, tokens: Tensor, *, full_rows: bool = False) -> tuple[Tensor, list[Tensor]]:
        """Class scores (batch, classes) and the attention weights of each block (batch, heads, queries, keys).

        `tokens` is (batch, tokens, pixels) or ids (batch, tokens). The head reads the CLS row alone, so the last block
        computes just that query unless `full_rows` asks for the weights of all.
        """
        x = torch.cat([self.cls.expand(len(tokens), -1, -1), self.embedding(tokens)], dim=1) + self.positions
        mask = self._padding_mask(tokens)
        all_weights = []
        for number, block in enumerate(self.blocks, start=1):
            last = number == len(self.blocks)
            x, weights = block(x, x[:, :1] if last and not full_rows else x, mask)
            all_weights.append(weights)
        scores: Tensor = self.head(x[:, 0])
        return scores, all_weights

    def normalizers(self) -> list[Normalizer]:
        """The normalizer of each block."""
        return [block.attention.normalizer for block in self.blocks]  # type: ignore[misc, union-attr]

    def draw_dropout_from(self, generator: torch.Generator) -> None:
        """Let every dropout layer draw from `generator`."""
        for module in self.modules():
            if isinstance(module, Dropout):
                module.generator = generator

    def _padding_mask(self, tokens: Tensor) -> Tensor | None:
        if not self.shape.mask_padding:
            return None
        return F.pad(tokens != 0, (1, 0), value=True)[:, None, None, :]
