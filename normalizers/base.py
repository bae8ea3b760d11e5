"""The module form of a normalizer, which the harness plugs into attention."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from inspect import signature

from torch import Tensor, nn


class Normalizer(nn.Module, ABC):
    """Maps attention scores to weights along the last dimension.

    A subclass takes the number of heads and, as annotated keyword-only arguments, its options; the harness derives
    the schema of `conf/normalizer/*.yaml` from that signature, and `repr` shows the options that are kept as
    attributes of their names. One that `needs_queries` takes the width of a head too.
    """

    is_distribution = True
    """Whether the weights of a row with a kept slot sum to 1."""

    is_shift_invariant = True
    """Whether a constant added to all scores of a row leaves its weights."""

    is_permutation_equivariant = True
    """Whether reordering the slots of a row reorders its weights and does no more."""

    is_stochastic = False
    """Whether the map draws from torch's global generator in training mode; in evaluation every map is a function."""

    weighs_own_key = True
    """Whether a query of a causal model may give weight to the key in its own place."""

    needs_queries = False
    """Whether `forward` has to be given the query vectors."""

    def __init__(self, heads: int, head_width: int | None = None) -> None:
        super().__init__()
        if self.needs_queries and head_width is None:
            raise ValueError(f"{type(self).__name__} reads the query vectors, so it needs head_width, their width")
        self.heads = heads
        self.head_width = head_width

    def extra_repr(self) -> str:
        """What `repr` shows: the number of heads, and the options by the names that `build` takes them under."""
        names = [p.name for p in signature(type(self)).parameters.values() if p.kind is p.KEYWORD_ONLY]
        options = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return ", ".join(f"{name}={value!r}" for name, value in {"heads": self.heads, **options}.items())

    @abstractmethod
    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        """Weights of `scores` (batch, heads, queries, keys), in its shape; `mask` broadcasts to it, True keeps.

        `queries` (batch, heads, queries, head width) are read only where the map `needs_queries`.
        """

    def check_length(self, n: int) -> None:
        """Raise ValueError, naming option and value, where rows of `n` slots cannot be normalized."""

    def scale_by_length_in(self, heads: Sequence[bool]) -> None:
        """Told by a model in which heads a map that scales scores by the length of a row may do so: in all, else."""
        return

    def learned(self) -> dict[str, Tensor]:
        """Learned parameters on the scale of their meaning, by name, one value per head: shape (heads,)."""
        return {}
