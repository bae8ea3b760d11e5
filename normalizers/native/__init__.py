"""Native CPU kernels for float32 rows, used where they are present; `kernels.c` beside this file is their source.

Each function returns None where a kernel does not take the input (another dtype or device, an open trace, no library),
and its caller goes on with torch; MemoryError is raised where there is no memory to work in. `build.py` says which
environment variables there are. A row's bits depend neither on the rows beside it nor on the number of threads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from normalizers.rows import extremes

from .build import library, variant

__all__ = ["backward", "entmax_forward", "forward", "switched_off", "variant"]

STEEPEST = 3.0
"""Larger α go to torch: rounding of the scores alone moves weights by its 1/(α-1)-th power."""
LONGEST = 16_384
"""Longer rows go to torch: their tiles would leave the processor's cache, and float32 sums their accuracy."""
BACKWARD = {1.0: "softmax", 1.5: "entmax15", 2.0: "sparsemax"}


def forward(name: str, rows: Tensor) -> Tensor | None:
    """Weights of the kernel `name`, sparsemax or entmax15, for rows (..., n), -inf in dropped slots."""
    return _forward(name, rows)


def topk_forward(rows: Tensor, k: int | None, ratio: float | None) -> Tensor | None:
    """Softmax over the `k` largest of each of rows (..., n), or over the share `ratio` of its kept slots."""
    if _kernels(rows) is None:
        return None
    return _forward("topk", rows, after=(k or 0, float(ratio or 0.0)))


def entmax_forward(rows: Tensor, alpha: Tensor) -> Tensor | None:
    """α-entmax weights of rows (..., n) for α (..., 1) or 0-d, all above 1 and none above `STEEPEST`."""
    if _kernels(rows) is None or not _in_reach(alpha):
        return None
    return _forward("entmax", rows, each=_per_row(alpha, rows))


def bisected_forward(rows: Tensor, alpha: Tensor, steps: int) -> tuple[Tensor, Tensor] | None:
    """The weights that `steps` of bisection leave, and the largest exact weight of each row; see ../bisection.py."""
    weights = entmax_forward(rows, alpha)
    kernels = _kernels(rows)
    if weights is None or kernels is None:
        return None
    largest, rows, each = weights.amax(-1, keepdim=True), rows.contiguous(), _per_row(alpha, rows)
    kernels.bisected_forward(rows.data_ptr(), each.data_ptr(), weights.data_ptr(), *_sizes(rows), steps)
    return weights, largest


def bisected_backward(
    grad: Tensor, rows: Tensor, alpha: Tensor, steps: int, p: Tensor, largest: Tensor
) -> tuple[Tensor, Tensor] | None:
    """The gradient in `rows`, and in α of each row, of weights `p` that `bisected_forward` gave with `largest`."""
    kernels = _kernels(p)
    if kernels is None or not _plain_float32(grad):
        return None
    rows, grad, each = rows.contiguous(), grad.contiguous(), _per_row(alpha, rows)
    product, per_row = torch.empty_like(p), torch.empty_like(largest)
    inputs = (rows, p, grad, largest, each, product, per_row)
    kernels.bisected_backward(*(tensor.data_ptr() for tensor in inputs), *_sizes(p), steps)
    return product, per_row


def backward(grad: Tensor, p: Tensor, alpha: float | Tensor) -> tuple[Tensor, Tensor | None] | None:
    """What `normalizers.implicit.backward_product` gives."""
    kernels = _kernels(p)
    if kernels is None or not _plain_float32(grad):
        return None
    if torch.autograd.forward_ad._current_level >= 0:  # a kernel would lose the tangents of forward over reverse mode
        return None
    p, grad = p.contiguous(), grad.contiguous()
    product = torch.empty_like(p)
    if not isinstance(alpha, Tensor):
        call = getattr(kernels, f"{BACKWARD[alpha]}_backward")
        call(p.data_ptr(), grad.data_ptr(), product.data_ptr(), *_sizes(p))
        return product, None
    if not _in_reach(alpha):
        return None
    flat, per_row = _per_row(alpha, p), p.new_empty((*p.shape[:-1], 1))
    kernels.entmax_backward(
        p.data_ptr(), grad.data_ptr(), flat.data_ptr(), product.data_ptr(), per_row.data_ptr(), *_sizes(p)
    )
    return product, per_row


@contextmanager
def switched_off() -> Iterator[None]:
    """Inside the block, this process uses the maps in torch."""
    global _off
    before, _off = _off, True
    try:
        yield
    finally:
        _off = before


_off = False


def _forward(name: str, rows: Tensor, each: Tensor | None = None, after: tuple[Any, ...] = ()) -> Tensor | None:
    """`each` (..., 1) is a parameter per row; `after` are the arguments that only this kernel takes."""
    kernels = _kernels(rows)
    if kernels is None:
        return None
    rows = rows.contiguous()
    weights = torch.empty_like(rows)
    parameters = () if each is None else (each.data_ptr(),)
    getattr(kernels, f"{name}_forward")(rows.data_ptr(), *parameters, weights.data_ptr(), *_sizes(rows), *after)
    return weights


def serves(rows: Tensor) -> bool:
    """Whether kernels take rows such as these; the reach of α is another matter."""
    return _kernels(rows) is not None


def _kernels(rows: Tensor) -> Any:
    if _off or rows.dtype != torch.float32 or rows.device.type != "cpu" or not 0 < rows.shape[-1] <= LONGEST:
        return None
    if rows.numel() == 0:
        return None
    return None if torch.compiler.is_compiling() or not _plain(rows) else library()


def _plain(tensor: Tensor) -> bool:
    """Whether the values of `tensor` are what lies at its address: no subclass, no lazy sign, no symbolic zero."""
    return type(tensor) in (Tensor, torch.nn.Parameter) and not tensor.is_neg() and not tensor._is_zerotensor()


def _plain_float32(grad: Tensor) -> bool:
    return grad.dtype == torch.float32 and _plain(grad) and _has_memory(grad)


def _has_memory(tensor: Tensor) -> bool:
    """False for the stand-ins that torch's batched gradients hand to a backward."""
    try:
        tensor.data_ptr()
    except RuntimeError:
        return False
    return True


def _in_reach(alpha: Tensor) -> bool:
    low, high = extremes(alpha)
    return low > 1 and high <= STEEPEST


def _per_row(alpha: Tensor, rows: Tensor) -> Tensor:
    return alpha.expand(*rows.shape[:-1], 1).contiguous()


def _sizes(rows: Tensor) -> tuple[int, int, int]:
    """Rows, slots of a row, threads."""
    n = rows.shape[-1]
    return rows.numel() // n, n, torch.get_num_threads()
