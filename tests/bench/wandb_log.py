"""Reads what W&B writes offline: the frames of its transaction log, as its own protocol buffers."""

import json
import struct
import time
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2

from bench.logged import history, summary
from bench.records import Record

TIMEOUT = 60.0
HEADER, BLOCK, FRAME = 7, 32_768, 7


def entries(file: Path) -> list[Any]:
    """Every entry of the log (LevelDB's format): frames of checksum, length and kind, none across a block's end.

    What a process of W&B's has written in part so far is left out.
    """
    content, place, parts, found = file.read_bytes(), HEADER, b"", []
    while place + FRAME <= len(content):
        left = BLOCK - place % BLOCK
        if left < FRAME:
            place += left
            continue
        length, kind = struct.unpack_from("<HB", content, place + 4)
        if place + FRAME + length > len(content):
            break  # a frame that is still being written
        parts += content[place + FRAME : place + FRAME + length]
        place += FRAME + length
        if kind in (1, 4):  # whole, or the last part
            found.append(wandb_internal_pb2.Record.FromString(parts))
            parts = b""
    return found


class Logged:
    """One offline run: what it is called, what it was configured with, its history and its summary."""

    def __init__(self, found: list[Any]) -> None:
        (self.run,) = [entry.run for entry in found if entry.WhichOneof("record_type") == "run"]
        changes = [entry.config for entry in found if entry.WhichOneof("record_type") == "config"]
        items = [item for change in (self.run.config, *changes) for item in change.update]
        self.config = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in items}
        self.history = [
            {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in entry.history.item}
            for entry in found
            if entry.WhichOneof("record_type") == "history"
        ]
        self.summary = {
            "/".join(item.nested_key) or item.key: json.loads(item.value_json)
            for entry in found
            if entry.WhichOneof("record_type") == "summary"
            for item in entry.summary.update
        }
        requests = [entry.request for entry in found if entry.WhichOneof("record_type") == "request"]
        logged = [item.log_artifact.artifact for item in requests if item.WhichOneof("request_type") == "log_artifact"]
        self.artifacts = logged + [entry.artifact for entry in found if entry.WhichOneof("record_type") == "artifact"]
        self.exit_code = [entry.exit.exit_code for entry in found if entry.WhichOneof("record_type") == "exit"]


def equal(logged: Logged, record: Record) -> None:
    """Assert that the run logged is that of `record`: id, name, configuration, each epoch, summary and end."""
    assert logged.run.run_id == record.fingerprint
    assert logged.run.display_name == f"{record.dataset}/{record.normalizer}/seed={record.seed}"
    assert logged.run.run_group == f"{record.dataset}/{record.normalizer} {record.cell}"
    assert {name: logged.config[name] for name in record.config} == record.config
    assert (logged.config["cell"], logged.config["setting"]) == (record.cell, record.setting)
    assert logged.config["provenance"] == record.provenance
    epochs = [entry for entry in logged.history if "train/train_loss" in entry]
    for (number, values), entry in zip(history(record), epochs, strict=True):
        assert entry["_step"] == entry["epoch"] == number
        assert {name: entry[name] for name in values} == values
    assert {name: logged.summary[name] for name in summary(record)} == summary(record)
    assert logged.exit_code == [0 if record.status == "completed" else 1]


def ended(file: Path) -> Logged:
    """The run in this log, once a process of W&B's has written its end."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        found = entries(file)
        if any(entry.WhichOneof("record_type") == "exit" for entry in found):
            return Logged(found)
        if time.monotonic() > deadline:
            raise TimeoutError(f"the offline run {file} has no end")
        time.sleep(0.1)


def files(folder: Path, fingerprint: str = "*") -> list[Path]:
    """The logs of offline runs below a tracker's folder, the oldest first."""
    return sorted((folder / "wandb").glob(f"offline-run-*-{fingerprint}/*.wandb"))


def runs(folder: Path) -> list[Logged]:
    """Every offline run below a tracker's folder, the oldest first."""
    return [ended(file) for file in files(folder)]
