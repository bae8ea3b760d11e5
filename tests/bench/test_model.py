"""The classifier: its size, its arithmetic against torch's own encoder layer, masks and dropout."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.model import CompactClassifier, Dropout, Shape
from bench.run import make_normalizer
from normalizers import Normalizer, build
from tests.bench.helpers import CONF, config

IMAGES = Shape(inputs=49, tokens=16, classes=10, tokens_are_ids=False)
PUBLISHED = {
    "cifar10": (Shape(192, 16, 10, tokens_are_ids=False), 114_122),
    "fashion_mnist and kmnist": (IMAGES, 104_970),
    "twenty_newsgroups": (Shape(20_000, 96, 20, tokens_are_ids=True), 1_387_540),
    "marker": (Shape(20_000, 96, 10, tokens_are_ids=True), 1_386_890),
}
NORMALIZERS = sorted(path.stem for path in (CONF / "normalizer").glob("*.yaml"))


def make(shape: Shape, name: str = "softmax") -> CompactClassifier:
    """A float64 model in evaluation mode whose attention is far from uniform, so that sparse maps have zeros."""
    torch.manual_seed(1)
    model = CompactClassifier(shape, [make_normalizer(config(normalizer=name)) for _ in range(shape.blocks)])
    with torch.no_grad():
        for block in model.blocks:
            block.attention.query_key_value.weight.mul_(8)
        model.positions.mul_(20)
    return model.double().eval()


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize(("normalizer", "more"), [("softmax", 0), ("topk_025", 0), ("hae", 8)])
def test_parameter_counts_are_the_published_ones(name: str, normalizer: str, more: int) -> None:
    shape, expected = PUBLISHED[name]
    model = make(shape, normalizer)
    assert sum(p.numel() for p in model.parameters()) == expected + more


def test_the_arithmetic_is_that_of_torchs_post_norm_encoder() -> None:
    model = make(IMAGES)
    x = torch.randn(3, 16, 49, dtype=torch.float64)
    rows = torch.cat([model.cls.expand(3, 1, 64), F.linear(x, model.embedding.weight, model.embedding.bias)], 1)
    rows = rows + model.positions
    for block in model.blocks:
        layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, activation="gelu", batch_first=True).double()
        attention, ours = layer.self_attn, block.attention
        attention.in_proj_weight, attention.in_proj_bias = ours.query_key_value.weight, ours.query_key_value.bias
        attention.out_proj, layer.linear1, layer.linear2 = ours.output, block.expand, block.contract
        layer.norm1, layer.norm2 = block.norm1, block.norm2
        rows = layer(rows)
    expected = F.linear(rows[:, 0], model.head.weight, model.head.bias)
    torch.testing.assert_close(model(x)[0], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_the_cls_row_alone_gives_the_scores_and_gradients_of_all_rows(name: str) -> None:
    model = make(IMAGES, name)
    x, y = torch.randn(5, 16, 49, dtype=torch.float64), torch.arange(5)
    found = []
    for full_rows in (False, True):
        scores, weights = model(x, full_rows=full_rows)
        model.zero_grad()
        F.cross_entropy(scores, y).backward()
        gradients = {key: p.grad for key, p in model.named_parameters()}
        assert all(gradient is not None for gradient in gradients.values())
        found.append((scores.detach(), weights[-1][:, :, :1].detach(), gradients))
        assert [w.shape for w in weights] == [(5, 4, 17, 17), (5, 4, 17 if full_rows else 1, 17)]
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-6)
    assert found[0][2]["cls"].abs().max() > 1e-4


def test_scores_are_divided_by_the_root_of_the_head_width() -> None:
    seen: list[Tensor] = []

    class Recording(Normalizer):
        def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
            seen.append(scores)
            return scores.softmax(-1)

    shape = Shape(inputs=3, tokens=2, classes=2, tokens_are_ids=False, width=32, heads=2, blocks=1)
    model = CompactClassifier(shape, [Recording(2)]).eval()
    x = torch.randn(1, 2, 3)
    model(x, full_rows=True)
    rows = (torch.cat([model.cls, model.embedding(x)], 1) + model.positions)[0]
    projected = model.blocks[0].attention.query_key_value(rows)  # q, then k, then v; heads of 16 within each
    query, key = projected[2, 16:32], projected[1, 48:64]
    assert seen[0][0, 1, 2, 1].item() == pytest.approx((query @ key).item() / 4, abs=1e-6)


def extended(model: CompactClassifier, tokens: int) -> CompactClassifier:
    """The same model for longer rows: what positions it lacks are drawn anew."""
    longer = CompactClassifier(Shape(**vars(model.shape) | {"tokens": tokens}), model.normalizers())
    longer = longer.double().eval()
    state = model.state_dict()
    old = state.pop("positions")
    longer.load_state_dict(state, strict=False)
    with torch.no_grad():
        longer.positions[:, : old.shape[1]] = old
        longer.positions[:, old.shape[1] :].mul_(50)
    return longer


@pytest.mark.parametrize("name", NORMALIZERS)
@pytest.mark.parametrize("masked", [True, False])
def test_appended_padding_changes_scores_exactly_where_it_is_not_masked(name: str, masked: bool) -> None:
    model = make(Shape(inputs=30, tokens=6, classes=4, tokens_are_ids=True, mask_padding=masked), name)
    ids = torch.randint(1, 30, (4, 6))
    with torch.no_grad():
        short, _ = model(ids)
        long, weights = extended(model, 11)(F.pad(ids, (0, 5)))
    difference = (short - long).abs().max().item()
    assert difference < 1e-12 if masked else difference > 1e-3
    on_padding = weights[0][..., 7:].abs().sum().item()
    assert on_padding == 0 if masked else on_padding > 0


def test_a_row_of_nothing_but_padding_still_attends_to_cls() -> None:
    model = make(Shape(inputs=30, tokens=6, classes=4, tokens_are_ids=True, mask_padding=True))
    scores, weights = model(torch.zeros(1, 6, dtype=torch.int64))
    assert scores.isfinite().all()
    assert torch.equal(weights[1][0, :, 0], F.one_hot(torch.tensor(0), 7).double().expand(4, 7))


def test_the_padding_id_has_no_embedding_and_tokens_start_small() -> None:
    torch.manual_seed(0)
    shape = PUBLISHED["marker"][0]
    model = CompactClassifier(shape, [build("softmax", 4) for _ in range(2)])
    assert model.embedding.weight[0].abs().max() == 0  # type: ignore[union-attr, operator]
    assert model.positions.std().item() == pytest.approx(0.02, rel=0.05)
    assert model.cls.std().item() == pytest.approx(0.02, rel=0.4)


@pytest.mark.parametrize("number", [1, 3])
def test_there_is_one_normalizer_per_block(number: int) -> None:
    with pytest.raises(ValueError, match="zip"):
        CompactClassifier(IMAGES, [build("softmax", 4) for _ in range(number)])


def dropout(rate: float, seed: int = 0) -> Dropout:
    layer = Dropout(rate).train()
    layer.generator = torch.Generator().manual_seed(seed)
    return layer


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_has_its_rate_in_each_of_the_four_draws_of_a_word_and_keeps_the_mean(rate: float) -> None:
    out = dropout(rate)(torch.ones(400_000, 4))
    dropped = (out == 0).double()
    assert dropped.mean(0).tolist() == pytest.approx([rate] * 4, abs=0.004)  # 5 standard deviations
    assert (dropped[:, 0] * dropped[:, 1]).mean().item() == pytest.approx(rate**2, abs=0.004)
    assert out[out != 0].unique().tolist() == pytest.approx([1 / (1 - rate)], rel=1e-3)
    assert out.mean().item() == pytest.approx(1, abs=0.012)


@pytest.mark.parametrize("shape", [(7,), (2, 3, 5), (1, 1)])
def test_dropout_takes_any_shape_and_repeats_by_its_generator_alone(shape: tuple[int, ...]) -> None:
    x = torch.rand(shape) + 1
    first = dropout(0.5, seed=3)(x)
    torch.rand(9)
    assert first.shape == x.shape
    assert torch.equal(first, dropout(0.5, seed=3)(x))
    assert ((first == 0) | torch.isclose(first, 2 * x)).all()


@pytest.mark.parametrize("layer", [dropout(0.5).eval(), dropout(0.0)], ids=["eval", "rate 0"])
def test_dropout_off_changes_nothing_and_draws_nothing(layer: Dropout) -> None:
    assert layer.generator is not None
    before = layer.generator.get_state()
    x = torch.rand(64)
    assert torch.equal(layer(x), x)
    assert torch.equal(layer.generator.get_state(), before)


def test_dropout_sits_in_the_feed_forward_and_on_both_branches_and_not_on_attention() -> None:
    model = make(IMAGES).train()
    shapes: list[Any] = []
    for module in model.modules():
        if isinstance(module, Dropout):
            module.register_forward_hook(lambda _module, inputs, _out: shapes.append(tuple(inputs[0].shape)))
    model.draw_dropout_from(torch.Generator().manual_seed(0))
    model(torch.randn(2, 16, 49, dtype=torch.float64))
    assert shapes == [(2, 17, 64), (2, 17, 256), (2, 17, 64), (2, 1, 64), (2, 1, 256), (2, 1, 64)]
