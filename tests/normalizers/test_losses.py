"""Fenchel-Young losses: value, gradient p - y, margin, reductions, transforms, errors."""

import pytest
import torch
from torch.nn import functional as F

from normalizers import (
    Entmax15Loss,
    EntmaxLoss,
    SparsemaxLoss,
    entmax,
    entmax15_loss,
    entmax_loss,
    sparsemax_loss,
)

ALPHAS = [1.0, 1.2, 1.5, 2.0, 2.5]


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(9)
    scores = torch.randn(5, 7, dtype=torch.float64, generator=generator) * 2
    return scores.requires_grad_(), torch.randint(0, 7, (5,), generator=generator)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradient_is_weights_minus_target(batch, alpha):
    scores, target = batch
    (grad,) = torch.autograd.grad(entmax_loss(scores, target, alpha, reduction="sum"), scores)
    expected = entmax(scores, alpha) - F.one_hot(target, 7)
    torch.testing.assert_close(grad, expected, atol=1e-15 if alpha > 1 else 1e-14, rtol=0)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_derivatives_of_both_orders(batch, alpha):
    scores, target = batch
    assert torch.autograd.gradcheck(lambda z: entmax_loss(z, target, alpha), (scores,))
    assert torch.autograd.gradgradcheck(lambda z: entmax_loss(z, target, alpha), (scores,))
    hessian = torch.func.hessian(lambda z: entmax_loss(z, target[0], alpha))(scores[0])
    torch.testing.assert_close(hessian, torch.func.jacrev(lambda z: entmax(z, alpha))(scores[0]), atol=1e-12, rtol=0)


def test_alpha_one_is_cross_entropy(batch):
    scores, target = batch
    for reduction in ("mean", "sum", "none"):
        ours = entmax_loss(scores, target, 1, reduction=reduction)
        torch.testing.assert_close(ours, F.cross_entropy(scores, target, reduction=reduction))
    torch.testing.assert_close(
        entmax_loss(scores, target, 1 + 1e-7), F.cross_entropy(scores, target), atol=1e-6, rtol=0
    )


@pytest.mark.parametrize("alpha", [1.2, 1.5, 2.0, 3.0])
def test_zero_exactly_beyond_the_margin(alpha):
    margin = 1 / (alpha - 1)
    for gap, is_zero in ((margin + 1e-3, True), (1e6, True), (margin - 0.2, False)):
        scores = torch.tensor([[gap, 0.0, -1.0]], dtype=torch.float64, requires_grad=True)
        loss = entmax_loss(scores, torch.tensor([0]), alpha)
        (grad,) = torch.autograd.grad(loss, scores)
        assert (loss.item() == 0) == is_zero
        assert bool((grad == 0).all()) == is_zero


@pytest.mark.parametrize("alpha", ALPHAS)
def test_ignored_rows_cost_nothing(batch, alpha):
    scores, target = batch
    with torch.no_grad():
        scores[1] = torch.nan
    some = target.clone()
    some[1] = -100
    keep = [0, 2, 3, 4]
    loss = entmax_loss(scores, some, alpha)
    torch.testing.assert_close(loss, entmax_loss(scores[keep], target[keep], alpha))
    (grad,) = torch.autograd.grad(loss, scores)
    assert (grad[1] == 0).all()
    assert torch.isfinite(grad).all()
    assert entmax_loss(scores, some, alpha, reduction="none")[1] == 0
    assert entmax_loss(scores[:2], torch.tensor([7, 7]), alpha, ignore_index=7).isnan()


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("magnitude", [1e8, 3e4])
def test_finite_for_large_scores_and_shifts(alpha, magnitude):
    scores = (torch.tensor([[1.0, 0.2, -1.0]]) * magnitude).requires_grad_()
    loss = entmax_loss(scores, torch.tensor([2]), alpha)
    (grad,) = torch.autograd.grad(loss, scores)
    assert torch.isfinite(loss)
    assert grad.tolist() == [[1.0, 0.0, -1.0]]
    torch.testing.assert_close(loss, torch.tensor(2.0) * magnitude)


def test_classes_at_minus_infinity_are_no_classes():
    scores = torch.tensor([[1.0, -torch.inf, 0.4]], dtype=torch.float64, requires_grad=True)
    for alpha in ALPHAS:
        loss = entmax_loss(scores, torch.tensor([2]), alpha)
        torch.testing.assert_close(loss, entmax_loss(scores[:, [0, 2]], torch.tensor([1]), alpha))
        (grad,) = torch.autograd.grad(loss, scores)
        assert grad[0, 1] == 0


def test_leading_dimensions_and_half_precision(batch):
    scores, target = batch
    many = entmax_loss(scores.expand(2, 3, 5, 7), target.expand(2, 3, 5), 1.5, reduction="none")
    assert many.shape == (2, 3, 5)
    assert entmax_loss(scores[0], target[0], 1.5).shape == ()
    half = scores.detach().bfloat16()
    assert torch.equal(entmax15_loss(half, target), entmax15_loss(half.float(), target).bfloat16())


@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_works_under_transforms(batch, alpha):
    scores, target = batch
    single = torch.func.vmap(lambda z, y: entmax_loss(z, y, alpha))(scores, target)
    torch.testing.assert_close(single, entmax_loss(scores, target, alpha, reduction="none"))
    grads = torch.func.vmap(torch.func.grad(lambda z, y: entmax_loss(z, y, alpha)))(scores, target)
    torch.testing.assert_close(grads, entmax(scores, alpha) - F.one_hot(target, 7))
    value, tangent = torch.func.jvp(lambda z: entmax_loss(z, target, alpha), (scores,), (torch.ones_like(scores),))
    assert abs(tangent) < 1e-14 < value
    compiled = torch.compile(lambda z, y: entmax_loss(z, y, alpha), fullgraph=True, backend="aot_eager")
    loss = compiled(scores, target)
    torch.testing.assert_close(loss, entmax_loss(scores, target, alpha))
    (grad,) = torch.autograd.grad(loss, scores)
    torch.testing.assert_close(grad, grads / 5)


def test_modules_are_the_functions(batch):
    scores, target = batch
    assert torch.equal(SparsemaxLoss()(scores, target), sparsemax_loss(scores, target))
    assert torch.equal(Entmax15Loss(reduction="sum")(scores, target), entmax15_loss(scores, target, reduction="sum"))
    assert torch.equal(EntmaxLoss(1.3)(scores, target), entmax_loss(scores, target, 1.3))


def test_wrong_input_is_named():
    scores, target = torch.zeros(2, 3), torch.tensor([0, 1])
    with pytest.raises(ValueError, match="alpha must be"):
        entmax_loss(scores, target, 0.9)
    with pytest.raises(ValueError, match="reduction must be mean, sum or none, got avg"):
        sparsemax_loss(scores, target, reduction="avg")
    with pytest.raises(TypeError, match="target must be int64"):
        sparsemax_loss(scores, target.float())
    with pytest.raises(TypeError, match="floating-point"):
        sparsemax_loss(scores.long(), target)
    with pytest.raises(ValueError, match=r"target of shape \(3,\)"):
        sparsemax_loss(scores, torch.zeros(3, dtype=torch.int64))
    for wrong in (3, -1):
        with pytest.raises(ValueError, match=r"target must be in 0\.\.2"):
            sparsemax_loss(scores, torch.tensor([0, wrong]))
