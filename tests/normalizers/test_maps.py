"""What single maps promise beyond the contract: bounds, sinks, scales, learned parameters, their errors."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from normalizers import (
    ASEntmax,
    asentmax,
    bottomk_softmax,
    build,
    constrained_sparsemax,
    entmax,
    scalable_softmax,
    sigmoid_attention,
    sink_softmax,
    softmax,
    softmax1,
    softpick,
    sparsemax,
)
from tests.normalizers.test_oracle import rows


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, b, atol=atol, rtol=0)


def test_bottomk_ties_go_to_the_lowest_index():
    assert bottomk_softmax(torch.tensor([1.0, 0.0, 0.0, 0.0]), k=1).tolist() == [0, 1, 0, 0]
    assert bottomk_softmax(torch.zeros(1000), k=3).nonzero().flatten().tolist() == [0, 1, 2]


@pytest.mark.parametrize(("n", "ratio", "k"), [(17, 0.125, 3), (30, 0.1, 3), (4, 0.01, 1)])
def test_bottomk_keeps_the_share_of_topk(n, ratio, k):
    assert (bottomk_softmax(torch.randn(20, n), ratio=ratio) > 0).sum(-1).tolist() == [k] * 20


def test_bottomk_does_not_take_dropped_slots_for_small_ones():
    p = bottomk_softmax(torch.tensor([3.0, 2.0, 1.0, 9.0]), k=2, mask=torch.tensor([True, True, False, True]))
    assert (p > 0).tolist() == [True, True, False, False]
    with pytest.raises(ValueError, match="k=9 is more than the 4 slots"):
        bottomk_softmax(torch.zeros(4), k=9)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(rows(), st.integers(0, 2**31), st.booleans())
def test_constrained_sparsemax_is_optimal(z, seed, tight):
    generator = torch.Generator().manual_seed(seed)
    u = torch.rand(z.shape, dtype=torch.float64, generator=generator) + 1e-3
    u = u / u.sum() * (1.0 if tight else 1 + 3 * torch.rand((), dtype=torch.float64, generator=generator))
    p = constrained_sparsemax(z, u)
    close(p.sum(), torch.ones((), dtype=torch.float64), 1e-9)
    assert ((p >= 0) & (p <= u + 1e-12)).all()
    # Whatever may still grow has no larger z - p than whatever may still shrink.
    gain, scale = z - p, 1e-9 * (1 + z.abs().max())
    if (p < u - 1e-9).any() and (p > 1e-9).any():
        assert gain[p < u - 1e-9].max() <= gain[p > 1e-9].min() + scale


def test_constrained_sparsemax_does_not_see_how_wide_a_gap_between_scores_is():
    generator = torch.Generator().manual_seed(5)
    z = torch.randn(200, 9, dtype=torch.float64, generator=generator)
    u = torch.rand(200, 9, dtype=torch.float64, generator=generator) * 0.3 + 0.02
    u[:, 0] += 1 - u.sum(-1).clamp(max=1.0)
    group = torch.tensor([0, 1, 1, 0, 2, 2, 0, 1, 2])
    near, wide = (constrained_sparsemax(z - group * gap, u) for gap in (16.0, 2.0**20))
    close(near, wide, 1e-9)
    assert (near[:, group == 2] > 0).any()


def test_constrained_sparsemax_without_a_binding_bound_is_sparsemax():
    z = torch.randn(50, 9, dtype=torch.float64)
    close(constrained_sparsemax(z, 1.0), sparsemax(z))


def test_bounds_per_slot_and_their_derivative():
    generator = torch.Generator().manual_seed(3)
    z = torch.randn(2, 3, 7, dtype=torch.float64, generator=generator, requires_grad=True)
    u = (torch.rand(3, 7, dtype=torch.float64, generator=generator) + 0.15).requires_grad_()
    keep = torch.tensor([True] * 5 + [False, True])
    for mask in (None, keep):
        assert torch.autograd.gradcheck(lambda z, u, mask=mask: constrained_sparsemax(z, u, mask=mask), (z, u))
        assert torch.autograd.gradgradcheck(lambda z, u, mask=mask: constrained_sparsemax(z, u, mask=mask), (z, u))
    close(constrained_sparsemax(z.mT, u.mT, dim=1), constrained_sparsemax(z, u).mT)
    close(torch.func.vmap(lambda row: constrained_sparsemax(row, u))(z), constrained_sparsemax(z, u))


def test_bounds_that_leave_no_weights_are_refused():
    with pytest.raises(ValueError, match="sum to at least 1 over the kept slots"):
        constrained_sparsemax(torch.zeros(2, 4), 0.2)
    with pytest.raises(ValueError, match="sum to at least 1"):
        constrained_sparsemax(torch.zeros(4), 0.4, mask=torch.tensor([True, True, False, False]))
    with pytest.raises(ValueError, match="sum to at least 1"):
        torch.func.vmap(lambda z: constrained_sparsemax(z, 0.2))(torch.zeros(2, 4))
    with pytest.raises(ValueError, match="at least 0"):
        constrained_sparsemax(torch.zeros(4), torch.tensor([-1.0, 1.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="upper of shape"):
        constrained_sparsemax(torch.zeros(2, 4), torch.ones(3))
    with pytest.raises(ValueError, match=r"upper=0.2 times the 4 slots"):
        build("constrained_sparsemax", 2, upper=0.2).check_length(4)


def test_softmax1_is_a_sink_at_zero_and_gives_nothing_for_low_scores():
    z = torch.randn(5, 6, dtype=torch.float64)
    close(softmax1(z), sink_softmax(z, 0.0))
    assert softmax1(torch.full((4,), -1e8)).tolist() == [0.0] * 4
    close(softmax1(torch.full((4,), 1e8)), torch.full((4,), 0.25))


@pytest.mark.parametrize(
    ("map_", "name"), [(sink_softmax, "sink"), (scalable_softmax, "s"), (sigmoid_attention, "bias")]
)
def test_a_parameter_per_head_is_the_map_of_each_head(map_, name):
    z = torch.randn(2, 3, 4, 6, dtype=torch.float64)
    values = [0.3, 1.0, -0.5]
    together = map_(z, torch.tensor(values, dtype=torch.float64).view(3, 1, 1))
    for head, value in enumerate(values):
        close(together[:, head], map_(z[:, head], value))
    with pytest.raises(ValueError, match=rf"{name} of shape \(6,\)"):
        map_(z, torch.ones(6))


def test_lengths_count_kept_slots():
    z = torch.randn(8, dtype=torch.float64)
    keep = torch.arange(8) < 5
    for map_ in (scalable_softmax, sigmoid_attention, lambda z, **kw: asentmax(z, beta=1.0, gamma=1.5, **kw)):
        close(map_(z, mask=keep)[:5], map_(z[:5]))
    assert scalable_softmax(torch.tensor([7.0])).tolist() == [1.0]
    assert asentmax(torch.tensor([7.0]), beta=1.0, gamma=-1.5).tolist() == [1.0]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 80.0, 1e4])
def test_softpick_in_float32_equals_the_formula_in_float64(scale):
    z = torch.randn(20, 6, generator=torch.Generator().manual_seed(2)) * scale
    m = z.double().amax(-1, keepdim=True).clamp(min=0)
    excess = torch.exp(-m) * torch.expm1(z.double()) if scale < 2 else torch.exp(z.double() - m) - torch.exp(-m)
    expected = excess.relu() / (excess.abs().sum(-1, keepdim=True) + 1e-12 * torch.exp(-m))
    torch.testing.assert_close(softpick(z).double(), expected, atol=1e-7, rtol=1e-5)


def test_softpick_of_scores_that_are_all_low_is_zero():
    z = torch.tensor([-1e8, -3.0, 0.0], requires_grad=True)
    p = softpick(z)
    p.sum().backward()
    assert p.tolist() == [0, 0, 0]
    assert torch.isfinite(z.grad).all()
    assert softpick(torch.zeros(3), eps=0.0).tolist() == [0, 0, 0]


def test_asentmax_is_entmax_of_scaled_scores():
    z = torch.randn(2, 3, 4, 6, dtype=torch.float64)
    beta = torch.rand(2, 3, 4, 1, dtype=torch.float64)
    gamma = torch.rand(2, 3, 4, 1, dtype=torch.float64) * 2 - 1
    scale = 1 + beta * torch.tensor(6.0, dtype=torch.float64).log() ** gamma
    close(asentmax(z, beta=beta, gamma=gamma), entmax(z * scale, 1.5))
    close(asentmax(z, 1.0, beta=beta, gamma=gamma), softmax(z * scale))


def test_asentmax_module_scales_by_its_queries():
    module = build("asentmax", 3, 5, alpha=1.7).double()
    z, x = torch.randn(2, 3, 4, 6, dtype=torch.float64), torch.randn(2, 3, 4, 5, dtype=torch.float64)
    start = 1 + torch.tensor(2.0, dtype=torch.float64).log()
    close(module(z, queries=x), entmax(z * start, 1.7))
    with torch.no_grad():
        module.slopes.normal_()
        module.offsets.normal_()
    dot = torch.einsum("bhqd,phd->pbhq", x, module.slopes) + module.offsets[:, None, :, None]
    beta, gamma = torch.nn.functional.softplus(dot[0]), 2 * torch.tanh(dot[1])
    scale = 1 + beta * torch.tensor(6.0, dtype=torch.float64).log() ** gamma
    close(module(z, queries=x), entmax(z * scale[..., None], 1.7))
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: module(z, queries=x), (x,), fast_mode=True)


def test_asentmax_names_what_it_misses():
    with pytest.raises(ValueError, match="needs head_width"):
        build("asentmax", 3)
    with pytest.raises(ValueError, match="needs queries"):
        ASEntmax(3, 5)(torch.zeros(1, 3, 2, 4))
    with pytest.raises(ValueError, match="alpha must be"):
        ASEntmax(3, 5, alpha=0.5)


def test_bounded_entmax_starts_where_qjax_does():
    shared, per_head = build("bounded_entmax", 3), build("bounded_entmax", 3, per_head=True)
    assert shared.learned()["alpha"].tolist() == pytest.approx([1.1 + 1.7 / (1 + 2.718281828459045)] * 3)
    assert [sum(p.numel() for p in m.parameters()) for m in (shared, per_head)] == [1, 3]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fusedmax", {"lam": -1.0}, "lam must be"),
        ("constrained_sparsemax", {"upper": 0.0}, "upper must be"),
        ("scalable_softmax", {"start": float("nan")}, "start must be finite"),
        ("sigmoid", {"bias": float("inf")}, "bias must be finite"),
        ("softpick", {"eps": -1.0}, "eps must be"),
        ("gumbel", {"temperature": 0.0}, "temperature must be"),
        ("bottomk", {}, "exactly one"),
    ],
)
def test_options_out_of_their_domain_are_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        build(name, 2, **options)


@pytest.mark.parametrize("name", ["scalable_softmax", "sink_softmax", "bounded_entmax", "hardkuma", "gumbel", "hae"])
def test_learned_parameters_come_one_per_head(name):
    assert all(value.shape == (3,) for value in build(name, 3).learned().values())
    assert build(name, 3).learned()


@pytest.mark.parametrize("alpha", [0.5, torch.inf])
def test_an_impossible_alpha_in_a_tensor_is_refused(alpha):
    with pytest.raises(ValueError, match=f"at least 1, got {alpha}"):
        entmax(torch.zeros(2, 3), torch.tensor([[1.5], [alpha]]))
