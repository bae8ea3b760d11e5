"""Planning: from configurations to the runs to make, with everything refused that could fail for its configuration."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench import inputs, parts, provenance, sources
from bench.attention_model import Sizes
from bench.fingerprint import Identity, identify
from bench.records import record_path
from bench.run import make_normalizer
from bench.schema import ConfigError, RunConfig, validate
from datasets import DataError, Prepared

SOURCE = sources.imported()
"""The hash of the source that this process imported; None where files changed meanwhile."""


@dataclass(frozen=True)
class Job:
    """One run to make. Plain data, so that it can be sent to another process.

    `source` is the hash of the whole source that the run was planned with, `part_sources` those of its own parts (see
    `bench.parts`); a process that imported other source refuses the run.
    """

    raw: Mapping[str, Any]
    label: str
    identity: Identity
    path: Path
    results_dir: Path
    code: Mapping[str, Any]
    cost: float
    force: bool
    source: str | None = None
    part_sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def cell(self) -> str:
        return self.label.rpartition("/")[0]


@dataclass
class Plan:
    """`jobs`, each once, longest first; `repeated` labels asked for twice; `unavailable` labels with the reason."""

    jobs: list[Job] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    unavailable: list[tuple[str, str]] = field(default_factory=list)


def plan(raws: Sequence[Mapping[str, Any]], *, here: bool = True) -> Plan:
    """The runs of these configurations (resolved plain dictionaries).

    What this machine has is asked for only where they are to be made `here`.
    Raises ConfigError, with every fault on a line of its own, before anything is prepared or trained. A data set that
    cannot be had makes its own runs unavailable and leaves the others.
    """
    if SOURCE is None:
        raise ConfigError(f"the code in {sources.ROOT} changed while this process imported it; start again")
    configs = _validated(raws, here)
    result = Plan()
    faults: dict[str, None] = {}
    code = provenance.code_version()
    jobs: dict[Path, Job] = {}
    labels: dict[tuple[Path, str], str] = {}
    missing: dict[tuple[Any, ...], str] = {}
    for raw, config in zip(raws, configs, strict=True):
        wanted = (config.dataset.source, config.data.root, *config.dataset_options().items())
        if wanted in missing:
            result.unavailable.append((config.label, missing[wanted]))
            continue
        try:
            prepared = inputs.arrays(config)
            shape = inputs.shape(config, prepared)
            _check_rows(config, prepared, shape)
            _check_warmup(config, prepared)
        except DataError as error:
            missing[wanted] = str(error)
            result.unavailable.append((config.label, missing[wanted]))
            continue
        except ValueError as error:
            faults[str(error)] = None
            continue
        job = _job(raw, config, prepared, code, shape.keys)
        if job.path in jobs:
            result.repeated.append(job.label)
        jobs[job.path] = job
        label = labels.setdefault((job.results_dir, job.identity.fingerprint), job.label)
        if label != job.label:
            faults[f"{label} and {job.label} are one run under two labels; leave one of them out"] = None
    if faults:
        raise ConfigError("\n".join(faults))
    # Seed by seed, so that whatever slows the machine for a while slows all normalizers alike.
    result.jobs = sorted(jobs.values(), key=lambda job: (-job.cost, job.raw["seed"]))
    return result


def _validated(raws: Sequence[Mapping[str, Any]], here: bool) -> list[RunConfig]:
    configs: list[RunConfig] = []
    faults: dict[str, None] = {}
    for raw in raws:
        try:
            config = validate(raw)
            make_normalizer(config)
            parts.source_hashes(config)
            if here and config.device == "cuda" and not torch.cuda.is_available():
                raise ConfigError("device=cuda: torch finds no CUDA device here; use device=cpu or device=auto")
            if here and config.threads > cores():
                raise ConfigError(f"threads={config.threads} is more than the {cores()} processors there are here")
            configs.append(config)
        except ConfigError as error:
            faults[str(error)] = None
        except ValueError as error:
            faults[f"normalizer {raw['normalizer']['name']}: {error}"] = None
    if faults:
        raise ConfigError("\n".join(faults))
    return configs


def _check_rows(config: RunConfig, prepared: Prepared, shape: Sizes) -> None:
    """Raise ConfigError where the normalizer cannot normalize some row of the run."""
    normalizer = make_normalizer(config).eval()
    slots, kept, why = shape.keys, shape.fewest_kept, "the first query of a causal model sees"
    if shape.mask_padding:
        kept, why = slots - shape.tokens + _shortest(config, prepared), "dataset.mask_padding=true leaves"
    try:
        normalizer.check_length(shape.fewest_keys)
        if kept is not None:
            scores = torch.zeros(1, shape.heads, 1, slots)
            queries = torch.zeros(1, shape.heads, 1, shape.width // shape.heads)
            normalizer(scores, torch.arange(slots) < kept, queries)
    except ValueError as error:
        where = f" ({why} {kept} of {slots} keys)" if kept is not None and kept < slots else ""
        raise ConfigError(f"normalizer {config.normalizer.name} on {config.dataset.name}{where}: {error}") from error


def _check_warmup(config: RunConfig, prepared: Prepared) -> None:
    """Raise ConfigError where training ends before the learning rate has risen."""
    rows = config.dataset.train_limit or len(prepared.train) - config.dataset.validation
    steps = config.train.epochs * config.schedule.steps(rows)
    if config.train.warmup >= steps:
        raise ConfigError(
            f"train.warmup={config.train.warmup} is no less than the {steps} steps of the training; lower it, or raise "
            "train.epochs"
        )


def _shortest(config: RunConfig, prepared: Prepared) -> int:
    """The number of tokens of the shortest text among all rows of the run."""
    rows = inputs.rows(config, prepared)
    train = prepared.train.x[np.concatenate([rows.train, rows.validation])]
    return int(min((x != 0).sum(axis=1).min() for x in (train, prepared.test.x[rows.test])))


def _job(raw: Mapping[str, Any], config: RunConfig, prepared: Prepared, code: Mapping[str, Any], n: int) -> Job:
    identity = identify(config, prepared.hash)
    results_dir = Path(config.results_dir)
    train_rows = config.dataset.train_limit or len(prepared.train)
    return Job(
        raw=raw,
        label=config.label,
        identity=identity,
        path=record_path(results_dir, config.dataset.name, config.normalizer.name, config.seed, identity.fingerprint),
        results_dir=results_dir,
        code=code,
        cost=float(train_rows * config.train.epochs * config.train.passes * n),
        force=config.force,
        source=SOURCE,
        part_sources=parts.source_hashes(config),
    )


def at_once(raw: Mapping[str, Any]) -> int:
    """How many runs are made at the same time on this machine: `parallel`, else as many as fit by their threads."""
    return raw["parallel"] or max(1, cores() // raw["threads"])  # type: ignore[no-any-return]


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
