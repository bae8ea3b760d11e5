import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bench.measure import BATCH, attention_statistics, predict
from bench.model import CompactClassifier, Shape
from normalizers import Normalizer

N = 5  # keys, CLS among them


class Staircase(Normalizer):
    """Query i of head h weighs the first i + 1 keys alike, and head 1 the rest just below or just above 1e-7."""

    def __init__(self, heads: int, rest: float) -> None:
        super().__init__(heads)
        self.rest = rest

    def forward(self, scores: Tensor, mask: Tensor | None = None, queries: Tensor | None = None) -> Tensor:
        weights = torch.zeros_like(scores)
        weights[:, 1] = self.rest
        for query in range(scores.shape[-2]):
            weights[:, :, query, : query + 1] = 1 / (query + 1)
        return weights


@pytest.mark.parametrize("rows", [3, BATCH + 7])
def test_statistics_are_means_over_all_queries_per_block_and_head_and_support_is_what_is_above_1e_7(rows: int) -> None:
    shape = Shape(inputs=3, tokens=N - 1, classes=2, tokens_are_ids=False, width=8, heads=2, blocks=2)
    model = CompactClassifier(shape, [Staircase(2, 0.99e-7), Staircase(2, 1.01e-7)])
    share = (N + 1) / (2 * N)  # the mean of 1/n, 2/n, ... n/n
    found = attention_statistics(model, torch.randn(rows, N - 1, 3))
    assert found["support"] == [pytest.approx([share, share]), pytest.approx([share, 1.0])]
    entropy = sum(math.log(kept) for kept in range(1, N + 1)) / N
    peak = sum(1 / kept for kept in range(1, N + 1)) / N
    assert found["entropy"] == [pytest.approx([entropy, entropy], abs=1e-5)] * 2
    assert found["peak"] == [pytest.approx([peak, peak])] * 2


class Given(nn.Module):
    """Class scores that are the inputs themselves."""

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        assert not self.training
        return x, []


def test_accuracy_macro_f1_and_loss_of_a_small_table() -> None:
    truth, said = [0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 2, 0]
    scores = 5.0 * nn.functional.one_hot(torch.tensor(said), 3).float()
    found = predict(Given(), scores, torch.tensor(truth))  # type: ignore[arg-type]
    assert found.accuracy == pytest.approx(4 / 6)
    assert found.macro_f1 == pytest.approx((1 / 2 + 4 / 5 + 2 / 3) / 3)
    assert found.loss == pytest.approx(math.log(math.exp(5) + 2) - 5 * 4 / 6, abs=1e-6)
    assert found.predictions.tolist() == said
    assert found.predictions.dtype == np.int64
    assert found.seconds > 0


def test_a_class_never_said_counts_as_zero_in_macro_f1() -> None:
    scores = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    found = predict(Given(), scores, torch.tensor([0, 1]))  # type: ignore[arg-type]
    assert found.macro_f1 == pytest.approx((2 / 3 + 0) / 2)


def test_rows_beyond_one_batch_are_measured_in_their_order() -> None:
    torch.manual_seed(0)
    scores, truth = torch.randn(2 * BATCH + 9, 4), torch.randint(4, (2 * BATCH + 9,))
    found = predict(Given(), scores, truth)  # type: ignore[arg-type]
    assert found.predictions.tolist() == scores.argmax(-1).tolist()
    assert found.loss == pytest.approx(nn.functional.cross_entropy(scores, truth).item(), abs=1e-6)
