"""`python -m bench verify`: make a recorded run again and compare every number with its record, bit by bit."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from bench import inputs, provenance, records
from bench.fingerprint import identify
from bench.launcher import plain
from bench.records import Record, RecordError
from bench.run import perform
from bench.schema import ConfigError, RunConfig, validate
from datasets import DataError

MEASURED_TIME = {
    *("train_seconds", "train_cpu_seconds", "inference_seconds", "wall_seconds"),
    *("peak_memory_mb", "seconds", "cpu_seconds"),
}
"""What no repetition gives again."""
COMPARED = ("status", "notes", "metrics", "attention", "curves", "predictions")
ORIGIN = ("code_version", "torch", "numpy", "cpu", "kernel", "device")
"""What may change last digits, or more, and is named beside a difference."""
SHOWN = 20


def verify(arguments: Sequence[str], conf: Path) -> int:
    """Repeat the runs recorded in the files among `arguments`; words with `=` are overrides, such as data.root=DIR.

    Returns the exit code: 1 where a number differs. Raises ConfigError for what is no record of a completed run.
    """
    overrides = [word for word in arguments if "=" in word and not Path(word).exists()]
    paths = list(_expanded(Path(word) for word in arguments if word not in overrides))
    if not paths:
        raise ConfigError("verify needs at least one record: python -m bench verify results/.../seed=0-....json")
    wrong = 0
    for path in paths:
        old = _completed(path)
        faults = _repeat(old, overrides, conf)
        wrong += bool(faults)
        print(f"{'differs  ' if faults else 'identical'} {path}", *faults[:SHOWN], sep="\n  ", flush=True)
        if len(faults) > SHOWN:
            print(f"  and {len(faults) - SHOWN} more")
    print(f"{len(paths) - wrong} of {len(paths)} records are repeated to the bit")
    return 1 if wrong else 0


def _expanded(paths: Iterable[Path]) -> Iterator[Path]:
    """The paths, with the records below each folder in its place."""
    for path in paths:
        yield from records.files(path) if path.is_dir() else (path,)


def differences(old: Record, new: Record) -> list[str]:
    """Every number and text of a result that two records of one run do not share, times and memory left aside."""
    one, two = dict(_leaves(old)), dict(_leaves(new))
    return [
        f"{name}: recorded {one.get(name, 'nothing')}, now {two.get(name, 'nothing')}"
        for name in (*one, *(name for name in two if name not in one))
        if one.get(name) != two.get(name)
    ]


def _leaves(record: Record) -> Iterator[tuple[str, Any]]:
    content = record.model_dump(include=set(COMPARED))
    pending: list[tuple[str, Any]] = [(name, content[name]) for name in reversed(COMPARED)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            inner = [(f"{name}.{key}", part) for key, part in value.items() if key not in MEASURED_TIME]
        elif isinstance(value, list):
            inner = [(f"{name}.{place}", part) for place, part in enumerate(value)]
        else:
            yield name, value
            continue
        pending += reversed(inner)


def _completed(path: Path) -> Record:
    try:
        record = records.read(path)
    except RecordError as error:
        raise ConfigError(str(error)) from error
    if record.status != "completed":
        raise ConfigError(f"{path}: this run is {record.status}, there is no result to verify")
    return record


def _repeat(old: Record, overrides: list[str], conf: Path) -> list[str]:
    config = _configuration(old, overrides, conf)
    try:
        data_hash = inputs.arrays(config).hash
    except DataError as error:
        raise ConfigError(f"the data of {config.label} are not available: {error}") from error
    identity = identify(config, data_hash)
    if identity.fingerprint != old.fingerprint:
        recorded = f"recorded {old.fingerprint} on data {old.provenance.get('data_hash')}"
        return [f"fingerprint: {recorded}, now {identity.fingerprint} on data {data_hash}: not the same run any more"]
    new = perform(config, identity, provenance.code_version())
    faults = [f"{new.error['type']}: {new.error['message']}"] if new.error else differences(old, new)
    changed = [
        f"({name}: recorded with {old.provenance.get(name)}, now {new.provenance.get(name)})"
        for name in ORIGIN
        if old.provenance.get(name) != new.provenance.get(name)
    ]
    return [*faults, *changed] if faults else []


def _configuration(old: Record, overrides: list[str], conf: Path) -> RunConfig:
    """The run's own configuration, with threads and compilation as they were and the rest as it is by default."""
    how = {"threads": old.provenance.get("threads", 1), "compile": old.provenance.get("compiled", False)}
    words = ["dataset=digits", "normalizer=softmax", *(f"{key}={value}" for key, value in how.items()), *overrides]
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf), version_base="1.3"):
        raw = plain(compose("config", overrides=words))
    return validate(raw | old.config)
