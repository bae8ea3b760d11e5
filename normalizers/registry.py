"""Every map by name: one line each."""

from collections.abc import Callable
from difflib import get_close_matches

from .asentmax import ASEntmax
from .base import Normalizer
from .bottomk import BottomKSoftmax
from .bounded_entmax import BoundedEntmax
from .constrained import ConstrainedSparsemax
from .entmax import Entmax
from .entmax15 import Entmax15
from .fusedmax import Fusedmax
from .gumbel import GumbelGates
from .hae import HeadwiseAdaptiveEntmax
from .hardkuma import HardKumaGates
from .scalable import ScalableSoftmax
from .sigmoid import SigmoidAttention
from .sink import SinkSoftmax, SoftmaxOne
from .softmax import Softmax
from .softpick import Softpick
from .sparsemax import Sparsemax
from .stick_breaking import StickBreaking
from .topk import TopKSoftmax

REGISTRY: dict[str, type[Normalizer]] = {
    "softmax": Softmax,
    "sparsemax": Sparsemax,
    "entmax15": Entmax15,
    "entmax": Entmax,
    "hae": HeadwiseAdaptiveEntmax,
    "topk": TopKSoftmax,
    "bottomk": BottomKSoftmax,
    "bounded_entmax": BoundedEntmax,
    "asentmax": ASEntmax,
    "fusedmax": Fusedmax,
    "constrained_sparsemax": ConstrainedSparsemax,
    "scalable_softmax": ScalableSoftmax,
    "softmax1": SoftmaxOne,
    "sink_softmax": SinkSoftmax,
    "sigmoid": SigmoidAttention,
    "softpick": Softpick,
    "stick_breaking": StickBreaking,
    "hardkuma": HardKumaGates,
    "gumbel": GumbelGates,
}


def build(name: str, heads: int, head_width: int | None = None, **options: object) -> Normalizer:
    """The normalizer `name` for `heads` heads of `head_width`, which only maps that read the query vectors need.

    Raises KeyError for an unknown name, with those like it, TypeError for an unknown option or a value of a wrong type,
    ValueError for a value out of its domain or a width that is needed and missing.

    >>> build("topk", 4, ratio=0.25).ratio
    0.25
    """
    if name not in REGISTRY:
        near = get_close_matches(str(name), REGISTRY, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(REGISTRY)}"
        raise KeyError(f"no normalizer is named {name!r}; {hint}")
    make: Callable[..., Normalizer] = REGISTRY[name]
    return make(heads, head_width, **options) if REGISTRY[name].needs_queries else make(heads, **options)
