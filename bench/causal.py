"""A small decoder-only transformer (Vasylenko et al. 2025) that writes a sequence token by token.

ids -> embedding -> pre-norm blocks -> LayerNorm -> linear -> scores of the token that follows each

Every query sees the keys up to its own place, by the normalizer's own mask. There is no dropout.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.attention_model import AttentionModel, Sizes
from bench.model import Attention
from bench.positions import Positions, bias, rotated, scaled_heads, slopes
from normalizers import Normalizer


@dataclass(frozen=True)
class CausalShape(Sizes):
    """Sizes of the model; `tokens` are those of the longest sequence, `shortest` those of the shortest.

    The last token of a sequence is written and never read, so that a row of attention has one key less.
    """

    feed_forward: int = 128
    positions: Positions = "nape"
    shortest: int = 1

    @property
    def keys(self) -> int:
        return self.tokens - 1

    @property
    def fewest_keys(self) -> int:
        return self.shortest - 1

    @property
    def fewest_kept(self) -> int:
        """The first query sees itself alone."""
        return 1


class CausalAttention(Attention):
    """Attention with positions; see `bench.positions`."""

    def __init__(self, shape: CausalShape, normalizer: Normalizer) -> None:
        super().__init__(shape, normalizer)
        self.rotates = shape.positions == "rope"
        self.slopes: Tensor | None
        self.register_buffer("slopes", slopes(shape.positions, shape.heads), persistent=False)
        normalizer.scale_by_length_in(scaled_heads(shape.positions, shape.heads))

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        if self.rotates:
            q, k = rotated(q), rotated(k)
        scores = super().scores(q, k)
        return scores if self.slopes is None else scores + bias(self.slopes, k.shape[-2])


class CausalBlock(nn.Module):
    """Pre-norm block: LayerNorm before attention and before the feed-forward layers."""

    def __init__(self, shape: CausalShape, normalizer: Normalizer) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(shape.width)
        self.attention = CausalAttention(shape, normalizer)
        self.norm2 = nn.LayerNorm(shape.width)
        self.expand = nn.Linear(shape.width, shape.feed_forward)
        self.contract = nn.Linear(shape.feed_forward, shape.width)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        normed = self.norm1(x)
        attended, weights = self.attention(normed, normed, mask)
        x = x + attended
        return x + self.contract(F.gelu(self.expand(self.norm2(x)))), weights


class CausalTransformer(AttentionModel):
    """See the module's docstring. `normalizers` holds one per block.

    Raises ValueError where their number is not `shape.blocks`.
    """

    def __init__(self, shape: CausalShape, normalizers: Sequence[Normalizer]) -> None:
        super().__init__()
        self.shape: CausalShape = shape
        self.embedding = nn.Embedding(shape.inputs, shape.width)
        self.blocks = nn.ModuleList(
            CausalBlock(shape, normalizer) for _, normalizer in zip(range(shape.blocks), normalizers, strict=True)
        )
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.classes)

    def forward(self, tokens: Tensor, *, full_rows: bool = True) -> tuple[Tensor, list[Tensor]]:
        """Scores of each token's successor (batch, classes, tokens) and the attention weights of each block.

        `tokens` are ids (batch, tokens), as many as one likes.
        """
        x = self.embedding(tokens)
        mask = self.mask(tokens.shape[1], tokens.device)
        all_weights = []
        for block in self.blocks:
            x, weights = block(x, mask)
            all_weights.append(weights)
        return self.head(self.norm(x)).transpose(1, 2), all_weights

    def mask(self, tokens: int, device: torch.device) -> Tensor:
        """Which keys each query sees, (tokens, tokens): those up to its own place, or up to the one before it."""
        own = self.normalizers()[0].weighs_own_key
        return torch.ones(tokens, tokens, dtype=torch.bool, device=device).tril(0 if own else -1)

    def normalizers(self) -> list[Normalizer]:
        """The normalizer of each block."""
        return [block.attention.normalizer for block in self.blocks]  # type: ignore[misc, union-attr]


@torch.inference_mode()
def decode(model: AttentionModel, ids: Tensor, answers: Tensor) -> Tensor:
    """`ids` (batch, tokens) with every answer written by `model` itself, greedily, from what stands before it.

    `answers` (batch, tokens), boolean, says which tokens those are; what stands there in `ids` is not looked at.
    """
    model.eval()
    written = torch.where(answers, 0, ids)
    for place in answers.any(0).nonzero().flatten().tolist():
        best = model(written[:, :place])[0][:, :, -1].argmax(1)
        written[:, place] = torch.where(answers[:, place], best, ids[:, place])
    return written
