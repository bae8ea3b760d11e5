"""Statistics of weights against values worked out by hand."""

import math

import pytest
import torch

from normalizers import entropy, peak, per_head, softmax, sparsemax, support_share, support_size

WEIGHTS = torch.tensor([[0.5, 0.25, 0.25, 0.0], [1.0, 0.0, 0.0, 0.0], [1 - 1e-8, 1e-8, 0.0, 0.0], [0.0] * 4])


def test_support_counts_by_the_maps_own_zeros_or_by_value():
    assert support_size(WEIGHTS).tolist() == [3, 1, 2, 0]
    assert support_size(WEIGHTS, threshold=1e-7).tolist() == [3, 1, 1, 0]
    assert support_share(WEIGHTS).tolist() == [0.75, 0.25, 0.25, 0]
    assert support_size(sparsemax(torch.tensor([2.0, 1.9, 0.0]))) == 2


def test_support_share_over_kept_slots():
    mask = torch.tensor([True, True, True, False])
    assert support_share(WEIGHTS, mask=mask).tolist() == pytest.approx([1, 1 / 3, 1 / 3, 0])
    nothing = torch.zeros(4, 4, dtype=torch.bool)
    assert support_share(torch.zeros(4, 4), mask=nothing).tolist() == [0, 0, 0, 0]


def test_entropy_in_nats():
    assert entropy(WEIGHTS.double()).tolist() == pytest.approx([1.5 * math.log(2), 0, 1e-8 * (1 + 8 * math.log(10)), 0])
    assert entropy(torch.full((7,), 0.01)).item() == pytest.approx(math.log(7))
    assert not entropy(torch.tensor([0.5, torch.nan])).isfinite()


def test_peak():
    assert peak(WEIGHTS)[:2].tolist() == [0.5, 1.0]


def test_half_precision_weights_count_exactly():
    weights = softmax(torch.zeros(3, 5000)).bfloat16()
    assert support_size(weights).tolist() == [5000] * 3
    assert entropy(weights).dtype == torch.float32


def test_mean_per_head():
    values = torch.arange(12.0).view(2, 2, 3)
    assert per_head(values).tolist() == [4.0, 7.0]
    rows = torch.tensor([[[True, False, False]], [[True, True, False]]])
    assert per_head(values, rows=rows).tolist() == pytest.approx([(0 + 6 + 7) / 3, (3 + 9 + 10) / 3])
    with pytest.raises(ValueError, match=r"\(batch, heads, queries\)"):
        per_head(torch.zeros(3))
