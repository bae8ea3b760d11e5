"""The module form of a normalizer, which the harness plugs into attention."""

from abc import ABC, abstractmethod

from torch import Tensor, nn


class Normalizer(nn.Module, ABC):
    """Maps attention scores to weights along the last dimension.

    A subclass takes the number of heads and, as annotated keyword-only arguments, its options; the harness derives
    the schema of `conf/normalizer/*.yaml` from that signature.
    """

    is_distribution = True
    """Whether the weights of a row with a kept slot sum to 1."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    @abstractmethod
    def forward(self, scores: Tensor, mask: Tensor | None = None) -> Tensor:
        """Weights of `scores` (batch, heads, queries, keys), in its shape; `mask` broadcasts to it, True keeps."""

    def check_length(self, n: int) -> None:
        """Raise ValueError, naming option and value, where rows of `n` slots cannot be normalized."""

    def learned(self) -> dict[str, Tensor]:
        """Learned parameters on the scale of their meaning, by name, one value per head: shape (heads,)."""
        return {}
