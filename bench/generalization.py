"""What a run of a causal model trains on and measures: short sequences drawn anew, and longer ones to write."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from bench.causal import CausalTransformer
from bench.logged import BY_LENGTH, by_head, epoch_values
from bench.measure import STATISTICS
from bench.memory import reset_peak
from bench.sequences import Batches, Lot, lots
from bench.tracking import attention_maps
from bench.train import Curves, NonFiniteLossError, train_on
from bench.trial import Trial
from normalizers import support_share

SLOTS = 2**22
"""Attention weights of one head that are held at a time, or those of one sequence; changes nothing beyond rounding."""


@dataclass(frozen=True)
class Written:
    """What came of the sequences of one length.

    exact_match: share of sequences whose answers are all right. token_accuracy: share of answers that are right after
    the true ones before. loss: mean cross-entropy of the answers. attention: each of `STATISTICS` as blocks × heads,
    mean over the queries that an answer is read from; of support, among the keys that the query may see. seconds: of
    the model's passes alone.
    """

    length: int
    rows: int
    exact_match: float
    token_accuracy: float
    loss: float
    attention: dict[str, list[list[float]]]
    seconds: float


def measured(trial: Trial) -> dict[str, Any]:
    """Train the model and give what its record says of it: metrics and attention at the longest length, and by length.

    Raises NonFiniteLossError where training or a test ends in no finite loss.
    """
    config, model = trial.config, trial.model
    assert isinstance(model, CausalTransformer)  # no other takes sequences
    batches = Batches(config, trial.config.schedule, trial.device)
    tested = lots(config, trial.prepared, trial.device)
    reset_peak(trial.device)

    def after_epoch(epoch: int, curves: Curves) -> dict[str, Any]:
        if trial.tracker.watches:
            told = epoch_values(trial.last(curves), batches.steps) | _told(written(model, tested[0]))
            trial.tracker.epoch(epoch, told)
        return {}

    with trial.training(after_epoch) as (forward, after):
        curves = train_on(model, forward, batches, batches.steps, trial.config.schedule, after)
    with trial.precision():
        results = [written(model, lot) for lot in tested]
        if trial.tracker.watches:
            trial.seen.maps = attention_maps(model, tested[0].ids[:, :-1])
    for result in results:
        if not np.isfinite(result.loss):
            raise NonFiniteLossError(
                f"the test loss at length {result.length} is {result.loss}; a lower train.learning_rate may help"
            )
    learned, longest = trial.learned(), results[-1]
    return {
        "metrics": {
            "accuracy": longest.exact_match,
            "test_loss": longest.loss,
            "support": float(np.mean(longest.attention["support"])),
            **trial.cost(curves, sum(result.seconds for result in results)),
            "alpha_mean": float(np.mean(learned["alpha"])) if "alpha" in learned else None,
        },
        "attention": {**longest.attention, **learned, BY_LENGTH: by_length(results)},
        "curves": trial.curves(curves),
    }


def _told(shortest: Written) -> dict[str, float]:
    """What a tracker is told after each epoch, of the sequences of one length."""
    values = {
        f"test/exact_match/{shortest.length}": shortest.exact_match,
        f"test/token_accuracy/{shortest.length}": shortest.token_accuracy,
        "test/loss": shortest.loss,
    }
    for name, per_block in shortest.attention.items():
        values |= by_head(f"attention/{name}", per_block)
    return values


@torch.inference_mode()
def written(model: CausalTransformer, tested: Lot) -> Written:
    """How well `model` writes the answers of sequences of one length.

    One pass over the true sequences tells whether greedy decoding (`bench.causal.decode`) writes them: it does exactly
    where every answer is the likeliest token after the true ones, for then it never leaves them.
    """
    model.eval()
    tokens = tested.ids.shape[1] - 1
    right = asked = exact = loss = seconds = 0.0
    totals = {name: torch.zeros(model.shape.blocks, model.shape.heads, dtype=torch.float64) for name in STATISTICS}
    size = max(1, SLOTS // tokens**2)
    for ids, answers in zip(tested.ids.split(size), tested.answers.split(size), strict=True):
        start = time.perf_counter()
        scores, weights = model(ids[:, :-1])
        if torch.accelerator.is_available():
            torch.accelerator.synchronize()
        seconds += time.perf_counter() - start
        follow, wanted = ids[:, 1:], answers[:, 1:]
        hit = (scores.argmax(1) == follow) | ~wanted
        exact += hit.all(1).sum().item()
        right += (hit & wanted).sum().item()
        asked += wanted.sum().item()
        loss += F.cross_entropy(scores.float().transpose(1, 2)[wanted], follow[wanted], reduction="sum").item()
        visible = model.mask(tokens, ids.device).expand(len(ids), -1, -1)[wanted][:, None]
        for block, of_block in enumerate(weights):
            of_answers = of_block.float().transpose(1, 2)[wanted]  # (queries that an answer is read from, heads, keys)
            for name, statistic in STATISTICS.items():
                of_rows = support_share(of_answers, mask=visible) if name == "support" else statistic(of_answers)
                totals[name][block] += of_rows.double().sum(0).cpu()
    rows = len(tested.ids)
    attention = {name: (total / asked).tolist() for name, total in totals.items()}
    return Written(tested.length, rows, exact / rows, right / asked, loss / asked, attention, seconds)


def by_length(results: list[Written]) -> dict[str, list[Any]]:
    """Results of several lengths as a record holds them: one entry per length under each name."""
    names = ("length", "rows", "exact_match", "token_accuracy", "loss")
    of_rows = {name: [getattr(result, name) for result in results] for name in names}
    return of_rows | {name: [result.attention[name] for result in results] for name in STATISTICS}
