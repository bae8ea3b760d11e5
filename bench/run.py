"""One run, from its configuration to its record."""

import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import torch

from bench import ROOT, classification, generalization, inputs, interrupts, parts, provenance
from bench.allocator import keep_memory
from bench.attention_model import AttentionModel, Sizes
from bench.domains import check_attention, check_metrics
from bench.fingerprint import Identity
from bench.models import MODELS
from bench.records import SCHEMA, Record
from bench.schema import RunConfig
from bench.streams import global_stream, stream
from bench.tracking import NoTracker, Seen, Tracker, open_tracker
from bench.trial import Trial
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
        measured = _measured(config, content["provenance"], tracker, seen)
        measured["metrics"]["wall_seconds"] = time.perf_counter() - start
        check_metrics(measured["metrics"])
        check_attention(measured["attention"])
        content |= measured | {"status": "completed"}
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
            **parts.source_hashes(config),
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
    model = make_model(config, inputs.shape(config, prepared), device)
    how = generalization if prepared.kind == "sequences" else classification
    measured: dict[str, Any] = how.measured(Trial(config, prepared, model, device, tracker, seen))
    return measured | {"notes": [prepared.note] if prepared.note else []}


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
