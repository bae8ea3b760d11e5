"""How a run computes: its precision, and whether its forward pass is compiled. One place for both switches."""

from typing import Any, Literal

import torch
from torch import Tensor

from bench.attention_model import AttentionModel

Precision = Literal["float32", "bf16"]


def autocast(precision: Precision, device: torch.device) -> Any:
    """A context in which matrix products are computed in `precision`; parameters and optimizer stay float32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


class Forward:
    """Class scores (batch, classes), float32, of inputs, as the training loop asks for them.

    `compiled`: by torch.compile, which takes about a minute and gives other last digits.
    """

    def __init__(self, model: AttentionModel, precision: Precision, device: torch.device, compiled: bool) -> None:
        self.model = torch.compile(model) if compiled else model
        self.context = autocast(precision, device)

    def __call__(self, x: Tensor) -> Tensor:
        with self.context:
            scores: Tensor = self.model(x)[0]
        return scores.float()
