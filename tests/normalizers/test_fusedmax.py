"""Total variation against its optimality conditions, and fusedmax's own options."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from normalizers import fusedmax, sparsemax, total_variation, total_variation_prox
from tests.normalizers.test_oracle import rows


def certify(x, z, lam, atol):
    """x is the prox at z exactly where a subgradient of λ·TV closes the gap: Σ_{i≤j}(x - z) = λ sign(x_{j+1} - x_j)."""
    dual = (x - z).cumsum(-1)
    assert (dual.abs() <= lam + atol).all()
    assert dual[..., -1].abs().max() <= atol
    step = x.diff()
    gap = (dual[..., :-1] - lam * step.sign()).abs()
    assert (gap[step != 0] <= atol).all()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(rows(), st.one_of(st.just(0.25), st.floats(0, 5), st.floats(1, 1e6)))
def test_prox_meets_its_optimality_conditions(z, lam):
    x = total_variation_prox(z, torch.full((1,), lam, dtype=torch.float64))
    certify(x, z, lam, 1e-10 * (1 + z.abs().max().item() + lam) * len(z))


@pytest.mark.parametrize(("count", "n"), [(7, 1), (7, 2), (7, 97), (7, 3000), (500, 97), (500, 5)])
@pytest.mark.parametrize("lam", [0.0, 0.3, 5.0])
def test_prox_of_many_rows(count, n, lam):
    z = torch.randn(count, n, dtype=torch.float64, generator=torch.Generator().manual_seed(n)) * 2
    certify(total_variation_prox(z, torch.full((count, 1), lam, dtype=torch.float64)), z, lam, 1e-9)


def test_messages_passed_on_slot_by_slot_are_those_of_the_scan():
    generator = torch.Generator().manual_seed(6)
    gap = torch.randn(50, 33, dtype=torch.float64, generator=generator)
    lam = torch.rand(50, 1, dtype=torch.float64, generator=generator)
    edges = torch.randint(-1, 2, (50, 33), generator=generator).to(torch.int8)
    edges[:, 0] = 0
    scanned = total_variation._arriving_by_scan(gap, lam, edges)
    torch.testing.assert_close(total_variation._arriving_stepwise(gap, lam, edges), scanned, atol=1e-13, rtol=0)


@pytest.mark.parametrize("shape", ["geometric", "staircase", "spikes", "constant"])
def test_prox_of_rows_that_divide_badly(shape):
    i = torch.arange(60, dtype=torch.float64)
    z = {"geometric": 1.5**i, "staircase": (i / 7).floor(), "spikes": (i % 2) * 3, "constant": i * 0 + 1}[shape]
    certify(total_variation_prox(z, torch.tensor([0.7], dtype=torch.float64)), z, 0.7, 1e-12 * z.abs().max() * 60)


def test_dropped_slots_make_neighbours_of_those_around_them():
    generator = torch.Generator().manual_seed(5)
    z = torch.randn(40, 12, dtype=torch.float64, generator=generator)
    keep = torch.rand(12, generator=generator) < 0.5
    torch.testing.assert_close(fusedmax(z, 0.3, mask=keep)[:, keep], fusedmax(z[:, keep], 0.3), atol=1e-14, rtol=0)


def test_without_total_variation_it_is_sparsemax():
    z = torch.randn(30, 9, dtype=torch.float64)
    torch.testing.assert_close(fusedmax(z, 0.0), sparsemax(z), atol=1e-14, rtol=0)


def test_lam_per_head_and_its_derivative():
    z = torch.randn(2, 3, 4, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    lam = torch.tensor([0.05, 0.2, 0.6], dtype=torch.float64).view(3, 1, 1).requires_grad_()
    assert torch.equal(fusedmax(z, lam)[:, 1], fusedmax(z[:, 1], 0.2))
    assert torch.autograd.gradcheck(fusedmax, (z[:1, :, :2], lam))
    mapped = torch.func.vmap(lambda weight: fusedmax(z, weight))(lam.view(3, 1))
    torch.testing.assert_close(mapped[2], fusedmax(z, 0.6))


def test_lam_out_of_its_domain_is_named():
    for lam in (-0.1, float("nan"), torch.tensor(-0.1)):
        with pytest.raises(ValueError, match="lam must be"):
            fusedmax(torch.zeros(4), lam)
    with pytest.raises(ValueError, match=r"lam of shape \(4,\)"):
        fusedmax(torch.zeros(2, 4), torch.full((4,), 0.1))
