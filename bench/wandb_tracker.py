"""Weights & Biases as a tracker: one run there per run here. Nothing it does, or fails to do, reaches a record."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bench.fingerprint import PROTOCOL
from bench.logged import described, summary
from bench.records import Record
from bench.schema import RunConfig
from bench.tracking import Seen
from bench.wandb_run import close_run, first_line, open_run, say


class WandbTracker:
    """See `bench.tracking.Tracker`; what is logged, and by which names, is in `bench.logged`."""

    watches = True

    def __init__(self, config: RunConfig, heading: Mapping[str, Any]) -> None:
        self._run: Any = None
        self._images = config.tracker.images
        self._guarded(lambda: self._start(config, heading))

    def epoch(self, number: int, values: Mapping[str, float]) -> None:
        """Log `values` as step `number`."""
        self._guarded(lambda: self._run.log({"epoch": number, **values}, step=number))

    def end(self, record: Record, seen: Seen) -> None:
        """Log what the record holds as the summary, and close the run, as failed where it is not completed."""
        self._guarded(lambda: self._finish(record, seen))

    def _start(self, config: RunConfig, heading: Mapping[str, Any]) -> None:
        self._run = open_run(config.tracker, described(heading, [f"protocol-{PROTOCOL}", *config.tags]))

    def _finish(self, record: Record, seen: Seen) -> None:
        if record.status == "completed" and (shown := pictures(seen, self._images)):
            try:
                self._run.log(shown)
            except Exception as error:  # a table asks the server first; the run still has to be closed
                say(f"confusion matrix and maps are not logged ({type(error).__name__}: {first_line(error)})")
        self._run.config.update({"provenance": record.provenance}, allow_val_change=True)
        self._run.summary.update(summary(record))
        close_run(self._run, 0 if record.status == "completed" else 1)

    def _guarded(self, act: Callable[[], None]) -> None:
        """`act`, unless something failed before; a failure is said and ends the tracking of this run, not the run."""
        if self._run is False:
            return
        try:
            act()
        except Exception as error:
            self._run = False
            say(f"{type(error).__name__}: {first_line(error)}")


def pictures(seen: Seen, images: bool) -> dict[str, Any]:
    """Of classes, the confusion matrix as a table of (truth, predicted, rows); with `images` also attention maps."""
    return (confusion(seen) if len(seen.truth) else {}) | (maps(seen) if images else {})


def maps(seen: Seen) -> dict[str, Any]:
    """Each attention map as an image, its largest weight white."""
    import wandb

    found = seen.maps.items()
    return {"attention_maps": [wandb.Image(255 * map_ / max(map_.max(), 1e-9), caption=name) for name, map_ in found]}


def confusion(seen: Seen) -> dict[str, Any]:
    """How many rows of each class were predicted as which, as a table with a line for each pair."""
    import wandb

    classes = int(max(seen.truth.max(), seen.predictions.max())) + 1
    counts = np.zeros((classes, classes), dtype=int)
    np.add.at(counts, (seen.truth, seen.predictions), 1)
    rows: list[Iterable[int]] = [[int(t), int(p), int(counts[t, p])] for t in range(classes) for p in range(classes)]
    return {"confusion_matrix": wandb.Table(columns=["truth", "predicted", "rows"], data=rows)}
