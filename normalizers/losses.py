"""Fenchel-Young losses: for each α-entmax the loss whose gradient is p - y (Blondel, Martins, Niculae 2020).

For a class y, with e_y its unit vector, p = α-entmax(z) and H_α(p) = Σ (p - p^α) / (α (α-1)),

    L(z, y) = ⟨p - e_y, z⟩ + H_α(p),   ∇L = p - e_y,   ∇²L = ∂p/∂z.

α = 1 is cross-entropy, α = 2 the sparsemax loss (Martins, Astudillo 2016). For α > 1 the loss is exactly 0 once z_y
exceeds every other score by 1 / (α-1). Domain: any scores, any fixed α ≥ 1.
"""

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd import Function

from .entmax import check_alpha, entmax
from .rows import check, check_tensor
from .slots import refuse_where

Reduction = Literal["mean", "sum", "none"]


def entmax_loss(
    scores: Tensor, target: Tensor, alpha: float, *, ignore_index: int = -100, reduction: Reduction = "mean"
) -> Tensor:
    """The Fenchel-Young loss of α-entmax for `scores` (..., classes) and classes `target` (...), int64.

    Rows whose target is `ignore_index` cost nothing and get no gradient; the mean is over the others, NaN where there
    are none, as in `torch.nn.functional.cross_entropy`. float16 and bfloat16 are computed in float32. The result is a
    scalar, or (...) for reduction "none", in the dtype of `scores`.

    Raises TypeError for scores that are no floating-point tensor, a target that is no int64 tensor or an `alpha` that
    is no number, and ValueError for α < 1, for shapes that do not fit, for an unknown reduction, or for a target out of
    range (unchecked inside `torch.compile`).

    >>> entmax_loss(torch.tensor([[2.0, 1.0, 0.5, 0.0]]), torch.tensor([1]), 1.5)
    tensor(1.0642)
    """
    _check_arguments(scores, target, alpha, reduction)
    ignored = target == ignore_index
    classes = scores.shape[-1]
    refuse_where(~ignored & ((target < 0) | (target >= classes)), f"target must be in 0..{classes - 1} or ignore_index")
    rows = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
    rows = rows.masked_fill(ignored[..., None], 0.0)
    losses = _losses(rows, target.masked_fill(ignored, 0)[..., None], float(alpha)).masked_fill(ignored, 0.0)
    if reduction == "mean":
        losses = losses.sum() / (~ignored).sum()
    elif reduction == "sum":
        losses = losses.sum()
    return losses.to(scores.dtype)


def sparsemax_loss(
    scores: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: Reduction = "mean"
) -> Tensor:
    """`entmax_loss` with α = 2.

    >>> sparsemax_loss(torch.tensor([[2.0, 1.0, 0.5, 0.0]]), torch.tensor([0]))
    tensor(0.)
    """
    return entmax_loss(scores, target, 2.0, ignore_index=ignore_index, reduction=reduction)


def entmax15_loss(scores: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: Reduction = "mean") -> Tensor:
    """`entmax_loss` with α = 1.5.

    >>> entmax15_loss(torch.tensor([[2.0, 1.0, 0.5, 0.0]]), torch.tensor([0]))
    tensor(0.0642)
    """
    return entmax_loss(scores, target, 1.5, ignore_index=ignore_index, reduction=reduction)


class EntmaxLoss(nn.Module):
    """`entmax_loss` with its settings held."""

    def __init__(self, alpha: float, *, ignore_index: int = -100, reduction: Reduction = "mean") -> None:
        super().__init__()
        _check_settings(alpha, reduction)
        self.alpha = alpha
        self.ignore_index = ignore_index
        self.reduction: Reduction = reduction

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}, ignore_index={self.ignore_index}, reduction={self.reduction!r}"

    def forward(self, scores: Tensor, target: Tensor) -> Tensor:
        return entmax_loss(scores, target, self.alpha, ignore_index=self.ignore_index, reduction=self.reduction)


class SparsemaxLoss(EntmaxLoss):
    """`sparsemax_loss` with its settings held."""

    def __init__(self, *, ignore_index: int = -100, reduction: Reduction = "mean") -> None:
        super().__init__(2.0, ignore_index=ignore_index, reduction=reduction)


class Entmax15Loss(EntmaxLoss):
    """`entmax15_loss` with its settings held."""

    def __init__(self, *, ignore_index: int = -100, reduction: Reduction = "mean") -> None:
        super().__init__(1.5, ignore_index=ignore_index, reduction=reduction)


def _check_settings(alpha: float, reduction: str) -> None:
    check_alpha(alpha)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction must be mean, sum or none, got {reduction}")


def _check_arguments(scores: Tensor, target: Tensor, alpha: float, reduction: str) -> None:
    _check_settings(alpha, reduction)
    check(scores, -1)
    check_tensor(target, "target")
    if target.dtype != torch.int64:
        raise TypeError(f"target must be int64, the index of a class, got {target.dtype}")
    if target.shape != scores.shape[:-1]:
        raise ValueError(
            f"target of shape {tuple(target.shape)} must have the shape of scores {tuple(scores.shape)} without its "
            "last dimension, the classes"
        )


def _losses(rows: Tensor, target: Tensor, alpha: float) -> Tensor:
    """Losses (...) of rows (..., classes) with classes `target` (..., 1)."""
    if alpha == 1:
        return -torch.log_softmax(rows, dim=-1).gather(-1, target).squeeze(-1)
    function = _Loss if torch.compiler.is_compiling() else _TransformableLoss
    losses: Tensor = function.apply(rows, entmax(rows, alpha), target, alpha)
    return losses


def _gradient(p: Tensor, target: Tensor) -> Tensor:
    return p - (torch.arange(p.shape[-1], device=p.device) == target).to(p.dtype)


class _Loss(Function):
    """L(z, y) given p. As p minimizes, L's derivative in z is p - e_y alone; that of p - e_y passes through p."""

    @staticmethod
    def forward(rows: Tensor, p: Tensor, target: Tensor, alpha: float) -> Tensor:
        margin = torch.where(p > 0, rows - rows.gather(-1, target), 0.0)
        return ((p * margin).sum(-1) + (p - p**alpha).sum(-1) / (alpha * (alpha - 1))).clamp(min=0.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, float], _output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:3])
        ctx.save_for_forward(*inputs[1:3])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        return grads[0].unsqueeze(-1) * _gradient(*ctx.saved_tensors), None, None, None


class _TransformableLoss(_Loss):
    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor | None:
        return None if tangents[0] is None else (_gradient(*ctx.saved_tensors) * tangents[0]).sum(-1)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        moved = [
            value.expand(info.batch_size, *value.shape) if place is None else value.movedim(place, 0)
            for value, place in zip(inputs[:3], in_dims[:3], strict=True)
        ]
        return _TransformableLoss.apply(*moved, inputs[3]), 0
