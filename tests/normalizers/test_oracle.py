"""Properties of the entmax family over open-ended rows, among them: equal to bisection of 200 steps."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from normalizers import entmax, entmax15, softmax, sparsemax
from tests.normalizers.oracle import entmax_by_bisection

COMMON = settings(max_examples=150, deadline=None, derandomize=True)
ENTRY = st.one_of(st.integers(-4, 4).map(lambda i: i / 4), st.floats(-3, 3, allow_subnormal=False))
"""Scores before scaling; quarters make ties."""


@st.composite
def rows(draw):
    values = draw(st.lists(ENTRY, min_size=1, max_size=50))
    return torch.tensor(values, dtype=torch.float64) * 10.0 ** draw(st.integers(-3, 6))


def close(a, b, atol):
    torch.testing.assert_close(a, b, atol=atol, rtol=0)


@COMMON
@given(rows(), st.floats(1.02, 4.0))
def test_entmax_equals_bisection(z, alpha):
    # Near zero a weight is the power 1/(α-1) of a difference, which magnifies rounding for α > 2.
    close(entmax(z, alpha), entmax_by_bisection(z, alpha), 1e-10 if alpha <= 2 else 1e-5)


@COMMON
@given(rows(), st.floats(1.0, 1.02))
def test_entmax_between_softmax_and_bisection_near_one(z, alpha):
    expected = torch.softmax(z, -1) if alpha == 1 else entmax_by_bisection(z, 1.02)
    low, high = sorted((softmax(z).amax().item(), entmax_by_bisection(z, 1.02).amax().item()))
    p = entmax(z, alpha)
    assert low - 1e-9 <= p.amax().item() <= high + 1e-9
    close(p.sum(-1), torch.ones((), dtype=torch.float64), 1e-12)
    close(p, expected, 0.05)


@COMMON
@given(rows())
def test_named_maps_equal_bisection(z):
    close(entmax15(z), entmax_by_bisection(z, 1.5), 1e-10)
    close(sparsemax(z), entmax_by_bisection(z, 2.0), 1e-10)
    close(softmax(z), torch.softmax(z, -1), 1e-14)


@COMMON
@given(rows(), st.floats(1.0, 4.0))
def test_equal_scores_get_equal_weights_and_larger_ones_no_less(z, alpha):
    for p in (entmax(z, alpha), entmax15(z), sparsemax(z), softmax(z)):
        order = z.argsort()
        assert (p[order].diff() >= 0).all()
        assert (p[order].diff()[z[order].diff() == 0] == 0).all()
        close(p.sum(-1), torch.ones((), dtype=torch.float64), 1e-12)


@COMMON
@given(rows(), st.floats(1.0, 2.0))
def test_float32_is_float64_rounded(z, alpha):
    single = z.float()
    for map_ in (lambda s: entmax(s, alpha), entmax15, sparsemax, softmax):
        close(map_(single).double(), map_(single.double()), 1e-5)
