"""The published gradient: the closed form against autograd through the bisection loop itself."""

from contextlib import nullcontext

import pytest
import torch

from normalizers import entmax, entmax_through_bisection, native


def bisect_in_the_graph(z, alpha, steps=18):
    """α-entmax by bisection with every step on the autograd tape."""
    y = (alpha - 1) * z
    y = y - y.amax(-1, keepdim=True)
    low = y.amin(-1, keepdim=True) - 1
    high = (-(torch.as_tensor(float(z.shape[-1]), dtype=z.dtype) ** (1 - alpha))) * torch.ones_like(low)

    def power(tau):
        u = y - tau
        return torch.where(u > 0, torch.where(u > 0, u, 1.0) ** (1 / (alpha - 1)), 0.0)

    for _ in range(steps):
        middle = (low + high) / 2
        enough = power(middle).sum(-1, keepdim=True) >= 1
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    p = power(high)
    return p / p.sum(-1, keepdim=True)


@pytest.mark.parametrize("n", [2, 17, 97])
@pytest.mark.parametrize("alpha", [1.05, 1.5, 1.93])
def test_equals_autograd_through_the_loop(n, alpha):
    generator = torch.Generator().manual_seed(n)
    z = torch.randn(6, n, dtype=torch.float64, generator=generator) * 2
    weight = torch.randn(6, n, dtype=torch.float64, generator=generator)
    results = []
    for map_ in (entmax_through_bisection, bisect_in_the_graph):
        zi = z.clone().requires_grad_()
        ai = torch.tensor(alpha, dtype=torch.float64, requires_grad=True)
        p = map_(zi, ai)
        results.append((p.detach(), *torch.autograd.grad((p * weight).sum(), (zi, ai))))
    for ours, loop in zip(*results, strict=True):
        torch.testing.assert_close(ours, loop, atol=1e-11, rtol=1e-9)


def test_weights_are_those_of_entmax_but_the_gradient_is_not():
    z = torch.randn(200, 17, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    weight = torch.randn(200, 17, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    exact, published = entmax(z, 1.5), entmax_through_bisection(z, 1.5)
    torch.testing.assert_close(published, exact, atol=1e-4, rtol=0)
    (true_grad,) = torch.autograd.grad((exact * weight).sum(), z)
    (loop_grad,) = torch.autograd.grad((published * weight).sum(), z)
    several = (exact > 0).sum(-1) > 1  # one weight of 1 has no gradient either way
    off = ((loop_grad - true_grad).norm(dim=-1) / true_grad.norm(dim=-1))[several]
    assert 0.05 < off.median() < 0.5


def test_alpha_must_have_a_threshold():
    with pytest.raises(ValueError, match="above 1, got 1"):
        entmax_through_bisection(torch.zeros(3), 1)


@pytest.mark.parametrize("steps", [1, 5, 18])
def test_ends_where_the_loop_ends(steps):
    z = torch.randn(500, 17, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) * 3
    for alpha in (1.05, 1.5, 2.0):
        ours, loop = entmax_through_bisection(z, alpha, steps=steps), bisect_in_the_graph(z, alpha, steps)
        torch.testing.assert_close(ours, loop, atol=1e-12, rtol=0)


def test_in_float32_a_threshold_is_at_most_one_cell_off():
    z = torch.randn(500, 97, generator=torch.Generator().manual_seed(4)) * 3
    ours, loop = entmax_through_bisection(z, 1.5), bisect_in_the_graph(z, 1.5)
    cell = (z.amax(-1) - z.amin(-1)).max() / 2 / 2**18
    assert (ours.max(-1).values - loop.max(-1).values).abs().max() < 4 * cell
    assert ((ours > 0) != (loop > 0)).float().mean() < 1e-4


@pytest.mark.usefixtures("lanes")
@pytest.mark.parametrize("n", [1, 2, 17, 97, 513])
@pytest.mark.parametrize("alpha", [1.05, 1.5, 1.93])
def test_the_kernel_computes_what_torch_does(n, alpha):
    generator = torch.Generator().manual_seed(n)
    z = torch.randn(7, 3, n, generator=generator) * 2
    z[0, 0] = -torch.inf
    z[1, 1, : n // 2] = -torch.inf
    z[2, 2, 0] = torch.nan
    z[3] = z[3].round()  # several largest and smallest
    weight = torch.randn(7, 3, n, generator=generator)
    results = []
    for scores, without in ((z, nullcontext()), (z.double(), native.switched_off())):
        zi = scores.clone().requires_grad_()
        ai = torch.full((7, 3, 1), alpha, dtype=zi.dtype, requires_grad=True)
        with without:
            p = entmax_through_bisection(zi, ai)
            results.append((p.detach(), *torch.autograd.grad(p, (zi, ai), weight.to(p.dtype))))
    assert results[0][0][2, 2].isnan().all()
    assert results[1][0][2, 2].isnan().all()
    others = torch.ones(7, 3, dtype=torch.bool)
    others[2, 2] = False
    for kernel, in_torch, bound in zip(*results, (2e-5, 1e-4, 1e-4), strict=True):
        torch.testing.assert_close(kernel[others].double(), in_torch[others], atol=bound, rtol=1e-4)


def test_the_second_derivative_is_that_of_the_formula():
    generator = torch.Generator().manual_seed(9)
    z, weight = torch.randn(4, 17, generator=generator), torch.randn(4, 17, generator=generator)
    second = []
    for dtype in (torch.float32, torch.float64):
        zi, ai = z.to(dtype).requires_grad_(), torch.tensor(1.4, dtype=dtype, requires_grad=True)
        p = entmax_through_bisection(zi, ai)
        first = torch.autograd.grad((p * weight.to(dtype)).sum(), (zi, ai), create_graph=True)
        second.append(torch.autograd.grad(first[0].square().sum() + first[1] ** 2, (zi, ai)))
    for single, double in zip(*second, strict=True):
        torch.testing.assert_close(single.double(), double, atol=1e-3, rtol=1e-3)
        assert double.abs().max() > 0


@pytest.mark.parametrize("native_kernels", [True, False])
@pytest.mark.parametrize("alpha", [1.4, torch.tensor(1.4)], ids=["number", "tensor"])
def test_a_fixed_alpha_has_second_derivatives_too(alpha, native_kernels):
    z, weight = torch.randn(2, 4, 17, generator=torch.Generator().manual_seed(11))
    second = []
    for scores in (z, z.double()):
        with nullcontext() if native_kernels else native.switched_off():
            scores.requires_grad_()
            p = entmax_through_bisection(scores, alpha)
            (first,) = torch.autograd.grad((p * weight).sum(), scores, create_graph=True)
            second.append(torch.autograd.grad(first.square().sum(), scores)[0].double())
    torch.testing.assert_close(*second, atol=1e-3, rtol=1e-3)
    assert second[1].abs().max() > 0


@pytest.mark.usefixtures("lanes")
def test_the_kernel_ends_in_the_cell_of_float64_where_scores_lie_close_together():
    z = torch.randn(200, 300, generator=torch.Generator().manual_seed(12)) * 0.01
    torch.testing.assert_close(
        entmax_through_bisection(z, 1.5).double(), entmax_through_bisection(z.double(), 1.5), atol=2e-6, rtol=0
    )
