"""The training loop: AdamW, clipped gradients, cross-entropy. It knows nothing of the model."""

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Schedule:
    """How long and how to train; see `conf/train`. The rate rises over `warmup` steps, and may fall to 0 after them."""

    epochs: int
    batch_size: int | None
    learning_rate: float
    weight_decay: float
    clip_norm: float | None
    passes: int = 1
    beta2: float = 0.999
    warmup: int = 0
    decay: Literal["none", "cosine"] = "none"

    def steps(self, rows: int) -> int:
        """The number of steps of one epoch over so many rows."""
        return self.passes * (1 if self.batch_size is None else -(-rows // self.batch_size))

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of step 0 … `steps` - 1 of the whole training."""
        rise = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        done = max(0, step - self.warmup) / max(1, steps - self.warmup)
        fall = (1 + math.cos(math.pi * done)) / 2 if self.decay == "cosine" else 1.0
        return self.learning_rate * rise * fall


@dataclass
class Curves:
    """One entry per epoch. `cpu_seconds`, of all threads, hardly depend on what else the machine does."""

    train_loss: list[float] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    extra: dict[str, list[Any]] = field(default_factory=dict)


class NonFiniteLossError(FloatingPointError):
    """Training reached a loss that is no finite number."""


def train(
    model: nn.Module,
    forward: Callable[[Tensor], Tensor],
    x: Tensor,
    y: Tensor,
    schedule: Schedule,
    order: torch.Generator,
    after_epoch: Callable[[int, Curves], dict[str, Any]],
) -> Curves:
    """Train `model`, whose class scores for inputs are `forward(inputs)`, on rows `x` with classes `y`.

    `order` draws the batches; an epoch is `schedule.passes` passes over the rows. For `after_epoch` and what is raised
    see `train_on`.
    """

    def one_pass() -> Iterator[tuple[Tensor, Tensor]]:
        if schedule.batch_size is None:
            return iter([(x, y)])
        return ((x[batch], y[batch]) for batch in batches(len(x), schedule.batch_size, order, x.device))

    def one_epoch() -> Iterable[tuple[Tensor, Tensor]]:
        return itertools.chain.from_iterable(one_pass() for _ in range(schedule.passes))

    return train_on(model, forward, one_epoch, schedule.steps(len(x)), schedule, after_epoch)


def train_on(
    model: nn.Module,
    forward: Callable[[Tensor], Tensor],
    one_epoch: Callable[[], Iterable[tuple[Tensor, Tensor]]],
    steps_per_epoch: int,
    schedule: Schedule,
    after_epoch: Callable[[int, Curves], dict[str, Any]],
) -> Curves:
    """Train `model` on the batches (inputs, classes) of as many epochs, each of `steps_per_epoch`.

    `after_epoch(epoch, curves)` runs outside the clock; what it returns joins the curves. Raises NonFiniteLossError at
    the end of an epoch whose mean loss is not finite.
    """
    optimizer = make_optimizer(model, schedule)
    curves = Curves()
    device = next(model.parameters()).device
    changes = schedule.warmup > 0 or schedule.decay != "none"
    total = 0
    for epoch in range(1, schedule.epochs + 1):
        model.train()
        start, cpu_start = time.perf_counter(), time.process_time()
        loss_sum = torch.zeros((), device=device)
        norm_sum = torch.zeros((), device=device)
        steps = seen = 0
        for rows, classes in one_epoch():
            if changes:
                optimizer.param_groups[0]["lr"] = schedule.rate(total, schedule.epochs * steps_per_epoch)
            loss, norm = step(model, forward, optimizer, rows, classes, schedule.clip_norm)
            norm_sum += norm
            loss_sum += loss * len(rows)
            seen += len(rows)
            steps += 1
            total += 1
        mean_loss = loss_sum.item() / seen
        curves.seconds.append(time.perf_counter() - start)
        curves.cpu_seconds.append(time.process_time() - cpu_start)
        mean_norm = norm_sum.item() / steps
        if not math.isfinite(mean_loss + mean_norm):
            raise NonFiniteLossError(
                f"epoch {epoch} ends with training loss {mean_loss} and gradient norm {mean_norm}; "
                "a lower train.learning_rate may help"
            )
        curves.train_loss.append(mean_loss)
        curves.gradient_norm.append(mean_norm)
        for name, value in after_epoch(epoch, curves).items():
            curves.extra.setdefault(name, []).append(value)
    return curves


def make_optimizer(model: nn.Module, schedule: Schedule) -> torch.optim.Optimizer:
    """AdamW, in one fused pass over the parameters."""
    rate, decay, betas = schedule.learning_rate, schedule.weight_decay, (0.9, schedule.beta2)
    return torch.optim.AdamW(model.parameters(), lr=rate, betas=betas, weight_decay=decay, fused=True)


def step(
    model: nn.Module,
    forward: Callable[[Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    x: Tensor,
    y: Tensor,
    clip_norm: float | None,
) -> tuple[Tensor, Tensor]:
    """One step on a batch; returns its mean loss and the norm of its gradient before clipping, both 0-d.

    With `clip_norm=None` nothing is clipped.
    """
    scores = forward(x)
    if scores.ndim == 3:  # one row per token: that loss has the same bits each time on a GPU as well
        scores, y = scores.transpose(1, 2).flatten(0, 1), y.flatten()
    loss = F.cross_entropy(scores, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    if clip_norm is None:
        norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    else:
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
    optimizer.step()
    return loss.detach(), norm


def batches(rows: int, size: int, order: torch.Generator, device: torch.device) -> Iterator[Tensor]:
    """Index tensors of one epoch: all rows in a fresh order, `size` at a time, the last batch as short as it falls."""
    return iter(torch.randperm(rows, generator=order).to(device).split(size))
