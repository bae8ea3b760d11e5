"""The training loop: AdamW at a constant rate, clipped gradients, cross-entropy. It knows nothing of the model."""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Schedule:
    """How long and how to train; see `conf/train`."""

    epochs: int
    batch_size: int | None
    learning_rate: float
    weight_decay: float
    clip_norm: float
    passes: int = 1


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

    `order` draws the batches; an epoch is `schedule.passes` passes over the rows. `after_epoch(epoch, curves)` runs
    outside the clock; what it returns joins them. Raises NonFiniteLossError at the end of an epoch whose mean loss is
    not finite.
    """
    optimizer = make_optimizer(model, schedule)
    curves = Curves()

    def one_pass() -> Iterator[tuple[Tensor, Tensor]]:
        if schedule.batch_size is None:
            return iter([(x, y)])
        return ((x[batch], y[batch]) for batch in batches(len(x), schedule.batch_size, order, x.device))

    for epoch in range(1, schedule.epochs + 1):
        model.train()
        start, cpu_start = time.perf_counter(), time.process_time()
        loss_sum = torch.zeros((), device=x.device)
        norm_sum = torch.zeros((), device=x.device)
        steps = 0
        for rows, classes in itertools.chain.from_iterable(one_pass() for _ in range(schedule.passes)):
            loss, norm = step(model, forward, optimizer, rows, classes, schedule.clip_norm)
            norm_sum += norm
            loss_sum += loss * len(rows)
            steps += 1
        mean_loss = loss_sum.item() / (len(x) * schedule.passes)
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
    rate, decay = schedule.learning_rate, schedule.weight_decay
    return torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay, fused=True)


def step(
    model: nn.Module,
    forward: Callable[[Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    x: Tensor,
    y: Tensor,
    clip_norm: float,
) -> tuple[Tensor, Tensor]:
    """One step on a batch; returns its mean loss and the norm of its gradient before clipping, both 0-d."""
    loss = F.cross_entropy(forward(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
    optimizer.step()
    return loss.detach(), norm


def batches(rows: int, size: int, order: torch.Generator, device: torch.device) -> Iterator[Tensor]:
    """Index tensors of one epoch: all rows in a fresh order, `size` at a time, the last batch as short as it falls."""
    return iter(torch.randperm(rows, generator=order).to(device).split(size))
