"""What every normalizer owes, tested over the whole registry."""

import pytest
import torch

from normalizers import (
    REGISTRY,
    asentmax,
    bottomk_softmax,
    constrained_sparsemax,
    entmax,
    entmax15,
    fusedmax,
    gumbel_gated_softmax,
    hardkuma_softmax,
    scalable_softmax,
    sigmoid_attention,
    sink_softmax,
    softmax,
    softmax1,
    softpick,
    sparsemax,
    stick_breaking,
    topk_softmax,
)
from tests.normalizers.conftest import HEADS, has, require

ROW_MAPS = {
    "softmax": softmax,
    "sparsemax": sparsemax,
    "entmax15": entmax15,
    "entmax": lambda z, **kw: entmax(z, 1.3, **kw),
    "hae": lambda z, **kw: entmax(z, torch.tensor(1.7), **kw),
    "topk": lambda z, **kw: topk_softmax(z, k=2, **kw),
    "bottomk": lambda z, **kw: bottomk_softmax(z, k=2, **kw),
    "bounded_entmax": lambda z, **kw: entmax(z, torch.tensor(2.3), **kw),
    "asentmax": lambda z, **kw: asentmax(z, beta=0.7, gamma=0.5, **kw),
    "fusedmax": lambda z, **kw: fusedmax(z, 0.3, **kw),
    "constrained_sparsemax": lambda z, **kw: constrained_sparsemax(z, 0.6, **kw),
    "scalable_softmax": scalable_softmax,
    "softmax1": softmax1,
    "sink_softmax": lambda z, **kw: sink_softmax(z, 0.7, **kw),
    "sigmoid": sigmoid_attention,
    "softpick": softpick,
    "stick_breaking": stick_breaking,
    "hardkuma": hardkuma_softmax,
    "gumbel": gumbel_gated_softmax,
}
NEED_TWO_SLOTS = ("topk", "bottomk", "constrained_sparsemax")
FAR_SLOTS_MATTER = {
    "bottomk": "the smallest scores are those it is after",
    "asentmax": "n counts the slot",
    "scalable_softmax": "n counts the slot",
    "sigmoid": "n counts the slot",
    "softpick": "|exp(z) - 1| is 1 in the denominator",
    "fusedmax": "total variation pulls the slot's neighbour",
}


@pytest.fixture(params=ROW_MAPS)
def map_name(request):
    return request.param


@pytest.fixture
def row_map(map_name):
    return ROW_MAPS[map_name]


def test_every_registered_map_has_its_function_here():
    assert set(ROW_MAPS) == set(REGISTRY)


def close(a, b, atol=1e-10):
    torch.testing.assert_close(a, b, atol=atol, rtol=0)


def test_weights_are_of_the_shape_and_sign_of_weights(normalizer, scores):
    p = normalizer(scores)
    assert p.shape == scores.shape
    assert (p >= 0).all()


def test_rows_are_distributions(normalizer, scores, case):
    require(case[0], "is_distribution")
    p = normalizer(scores)
    close(p.sum(-1), torch.ones_like(p[..., 0]))


def test_maps_that_are_no_distribution_say_so(normalizer, scores, case):
    sums = normalizer(scores).sum(-1)
    assert has(case[0], "is_distribution") == torch.allclose(sums, torch.ones_like(sums))


def test_shift_changes_nothing(normalizer, scores, case):
    require(case[0], "is_shift_invariant")
    close(normalizer(scores + 3000), normalizer(scores))


def test_maps_that_a_shift_changes_say_so(normalizer, scores, case):
    unchanged = torch.allclose(normalizer(scores + 1), normalizer(scores))
    assert has(case[0], "is_shift_invariant") == unchanged


def test_permutation_moves_the_weights_along(normalizer, scores, case):
    require(case[0], "is_permutation_equivariant")
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    close(normalizer(scores[..., order]), normalizer(scores)[..., order])


def test_mask_gives_the_map_of_the_kept_slots(normalizer, scores):
    keep = torch.tensor([True, False, True, True, False, True])
    p = normalizer(scores, keep)
    assert (p[..., ~keep] == 0).all()
    close(p[..., keep], normalizer(scores[..., keep]))


