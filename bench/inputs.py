"""From prepared arrays to the tensors of one run: its rows, as the model takes them."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bench import sequences, sources
from bench.attention_model import Sizes
from bench.models import MODELS
from bench.schema import ConfigError, ImageConfig, RunConfig, SequencesConfig, TokensConfig
from datasets import SOURCES, Prepared, Subset, channel_statistics, counts, patches, prepare, subset


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
    return prepare(source, Path(root), built_by=sources.of(SOURCES[source].build), **dict(options))


def arrays(config: RunConfig) -> Prepared:
    """The verified arrays of the run's data set; a process that makes many runs checks them once."""
    return _prepared(config.dataset.source, config.data.root, tuple(config.dataset_options().items()))


def data_source(config: RunConfig, prepared: Prepared) -> str:
    """The hash of the source that built the data of the run: that of today where the prepared arrays do not say."""
    now = sources.of(SOURCES[config.dataset.source].build)
    return now if prepared.kind == "sequences" else prepared.built_by or now  # sequences are drawn in the run itself


def shape(config: RunConfig, prepared: Prepared) -> Sizes:
    """The sizes of the run's model.

    Raises ConfigError, naming the key, where the patch does not fit the images, the rows asked for are not there or the
    model takes no data of this kind.
    """
    kind, takes = config.model.kind, MODELS[config.model.kind].takes
    if prepared.kind not in takes:
        fitting = " or ".join(f"model={name}" for name, entry in MODELS.items() if prepared.kind in entry.takes)
        raise ConfigError(
            f"model.kind={kind} takes data of kind {' or '.join(takes)}, and dataset.source={config.dataset.source} "
            f"gives {prepared.kind}; choose another data set, or {fitting}"
        )
    try:
        sizes = _sizes(config, prepared)
    except ValueError as error:
        raise ConfigError(f"dataset.{error}") from error
    return MODELS[kind].shape(
        tokens_are_ids=prepared.kind in ("tokens", "sequences"),
        mask_padding=isinstance(config.dataset, TokensConfig) and config.dataset.mask_padding,
        **sizes,
        **config.model.model_dump(exclude={"kind"}),
    )


def _sizes(config: RunConfig, prepared: Prepared) -> dict[str, int]:
    """What the data say of a model's sizes. Raises ValueError where the rows asked for are not there."""
    data, x = config.dataset, prepared.train.x
    if isinstance(data, SequencesConfig):
        sequences.check_rows(config, prepared)
        classes = inputs = prepared.vocabulary or 0
        lengths = [int((part.x != 0).sum(1).min()) for part in (prepared.train, prepared.test)]
        tokens = max(x.shape[1], prepared.test.x.shape[1])
        return {"inputs": inputs, "classes": classes, "tokens": tokens, "shortest": min(lengths)}
    counts(
        len(prepared.train),
        len(prepared.test),
        train_limit=data.train_limit,
        test_limit=data.test_limit,
        validation=data.validation,
    )
    tokens, inputs = x.shape[1], prepared.vocabulary or x.shape[-1]
    if isinstance(data, ImageConfig):
        _, tokens, inputs = patches(x[:1], data.patch).shape
    return {"inputs": inputs, "classes": prepared.classes, "tokens": tokens}


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
