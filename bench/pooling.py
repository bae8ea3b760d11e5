"""Attention pooling: one learned query weighs the tokens of a row, and a linear layer reads their weighted sum.

    scores = (x W_k) q / √width,   context = Σ_j normalizer(scores)_j (x W_v)_j,   class scores = context W + b

The model of qjax's attention-pooling examples. Weights start as N(0, 1) / √(inputs of the layer), b as 0. What is
computed are x (W_k q) and (Σ_j a_j x_j) (W_v W), which are the same and never form keys or values of the tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bench.attention_model import AttentionModel, Sizes
from normalizers import Normalizer


class AttentionPooling(AttentionModel):
    """See the module's docstring. `normalizers` holds one, as there is one block.

    Raises ValueError for a shape with another number of heads or blocks, and where there is not one normalizer.
    """

    def __init__(self, shape: Sizes, normalizers: Sequence[Normalizer]) -> None:
        super().__init__()
        if (shape.heads, shape.blocks, len(normalizers)) != (1, 1, 1):
            raise ValueError(f"attention pooling has one head and one block, got {shape.heads} and {shape.blocks}")
        self.shape = shape
        self.key = _weights(shape.inputs, shape.width)
        self.query = _weights(shape.width)
        self.value = _weights(shape.inputs, shape.width)
        self.head = _weights(shape.width, shape.classes)
        self.bias = nn.Parameter(torch.zeros(shape.classes))
        self.normalizer = normalizers[0]

    def forward(self, tokens: Tensor, *, full_rows: bool = False) -> tuple[Tensor, list[Tensor]]:
        """Class scores (batch, classes) and, in a list, the weights (batch, 1, 1, tokens); there is one query."""
        rows, length, inputs = tokens.shape
        direction = self.key @ self.query * self.shape.width**-0.5
        # Views, not indices: the backward of an index fills a tensor with zeros first.
        scores = (tokens.flatten(0, 1) @ direction).view(rows, 1, 1, length)
        weights = self.normalizer(scores, None, self.query.expand(rows, 1, 1, -1))
        context = torch.bmm(weights.view(rows, 1, length), tokens).view(rows, inputs)
        return torch.addmm(self.bias, context, self.value @ self.head), [weights]

    def normalizers(self) -> list[Normalizer]:
        return [self.normalizer]


def _weights(inputs: int, *outputs: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(inputs, *outputs) * inputs**-0.5)
