"""What a run of a classifier trains on and measures: the rows of a data set, each with its class."""

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import inputs
from bench.logged import epoch_values
from bench.measure import MASS, attention_map, attention_statistics, predict
from bench.memory import reset_peak
from bench.streams import stream
from bench.tracking import attention_maps, watched
from bench.train import Curves, NonFiniteLossError, train
from bench.trial import Trial


def measured(trial: Trial) -> dict[str, Any]:
    """Train the model and give what its record says of it: metrics, attention, curves, predictions.

    Raises NonFiniteLossError where training or the test ends in no finite loss.
    """
    config, model = trial.config, trial.model
    data = inputs.tensors(config, trial.prepared, trial.device)
    reset_peak(trial.device)

    def after_epoch(epoch: int, curves: Curves) -> dict[str, Any]:
        held_out = {}
        if len(data.validation[0]):
            found = predict(model, *data.validation)
            held_out = {"validation_loss": found.loss, "validation_accuracy": found.accuracy}
        if trial.tracker.watches:
            trial.tracker.epoch(epoch, _told(trial, data, curves))
        return held_out

    with trial.training(after_epoch) as (forward, after):
        curves = train(model, forward, *data.train, trial.config.schedule, stream(config.seed, "batches"), after)
    with trial.precision():
        test, attention = predict(model, *data.test), attention_statistics(model, data.test[0], data.test_marks)
        marked = {} if data.test_marks is None else {"map": attention_map(model, data.test[0], data.test_marks)}
        held_out = predict(model, *data.validation) if len(data.validation[0]) else None
        if trial.tracker.watches:
            trial.seen.truth, trial.seen.predictions = data.test[1].cpu().numpy(), test.predictions
            trial.seen.maps = attention_maps(model, data.test[0])
    if not np.isfinite(test.loss):
        raise NonFiniteLossError(f"the test loss is {test.loss}; a lower train.learning_rate may help")
    learned = trial.learned()
    metrics: dict[str, float | None] = {
        "accuracy": test.accuracy,
        "macro_f1": test.macro_f1,
        "test_loss": test.loss,
        "support": float(np.mean(attention["support"])),
        **trial.cost(curves, test.seconds),
        "alpha_mean": float(np.mean(learned["alpha"])) if "alpha" in learned else None,
    }
    if MASS in attention:
        metrics[MASS] = float(np.mean(attention[MASS]))
    if held_out:
        metrics |= {"validation_accuracy": held_out.accuracy, "validation_macro_f1": held_out.macro_f1}
    return {
        "metrics": metrics,
        "attention": {**attention, **learned, **marked},
        "curves": trial.curves(curves),
        "predictions": encode(test.predictions),
    }


def _told(trial: Trial, data: inputs.Inputs, curves: Curves) -> dict[str, float]:
    """What a tracker is told of the last epoch, on validation rows where the run has some, else on test rows."""
    values = epoch_values(trial.last(curves), trial.config.schedule.steps(len(data.train[0])))
    rows, name = (data.validation, "validation") if len(data.validation[0]) else (data.test, "test")
    return values | watched(trial.model, rows, name)


def encode(predictions: NDArray[np.int64]) -> dict[str, Any]:
    """Predicted classes in the order of the run's test rows, compact: little-endian uint16, zlib, base64."""
    packed = zlib.compress(predictions.astype("<u2").tobytes(), level=9)
    return {"encoding": "base64 zlib <u2", "rows": len(predictions), "classes": base64.b64encode(packed).decode()}


def decode(content: Mapping[str, Any]) -> NDArray[np.int64]:
    """The inverse of `encode`."""
    return np.frombuffer(zlib.decompress(base64.b64decode(content["classes"])), dtype="<u2").astype(np.int64)
