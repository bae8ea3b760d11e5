"""What every map does with its input: checks, row layout, masks, precision. One place, so that all maps agree."""

from collections.abc import Callable
from numbers import Real

import torch
from torch import Tensor

RowMap = Callable[[Tensor], Tensor]


def on_rows(row_map: RowMap, scores: Tensor, dim: int, mask: Tensor | None) -> Tensor:
    """Apply `row_map` along `dim` of `scores` and give its weights in the shape and dtype of `scores`.

    `row_map` gets rows along the last dimension, in float32 or float64, with -inf in every slot that is not kept,
    and returns weights of the same shape that are 0 in those slots. To the last bit, they depend on the values and the
    shape of `scores` alone, not on how these lie in memory.

    Args:
        scores: floating-point tensor of any shape with at least one dimension.
        dim: the dimension along which weights are formed.
        mask: None, or a boolean tensor broadcastable to `scores`; True keeps a slot. (In torch's boolean masks of
            `scaled_dot_product_attention` True keeps too; in its `key_padding_mask` and the `attn_mask` of
            `MultiheadAttention` True drops: give `~key_padding_mask`.)

    Raises:
        TypeError: `scores` is no floating-point tensor, `mask` no boolean one, or `dim` no whole number.
        ValueError: `scores` has no dimension or none left along `dim`, or `mask` does not broadcast to it.
        IndexError: `scores` has no dimension `dim`.
    """
    check(scores, dim)
    rows = scores if mask is None else scores.masked_fill(~broadcast(mask, scores), -torch.inf)
    last = dim in (-1, scores.ndim - 1)  # the usual case, which needs no move
    rows = rows if last else rows.movedim(dim, -1)
    # torch's exp, log and the like are vectorized over memory and round otherwise in what is left over at its end.
    rows = rows.contiguous()
    if scores.dtype in (torch.float16, torch.bfloat16):
        rows = rows.float()
    weights = row_map(rows).to(scores.dtype)
    return weights if last else weights.movedim(-1, dim)


def check(scores: Tensor, dim: int) -> None:
    """Refuse scores along which no weights can be formed; see `on_rows` for the errors."""
    check_tensor(scores, "scores")
    if not scores.dtype.is_floating_point:
        raise TypeError(f"scores must be floating-point, got {scores.dtype}; convert them with scores.float()")
    if not hasattr(dim, "__index__"):
        raise TypeError(f"dim must be a whole number, the dimension along which weights are formed, got dim={dim!r}")
    if scores.ndim == 0:
        raise ValueError("scores must have at least one dimension, got a 0-d tensor")
    if not -scores.ndim <= dim < scores.ndim:
        raise IndexError(f"dim={dim} is out of range for scores of shape {tuple(scores.shape)}")
    if scores.shape[dim] == 0:
        raise ValueError(f"scores of shape {tuple(scores.shape)} have no slot along dim={dim}")


def check_tensor(value: object, name: str) -> None:
    """Raise TypeError where `value` is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch tensor, got {_kind(value)}; torch.as_tensor({name}) makes one")


def check_number(value: object, name: str, *, or_tensor: bool = False) -> None:
    """Raise TypeError where `value` is no real number and, with `or_tensor`, no tensor either."""
    if isinstance(value, Real) or (or_tensor and isinstance(value, Tensor)):
        return
    raise TypeError(f"{name} must be a number{' or a torch tensor' if or_tensor else ''}, got {_kind(value)}")


def _kind(value: object) -> str:
    """The type of `value`, beside `value` itself where that is short."""
    name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    return f"{value!r}, a {name}" if isinstance(value, str | Real) else name


def broadcast(mask: Tensor, scores: Tensor) -> Tensor:
    """`mask` expanded to the shape of `scores`; see `on_rows` for the errors."""
    check_tensor(mask, "mask")
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask must be boolean, True where a slot is kept, got {mask.dtype}; an additive mask (0 keeps, -inf drops)"
            " becomes one by mask == 0, a mask of ones and zeros (1 keeps) by mask.bool()"
        )
    try:
        return mask.expand(scores.shape)
    except RuntimeError as error:
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} does not broadcast to scores of shape {tuple(scores.shape)}; a mask of "
            "shape (batch, keys) fits scores (batch, heads, queries, keys) as mask[:, None, None, :], and torch's "
            "key_padding_mask, which is True where a key is dropped, as ~key_padding_mask[:, None, None, :]"
        ) from error


def per_row(parameter: Tensor, scores: Tensor, dim: int, name: str) -> Tensor:
    """`parameter` laid out against rows moved to the last dimension, shape (..., 1).

    Raises ValueError where `parameter` has more than one value along `dim`: a tensor of shape (H,) could be meant
    per head or per slot, so one value per head has to come as (H, 1, 1).
    """
    if parameter.ndim > scores.ndim:
        raise ValueError(f"{name} of shape {tuple(parameter.shape)} has more dimensions than scores")
    aligned = parameter.reshape((1,) * (scores.ndim - parameter.ndim) + tuple(parameter.shape))
    fits = all(size in (1, rows) for size, rows in zip(aligned.shape, scores.shape, strict=True))
    if aligned.shape[dim] != 1 or not fits:
        raise ValueError(
            f"{name} of shape {tuple(parameter.shape)} must broadcast to scores of shape {tuple(scores.shape)} with "
            f"size 1 along dim={dim}; one value per head of (batch, heads, queries, keys) has shape (heads, 1, 1)"
        )
    return aligned.movedim(dim, -1)


def extremes(parameter: Tensor) -> tuple[float, float]:
    """The least and the largest value of `parameter`, which may be expanded; NaN where it holds one or none at all."""
    if parameter.numel() == 0:
        return float("nan"), float("nan")
    distinct = parameter[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in parameter.stride())]
    low, high = distinct.detach().aminmax()
    return low.item(), high.item()


def transformed() -> bool:
    """Whether a compiler, a transform of `torch.func` or forward mode watches: values cannot be looked at then."""
    forward_mode = torch.autograd.forward_ad._current_level >= 0
    return bool(torch.compiler.is_compiling() or forward_mode or torch._C._functorch.peek_interpreter_stack())


def kept(rows: Tensor) -> Tensor:
    """Which slots of `rows` count: all but -inf. A NaN counts, so that its row comes out NaN."""
    return rows != -torch.inf


def centred(rows: Tensor) -> Tensor:
    """`rows` minus their maximum; a row without a kept slot stays -inf instead of turning NaN."""
    top = rows.amax(-1, keepdim=True)
    return rows - torch.where(top == -torch.inf, 0.0, top)
