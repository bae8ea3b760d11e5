"""Reading W&B's log while a process of W&B's still writes it."""

import struct
from pathlib import Path

from wandb.proto import wandb_internal_pb2

from tests.bench import wandb_log


def frame(number: int) -> bytes:
    content = wandb_internal_pb2.Record(num=number, exit=wandb_internal_pb2.RunExitRecord(exit_code=number))
    packed = content.SerializeToString()
    return struct.pack("<IHB", 0, len(packed), 1) + packed


def test_a_log_is_read_as_far_as_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "run.wandb"
    head, first, second = bytes(wandb_log.HEADER), frame(1), frame(2)
    for written in range(len(second) + 1):
        file.write_bytes(head + first + second[:written])
        found = [entry.exit.exit_code for entry in wandb_log.entries(file)]
        assert found == ([1, 2] if written == len(second) else [1])
