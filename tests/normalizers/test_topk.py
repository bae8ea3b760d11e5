"""Top-k softmax: what is selected, and that the kernel selects what sorting does."""

import pytest
import torch

from normalizers import native, topk_softmax


@pytest.mark.parametrize("k", [1.5, 2.0, True])
def test_topk_takes_whole_numbers_only(k):
    with pytest.raises(TypeError, match="whole number"):
        topk_softmax(torch.zeros(3), k=k)


def test_topk_compares_scores_and_not_their_distance_from_the_largest():
    scores = torch.tensor([1e-10, 2e-10, 1.0])  # less the largest, the first two are equal in float32
    assert topk_softmax(scores, k=2)[0] == 0
    with native.switched_off():
        assert topk_softmax(scores, k=2)[0] == 0


@pytest.mark.parametrize("n", [1, 5, 8, 17, 97, 700])
@pytest.mark.parametrize("kind", ["ties", "zeros", "huge", "tiny", "masked", "heavy"])
def test_the_kernel_of_topk_keeps_the_slots_that_sorting_keeps(n, kind):
    g = torch.Generator().manual_seed(n)
    x = torch.randn(50, n, generator=g)
    scores = {
        "ties": (3 * x).round(),
        "zeros": torch.where(x > 0, 0.0, -0.0),
        "huge": (x.round() * 1.1e38).clamp(-3.4e38, 3.4e38),
        "tiny": x.sign() * 1e-45,
        "masked": torch.where(x > 0, -torch.inf, x),
        "heavy": (20 * x).exp(),
    }[kind]
    for ratio in (0.1, 0.5, 0.9):
        weights = topk_softmax(scores, ratio=ratio)
        with native.switched_off():
            torch.testing.assert_close(weights, topk_softmax(scores, ratio=ratio), atol=1e-6, rtol=0)
