"""Every map by name: one line each."""

from .base import Normalizer
from .entmax import Entmax
from .entmax15 import Entmax15
from .hae import HeadwiseAdaptiveEntmax
from .softmax import Softmax
from .sparsemax import Sparsemax
from .topk import TopKSoftmax

REGISTRY: dict[str, type[Normalizer]] = {
    "softmax": Softmax,
    "sparsemax": Sparsemax,
    "entmax15": Entmax15,
    "entmax": Entmax,
    "hae": HeadwiseAdaptiveEntmax,
    "topk": TopKSoftmax,
}


def build(name: str, heads: int, **options: object) -> Normalizer:
    """The normalizer `name` for `heads` heads.

    Raises KeyError for an unknown name, TypeError for an unknown option, ValueError for a value out of its domain.
    """
    return REGISTRY[name](heads, **options)
