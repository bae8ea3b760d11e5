"""What maps written in plain tensor operations need besides `rows`: stand-ins for dropped slots, counts, parameters."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from .rows import check_number, check_tensor, kept, per_row, transformed

Parameter = float | Tensor
"""A number, or a tensor that broadcasts to the scores with size 1 along `dim`; differentiable."""


def filled(rows: Tensor) -> tuple[Tensor, Tensor]:
    """`rows` with 0 in dropped slots, which sends them no gradient, and the kept slots as a boolean tensor."""
    slots = kept(rows)
    return torch.where(slots, rows, 0.0), slots


def from_top(rows: Tensor) -> tuple[Tensor, Tensor]:
    """`filled(rows)` after taking each row's maximum off as a constant: for maps that no shift changes.

    A finite score whose distance from the maximum overflows gets the lowest finite number, so that it stays kept.
    """
    top = rows.detach().amax(-1, keepdim=True)
    below = rows - torch.where(top == -torch.inf, 0.0, top)
    slots = kept(rows)
    return torch.where(slots, below.clamp(min=torch.finfo(rows.dtype).min), 0.0), slots


def count(rows: Tensor) -> Tensor:
    """Kept slots of each row, shape (..., 1), in the dtype of `rows`; 1 for a row without any."""
    return kept(rows).sum(-1, keepdim=True).clamp(min=1).to(rows.dtype)


def nan_as_rows(weights: Tensor, rows: Tensor) -> Tensor:
    """`weights`, NaN throughout each row that has a NaN score: for maps that do not spread it by themselves."""
    return weights.masked_fill(rows.isnan().any(-1, keepdim=True), torch.nan)


def on_rows_of(parameter: Parameter, rows: Tensor, scores: Tensor, dim: int, name: str) -> Parameter:
    """`parameter` laid out against `rows`, the rows of `scores`, in their dtype; see `normalizers.rows.per_row`.

    Raises TypeError where `parameter` is neither number nor tensor.
    """
    check_number(parameter, name, or_tensor=True)
    if not isinstance(parameter, Tensor):
        return parameter
    return (per_row(parameter, scores, dim, name) if parameter.ndim else parameter).to(rows.dtype)


def per_slot(values: Tensor, scores: Tensor, dim: int, name: str) -> Tensor:
    """`values`, a tensor that broadcasts to `scores`, laid out against rows moved to the last dimension.

    Raises TypeError where `values` is no tensor, ValueError where it does not broadcast.
    """
    check_tensor(values, name)
    try:
        return values.expand(scores.shape).movedim(dim, -1)
    except RuntimeError as error:
        shapes = f"{name} of shape {tuple(values.shape)} does not broadcast to scores of shape {tuple(scores.shape)}"
        raise ValueError(shapes) from error


def precise(rows: Tensor) -> Tensor:
    """`rows` in float64 without their graph, to find a discrete structure in; as they are where a device has none."""
    return rows.detach() if rows.device.type == "mps" else rows.detach().double()


def with_zero_curvature(weights: Tensor, *inputs: Tensor) -> Tensor:
    """`weights`, the same numbers, as a function whose higher derivatives in `inputs`, all finite, are 0.

    The gradient of a piecewise linear map is a constant, which torch would refuse to differentiate again. Adding
    exp(0 x) - 1 changes neither value nor gradient, and makes that gradient a function of x.
    """
    for x in inputs:
        if x.requires_grad or transformed():
            weights = weights + (0.0 * x).expm1()
    return weights


def refuse_where(bad: Tensor, message: str) -> None:
    """Raise ValueError where anything in `bad` is true; inside `torch.compile`, which cannot look, do nothing."""
    if not torch.compiler.is_compiling():
        _Refuse.apply(bad.detach(), message)


class _Refuse(Function):
    """A function only to be handed plain tensors under `vmap`, where values cannot be looked at otherwise."""

    @staticmethod
    def forward(bad: Tensor, message: str) -> Tensor:
        if bool(bad.any()):
            raise ValueError(message)
        return bad.clone()

    @staticmethod
    def setup_context(ctx: Any, _inputs: tuple[Tensor, str], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(_ctx: Any, *_grads: Tensor) -> tuple[None, None]:
        return None, None

    @staticmethod
    def jvp(_ctx: Any, *_tangents: Tensor | None) -> None:
        return None

    @staticmethod
    def vmap(_info: Any, in_dims: tuple[int | None, ...], bad: Tensor, message: str) -> Any:
        return _Refuse.apply(bad, message), in_dims[0]
