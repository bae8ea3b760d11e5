"""Batches as Ray's tasks, on this machine or on the nodes of a Ray cluster."""

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray

from bench import ROOT
from bench.launchers.batch import Batch
from bench.launchers.cluster import End
from bench.launchers.settings import RaySettings
from bench.pool import STOP_SECONDS
from bench.schema import ConfigError

POLL_SECONDS = 0.2
GIB = 2**30
CONNECT_SECONDS = 10.0
"""How long the head of a Ray cluster has to accept a connection."""
HANDED_ON = "NORMALIZERS_"
"""Beginning of the variables that choose how normalizers compute; Ray's nodes have an environment of their own."""


class Ray:
    """Tasks of Ray. A task whose process or node died is not Ray's to repeat, but that of `in_batches`."""

    here = False
    bounds_first = False

    def __init__(self, settings: RaySettings, parallel: int | None, threads: int) -> None:
        self.settings = settings
        self.max_in_flight = parallel
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
        return max(1, min(room, self.max_in_flight or room))

    def connect(self) -> None:
        if not ray.is_initialized():
            address = self.settings.address or os.environ.get("RAY_ADDRESS") or None
            try:
                _check_reachable(address)
                # Without an address Ray joins a cluster of this machine that it finds running; "local" begins one.
                ray.init(
                    address or "local",
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ConfigError(
                    f"hydra.launcher.address={address}: {error}; start a cluster with `ray start --head`"
                    ", or leave the address out for one of this machine alone"
                ) from error
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(all(node.get(name, 0.0) >= need for name, need in self.needs.items()) for node in nodes):
            asked = ", ".join(f"{name} {need:g}" for name, need in self.needs.items() if need)
            print(f"notice: no node of the cluster has what a job asks for ({asked}); waiting for one", file=sys.stderr)

    def submit(self, batches: Sequence[Batch], folder: Path) -> list[Any]:
        needs: dict[str, Any] = {"num_cpus": self.needs["CPU"], "num_gpus": self.needs["GPU"], "max_retries": 0}
        # Workers import the harness from where this process does, as the nodes may have others installed.
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        needs["runtime_env"] = {"env_vars": {"PYTHONPATH": path}}
        if self.needs["memory"]:
            needs["memory"] = self.needs["memory"]
        task: Any = ray.remote(**needs)(Batch.carry_out)
        return [task.remote(batch) for batch in batches]

    def ended(self, handles: Sequence[Any]) -> list[Any]:
        return ray.wait(list(handles), num_returns=len(handles), timeout=POLL_SECONDS)[0]

    def end(self, handle: Any) -> End:
        try:
            ray.get(handle)
        except ray.exceptions.TaskCancelledError:
            return End("cancelled", "the task was cancelled in Ray")
        except ray.exceptions.RayError as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            said = lines[-1] if isinstance(error, ray.exceptions.RayTaskError) else lines[0]
            kind = "ran out of memory" if isinstance(error, ray.exceptions.OutOfMemoryError) else "died"
            return End("died", f"the worker process {kind} ({type(error).__name__})", said)
        return End("died", "the task ended early")

    def stop(self, handles: Sequence[Any]) -> bool:
        for handle in handles:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.cancel(handle)
        left = ray.wait(list(handles), num_returns=len(handles), timeout=STOP_SECONDS)[1] if handles else []
        ray.shutdown()
        return not left


def _check_reachable(address: str | None) -> None:
    """Raise ConnectionError where nobody listens at HOST:PORT; Ray itself would go on asking for many minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        return  # auto, or nothing, which Ray itself refuses at once where it finds no cluster
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise ConnectionError(f"nobody answers there ({error.strerror or error})") from error
