"""From prepared arrays to the tensors of one run: its rows, as the model takes them."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bench.attention_model import Sizes
from bench.models import MODELS
from bench.schema import ConfigError, ImageConfig, RunConfig, TokensConfig
from datasets import Prepared, Subset, channel_statistics, counts, patches, prepare, subset


@dataclass(frozen=True)
class Inputs:
    """Tensors x (rows, tokens, inputs) float32 or ids (rows, tokens) int64, and classes y (rows,), per split.

    `test_marks` (rows, tokens), boolean: the tokens that carry the answer, where the data say which.
    """

    train: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    test_marks: Tensor | None = None


@lru_cache(maxsize=2)
def _prepared(source: str, root: str, options: tuple[tuple[str, Any], ...]) -> Prepared:
    return prepare(source, Path(root), **dict(options))


def arrays(config: RunConfig) -> Prepared:
    """The verified arrays of the run's data set; a process that makes many runs checks them once."""
    return _prepared(config.dataset.source, config.data.root, tuple(config.dataset_options().items()))


def shape(config: RunConfig, prepared: Prepared) -> Sizes:
    """The sizes of the run's model.

    Raises ConfigError, naming the key, where the patch does not fit the images, the rows asked for are not there or the
    model takes no ids.
    """
    kind = config.model.kind
    if prepared.kind == "tokens" and not MODELS[kind].takes_ids:
        raise ConfigError(
            f"model.kind={kind} takes vectors, and dataset.source={config.dataset.source} gives ids of tokens; "
            "choose another data set, or model=compact"
        )
    data = config.dataset
    try:
        counts(
            len(prepared.train),
            len(prepared.test),
            train_limit=data.train_limit,
            test_limit=data.test_limit,
            validation=data.validation,
        )
        tokens, inputs = prepared.train.x.shape[1], prepared.vocabulary or prepared.train.x.shape[-1]
        if isinstance(config.dataset, ImageConfig):
            _, tokens, inputs = patches(prepared.train.x[:1], config.dataset.patch).shape
    except ValueError as error:
        raise ConfigError(f"dataset.{error}") from error
    return MODELS[kind].shape(
        inputs=inputs,
        tokens=tokens,
        classes=prepared.classes,
        tokens_are_ids=prepared.kind == "tokens",
        mask_padding=isinstance(config.dataset, TokensConfig) and config.dataset.mask_padding,
        **config.model.model_dump(exclude={"kind"}),
    )


def rows(config: RunConfig, prepared: Prepared) -> Subset:
    """Which rows the run's seed draws."""
    data = config.dataset
    return subset(
        len(prepared.train),
        len(prepared.test),
        seed=config.seed,
        train_limit=data.train_limit,
        test_limit=data.test_limit,
        validation=data.validation,
    )


def tensors(config: RunConfig, prepared: Prepared, device: torch.device) -> Inputs:
    """The run's rows on `device`."""
    chosen = rows(config, prepared)
    view = _ids if prepared.kind == "tokens" else torch.from_numpy
    if isinstance(config.dataset, ImageConfig):
        view = _image_view(config.dataset, prepared, chosen)
    marks = prepared.test.marks

    def split(part: Any, numbers: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        return view(part.x[numbers]).to(device), torch.from_numpy(part.y[numbers]).to(device)

    return Inputs(
        train=split(prepared.train, chosen.train),
        validation=split(prepared.train, chosen.validation),
        test=split(prepared.test, chosen.test),
        test_marks=None if marks is None else torch.from_numpy(marks[chosen.test]).to(device),
    )


def _ids(x: NDArray[Any]) -> Tensor:
    return torch.from_numpy(x.astype(np.int64))


def _image_view(config: ImageConfig, prepared: Prepared, chosen: Subset) -> Any:
    scale = prepared.scale or 1.0
    mean, std = torch.zeros(()), torch.ones(())
    if config.standardize:
        # Statistics of the run's own training rows: nothing of the held-out rows enters.
        by_channel = channel_statistics(prepared.train.x[chosen.train], scale)
        mean, std = (torch.from_numpy(np.tile(value, config.patch**2)).float() for value in by_channel)
        std = torch.where(std > 0, std, 1.0)

    def view(images: NDArray[Any]) -> Tensor:
        return (torch.from_numpy(patches(images, config.patch)).float() / scale - mean) / std

    return view
