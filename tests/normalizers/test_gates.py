"""Stochastic gates: what training draws, what evaluation takes, how gates and weights combine."""

import pytest
import torch

from normalizers import build, gumbel_gated_softmax, hardkuma_softmax, softmax
from tests.normalizers.conftest import HEADS

FUNCTIONS = {"hardkuma": hardkuma_softmax, "gumbel": gumbel_gated_softmax}


@pytest.fixture(params=FUNCTIONS)
def name(request):
    return request.param


@pytest.fixture
def noise():
    return torch.rand(2, HEADS, 4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_training_draws_from_the_global_generator_and_evaluation_does_not(name, scores):
    module = build(name, HEADS).double()
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(module(scores))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    before = torch.get_rng_state()
    module.eval()
    assert torch.equal(module(scores), module(scores))
    assert torch.equal(torch.get_rng_state(), before)


def test_training_rows_are_distributions_with_exact_zeros(name, scores):
    torch.manual_seed(3)
    keep = torch.tensor([True, False, True, True, True, True])
    p = build(name, HEADS).double()(scores, keep)
    torch.testing.assert_close(p.sum(-1), torch.ones_like(p[..., 0]))
    assert (p[..., ~keep] == 0).all()
    zeros = (p[..., keep] == 0).double().mean()
    assert 0.05 < zeros < 0.95


def test_evaluation_takes_the_median_gate(name, scores):
    module = build(name, HEADS).double().eval()
    half = torch.full_like(scores, 0.5)
    torch.testing.assert_close(module(scores), FUNCTIONS[name](scores, 2.0, noise=half), atol=1e-14, rtol=0)


def test_a_slot_that_is_closed_in_evaluation_is_closed_in_most_draws(name):
    z = torch.tensor([0.0, -1.0, -3.0, -4.5, -6.0], dtype=torch.float64)
    noise = torch.rand(4000, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    closed = (FUNCTIONS[name](z.expand(4000, 5), noise=noise) == 0).double().mean(0)
    assert ((closed > 0.5) == (FUNCTIONS[name](z) == 0)).all()


def test_open_gates_leave_softmax_and_so_do_closed_ones(name, scores):
    gated = FUNCTIONS[name]
    torch.testing.assert_close(gated(scores, 50.0), softmax(scores), atol=1e-14, rtol=0)
    torch.testing.assert_close(gated(scores, -50.0), softmax(scores), atol=1e-14, rtol=0)


@pytest.mark.parametrize("extreme", [0.0, 1.0])
def test_noise_at_its_ends_and_huge_scores_stay_finite(name, extreme):
    for magnitude in (1.0, 1e8):
        z = (torch.tensor([1.0, 0.3, -2.0, -9.0]) * magnitude).requires_grad_()
        bias = torch.tensor(2.0, requires_grad=True)
        p = FUNCTIONS[name](z, bias, noise=torch.full((4,), extreme))
        grads = torch.autograd.grad(p.square().sum(), (z, bias))
        assert all(torch.isfinite(value).all() for value in (p, *grads))
        torch.testing.assert_close(p.sum(), torch.tensor(1.0))


def test_derivatives_for_given_noise(name, scores, noise):
    z = scores[:1, :, :2].clone().requires_grad_()
    bias = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64).view(3, 1, 1).requires_grad_()

    def gated(z, bias):
        return FUNCTIONS[name](z, bias, noise=noise[:1, :, :2])

    assert torch.autograd.gradcheck(gated, (z, bias))
    assert torch.autograd.gradgradcheck(gated, (z, bias), fast_mode=True)


def test_training_drops_masked_slots(name, scores, noise):
    keep = torch.tensor([True, False, True, True, False, True])
    p = FUNCTIONS[name](scores, noise=noise, mask=keep)
    torch.testing.assert_close(p[..., keep], FUNCTIONS[name](scores[..., keep], noise=noise[..., keep]))
    dead = FUNCTIONS[name](scores, noise=noise, mask=torch.zeros_like(scores, dtype=torch.bool))
    assert (dead == 0).all()


def test_noise_of_another_shape_is_named(name):
    with pytest.raises(ValueError, match=r"noise of shape \(3,\)"):
        FUNCTIONS[name](torch.zeros(2, 4), noise=torch.rand(3))


def test_training_works_under_transforms(name, scores):
    module = build(name, HEADS).double()
    mapped = torch.func.vmap(module, randomness="different")(scores)
    assert torch.isfinite(mapped).all()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    assert torch.isfinite(compiled(scores)).all()
