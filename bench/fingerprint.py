"""Fingerprints: one short hash for everything that changes a run's result, and nothing else.

Labels, folders, worker counts, threads, devices and hosts are left out. All options are hashed with their defaults
filled in, so that a default that changes gives another fingerprint. The source of the project's own code is left out
too: `PROTOCOL` says when it gives other numbers. A map, model or data set from elsewhere has no such promise, so that
the hash of its source goes in.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from bench import parts
from bench.provenance import version
from bench.schema import RunConfig

PROTOCOL = 1
"""Raised whenever the harness itself would give other numbers for the same configuration."""
DIGITS = 12
ADDED: dict[str, Any] = {"model.kind": "compact", "train.passes": 1, "bounded_entmax.gradient": "exact"} | {
    "train.beta2": 0.999,
    "train.warmup": 0,
    "train.decay": "none",
}
"""Keys that came after records had been made, with the value that means what was done before: not hashed where they
have it, so that those records keep their fingerprints. Options go by the name of their source or map."""
MAJORS = {"torch": "2", "numpy": "2"}
"""The major versions that the first records were made with. Others are hashed: their random streams may be others."""
_NEVER = object()


@dataclass(frozen=True)
class Identity:
    """`fingerprint` of the run; `cell` without its seed; `setting` without its seed and normalizer."""

    fingerprint: str
    cell: str
    setting: str


def identify(config: RunConfig, data_hash: str) -> Identity:
    """The identity of the run `config` on arrays of content hash `data_hash`."""
    foreign = parts.foreign_hashes(config)
    own = {name: foreign.pop(name) for name in ("map_source",) if name in foreign}
    setting = {
        "protocol": PROTOCOL,
        "data": data_hash,
        # dataset.epochs is only the default of train.epochs.
        "dataset": _known(config.dataset.source, config.dataset.model_dump(exclude={"name", "epochs"})),
        "model": _known("model", config.model.model_dump()),
        "train": _known("train", config.train.model_dump()),
        **{name: major for name, first in MAJORS.items() if (major := version(name).partition(".")[0]) != first},
        **foreign,
    }
    cell = setting | own | {"normalizer": _known(config.normalizer.map, config.normalizer.model_dump(exclude={"name"}))}
    return Identity(_hash(cell | {"seed": config.seed}), _hash(cell), _hash(setting))


def _known(owner: str, content: dict[str, Any]) -> dict[str, Any]:
    """`content` without the keys of `ADDED` that have the value there."""
    return {key: value for key, value in content.items() if ADDED.get(f"{owner}.{key}", _NEVER) != value}


def _hash(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
