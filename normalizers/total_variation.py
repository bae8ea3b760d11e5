"""The proximal operator of total variation on a row, x = argmin ½‖x - z‖² + λ Σ|x_{j+1} - x_j|, exactly.

x is constant on segments. A segment G has the mean of its scores, pulled towards each neighbour by λ / |G|:

    x_G = (Σ_G z + λ c_G) / |G|,   c_G = neighbours above - neighbours below.

Given the segments this is linear, and its derivatives in z and λ are the exact ones. The segments come from dividing
and conquering (Chambolle, Darbon 2009; Kolmogorov, Pock, Rolínek 2016): the slots of a segment whose x lies above the
segment's value so far are the minimum of a two-label chain, which has min-sum messages F_j = clip(F_{j-1} + w_j, -λ, λ)
in both directions. A segment that no such cut divides is final, a row of final segments leaves the computation. Clips
compose to clips, so that all messages of a round come out of one parallel scan, O(n log n); many short rows on a CPU
pass them on slot by slot instead, O(n). The rounds are the depth of the division: about log n, n at worst.
"""

import torch
from torch import Tensor

from .rows import kept
from .slots import filled, with_zero_curvature


def total_variation_prox(rows: Tensor, lam: Tensor) -> Tensor:
    """x for each of the rows (..., n), whose slots at -inf are dropped and stay -inf; `lam` (..., 1) is ≥ 0.

    Differentiable in both, to any order.

    >>> total_variation_prox(torch.tensor([2.0, 1.0, 0.5, 0.0]), torch.tensor([0.25]))
    tensor([1.7500, 1.0000, 0.5000, 0.2500])
    """
    lam = lam.expand(*rows.shape[:-1], 1)
    edges = _edges(rows.detach(), lam.detach())
    z, slots = filled(rows)
    fused = with_zero_curvature(_values(z, slots, lam, edges), z, lam)
    return fused.masked_fill(~slots, -torch.inf)


def _values(z: Tensor, slots: Tensor, lam: Tensor, edges: Tensor) -> Tensor:
    """x_G at every slot of G. `edges` says at each slot whether x steps up (1) or down (-1) there, or not (0)."""
    pull = torch.cat([edges[..., 1:], torch.zeros_like(edges[..., :1])], -1) - edges
    segment = (edges != 0).cumsum(-1)
    sums = torch.zeros_like(z).scatter_add(-1, segment, torch.where(slots, z, 0.0) + lam * pull)
    sizes = torch.zeros_like(z).scatter_add(-1, segment, slots.to(z.dtype))
    return (sums / sizes.clamp(min=1.0)).gather(-1, segment)


@torch.library.custom_op("normalizers::total_variation_edges", mutates_args=())
def _edges(rows: Tensor, lam: Tensor) -> Tensor:
    """Where x steps up (1), down (-1) or not (0) against the slot before: int8, shape of `rows`.

    An operator of its own, for a loop that ends when the data say so fits neither a compiled graph nor `vmap`.
    """
    working = rows.dtype if rows.device.type == "mps" else torch.float64
    edges = torch.zeros_like(rows, dtype=torch.int8).view(-1, rows.shape[-1])
    open_rows = torch.arange(len(edges), device=rows.device)
    z, lam = rows.reshape(edges.shape).to(working), lam.reshape(-1, 1).to(working)
    slots = kept(z)
    z = torch.where(slots, z, 0.0)
    while len(open_rows):  # every round divides a segment of each row that stays: n rounds at most
        before = edges[open_rows]
        after = _divide(z, slots, lam, before)
        divided = (after != before).any(-1)
        edges[open_rows] = after
        open_rows, z, slots, lam = open_rows[divided], z[divided], slots[divided], lam[divided]
    return edges.view(rows.shape)


def _divide(z: Tensor, slots: Tensor, lam: Tensor, edges: Tensor) -> Tensor:
    """`edges` and those by which one round divides the segments of z (rows, n) between them."""
    gap = torch.where(slots, _values(z, slots, lam, edges) - z, 0.0)
    mirrored = torch.cat([torch.zeros_like(edges[:, :1]), -edges[:, 1:].flip(-1)], -1)
    short = z.device.type == "cpu" and len(z) > 4 * z.shape[-1]
    arriving = _arriving_stepwise if short else _arriving_by_scan
    pull = arriving(gap, lam, edges) + gap + arriving(gap.flip(-1), lam, mirrored).flip(-1)
    scale = z.abs().amax(-1, keepdim=True) + lam
    tolerance = 8 * torch.finfo(z.dtype).eps * z.shape[-1] * scale
    upper = (pull < -tolerance).gather(-1, _speakers(slots)).to(torch.int8)
    step = torch.cat([torch.zeros_like(upper[:, :1]), upper[:, 1:] - upper[:, :-1]], -1)
    return torch.where(edges == 0, step, edges)


def _speakers(slots: Tensor) -> Tensor:
    """The slot whose side each slot takes: itself, or for a dropped one the kept slot before it, else the first."""
    places = torch.arange(slots.shape[-1], device=slots.device).expand(slots.shape)
    last = torch.where(slots, places, -1).cummax(-1).values
    return torch.where(last < 0, slots.to(torch.int8).argmax(-1, keepdim=True), last)


def _arriving_stepwise(gap: Tensor, lam: Tensor, edges: Tensor) -> Tensor:
    """The message that reaches each slot from the one before it; a fixed neighbour sends ±λ, the end of a row 0."""
    steps, fixed, arriving = gap.T.contiguous(), (edges != 0).T.contiguous(), (lam * edges).T.contiguous()
    above, below = lam[:, 0], -lam[:, 0]
    message = torch.zeros_like(above)
    for place in range(len(steps)):
        torch.where(fixed[place], arriving[place], message, out=arriving[place])
        torch.add(arriving[place], steps[place], out=message)
        torch.clamp(message, below, above, out=message)
    return arriving.T


def _arriving_by_scan(gap: Tensor, lam: Tensor, edges: Tensor) -> Tensor:
    """What `_arriving_stepwise` gives, by doubling: (shift, low, high) is x -> clip(x + shift, low, high)."""
    sent, fixed = lam * edges, edges != 0
    fixed[:, 0] = True
    start = (sent + gap).clamp(-lam, lam)
    shift, low, high = gap, torch.where(fixed, start, -lam), torch.where(fixed, start, lam)
    reach = 1
    while reach < gap.shape[-1]:  # each is the composition over the `reach` slots up to its own
        s, bottom, top = shift[:, reach:], low[:, reach:], high[:, reach:]
        joined = (
            shift[:, :-reach] + s,
            (low[:, :-reach] + s).clamp(bottom, top),
            (high[:, :-reach] + s).clamp(bottom, top),
        )
        shift, low, high = (
            torch.cat([old[:, :reach], new], -1) for old, new in zip((shift, low, high), joined, strict=True)
        )
        reach *= 2
    return torch.where(edges != 0, sent, torch.cat([torch.zeros_like(low[:, :1]), low[:, :-1]], -1))


@_edges.register_fake
def _(rows: Tensor, _lam: Tensor) -> Tensor:
    return torch.empty_like(rows, dtype=torch.int8)


@_edges.register_vmap
def _(info: object, in_dims: tuple[int | None, ...], rows: Tensor, lam: Tensor) -> tuple[Tensor, int]:
    size = info.batch_size  # type: ignore[attr-defined]
    moved = [
        value.expand(size, *value.shape) if place is None else value.movedim(place, 0)
        for value, place in zip((rows, lam), in_dims, strict=True)
    ]
    return _edges(moved[0], moved[1]), 0
