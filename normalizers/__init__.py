"""Attention normalizers: maps from a row of scores to weights, with exact gradients.

>>> import torch
>>> from normalizers import entmax
>>> entmax(torch.tensor([2.0, 1.0, 0.5, 0.0]), 1.5)
tensor([0.8146, 0.1621, 0.0233, 0.0000])
"""

from .base import Normalizer
from .bisection import entmax_through_bisection
from .entmax import Entmax, entmax
from .entmax15 import Entmax15, entmax15
from .hae import HeadwiseAdaptiveEntmax
from .registry import REGISTRY, build
from .softmax import Softmax, softmax
from .sparsemax import Sparsemax, sparsemax
from .support import support_share
from .topk import TopKSoftmax, topk_softmax

__all__ = [
    "REGISTRY",
    "Entmax",
    "Entmax15",
    "HeadwiseAdaptiveEntmax",
    "Normalizer",
    "Softmax",
    "Sparsemax",
    "TopKSoftmax",
    "build",
    "entmax",
    "entmax15",
    "entmax_through_bisection",
    "softmax",
    "sparsemax",
    "support_share",
    "topk_softmax",
]
