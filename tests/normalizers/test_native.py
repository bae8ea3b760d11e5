"""The native kernels, at each width that this processor has, against the float64 maps in torch."""

from contextlib import nullcontext

import pytest
import torch

from normalizers import entmax, entmax15, native, softmax, sparsemax, topk_softmax
from normalizers.implicit import backward_product
from tests.normalizers.test_float32 import MAPS, alike_near_the_threshold, rows

pytestmark = pytest.mark.usefixtures("lanes")


@pytest.fixture(params=MAPS)
def row_map(request):
    return MAPS[request.param]


@pytest.mark.parametrize("scale", [0.01, 2.0, 30.0])
@pytest.mark.parametrize("n", [1, 2, 17, 97, 513, 5000])
def test_weights_match_float64(row_map, n, scale):
    scores = rows(n, scale, count=203 if n < 1000 else 9)
    torch.testing.assert_close(row_map(scores).double(), row_map(scores.double()), atol=1e-6, rtol=0)


def product_in_float64(p, grad, alpha):
    alpha = alpha.double() if isinstance(alpha, torch.Tensor) else alpha
    return backward_product(grad.double(), p.double(), alpha)


@pytest.mark.parametrize("n", [1, 17, 97, 513])
@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_backward_of_the_named_maps(n, alpha):
    p = {1.0: softmax, 1.5: entmax15, 2.0: sparsemax}[alpha](rows(n))
    grad = rows(n, 1.0)
    result, _ = native.backward(grad, p, alpha)
    torch.testing.assert_close(result.double(), product_in_float64(p, grad, alpha)[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("n", [1, 17, 97, 513])
@pytest.mark.parametrize("alpha", [1.0001, 1.05, 1.3, 1.5, 1.77, 1.95, 2.0])
def test_backward_of_entmax(n, alpha):
    each = torch.full((203, 1), alpha)
    p = entmax(rows(n), each)
    grad = rows(n, 1.0)
    for result, expected in zip(native.backward(grad, p, each), product_in_float64(p, grad, each), strict=True):
        torch.testing.assert_close(result.double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("alpha", [2.001, 2.3, 2.8, 3.0])
def test_backward_above_two(alpha):
    """There s = p^(2-α) grows without bound as a weight nears 0, so that errors are measured by the largest s."""
    each = torch.full((203, 1), alpha)
    p, grad = entmax(rows(97), each), rows(97, 1.0)
    largest = torch.where(p > 0, p, 1.0).pow(2 - alpha).amax(-1, keepdim=True)
    for result, expected in zip(native.backward(grad, p, each), product_in_float64(p, grad, each), strict=True):
        torch.testing.assert_close(result / largest, (expected / largest).float(), atol=1e-5, rtol=1e-5)


def test_a_different_alpha_in_every_row():
    scores = rows(40)
    alpha = torch.linspace(1.01, 3.0, len(scores)).unsqueeze(-1)
    together = entmax(scores, alpha)
    for row in range(0, len(scores), 20):
        assert torch.equal(together[row], entmax(scores[row], alpha[row]))


@pytest.mark.parametrize("n", [2, 5, 16, 33, 97])
def test_a_row_has_the_same_bits_alone_among_others_and_in_any_layout(row_map, n, request):
    if "softmax" in request.node.callspec.params["row_map"]:
        pytest.skip("softmax is torch's own, forward")
    scores = rows(n, count=37)
    together = row_map(scores)
    assert torch.equal(row_map(scores.T.contiguous().T), together)
    assert torch.equal(row_map(scores.T, dim=0).T, together)
    for row in range(37):
        assert torch.equal(row_map(scores[row]), together[row])
        assert torch.equal(row_map(scores[row:]), together[row:])


def test_masked_dead_and_nan_rows(row_map):
    scores = rows(21)
    mask = torch.rand(scores.shape, generator=torch.Generator().manual_seed(1)) > 0.4
    mask[5] = False
    scores[8, 3] = torch.nan
    mask[8, 3] = True
    p, expected = row_map(scores, mask=mask), row_map(scores.double(), mask=mask)
    torch.testing.assert_close(p.double(), expected, atol=1e-6, rtol=0, equal_nan=True)
    assert (p[5] == 0).all()
    assert p[8].isnan().all()
    assert (p[~mask & ~p.isnan()] == 0).all()
    assert not p[[0, 1, 2, 3, 4, 5, 6, 7, 9, 10]].isnan().any()


def test_ties_and_repeated_scores(row_map):
    scores = torch.randint(-2, 3, (300, 24), generator=torch.Generator().manual_seed(2)).float()
    torch.testing.assert_close(row_map(scores).double(), row_map(scores.double()), atol=1e-6, rtol=0)
    negative_zero = torch.tensor([[0.0, -0.0, -1.0], [-0.0, 0.0, -1.0]])
    assert topk_softmax(negative_zero, k=1).argmax(-1).tolist() == [0, 0]


def test_results_do_not_depend_on_the_number_of_threads(row_map):
    scores = rows(97, count=3001).requires_grad_()
    grad = rows(97, 1.0, count=3001)
    results = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            p = row_map(scores)
            results.append((p.detach(), *torch.autograd.grad(p, scores, grad)))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))


def test_transforms_see_the_same_map(row_map):
    scores = rows(9, count=6)
    assert torch.equal(torch.func.vmap(row_map)(scores), row_map(scores))
    jacobian = torch.func.vmap(torch.func.jacrev(row_map))(scores)
    exact = torch.func.vmap(torch.func.jacrev(row_map))(scores.double())
    torch.testing.assert_close(jacobian.double(), exact, atol=2e-4, rtol=0)  # ∂p/∂z is steep where a weight is near 0


def test_batched_gradients_without_a_graph(row_map):
    scores = rows(9, count=1).requires_grad_()
    p = row_map(scores)
    basis = torch.eye(9).unsqueeze(1)
    (batched,) = torch.autograd.grad(p, scores, basis, retain_graph=True, is_grads_batched=True)
    single = torch.stack([torch.autograd.grad(p, scores, unit, retain_graph=True)[0] for unit in basis])
    torch.testing.assert_close(batched, single, atol=1e-6, rtol=0)


@pytest.mark.parametrize("n", [2048, native.LONGEST])
def test_long_rows_of_equal_and_nearly_equal_scores_sum_to_one(row_map, n):
    for scores in (torch.zeros(1, n), rows(n, 1e-3, count=1)):
        p = row_map(scores)
        torch.testing.assert_close(p.sum(-1, dtype=torch.float64), torch.ones(1).double(), atol=4e-6, rtol=0)
        torch.testing.assert_close(p.double(), row_map(scores.double()), atol=1e-6, rtol=0)


def test_forward_over_reverse_keeps_its_tangent(row_map):
    scores, direction = rows(9, count=2), rows(9, count=2).flip(0)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(scores.clone().requires_grad_(), direction)
        (grad,) = torch.autograd.grad(row_map(dual).pow(3).sum(), dual)
        tangent = torch.autograd.forward_ad.unpack_dual(grad).tangent
    expected = torch.func.jvp(torch.func.grad(lambda z: row_map(z).pow(3).sum()), (scores,), (direction,))[1]
    torch.testing.assert_close(tangent, expected, atol=1e-4, rtol=1e-3)


def test_only_plain_memory_is_handed_to_a_kernel(row_map):
    scores = rows(9, count=2)
    negative = torch._neg_view(scores)
    torch.testing.assert_close(row_map(negative), row_map(-scores))
    with torch._subclasses.FakeTensorMode():
        assert entmax15(torch.randn(3, 5)).shape == (3, 5)
        assert sparsemax(torch.randn(3, 5)).shape == (3, 5)


@pytest.mark.parametrize("noise", [0.0, 1e-3, 1e-2])
@pytest.mark.parametrize("n", [17, 97, 512, 4096])
@pytest.mark.parametrize(
    ("name", "reach"), [("sparsemax", 1.0), ("entmax15", 2.0), ("entmax 1.3", 1 / 0.3), ("entmax 1.95", 1 / 0.95)]
)
def test_many_alike_scores_near_the_threshold(name, reach, n, noise):
    scores = alike_near_the_threshold(n, reach, noise)
    torch.testing.assert_close(MAPS[name](scores).double(), MAPS[name](scores.double()), atol=1e-6, rtol=0)


@pytest.mark.parametrize("n", [251, 500, 4096])
def test_equal_weights_add_up_to_1(row_map, n):
    assert abs(row_map(torch.zeros(3, n)).double().sum(-1) - 1).max() < 5e-7


def test_a_partial_tile_takes_no_more_passes_than_a_full_one():
    # Rows past the last used to count as unsettled, so that the others were never finished exactly.
    scores = torch.full((1, 512), -1.93)
    scores[0, 0] = 0.0
    alone, among = (entmax(rows, torch.tensor(1.44))[:1] for rows in (scores, scores.expand(16, 512)))
    assert torch.equal(alone, among)
    torch.testing.assert_close(alone.double(), entmax(scores.double(), 1.44), atol=1e-6, rtol=0)


@pytest.mark.parametrize("threads", [1, 2])
def test_too_little_memory_is_an_error_and_not_a_crash(row_map, threads, monkeypatch):
    scores = rows(9, count=2).requires_grad_()
    p = row_map(scores)
    monkeypatch.setattr(native, "_sizes", lambda _rows: (2, 2**52, threads))  # more than any machine can give
    allocates_forward = row_map is not MAPS["softmax"]
    with pytest.raises(MemoryError, match="found no memory") if allocates_forward else nullcontext():
        row_map(scores)
    if row_map not in (MAPS[name] for name in ("softmax", "sparsemax", "entmax15", "topk")):
        with pytest.raises(MemoryError, match="entmax_backward found no memory"):
            p.sum().backward()


def test_a_nan_row_has_no_gradient_in_either_implementation():
    results = []
    for off in (False, True):
        row = torch.tensor([[1.0, torch.nan, 0.0]], requires_grad=True)
        with native.switched_off() if off else nullcontext():
            entmax15(row).backward(torch.ones(1, 3))
        results.append(row.grad)
    assert torch.equal(*results)
