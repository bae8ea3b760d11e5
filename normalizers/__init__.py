"""Attention normalizers: maps from a row of scores to weights, with exact gradients.

>>> import torch
>>> from normalizers import entmax
>>> entmax(torch.tensor([2.0, 1.0, 0.5, 0.0]), 1.5)
tensor([0.8146, 0.1621, 0.0233, 0.0000])
"""

from .asentmax import ASEntmax, asentmax
from .base import Normalizer
from .bisection import entmax_through_bisection
from .bottomk import BottomKSoftmax, bottomk_softmax
from .bounded_entmax import BoundedEntmax, bounded_q
from .constrained import ConstrainedSparsemax, constrained_sparsemax
from .entmax import Entmax, entmax
from .entmax15 import Entmax15, entmax15
from .fusedmax import Fusedmax, fusedmax
from .gumbel import GumbelGates, gumbel_gated_softmax
from .hae import HeadwiseAdaptiveEntmax
from .hardkuma import HardKumaGates, hardkuma_softmax
from .losses import Entmax15Loss, EntmaxLoss, SparsemaxLoss, entmax15_loss, entmax_loss, sparsemax_loss
from .patterns import (
    block_mask,
    causal_mask,
    cluster_mask,
    global_mask,
    local_mask,
    nearest_centroid,
    random_mask,
    strided_mask,
)
from .registry import REGISTRY, build
from .scalable import ScalableSoftmax, scalable_softmax
from .sigmoid import SigmoidAttention, sigmoid_attention
from .sink import SinkSoftmax, SoftmaxOne, sink_softmax, softmax1
from .softmax import Softmax, softmax
from .softpick import Softpick, softpick
from .sparsemax import Sparsemax, sparsemax
from .statistics import entropy, peak, per_head, support_share, support_size
from .stick_breaking import StickBreaking, stick_breaking
from .topk import TopKSoftmax, topk_softmax
from .total_variation import total_variation_prox

__all__ = [
    "REGISTRY",
    "ASEntmax",
    "BottomKSoftmax",
    "BoundedEntmax",
    "ConstrainedSparsemax",
    "Entmax",
    "Entmax15",
    "Entmax15Loss",
    "EntmaxLoss",
    "Fusedmax",
    "GumbelGates",
    "HardKumaGates",
    "HeadwiseAdaptiveEntmax",
    "Normalizer",
    "ScalableSoftmax",
    "SigmoidAttention",
    "SinkSoftmax",
    "Softmax",
    "SoftmaxOne",
    "Softpick",
    "Sparsemax",
    "SparsemaxLoss",
    "StickBreaking",
    "TopKSoftmax",
    "asentmax",
    "block_mask",
    "bottomk_softmax",
    "bounded_q",
    "build",
    "causal_mask",
    "cluster_mask",
    "constrained_sparsemax",
    "entmax",
    "entmax15",
    "entmax15_loss",
    "entmax_loss",
    "entmax_through_bisection",
    "entropy",
    "fusedmax",
    "global_mask",
    "gumbel_gated_softmax",
    "hardkuma_softmax",
    "local_mask",
    "nearest_centroid",
    "peak",
    "per_head",
    "random_mask",
    "scalable_softmax",
    "sigmoid_attention",
    "sink_softmax",
    "softmax",
    "softmax1",
    "softpick",
    "sparsemax",
    "sparsemax_loss",
    "stick_breaking",
    "strided_mask",
    "support_share",
    "support_size",
    "topk_softmax",
    "total_variation_prox",
]