def test_masked_slots_get_no_gradient_and_send_none(normalizer, scores):
    keep = torch.tensor([True, False, True, True, False, True])
    scores.requires_grad_()
    (normalizer(scores, keep) ** 2).sum().backward()
    assert (scores.grad[..., ~keep] == 0).all()
    assert scores.grad[..., keep].abs().sum() > 0


def test_minus_infinity_behaves_like_a_masked_slot(normalizer, scores):
    keep = torch.tensor([True, False, True, True, False, True])
    blocked = scores.masked_fill(~keep, -torch.inf)
    assert torch.equal(normalizer(blocked), normalizer(scores, keep))


def test_a_row_with_nothing_kept_is_zero_and_disturbs_no_other(normalizer, scores):
    mask = torch.ones_like(scores, dtype=torch.bool)
    mask[1, 2, 3] = False
    scores.requires_grad_()
    p = normalizer(scores, mask)
    assert (p[1, 2, 3] == 0).all()
    (grad,) = torch.autograd.grad((p**2).sum(), scores)
    assert torch.isfinite(grad).all()
    assert (grad[1, 2, 3] == 0).all()
    rest = mask[..., 0]
    close(p[rest], normalizer(scores)[rest])


def test_a_single_kept_slot_gets_what_it_would_get_alone(normalizer, scores, case):
    keep = torch.tensor([False, False, True, False, False, False])
    if {"k", "upper"} & set(case[1]):
        pytest.skip("its options need two slots in every row")
    scores.requires_grad_()
    p = normalizer(scores, keep)
    close(p[..., 2:3], normalizer(scores[..., 2:3]))
    (grad,) = torch.autograd.grad((p**2).sum(), scores)
    assert torch.isfinite(grad).all()


def test_parameters_get_a_finite_gradient_beside_a_dead_row(normalizer, scores):
    mask = torch.ones_like(scores, dtype=torch.bool)
    mask[0, :, 0] = False
    parameters = tuple(normalizer.parameters())
    if not parameters:
        pytest.skip("learns nothing")
    for grad in torch.autograd.grad((normalizer(scores, mask) ** 2).sum(), parameters):
        assert torch.isfinite(grad).all()
        assert (grad != 0).any()


def test_a_nan_row_is_nan_and_disturbs_no_other(normalizer, scores):
    clean = normalizer(scores)
    scores[0, 1, 2, 3] = torch.nan
    p = normalizer(scores)
    assert p[0, 1, 2].isnan().all()
    others = torch.ones(p.shape[:-1], dtype=torch.bool)
    others[0, 1, 2] = False
    close(p[others], clean[others], 1e-14)


@pytest.mark.parametrize("fill", [-1e9, -1e4])
def test_a_large_finite_fill_leaves_the_other_weights(row_map, map_name, fill):
    if map_name in FAR_SLOTS_MATTER:
        pytest.skip(f"{map_name}: {FAR_SLOTS_MATTER[map_name]}")
    scores = torch.tensor([1.0, 0.3, -0.2, 0.9])
    filled = torch.cat([scores, torch.full((3,), fill)])
    close(row_map(filled)[:4], row_map(scores), 1e-6)


@pytest.mark.parametrize("magnitude", [1e-30, 1.0, 1e8])
def test_finite_for_every_finite_input(normalizer, scores, magnitude, case):
    scores = (scores * magnitude).requires_grad_()
    p = normalizer(scores)
    p.square().sum().backward()
    assert torch.isfinite(p).all()
    if case[1].get("gradient") != "through_bisection":
        assert torch.isfinite(scores.grad).all()
    if has(case[0], "is_distribution"):
        close(p.sum(-1), torch.ones_like(p[..., 0]))


@pytest.mark.parametrize("n", [1, 2, 1000, 100_000])
def test_long_and_short_rows_sum_to_one_in_float32(row_map, map_name, n):
    scores = torch.randn(2, n, generator=torch.Generator().manual_seed(n))
    if n == 1 and map_name in NEED_TWO_SLOTS:
        pytest.skip(f"{map_name} with these options needs two slots")
    p = row_map(scores)
    if has(map_name, "is_distribution"):
        close(p.sum(-1), torch.ones(2), 2e-6)
    assert (p >= 0).all()
    assert torch.isfinite(p).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(row_map, dtype):
    scores = (torch.randn(5, 40, generator=torch.Generator().manual_seed(3)) * 4).to(dtype)
    p = row_map(scores)
    assert p.dtype == dtype
    assert torch.equal(p, row_map(scores.float()).to(dtype))


