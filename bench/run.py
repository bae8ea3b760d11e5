"""One run, from its configuration to its record."""

import base64
import os
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bench import ROOT, inputs, interrupts, provenance
from bench.allocator import keep_memory
from bench.arithmetic import Forward, autocast
from bench.attention_model import AttentionModel, Sizes
from bench.fingerprint import Identity
from bench.logged import epoch_values, steps
from bench.measure import MASS, attention_map, attention_statistics, predict
from bench.memory import peak_mb, reset_peak
from bench.models import MODELS
from bench.records import SCHEMA, Record
from bench.schema import RunConfig, TrainConfig
from bench.streams import global_stream, stream
from bench.tracking import NoTracker, Seen, Tracker, attention_maps, open_tracker, watched
from bench.train import Curves, NonFiniteLossError, Schedule, train
from normalizers import Normalizer, build, native


def perform(
    config: RunConfig, identity: Identity, code: Mapping[str, Any], keep: Callable[[Record], None] | None = None
) -> Record:
    """Carry out the run and return its record, whatever comes of it: completed, failed or interrupted.

    `code` is `provenance.code_version()` of the process that planned the run. The record goes to `keep` before a
    tracker hears of it, so that none is lost where a server is slow and somebody will not wait.
    """
    content = heading(config, identity, code)
    tracker: Tracker = NoTracker()
    seen = Seen()
    try:
        tracker = open_tracker(config, content)
        start = time.perf_counter()  # a tracker's own start is none of the run's time
        content |= _measured(config, content["provenance"], tracker, seen) | {"status": "completed"}
        content["metrics"]["wall_seconds"] = time.perf_counter() - start
    except KeyboardInterrupt:
        content |= {"status": "interrupted"}
    except Exception as error:
        content |= {"status": "failed", "error": describe(error)}
    record = Record.model_validate(content)
    try:
        if keep:
            with interrupts.held():
                keep(record)
    finally:
        tracker.end(record, seen)
    return record


def lost(config: RunConfig, identity: Identity, code: Mapping[str, Any], reason: str) -> Record:
    """The record of a run whose process died before it could write one."""
    failure = {"status": "failed", "error": describe(RuntimeError(reason))}
    return Record.model_validate(heading(config, identity, code) | failure)


