"""What every normalizer owes, tested over the whole registry."""

import inspect

import numpy as np
import pytest
import torch

from normalizers import (
    REGISTRY,
    asentmax,
    bottomk_softmax,
    build,
    constrained_sparsemax,
    entmax,
    entmax15,
    entmax_loss,
    entmax_through_bisection,
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
from tests.normalizers.conftest import HEAD_WIDTH, HEADS, has, require

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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("fill", [-1e8, -1e16, -1e20, "lowest"])
def test_scores_far_below_the_others_leave_finite_weights_that_sum_to_one(row_map, map_name, fill, dtype):
    fill = torch.finfo(dtype).min if fill == "lowest" else fill
    scores = torch.tensor([[1.0, 0.5, fill, fill], [0.5, fill, 1.0, fill / 2]], dtype=dtype, requires_grad=True)
    p = row_map(scores)
    (grad,) = torch.autograd.grad(p.square().sum(), scores)
    assert torch.isfinite(p).all()
    assert torch.isfinite(grad).all()
    if has(map_name, "is_distribution"):
        close(p.sum(-1), torch.ones(2, dtype=dtype), 4 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scores_so_far_apart_that_their_difference_overflows_still_count(row_map, map_name, dtype):
    top = torch.finfo(dtype).max
    p = row_map(torch.tensor([top, top, -top, -top], dtype=dtype))
    assert torch.isfinite(p).all()
    if has(map_name, "is_distribution"):
        close(p.sum(), torch.ones((), dtype=dtype), 4 * torch.finfo(dtype).eps)


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(4, 5, 6), (3, 7, 11)], ids=str)
def test_weights_have_the_same_bits_for_any_dim_and_stride(row_map, shape, dtype):
    # Neither shape fills whole vectors: torch rounds what is left over by other code.
    scores = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(4))
    expected = row_map(scores.movedim(1, -1).contiguous()).movedim(-1, 1)
    for dim in (1, -2):
        assert torch.equal(row_map(scores, dim=dim), expected)
    assert torch.equal(row_map(scores.mT), row_map(scores.mT.contiguous()))
    assert torch.equal(row_map(scores[:, ::2, ::3]), row_map(scores[:, ::2, ::3].contiguous()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [5, 8, 16, 33])
def test_a_row_alone_has_its_weights_among_others_to_within_rounding(row_map, n, dtype):
    # Not to the bit: torch's exp, log and sigmoid round a number by where it lies among those of a call.
    scores = torch.randn(7, n, dtype=dtype, generator=torch.Generator().manual_seed(n))
    together = row_map(scores)
    for row in range(7):
        close(row_map(scores[row]), together[row], 32 * torch.finfo(dtype).eps)


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
    with pytest.raises(TypeError, match=r"mask must be boolean.*becomes one by mask == 0.*by mask\.bool\(\)"):
        row_map(torch.zeros(3, 4), mask=torch.ones(3, 4))
    with pytest.raises(ValueError, match="does not broadcast"):
        row_map(torch.zeros(3, 4), mask=torch.ones(5, dtype=torch.bool))


def test_input_of_a_wrong_type_is_named_in_one_type_error(row_map):
    with pytest.raises(TypeError, match=r"scores must be a torch tensor, got numpy\.ndarray; torch\.as_tensor"):
        row_map(np.zeros((3, 4)))
    with pytest.raises(TypeError, match="scores must be a torch tensor, got list"):
        row_map([1.0, 2.0])
    with pytest.raises(TypeError, match=r"mask must be a torch tensor, got numpy\.ndarray"):
        row_map(torch.zeros(3, 4), mask=np.ones((3, 4), dtype=bool))
    for dim in (None, 1.0, "1"):
        with pytest.raises(TypeError, match=f"dim must be a whole number.*got dim={dim!r}"):
            row_map(torch.zeros(3, 4), dim=dim)
    assert torch.equal(row_map(torch.zeros(3, 4), dim=np.int64(1)), row_map(torch.zeros(3, 4)))


def test_an_additive_mask_becomes_a_boolean_one_as_its_error_says(row_map):
    scores = torch.randn(3, 6, generator=torch.Generator().manual_seed(5))
    keep = torch.tensor([True, True, False, True, True, False])
    additive = torch.zeros(6).masked_fill(~keep, -torch.inf)
    assert torch.equal(row_map(scores, mask=additive == 0), row_map(scores, mask=keep))


def test_a_mask_of_keys_that_does_not_broadcast_names_the_sense_of_key_padding_mask(row_map):
    scores = torch.randn(2, 3, 5, 6, generator=torch.Generator().manual_seed(6))
    key_padding_mask = torch.tensor([[False] * 6, [False] * 3 + [True] * 3])
    with pytest.raises(ValueError, match=r"True where a key is dropped, as ~key_padding_mask\[:, None, None, :\]"):
        row_map(scores, mask=key_padding_mask)
    p = row_map(scores, mask=~key_padding_mask[:, None, None, :])
    assert (p[1, ..., 3:] == 0).all()
    assert (p[0, ..., 3:] != 0).any()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda z, value: entmax(z, value), "alpha"),
        (lambda z, value: entmax_through_bisection(z, value), "alpha"),
        (lambda z, value: asentmax(z, value, beta=1.0, gamma=0.0), "alpha"),
        (lambda z, value: asentmax(z, beta=value, gamma=0.0), "beta"),
        (lambda z, value: fusedmax(z, value), "lam"),
        (lambda z, value: constrained_sparsemax(z, value), "upper"),
        (lambda z, value: scalable_softmax(z, value), "s"),
        (lambda z, value: sink_softmax(z, value), "sink"),
        (lambda z, value: sigmoid_attention(z, value), "bias"),
        (lambda z, value: hardkuma_softmax(z, value), "bias"),
        (lambda z, value: softpick(z, eps=value), "eps"),
        (lambda z, value: gumbel_gated_softmax(z, temperature=value), "temperature"),
        (lambda z, value: topk_softmax(z, ratio=value), "ratio"),
        (lambda z, value: entmax_loss(z, torch.zeros(2, dtype=torch.int64), value), "alpha"),
    ],
)
def test_a_parameter_that_is_no_number_is_named_in_one_type_error(call, name):
    for value, shown in (("1.5", "'1.5', a str"), ([1.5], "list"), (np.ones(4), r"numpy\.ndarray")):
        with pytest.raises(TypeError, match=f"^{name} must be a number.*, got {shown}$"):
            call(torch.zeros(2, 4), value)


def test_build_names_the_maps_like_an_unknown_one():
    with pytest.raises(KeyError, match=r"no normalizer is named 'sparsmax'; did you mean sparsemax"):
        build("sparsmax", 2)
    with pytest.raises(KeyError, match="did you mean entmax15"):
        build("entmax1.5", 2)
    with pytest.raises(KeyError, match=f"no normalizer is named 'foo'; there are: {', '.join(REGISTRY)}"):
        build("foo", 2)


def test_repr_shows_every_option_of_a_map(case):
    name, options = case
    shown = repr(build(name, HEADS, HEAD_WIDTH, **options))
    assert f"heads={HEADS}" in shown
    for parameter in inspect.signature(REGISTRY[name]).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert f"{parameter.name}={options.get(parameter.name, parameter.default)!r}" in shown


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
