"""Weights & Biases as a tracker: one run there per run here. Nothing it does, or fails to do, reaches a record."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bench.fingerprint import PROTOCOL
from bench.records import Record
from bench.schema import RunConfig
from bench.tracking import Seen

TIMEOUT = 20.0
"""Seconds that a server has for an answer before the run is kept offline."""


class WandbTracker:
    """See `bench.tracking.Tracker`.

    The id there is the fingerprint, so that what is sent twice is one run; it is grouped with the other seeds of its
    cell. Where `mode: online` has no key or no server, the run is kept offline, with a notice, and nothing ever asks.
    """

    watches = True

    def __init__(self, config: RunConfig, heading: Mapping[str, Any]) -> None:
        self._run: Any = None
        self._guarded(lambda: self._start(config, heading))

    def epoch(self, number: int, values: Mapping[str, float]) -> None:
        """Log `values` as step `number`."""
        self._guarded(lambda: self._run.log({"epoch": number, **values}, step=number))

    def end(self, record: Record, seen: Seen) -> None:
        """Log what the record holds as the summary, and close the run, as failed where it is not completed."""
        self._guarded(lambda: self._finish(record, seen))

    def _start(self, config: RunConfig, heading: Mapping[str, Any]) -> None:
        import wandb

        tracker, mode = config.tracker, config.tracker.mode
        if mode == "online" and not wandb.login(prompt=False, key=None):
            mode = "offline"
            _say("W&B has no key here (`wandb login` sets one), so runs are kept offline")
        Path(tracker.dir).mkdir(parents=True, exist_ok=True)
        settings = wandb.Settings(
            console="off",
            silent=True,
            disable_git=True,
            save_code=False,
            host="",
            x_disable_stats=True,
            x_disable_machine_info=True,
            x_save_requirements=False,
            init_timeout=TIMEOUT,
        )

        def init(mode: Literal["online", "offline", "disabled"]) -> Any:
            return wandb.init(
                project=tracker.project,
                entity=tracker.entity,
                dir=tracker.dir,
                mode=mode,
                id=heading["fingerprint"],
                name=config.label,
                group=f"{config.dataset.name}/{config.normalizer.name} {heading['cell']}",
                job_type="run",
                tags=[config.dataset.name, config.normalizer.name, f"protocol-{PROTOCOL}", *config.tags],
                config={**heading["config"], "provenance": heading["provenance"]},
                resume="allow" if mode == "online" else None,
                reinit="create_new",
                settings=settings,
            )

        try:
            self._run = init(mode)
        except Exception as error:
            if mode != "online":
                raise
            _say(f"W&B cannot be reached ({type(error).__name__}), so runs are kept offline")
            self._run = init("offline")
        self._images = tracker.images

    def _finish(self, record: Record, seen: Seen) -> None:
        import wandb

        if record.status == "completed":
            self._run.log(self._pictures(wandb, seen) if self._images else {})
        numbers = {name: value for name, value in record.metrics.items() if value is not None}
        self._run.summary.update({**numbers, "status": record.status, "notes": record.notes})
        if record.error:
            self._run.summary.update({"error": f"{record.error['type']}: {record.error['message']}"})
        self._run.finish(exit_code=0 if record.status == "completed" else 1)

    def _pictures(self, wandb: Any, seen: Seen) -> dict[str, Any]:
        classes = int(max(seen.truth.max(), seen.predictions.max())) + 1
        counts = np.zeros((classes, classes), dtype=int)
        np.add.at(counts, (seen.truth, seen.predictions), 1)
        rows = [[int(t), int(p), int(counts[t, p])] for t in range(classes) for p in range(classes)]
        maps = [wandb.Image(255 * matrix / max(matrix.max(), 1e-9), caption=name) for name, matrix in seen.maps.items()]
        table = wandb.Table(columns=["truth", "predicted", "rows"], data=rows)
        return {"confusion_matrix": table, "attention_maps": maps}

    def _guarded(self, act: Callable[[], None]) -> None:
        """`act`, unless something failed before; a failure is said and ends the tracking of this run, not the run."""
        if self._run is False:
            return
        try:
            act()
        except Exception as error:
            self._run = False
            _say(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}")


_said: set[str] = set()


def _say(what: str) -> None:
    """One notice per process and reason."""
    if what not in _said:
        _said.add(what)
        print(f"notice: tracker: {what}; records are complete without it", file=sys.stderr, flush=True)
