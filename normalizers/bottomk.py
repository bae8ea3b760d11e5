"""Bottom-k softmax: softmax over the k smallest scores of a row, 0 elsewhere. The control of top-k softmax.

k is given, or k = max(1, ⌈ratio · n⌉) with n the kept slots of the row. Exactly k slots are kept, ties going to the
lowest index on every device. Domain: any scores; the selection itself has no gradient.
"""

import torch
from torch import Tensor

from .rows import kept, on_rows
from .softmax import softmax_rows
from .topk import TopKSoftmax, check_selection, ranks, sizes


def bottomk_softmax(
    scores: Tensor, *, k: int | None = None, ratio: float | None = None, dim: int = -1, mask: Tensor | None = None
) -> Tensor:
    """Softmax over the `k` smallest of `scores` along `dim`, or over the share `ratio` of the kept slots of each row.

    A row with fewer than `k` kept slots keeps them all. Raises ValueError where not exactly one of `k` and `ratio` is
    given, k is not in 1..n or ratio not in (0, 1], else as `normalizers.rows.on_rows` does.

    >>> bottomk_softmax(torch.tensor([2.0, 1.0, 0.5, 0.0]), k=2)
    tensor([0.0000, 0.0000, 0.6225, 0.3775])
    """
    check_selection(k, ratio)

    def row_map(rows: Tensor) -> Tensor:
        rank = ranks(rows.detach().masked_fill(~kept(rows), torch.inf), descending=False)
        # A NaN sorts last but has to reach its row.
        return softmax_rows(rows.masked_fill((rank >= sizes(rows, k, ratio)) & ~rows.isnan(), -torch.inf))

    return on_rows(row_map, scores, dim, mask)


class BottomKSoftmax(TopKSoftmax):
    """Softmax over the k smallest scores, or the share `ratio` of a row's kept slots."""

    function = staticmethod(bottomk_softmax)
