"""Batches as Ray's tasks, on this machine or on the nodes of a Ray cluster."""

import contextlib
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray

from bench.launchers.batch import Batch
from bench.launchers.settings import RaySettings
from bench.pool import STOP_SECONDS
from bench.schema import ConfigError

POLL_SECONDS = 0.2
GIB = 2**30
HANDED_ON = "NORMALIZERS_"
"""Beginning of the variables that choose how normalizers compute; Ray's nodes have an environment of their own."""


class Ray:
    """Tasks of Ray. A task whose process or node died is not Ray's to repeat, but that of `in_batches`."""

    here = False

    def __init__(self, settings: RaySettings, parallel: int | None, threads: int) -> None:
        self.settings = settings
        self.handed = parallel
        self.environment = {name: value for name, value in os.environ.items() if name.startswith(HANDED_ON)}
        self.needs = {
            "CPU": float(settings.cpus or threads),
            "GPU": float(settings.gpus),
            "memory": (settings.memory_gb or 0.0) * GIB,
        }

    @property
    def at_once(self) -> int:
        have = ray.cluster_resources()
        room = min(int(have.get(name, 0.0) // need) for name, need in self.needs.items() if need)
        return max(1, min(room, self.handed or room))

    def connect(self) -> None:
        if not ray.is_initialized():
            try:
                # Without an address Ray joins a cluster of this machine that it finds running; "local" begins one.
                here = None if os.environ.get("RAY_ADDRESS") else "local"
                ray.init(
                    self.settings.address or here,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ConfigError(
                    f"hydra.launcher.address={self.settings.address}: {error}; start a cluster with `ray start --head`"
                    ", or leave the address out for one of this machine alone"
                ) from error
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(all(node.get(name, 0.0) >= need for name, need in self.needs.items()) for node in nodes):
            asked = ", ".join(f"{name} {need:g}" for name, need in self.needs.items() if need)
            print(f"notice: no node of the cluster has what a job asks for ({asked}); waiting for one", file=sys.stderr)

    def submit(self, batches: Sequence[Batch], folder: Path) -> list[Any]:
        needs: dict[str, Any] = {"num_cpus": self.needs["CPU"], "num_gpus": self.needs["GPU"], "max_retries": 0}
        if self.needs["memory"]:
            needs["memory"] = self.needs["memory"]
        task: Any = ray.remote(**needs)(Batch.carry_out)
        return [task.remote(batch) for batch in batches]

    def ended(self, handles: Sequence[Any]) -> list[Any]:
        return ray.wait(list(handles), num_returns=len(handles), timeout=POLL_SECONDS)[0]

    def why(self, handle: Any) -> str:
        try:
            ray.get(handle)
        except ray.exceptions.RayError as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            said = lines[-1] if isinstance(error, ray.exceptions.RayTaskError) else lines[0]
            return f"the worker process died ({type(error).__name__}: {said})"
        return "the task ended early"

    def stop(self, handles: Sequence[Any]) -> None:
        for handle in handles:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.cancel(handle)
        if handles:
            ray.wait(list(handles), num_returns=len(handles), timeout=STOP_SECONDS)
        ray.shutdown()
