"""The compact classifier as it is usually written, to be timed against the harness's own.

The same architecture and protocol with torch's stock parts: every row of the last block computed, dropout and GELU as
modules, softmax by autograd, sparsemax and entmax by the entmax package, top-k by `torch.topk` and a mask, an optimizer
with default settings, and batches from a DataLoader.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from bench.model import Shape
from bench.speed.timing import Map


class PlainBlock(nn.Module):
    """Post-norm block; `weights_of` maps scores (batch, heads, queries, keys) to weights."""

    def __init__(self, shape: Shape, weights_of: Map) -> None:
        super().__init__()
        self.heads, self.weights_of = shape.heads, weights_of
        self.query, self.key, self.value, self.output = (nn.Linear(shape.width, shape.width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.feed_forward = nn.Sequential(
            nn.Linear(shape.width, shape.feed_forward),
            nn.GELU(),
            nn.Dropout(shape.dropout),
            nn.Linear(shape.feed_forward, shape.width),
        )

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (self._heads(layer(x)) for layer in (self.query, self.key, self.value))
        weights = self.weights_of(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]))
        attended = self.output((weights @ v).transpose(1, 2).reshape(x.shape))
        x = self.norm1(x + self.dropout(attended))
        normed: Tensor = self.norm2(x + self.dropout(self.feed_forward(x)))
        return normed

    def _heads(self, x: Tensor) -> Tensor:
        batch, rows, width = x.shape
        return x.view(batch, rows, self.heads, width // self.heads).transpose(1, 2)


class PlainClassifier(nn.Module):
    """CLS and positions as in `bench.model.CompactClassifier`; class scores (batch, classes)."""

    def __init__(self, shape: Shape, weights_of: Map) -> None:
        super().__init__()
        self.embedding: nn.Module
        if shape.tokens_are_ids:
            self.embedding = nn.Embedding(shape.inputs, shape.width, padding_idx=0)
        else:
            self.embedding = nn.Linear(shape.inputs, shape.width)
        self.cls = nn.Parameter(0.02 * torch.randn(1, 1, shape.width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, shape.tokens + 1, shape.width))
        self.blocks = nn.Sequential(*(PlainBlock(shape, weights_of) for _ in range(shape.blocks)))
        self.head = nn.Linear(shape.width, shape.classes)

    def forward(self, tokens: Tensor) -> Tensor:
        x = torch.cat([self.cls.expand(len(tokens), -1, -1), self.embedding(tokens)], dim=1) + self.positions
        scores: Tensor = self.head(self.blocks(x)[:, 0])
        return scores


def topk_by_mask(ratio: float) -> Map:
    """Softmax over the share `ratio` of the largest scores: the others set to -inf."""

    def weights_of(scores: Tensor) -> Tensor:
        k = max(1, math.ceil(ratio * scores.shape[-1]))
        places = scores.topk(k, dim=-1).indices
        kept = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, places, True)
        return torch.softmax(scores.masked_fill(~kept, -torch.inf), dim=-1)

    return weights_of


def endless(x: Tensor, y: Tensor, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Shuffled batches from a DataLoader, epoch after epoch."""
    while True:
        yield from DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True, drop_last=True)
