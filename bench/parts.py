"""The parts of a run that are code of their own: its map, its model and what builds its data set."""

from bench import sources
from bench.models import MODELS
from bench.schema import RunConfig
from datasets import SOURCES
from normalizers import REGISTRY

NAMES = {"map_source": "normalizer", "model_source": "model", "data_source": "dataset"}
"""What a record's provenance calls the source of a part -> the group of the configuration that chooses it."""


def of(config: RunConfig) -> dict[str, sources.Part]:
    """The parts of the run, by the keys of `NAMES`."""
    return {
        "map_source": REGISTRY[config.normalizer.map],
        "model_source": MODELS[config.model.kind].build,
        "data_source": SOURCES[config.dataset.source].build,
    }


def source_hashes(config: RunConfig) -> dict[str, str]:
    """The hash of the source of each part. Raises ValueError where a part comes from no source file."""
    return {name: sources.of(part) for name, part in of(config).items()}


def foreign_hashes(config: RunConfig) -> dict[str, str]:
    """The same of those parts alone that are defined outside the project's packages."""
    return {name: sources.of(part) for name, part in of(config).items() if sources.is_foreign(part)}
