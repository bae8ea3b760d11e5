import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.streams import stream
from bench.train import Curves, NonFiniteLossError, Schedule, batches, make_optimizer, step, train

USUAL = {"epochs": 1, "batch_size": 4, "learning_rate": 1e-3, "weight_decay": 0.0, "clip_norm": 5.0}


def problem(rows: int = 96) -> tuple[nn.Linear, Tensor, Tensor]:
    """A linear model, and rows that a line divides."""
    torch.manual_seed(0)
    x = torch.randn(rows, 2)
    return nn.Linear(2, 2), x, (x[:, 0] > 0).long()


def fit(model: nn.Module, x: Tensor, y: Tensor, **changes: float) -> Curves:
    schedule = Schedule(**USUAL | changes)  # type: ignore[arg-type]
    return train(model, model, x, y, schedule, stream(0, "batches"), lambda epoch, _: {"epoch": epoch})


def test_a_tiny_problem_is_learned_and_every_epoch_leaves_one_entry() -> None:
    model, x, y = problem()
    curves = fit(model, x, y, epochs=12, batch_size=10, learning_rate=0.1)
    assert (model(x).argmax(-1) == y).float().mean() > 0.95
    assert curves.train_loss[-1] < 0.3 * curves.train_loss[0]
    assert curves.extra == {"epoch": list(range(1, 13))}
    assert [len(c) for c in (curves.train_loss, curves.gradient_norm, curves.seconds)] == [12, 12, 12]
    assert all(seconds > 0 for seconds in curves.seconds)


def test_the_loss_of_an_epoch_weighs_a_short_last_batch_by_its_rows() -> None:
    model, x, y = problem(10)
    expected = F.cross_entropy(model(x), y).item()
    curves = fit(model, x, y, learning_rate=1e-12)
    assert curves.train_loss == pytest.approx([expected], abs=1e-6)


def test_the_norm_is_that_before_clipping_and_the_step_takes_the_clipped_one() -> None:
    model, x, y = problem(4)
    gradients = torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))
    norm = torch.cat([g.flatten() for g in gradients]).norm().item()
    curves = fit(model, x, y, clip_norm=norm / 3)
    assert curves.gradient_norm == pytest.approx([norm], rel=1e-5)
    left = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm().item()
    assert left == pytest.approx(norm / 3, rel=1e-4)


def test_the_first_step_is_adamws() -> None:
    model, x, y = problem(4)
    before = [p.detach().clone() for p in model.parameters()]
    gradients = torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))
    fit(model, x, y, learning_rate=0.01, weight_decay=0.5)
    for p, start, gradient in zip(model.parameters(), before, gradients, strict=True):
        # Adam's first step has the length of the rate whatever the gradient; decay is decoupled from it.
        expected = start * (1 - 0.01 * 0.5) - 0.01 * gradient.sign()
        torch.testing.assert_close(p.detach(), expected, rtol=0, atol=1e-5)


def test_the_model_trains_in_training_mode_whatever_an_epoch_leaves_it_in() -> None:
    model, x, y = problem(8)
    seen = []

    def forward(rows: Tensor) -> Tensor:
        seen.append(model.training)
        return model(rows)

    def after(_epoch: int, _curves: Curves) -> dict[str, object]:
        model.eval()
        return {}

    train(model, forward, x, y, Schedule(**USUAL | {"epochs": 2}), stream(0, "batches"), after)  # type: ignore[arg-type]
    assert seen == [True] * 4


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_ends_training_and_names_the_epoch(bad: float) -> None:
    model, x, y = problem(8)
    steps = 0

    def forward(rows: Tensor) -> Tensor:
        nonlocal steps
        steps += 1
        return model(rows) * (bad if steps == 3 else 1)

    schedule = Schedule(**USUAL | {"epochs": 5})  # type: ignore[arg-type]
    with pytest.raises(
        NonFiniteLossError,
        match=r"epoch \d ends with training loss \S+ and gradient norm \S+; a lower train.learning_rate may help",
    ):
        train(model, forward, x, y, schedule, stream(0, "batches"), lambda *_: {})
    assert steps == 4


def test_an_epoch_of_8000_rows_at_96_is_84_steps_with_the_short_last_batch_kept() -> None:
    order = stream(0, "batches")
    first = list(batches(8000, 96, order, torch.device("cpu")))
    second = list(batches(8000, 96, order, torch.device("cpu")))
    for epoch in (first, second):
        assert [len(batch) for batch in epoch] == [96] * 83 + [32]
        assert torch.equal(torch.cat(epoch).sort().values, torch.arange(8000))
    assert not torch.equal(torch.cat(first), torch.cat(second))


def test_the_rate_rises_holds_or_falls_by_hand() -> None:
    still = Schedule(**USUAL)
    assert {still.rate(step, 10) for step in range(10)} == {still.learning_rate}
    shaped = Schedule(**USUAL | {"learning_rate": 1.0, "warmup": 2, "decay": "cosine"})
    assert [shaped.rate(step, 6) for step in range(6)] == pytest.approx(
        [0.5, 1.0, 1.0, (1 + 2**-0.5) / 2, 0.5, (1 - 2**-0.5) / 2]
    )


def test_scores_of_tokens_and_of_rows_are_one_loss() -> None:
    torch.manual_seed(0)
    logits, y = torch.randn(4, 3, 5), torch.tensor([[0, 1, -100, 2, 1]] * 4)
    losses = []
    for scores, classes in ((logits, y), (logits.transpose(1, 2).flatten(0, 1), y.flatten())):
        model = nn.ParameterList([scores.clone()])
        optimizer = make_optimizer(model, Schedule(**USUAL))
        losses.append(step(model, lambda _: model[0], optimizer, scores, classes, 1.0)[0])  # noqa: B023
    assert losses[0] == losses[1]
