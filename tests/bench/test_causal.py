"""The causal model: positions by hand, what a query may see, and greedy decoding."""

import math

import pytest
import torch

from bench.causal import CausalShape, CausalTransformer, decode
from bench.positions import bias, rotated, scaled_heads, slopes
from bench.streams import global_stream
from normalizers import build

POSITIONS = ("nope", "alibi", "rope", "nape")
MAPS = {
    "softmax": {},
    "scalable_softmax": {},
    "entmax15": {},
    "asentmax": {"alpha": 1.5},
    "topk": {"k": 2},
    "stick_breaking": {},
    "sink_softmax": {},
}


def make(positions="nape", name="softmax", **options):
    shape = CausalShape(inputs=16, tokens=99, classes=16, tokens_are_ids=True, positions=positions)
    with global_stream(0, "weights"):
        normalizers = [build(name, shape.heads, 16, **(MAPS[name] | options)) for _ in range(shape.blocks)]
        return CausalTransformer(shape, normalizers).eval()


def some_ids(tokens=12, batch=3):
    return torch.randint(1, 16, (batch, tokens), generator=torch.Generator().manual_seed(5))


def test_slopes_and_bias_by_hand():
    assert slopes("nope", 4) is slopes("rope", 4) is None
    assert slopes("alibi", 4).tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    assert slopes("nape", 4).tolist() == [1, 0.5, 0, 0]
    assert bias(torch.tensor([1.0, 0.5]), 3).tolist() == [
        [[0, 1, 2], [-1, 0, 1], [-2, -1, 0]],
        [[0, 0.5, 1], [-0.5, 0, 0.5], [-1, -0.5, 0]],
    ]


def test_only_heads_without_positions_scale_by_length_under_nape():
    assert scaled_heads("nape", 4) == [False, False, True, True]
    assert all(all(scaled_heads(positions, 4)) for positions in ("nope", "alibi", "rope"))


def test_rotation_by_hand_and_by_what_it_is_for():
    x = torch.tensor([[1.0, 0.0, 0.0, 0.0]] * 3)
    turned = rotated(x)
    torch.testing.assert_close(turned[:, 0], torch.tensor([1.0, math.cos(1), math.cos(2)]))
    torch.testing.assert_close(turned[:, 2], torch.tensor([0.0, math.sin(1), math.sin(2)]))
    second = rotated(torch.tensor([[0.0, 1.0, 0.0, 0.0]] * 3))  # base 10,000 at width 4: a hundredth of the speed
    torch.testing.assert_close(second[2, [1, 3]], torch.tensor([math.cos(0.02), math.sin(0.02)]))
    # A product depends on how far apart two places are, and on nothing else.
    q, k = torch.randn(2, 1, 16, generator=torch.Generator().manual_seed(0))
    products = rotated(q.expand(9, -1)) @ rotated(k.expand(9, -1)).T
    for offset in range(-8, 9):
        diagonal = products.diagonal(offset)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-5, rtol=0)
    assert (products[0] - products[0, 0]).abs().max() > 0.1


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("name", MAPS)
def test_nothing_that_follows_changes_what_is_written(positions, name):
    model, ids = make(positions, name), some_ids()
    other = ids.clone()
    other[:, 8:] = 17 - other[:, 8:].clamp(2, 15)
    (scores, weights), (changed, _) = model(ids), model(other)
    assert scores.shape == (3, 16, 12)
    assert torch.equal(scores[:, :, :8], changed[:, :, :8])
    assert not torch.equal(scores[:, :, 8:], changed[:, :, 8:])
    first = 0 if name == "stick_breaking" else 1  # whose queries see what lies before them, and not themselves
    for of_block in weights:
        assert of_block.shape == (3, 4, 12, 12)
        assert of_block.triu(first).count_nonzero() == 0
        assert of_block[:, :, 5].count_nonzero() > 0


def test_asentmax_scales_the_heads_without_positions_alone():
    """With β = 1 and γ = 1 a head that is scaled differs from entmax-1.5, and one that is not is entmax-1.5."""
    scaled, plain = make("nape", "asentmax"), make("nape", "entmax15")
    plain.load_state_dict({k: v for k, v in scaled.state_dict().items() if "normalizer" not in k}, strict=False)
    for block in scaled.blocks:
        block.attention.normalizer.offsets.data[0] = math.log(math.e - 1)
        block.attention.normalizer.offsets.data[1] = math.atanh(0.5)
    ids = some_ids()
    ours, theirs = scaled(ids)[1][0], plain(ids)[1][0]
    assert torch.equal(ours[:, :2], theirs[:, :2])
    assert (ours[:, 2:] - theirs[:, 2:]).abs().max() > 0.01


def test_alibi_prefers_near_keys_and_without_positions_order_does_not_matter():
    ids = torch.full((1, 9), 7)
    _, weights = make("nape")(ids)
    near = weights[0][0, :, -1]
    assert (near[:2].diff(dim=-1) > 0).all()
    torch.testing.assert_close(near[2:], torch.full((2, 9), 1 / 9))


def test_decoding_writes_answers_one_by_one_and_leaves_the_rest():
    """A stand-in whose likeliest next token is the last one plus one, modulo 16."""

    class Successor(torch.nn.Module):
        def forward(self, ids):
            return torch.nn.functional.one_hot((ids + 1) % 16, 16).float().transpose(1, 2), []

    ids = torch.tensor([[3, 9, 9, 9, 2], [15, 0, 5, 6, 7]])
    answers = torch.tensor([[False, True, True, False, True], [False, False, False, True, False]])
    assert decode(Successor(), ids, answers).tolist() == [[3, 4, 5, 9, 10], [15, 0, 5, 6, 7]]


def test_decoding_does_not_look_at_the_answers():
    model, ids = make(), some_ids()
    answers = torch.zeros_like(ids, dtype=torch.bool)
    answers[:, 6:] = True
    hidden = torch.where(answers, 1, ids)
    assert torch.equal(decode(model, ids, answers), decode(model, hidden, answers))