def heading(config: RunConfig, identity: Identity, code: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says of any run, whatever comes of it."""
    return {
        "schema": SCHEMA,
        "dataset": config.dataset.name,
        "normalizer": config.normalizer.name,
        "seed": config.seed,
        "fingerprint": identity.fingerprint,
        "cell": identity.cell,
        "setting": identity.setting,
        "config": config.model_dump(include={"dataset", "normalizer", "model", "train", "seed"}),
        "provenance": {
            **code,
            **provenance.machine(),
            **{"threads": config.threads, "kernel": native.variant(), "compiled": config.compile},
        },
    }


def describe(error: BaseException) -> dict[str, str]:
    """What a failed record says of its error. Its file names lose the folders that code is imported from."""
    text = "".join(traceback.format_exception(error))
    for folder in sorted({str(ROOT), *sys.path}, key=len, reverse=True):
        text = text.replace(f"{folder}{os.sep}", "") if folder else text
    return {"type": type(error).__name__, "message": str(error), "traceback": text}


def make_model(config: RunConfig, shape: Sizes, device: torch.device) -> AttentionModel:
    """The run's model with its initial weights. The normalizers draw theirs from a stream of their own."""
    with global_stream(config.seed, "normalizer"):
        normalizers = [make_normalizer(config) for _ in range(shape.blocks)]
    with global_stream(config.seed, "weights"):
        model = MODELS[config.model.kind].build(shape, normalizers)
    model.to(device)
    model.draw_dropout_from(stream(config.seed, "dropout", device))
    return model


def make_normalizer(config: RunConfig) -> Normalizer:
    """The normalizer of one block. Raises ValueError where an option is out of its domain."""
    heads = config.model.heads
    return build(config.normalizer.map, heads, config.model.width // heads, **config.normalizer_options())


def choose_device(name: str) -> torch.device:
    """`auto` is a CUDA device where there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def _measured(config: RunConfig, origin: dict[str, Any], tracker: Tracker, seen: Seen) -> dict[str, Any]:
    torch.set_num_threads(config.threads)
    keep_memory()
    device = choose_device(config.device)
    if device.type == "cuda":  # a CPU with a fixed number of threads repeats its bits anyway
        torch.use_deterministic_algorithms(True, warn_only=True)
    prepared = inputs.arrays(config)
    origin |= {"data_hash": prepared.hash, "device": _device_name(device)}
    data = inputs.tensors(config, prepared, device)
    shape = inputs.shape(config, prepared)
    model = make_model(config, shape, device)
    reset_peak(device)

    def after_epoch(epoch: int, curves: Curves) -> dict[str, Any]:
        interrupts.check()
        learned = _learned(model)
        with autocast(config.train.precision, device):
            if len(data.validation[0]):
                held_out = predict(model, *data.validation)
                learned |= {"validation_loss": held_out.loss, "validation_accuracy": held_out.accuracy}
            if tracker.watches:
                tracker.epoch(epoch, _told(model, data, curves, config.train))
        return learned

    schedule = Schedule(**config.train.model_dump(exclude={"precision"}))
    order = stream(config.seed, "batches")
    forward = Forward(model, config.train.precision, device, config.compile)
    with global_stream(config.seed, "noise"):
        curves = train(model, forward, *data.train, schedule, order, after_epoch)
    with autocast(config.train.precision, device):
        test, attention = predict(model, *data.test), attention_statistics(model, data.test[0], data.test_marks)
        marked = {} if data.test_marks is None else {"map": attention_map(model, data.test[0], data.test_marks)}
        held_out = predict(model, *data.validation) if len(data.validation[0]) else None
        if tracker.watches:
            seen.truth, seen.predictions = data.test[1].cpu().numpy(), test.predictions
            seen.maps = attention_maps(model, data.test[0])
    if not np.isfinite(test.loss):
        raise NonFiniteLossError(f"the test loss is {test.loss}; a lower train.learning_rate may help")
    learned = _learned(model)
    metrics: dict[str, float | None] = {
        "accuracy": test.accuracy,
        "macro_f1": test.macro_f1,
        "test_loss": test.loss,
        "support": float(np.mean(attention["support"])),
        "train_seconds": sum(curves.seconds),
        "train_cpu_seconds": sum(curves.cpu_seconds),
        "inference_seconds": test.seconds,
        "peak_memory_mb": peak_mb(device),
        "parameters": float(sum(p.numel() for p in model.parameters())),
        "alpha_mean": float(np.mean(learned["alpha"])) if "alpha" in learned else None,
    }
    if MASS in attention:
        metrics[MASS] = float(np.mean(attention[MASS]))
    if held_out:
        metrics |= {"validation_accuracy": held_out.accuracy, "validation_macro_f1": held_out.macro_f1}
    return {
        "notes": [prepared.note] if prepared.note else [],
        "metrics": metrics,
        "attention": {**attention, **learned, **marked},
        "curves": {
            "epoch": list(range(1, schedule.epochs + 1)),
            "train_loss": curves.train_loss,
            "gradient_norm": curves.gradient_norm,
            "seconds": curves.seconds,
            "cpu_seconds": curves.cpu_seconds,
            **curves.extra,
        },
        "predictions": encode(test.predictions),
    }


def _told(model: AttentionModel, data: inputs.Inputs, curves: Curves, how: TrainConfig) -> dict[str, float]:
    """What a tracker is told of the last epoch, on validation rows where the run has some, else on test rows."""
    names = ("train_loss", "gradient_norm", "seconds", "cpu_seconds")
    entries = {name: getattr(curves, name)[-1] for name in names} | _learned(model)
    values = epoch_values(entries, steps(how.model_dump(), len(data.train[0])))
    held_out = len(data.validation[0]) > 0
    return values | watched(model, data.validation if held_out else data.test, "validation" if held_out else "test")


def _learned(model: AttentionModel) -> dict[str, Any]:
    """Learned parameters of the normalizers by name, each as blocks × heads."""
    per_block = [normalizer.learned() for normalizer in model.normalizers()]
    return {name: [block[name].tolist() for block in per_block] for name in per_block[0]}


def encode(predictions: NDArray[np.int64]) -> dict[str, Any]:
    """Predicted classes in the order of the run's test rows, compact: little-endian uint16, zlib, base64."""
    packed = zlib.compress(predictions.astype("<u2").tobytes(), level=9)
    return {"encoding": "base64 zlib <u2", "rows": len(predictions), "classes": base64.b64encode(packed).decode()}


def decode(content: Mapping[str, Any]) -> NDArray[np.int64]:
    """The inverse of `encode`."""
    return np.frombuffer(zlib.decompress(base64.b64decode(content["classes"])), dtype="<u2").astype(np.int64)


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
