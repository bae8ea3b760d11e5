"""Derivatives: exact against finite differences and known values, of second order, and under torch's transforms."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from normalizers import (
    constrained_sparsemax,
    entmax,
    entmax15,
    fusedmax,
    sparsemax,
    sparsemax_loss,
    total_variation_prox,
)
from tests.normalizers.conftest import make, through_bisection


def test_gradients_match_finite_differences(normalizer, scores, case):
    if through_bisection(case):
        pytest.skip("the published gradient holds the bisection's choices constant, which finite differences do not")
    scores = scores[:1, :, :2].contiguous().requires_grad_()
    parameters = tuple(normalizer.parameters())
    assert gradcheck(lambda z, *_: normalizer(z), (scores, *parameters))
    # Fast mode compares along one random direction in place of every entry, at a tenth of the time.
    assert gradgradcheck(lambda z, *_: normalizer(z), (scores, *parameters), fast_mode=True)


def test_gradients_match_finite_differences_with_a_mask(normalizer, scores, case):
    if through_bisection(case):
        pytest.skip("the published gradient holds the bisection's choices constant, which finite differences do not")
    keep = torch.tensor([True, False, True, True, False, True])
    keep = keep.expand(1, 3, 2, 6).clone()
    keep[0, 0, 0] = False
    scores = scores[:1, :, :2].contiguous().requires_grad_()
    parameters = tuple(normalizer.parameters())
    assert gradcheck(lambda z, *_: normalizer(z, keep), (scores, *parameters), fast_mode=True)
    assert gradgradcheck(lambda z, *_: normalizer(z, keep), (scores, *parameters), fast_mode=True)


def test_a_weighted_sum_of_weights_has_a_second_derivative_even_where_it_is_zero(normalizer, scores):
    weighted = torch.randn(scores.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    scores.requires_grad_()
    variables = (scores, *normalizer.parameters())
    first = torch.autograd.grad((normalizer(scores) * weighted).sum(), variables, create_graph=True)
    second = torch.autograd.grad(sum(grad.square().sum() for grad in first), variables, create_graph=True)
    assert all(torch.isfinite(grad).all() for grad in second)


@pytest.mark.parametrize(
    ("map_", "inputs"),
    [
        (sparsemax, 1),
        (lambda z: sparsemax(z.float()), 1),
        (fusedmax, 2),
        (constrained_sparsemax, 2),
        (total_variation_prox, 2),
        (lambda z: -sparsemax_loss(z, torch.tensor(0)).square(), 1),
    ],
    ids=["sparsemax", "sparsemax by a kernel", "fusedmax", "constrained", "prox", "loss"],
)
def test_piecewise_linear_maps_have_zero_second_derivatives_and_not_none(map_, inputs):
    z = torch.tensor([2.0, 1.3, 0.9, -3.0, 1.1], dtype=torch.float64, requires_grad=True)
    variables = (z, torch.tensor([0.35], dtype=torch.float64, requires_grad=True))[:inputs]
    weighted = torch.tensor([1.0, -2.0, 0.5, 3.0, 0.7])
    first = torch.autograd.grad((map_(*variables) * weighted).sum(), variables, create_graph=True)
    second = torch.autograd.grad(first[0].sum() + first[-1].sum(), variables, create_graph=True)
    assert all((grad == 0).all() for grad in second)
    assert all((grad == 0).all() for grad in torch.autograd.grad(sum(g.sum() for g in second), variables))


def test_jacobian_of_entmax15():
    block = [
        [0.343734421142, -0.249262749143, -0.0944716719999],
        [-0.249262749143, 0.291400144571, -0.0421373954282],
        [-0.0944716719999, -0.0421373954282, 0.136609067428],
    ]
    expected = torch.zeros(4, 4, dtype=torch.float64)
    expected[:3, :3] = torch.tensor(block, dtype=torch.float64)
    jacobian = torch.func.jacrev(entmax15)(torch.tensor([2.0, 1.0, 0.5, 0.0], dtype=torch.float64))
    torch.testing.assert_close(jacobian, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [
        (1.05, [0.151184652173, 0.0121570127398, -0.0587173023386, -0.104624362574]),
        (1.5, [0.16783740531, -0.0235850151789, -0.144252390131, 0]),
        (1.0, [0.153457929147, 0.0187101124621, -0.0492400083062, -0.122928033303]),
    ],
)
def test_alpha_derivative(alpha, expected):
    scores = torch.tensor([0.3, 0.0, -0.2, -3.0], dtype=torch.float64)
    alpha = torch.tensor(alpha, dtype=torch.float64)
    _, derivative = torch.func.jvp(lambda a: entmax(scores, a), (alpha,), (torch.ones_like(alpha),))
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(derivative, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(torch.func.jacrev(lambda a: entmax(scores, a))(alpha), expected, atol=1e-12, rtol=0)


def test_alpha_derivative_keeps_its_digits_near_one_in_float32():
    scores = torch.tensor([0.3, 0.0, -0.2, -3.0])
    for alpha in (1.0, 1 + 1e-6, 1 + 1e-4, 1.01):
        exact = torch.func.jacrev(lambda a: entmax(scores.double(), a))(torch.tensor(alpha, dtype=torch.float64))
        single = torch.func.jacrev(lambda a: entmax(scores, a))(torch.tensor(alpha))
        torch.testing.assert_close(single.double(), exact, atol=2e-6, rtol=0)


def test_transforms_agree_with_the_plain_map(normalizer, scores):
    assert torch.allclose(torch.func.vmap(normalizer)(scores), normalizer(scores), atol=1e-12)
    direction = torch.randn_like(scores)
    _, forward_mode = torch.func.jvp(normalizer, (scores,), (direction,))
    _, pull = torch.func.vjp(normalizer, scores)
    weighted = torch.randn_like(scores)
    torch.testing.assert_close((forward_mode * weighted).sum(), (pull(weighted)[0] * direction).sum())


def test_per_row_jacobians_through_vmap(normalizer, scores, case):
    row = scores[0]
    jacobians = torch.func.vmap(torch.func.jacrev(normalizer))(scores)
    single = torch.func.jacrev(normalizer)(row)
    torch.testing.assert_close(jacobians[0], single)
    if not through_bisection(case):
        torch.testing.assert_close(torch.func.vmap(torch.func.jacfwd(normalizer))(scores)[0], single)


def test_vmap_over_alpha():
    scores = torch.randn(5, dtype=torch.float64)
    alphas = torch.tensor([1.1, 1.5, 1.9], dtype=torch.float64)
    mapped = torch.func.vmap(lambda a: entmax(scores, a))(alphas)
    torch.testing.assert_close(mapped, torch.stack([entmax(scores, float(a)) for a in alphas]), atol=1e-10, rtol=0)


@pytest.mark.slow
def test_compiles_as_one_graph(case, scores):
    normalizer = make(case)
    compiled = torch.compile(normalizer, fullgraph=True, backend="aot_eager")
    plain, traced = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    expected, result = normalizer(plain), compiled(traced)
    torch.testing.assert_close(result, expected, atol=1e-9, rtol=0)
    (expected**2).sum().backward()
    (result**2).sum().backward()
    torch.testing.assert_close(traced.grad, plain.grad, atol=1e-8, rtol=0)
