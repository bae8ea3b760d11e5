"""What a run has at hand once its data are verified and its model is made, whatever it then trains and measures."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from bench import interrupts
from bench.arithmetic import Forward, autocast
from bench.attention_model import AttentionModel
from bench.memory import peak_mb
from bench.schema import RunConfig
from bench.streams import global_stream
from bench.tracking import Seen, Tracker
from bench.train import Curves
from datasets import Prepared

AfterEpoch = Callable[[int, Curves], dict[str, Any]]


@dataclass(frozen=True)
class Trial:
    """The parts of one run; `seen` collects what only a tracker is shown."""

    config: RunConfig
    prepared: Prepared
    model: AttentionModel
    device: torch.device
    tracker: Tracker
    seen: Seen

    @contextmanager
    def training(self, after_epoch: AfterEpoch) -> Iterator[tuple[Forward, AfterEpoch]]:
        """What a training loop is given: the forward pass, and `after_epoch` with what every run does there besides."""

        def after(epoch: int, curves: Curves) -> dict[str, Any]:
            interrupts.check()
            with self.precision():
                return self.learned() | after_epoch(epoch, curves)

        forward = Forward(self.model, self.config.train.precision, self.device, self.config.compile)
        with global_stream(self.config.seed, "noise"):
            yield forward, after

    def precision(self) -> Any:
        """The context in which the run computes."""
        return autocast(self.config.train.precision, self.device)

    def learned(self) -> dict[str, Any]:
        """Learned parameters of the normalizers by name, each as blocks × heads."""
        per_block = [normalizer.learned() for normalizer in self.model.normalizers()]
        return {name: [block[name].tolist() for block in per_block] for name in per_block[0]}

    def last(self, curves: Curves) -> dict[str, Any]:
        """What the last epoch came to in training, and what was learned."""
        names = ("train_loss", "gradient_norm", "seconds", "cpu_seconds")
        return {name: getattr(curves, name)[-1] for name in names} | self.learned()

    def cost(self, curves: Curves, inference_seconds: float) -> dict[str, float]:
        """What the run took, as metrics: seconds of training and of testing, memory, parameters."""
        return {
            "train_seconds": sum(curves.seconds),
            "train_cpu_seconds": sum(curves.cpu_seconds),
            "inference_seconds": inference_seconds,
            "peak_memory_mb": peak_mb(self.device),
            "parameters": float(sum(p.numel() for p in self.model.parameters())),
        }

    def curves(self, curves: Curves) -> dict[str, list[Any]]:
        """`curves` as a record holds them."""
        return {
            "epoch": list(range(1, len(curves.seconds) + 1)),
            "train_loss": curves.train_loss,
            "gradient_norm": curves.gradient_norm,
            "seconds": curves.seconds,
            "cpu_seconds": curves.cpu_seconds,
            **curves.extra,
        }
