"""Values worked out to 60 digits, and the named difficult inputs."""

import pytest
import torch
from torch import tensor

from normalizers import (
    bottomk_softmax,
    constrained_sparsemax,
    entmax,
    entmax15,
    entmax15_loss,
    fusedmax,
    scalable_softmax,
    sigmoid_attention,
    sink_softmax,
    softmax,
    softmax1,
    softpick,
    sparsemax,
    sparsemax_loss,
    stick_breaking,
    topk_softmax,
)

CASES = {
    ("entmax", 1.0, (-2.0, 0.0, 0.5)): (0.0486108240313, 0.359188105783, 0.592201070186),
    ("entmax", 1.25, (-2.0, 0.0, 0.5)): (0.00533941784644, 0.352109785968, 0.642550796185),
    ("entmax", 1.5, (-2.0, 0.0, 0.5)): (0, 0.326007363662, 0.673992636338),
    ("entmax", 1.75, (-2.0, 0.0, 0.5)): (0, 0.291787985794, 0.708212014206),
    ("entmax", 2.0, (-2.0, 0.0, 0.5)): (0, 0.25, 0.75),
    ("entmax", 3.0, (-2.0, 0.0, 0.5)): (0, 0, 1),
    ("entmax", 1.05, (2.0, 1.0, 0.5, 0.0)): (0.600487896773, 0.209488771541, 0.121095995583, 0.0689273361036),
    ("entmax", 1.5, (2.0, 1.0, 0.5, 0.0)): (0.814649437142, 0.162070112572, 0.0232804502864, 0),
    ("entmax", 1.95, (2.0, 1.0, 0.5, 0.0)): (0.976826918173, 0.0231730818271, 0, 0),
    ("entmax", 2.0, (2.0, 1.0, 0.5, 0.0)): (1, 0, 0, 0),
}


