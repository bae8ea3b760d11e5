"""The float32 maps in torch, where no kernel serves, against float64."""

import pytest
import torch

from normalizers import entmax, entmax15, native, softmax, sparsemax, topk_softmax

MAPS = {
    "softmax": lambda z, **kw: softmax(z, **kw),
    "sparsemax": lambda z, **kw: sparsemax(z, **kw),
    "entmax15": lambda z, **kw: entmax15(z, **kw),
    **{
        f"entmax {alpha}": lambda z, alpha=alpha, **kw: entmax(z, torch.tensor(alpha, dtype=z.dtype), **kw)
        for alpha in (1.0001, 1.05, 1.3, 1.5, 1.77, 1.95, 2.0, 2.001, 2.3, 2.8, 3.0)
    },
    "topk": lambda z, **kw: topk_softmax(z, ratio=0.3, **kw),
}


def rows(n, scale=2.0, count=203):
    generator = torch.Generator().manual_seed(n)
    return torch.randn(count, n, generator=generator) * scale


def alike_near_the_threshold(n, reach, noise):
    """One score leads and all others can just get weight: an error of the threshold is the same for each of them."""
    generator = torch.Generator().manual_seed(n)
    gap = reach * torch.tensor([0.5, 0.85, 0.97, 0.999, 0.99999, 1.0]).unsqueeze(-1)
    scores = -gap + noise * torch.randn(len(gap), n, generator=generator)
    scores[:, 0] = 0.0
    return scores


@pytest.mark.parametrize("name", MAPS)
def test_rows_too_long_for_a_kernel_sum_to_one(name):
    n = 100_000
    assert n > native.LONGEST
    for scores in (torch.zeros(1, n), rows(n, 1e-3, count=1)):
        p = MAPS[name](scores)
        torch.testing.assert_close(p.sum(-1, dtype=torch.float64), torch.ones(1).double(), atol=4e-6, rtol=0)
        torch.testing.assert_close(p.double(), MAPS[name](scores.double()), atol=3e-6, rtol=0)


@pytest.mark.parametrize("noise", [0.0, 1e-3, 1e-2])
@pytest.mark.parametrize("n", [17, 97, 512, 4096])
@pytest.mark.parametrize(
    ("name", "reach"), [("sparsemax", 1.0), ("entmax15", 2.0), ("entmax 1.3", 1 / 0.3), ("entmax 1.95", 1 / 0.95)]
)
def test_many_alike_scores_near_the_threshold(name, reach, n, noise):
    scores = alike_near_the_threshold(n, reach, noise)
    with native.switched_off():
        weights = MAPS[name](scores).double()
    torch.testing.assert_close(weights, MAPS[name](scores.double()), atol=2e-6, rtol=0)