def test_any_dim_and_stride(row_map):
    scores = torch.randn(4, 5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    expected = row_map(scores.movedim(1, -1).contiguous()).movedim(-1, 1)
    for dim in (1, -2):
        assert torch.equal(row_map(scores, dim=dim), expected)
    assert torch.equal(row_map(scores.mT), row_map(scores.mT.contiguous()))
    assert torch.equal(row_map(scores[:, ::2, ::3]), row_map(scores[:, ::2, ::3].contiguous()))


def test_empty_batch(normalizer):
    assert normalizer(torch.empty(0, HEADS, 4, 6, dtype=torch.float64)).shape == (0, HEADS, 4, 6)


def test_wrong_input_is_named(row_map):
    with pytest.raises(TypeError, match=r"floating-point, got torch\.int64"):
        row_map(torch.arange(4))
    with pytest.raises(ValueError, match="0-d"):
        row_map(torch.tensor(1.0))
    with pytest.raises(ValueError, match="no slot along dim=-1"):
        row_map(torch.empty(3, 0))
    with pytest.raises(IndexError, match="dim=2 is out of range"):
        row_map(torch.zeros(3, 4), dim=2)
    with pytest.raises(TypeError, match="mask must be boolean"):
        row_map(torch.zeros(3, 4), mask=torch.ones(3, 4))
    with pytest.raises(ValueError, match="does not broadcast"):
        row_map(torch.zeros(3, 4), mask=torch.ones(5, dtype=torch.bool))


def test_mask_broadcasts(row_map):
    scores = torch.randn(2, 3, 4)
    keep = torch.tensor([[[True], [False], [True]]]) & torch.ones(2, 1, 4, dtype=torch.bool)
    assert torch.equal(row_map(scores, mask=torch.tensor([[True], [False], [True]])), row_map(scores, mask=keep))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 2, "ratio": 0.5}, "exactly one"),
        ({}, "exactly one"),
        ({"k": 0}, "k must be at least 1"),
        ({"k": 9}, "k=9 is more than the 4 slots"),
        ({"ratio": 0.0}, r"ratio must be in \(0, 1\], got ratio=0.0"),
        ({"ratio": 1.5}, r"ratio must be in \(0, 1\]"),
    ],
)
def test_topk_refuses_a_selection_that_is_none(options, message):
    with pytest.raises(ValueError, match=message):
        topk_softmax(torch.zeros(4), **options)


def test_alpha_out_of_its_domain_is_named():
    for alpha in (0.5, float("nan"), float("inf"), torch.tensor(0.9)):
        with pytest.raises(ValueError, match="alpha must be"):
            entmax(torch.zeros(4), alpha)


def test_alpha_of_an_ambiguous_shape_is_refused():
    scores = torch.zeros(2, 4, 3, 4)
    with pytest.raises(ValueError, match=r"\(heads, 1, 1\)"):
        entmax(scores, torch.full((4,), 1.5))
    assert entmax(scores, torch.full((4, 1, 1), 1.5)).shape == scores.shape


def test_alpha_per_head_is_the_map_of_each_head():
    scores = torch.randn(2, 3, 4, 6, dtype=torch.float64)
    alphas = [1.0, 1.37, 2.0]
    together = entmax(scores, torch.tensor(alphas, dtype=torch.float64).view(3, 1, 1))
    for head, alpha in enumerate(alphas):
        close(together[:, head], entmax(scores[:, head], alpha))


def test_alpha_follows_dim():
    scores = torch.randn(2, 3, 5, dtype=torch.float64)
    alpha = torch.tensor([1.2, 1.6, 1.9], dtype=torch.float64).view(3, 1)
    close(entmax(scores.mT, alpha.mT, dim=1), entmax(scores, alpha).mT)