@pytest.mark.parametrize(("case", "expected"), CASES.items(), ids=str)
@pytest.mark.parametrize("form", ["number", "tensor"])
def test_entmax(case, expected, form):
    _, alpha, scores = case
    alpha = tensor(alpha, dtype=torch.float64) if form == "tensor" else alpha
    result = entmax(tensor(scores, dtype=torch.float64), alpha)
    torch.testing.assert_close(result, tensor(expected, dtype=torch.float64), atol=1e-12, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("far", [-1e4, -1e16, -1e20, "lowest"])
def test_constrained_sparsemax_fills_up_from_slots_however_far_below(far, dtype):
    far = torch.finfo(dtype).min if far == "lowest" else far
    p = constrained_sparsemax(tensor([1.0, 0.5, far, far], dtype=dtype), 0.4)
    torch.testing.assert_close(p, tensor([0.4, 0.4, 0.1, 0.1], dtype=dtype))
    bounds = tensor([0.3, 0.2, 0.4, 0.05, 0.9], dtype=dtype)
    p = constrained_sparsemax(tensor([1.0, 0.5, far, far, 0.9 * far], dtype=dtype), bounds)
    torch.testing.assert_close(p, tensor([0.3, 0.2, 0.0, 0.0, 0.5], dtype=dtype))
    p = constrained_sparsemax(tensor([far, 1.0, 0.5, far, 3.0], dtype=dtype), bounds[[2, 0, 1, 3, 3]])
    torch.testing.assert_close(p, tensor([0.4, 0.3, 0.2, 0.05, 0.05], dtype=dtype))


OTHERS = {
    "softmax1": (softmax1, (0.537149193132, 0.197606144995, 0.119854185487, 0.0726952381928)),
    "sink": (lambda z: sink_softmax(z, 0.7), (0.500280988423, 0.18404309045, 0.111627777066, 0.0677056692661)),
    "sigmoid": (sigmoid_attention, (0.648785644284, 0.404609675192, 0.291875132741, 0.2)),
    "softpick": (softpick, (0.729672556385, 0.196239174449, 0.0740882691658, 0)),
    "scalable": (
        lambda z: scalable_softmax(z, 1.0),
        (0.695652173913, 0.173913043478, 0.0869565217391, 0.0434782608696),
    ),
    "stick": (stick_breaking, (0.0447164487842, 0.138002172353, 0.311229665601, 0.5)),
    "constrained": (lambda z: constrained_sparsemax(z, 0.4), (0.4, 0.4, 0.2, 0)),
    "fusedmax": (lambda z: fusedmax(z, 0.25), (0.875, 0.125, 0, 0)),
    "fusedmax-strong": (lambda z: fusedmax(z, 10.0), (0.25, 0.25, 0.25, 0.25)),
    "topk": (lambda z: topk_softmax(z, k=2), (0.73105857863, 0.26894142137, 0, 0)),
    "bottomk": (lambda z: bottomk_softmax(z, k=2), (0, 0, 0.622459331202, 0.377540668798)),
}


@pytest.mark.parametrize(("map_", "expected"), OTHERS.values(), ids=OTHERS)
def test_other_maps(map_, expected):
    result = map_(tensor([2.0, 1.0, 0.5, 0.0], dtype=torch.float64))
    torch.testing.assert_close(result, tensor(expected, dtype=torch.float64), atol=1e-12, rtol=0)
    single = map_(tensor([2.0, 1.0, 0.5, 0.0]))
    torch.testing.assert_close(single, tensor(expected), atol=2e-7, rtol=0)


def test_what_stick_breaking_leaves():
    rest = 1 - stick_breaking(tensor([2.0, 1.0, 0.5, 0.0], dtype=torch.float64)).sum()
    assert abs(rest.item() - 0.00605171326155) < 1e-14


def test_threshold_of_entmax15():
    """p_i = [z_i/2 - τ]², so τ follows from a weight; the spec centres z, so its maximum is 0."""
    p = entmax15(tensor([2.0, 1.0, 0.5, 0.0], dtype=torch.float64))
    assert abs(-p[0].sqrt().item() - -0.90257932457044) < 1e-14


@pytest.mark.parametrize(
    ("loss", "target", "expected"),
    [
        (entmax15_loss, 0, 0.0642306379057),
        (sparsemax_loss, 0, 0.0),
        (entmax15_loss, 1, 1.06423063791),
        (sparsemax_loss, 1, 1.0),
    ],
)
def test_fenchel_young_losses(loss, target, expected):
    value = loss(tensor([2.0, 1.0, 0.5, 0.0], dtype=torch.float64), tensor(target))
    assert abs(value.item() - expected) < 1e-11


@pytest.mark.parametrize(("scores", "expected"), [((1e8, 1e8), (0.5, 0.5)), ((1e8, 0.0), (1.0, 0.0))])
def test_entmax_of_huge_scores_by_search(scores, expected):
    assert entmax(tensor(scores), tensor(1.5)).tolist() == list(expected)


def test_named_maps_are_entmax_at_their_alpha():
    scores = torch.randn(50, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 3
    for map_, alpha in ((softmax, 1.0), (entmax15, 1.5), (sparsemax, 2.0)):
        torch.testing.assert_close(map_(scores), entmax(scores, torch.full((50, 1), alpha)), atol=1e-12, rtol=0)


def test_topk():
    expected = tensor([0.73105857863, 0.26894142137, 0, 0])
    torch.testing.assert_close(topk_softmax(tensor([2.0, 1.0, 0.5, 0.0]), k=2), expected)


def test_topk_ties_go_to_the_lowest_index():
    assert topk_softmax(tensor([1.0, 1.0, 1.0, 0.0]), k=1).tolist() == [1, 0, 0, 0]
    many = topk_softmax(torch.zeros(1000), k=3)
    assert many.nonzero().flatten().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("n", "ratio", "k"), [(17, 0.125, 3), (17, 0.25, 5), (17, 0.5, 9), (97, 0.125, 13), (97, 0.25, 25), (97, 0.5, 49)]
)
def test_topk_ratio_keeps_the_published_counts(n, ratio, k):
    scores = torch.randn(20, n, generator=torch.Generator().manual_seed(2))
    assert ((topk_softmax(scores, ratio=ratio) > 0).sum(-1) == k).all()


def test_topk_ratio_is_read_as_the_decimal_it_was_written_as():
    assert (topk_softmax(torch.randn(30), ratio=0.1) > 0).sum() == 3


def test_topk_ratio_counts_kept_slots_per_row():
    mask = tensor([[True] * 4 + [False] * 4, [True] * 8])
    assert (topk_softmax(torch.randn(2, 8), ratio=0.5, mask=mask) > 0).sum(-1).tolist() == [2, 4]


def test_entmax15_with_a_masked_slot():
    exact = entmax15(tensor([1.0, 0.0]).double())
    torch.testing.assert_close(exact, tensor([0.8307189, 0.1692811]).double(), atol=1e-7, rtol=0)
    pair = entmax15(tensor([1.0, 0.0]))
    torch.testing.assert_close(pair.double(), exact, atol=5e-7, rtol=0)
    masked = entmax15(tensor([1.0, 0.0, 5.0]), mask=tensor([True, True, False]))
    assert masked.tolist() == [*pair.tolist(), 0.0]


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_sparsemax_ignores_a_common_offset(offset):
    scores = tensor([0.5, 0.25, 0.0, -1.0])
    assert sparsemax(scores + offset).tolist() == sparsemax(scores).tolist()


def test_entmax15_of_huge_scores():
    assert entmax15(tensor([1e8, 1e8])).tolist() == [0.5, 0.5]
    assert entmax15(tensor([1e8, 0.0])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_entmax15_one_hot_among_large_negative_scores(dtype):
    scores = torch.full((129,), -1005.0)
    scores[128] = -1000.0
    # bfloat16 cannot tell -1005 from -1004, but keeps it apart from -1000.
    result = entmax15(scores.to(dtype))
    assert result.argmax() == 128
    assert result.dtype == dtype
    assert result.sum() == 1
    assert (result[:128] == 0).all()
