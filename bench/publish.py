"""`python -m bench publish`: log to Weights & Biases what was recorded, and compared, without it.

The runs are those that `tracker=wandb` makes, with the ids, names, groups and numbers that it gives them, from records
alone; what a record does not hold (attention after each epoch, maps, the confusion matrix) is left out.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import wandb

from bench import records
from bench.comparison import Comparison, find, log
from bench.errors import ConfigError, suggest
from bench.fingerprint import PROTOCOL, identify
from bench.folders import divided
from bench.launcher import composed
from bench.logged import described, history, summary
from bench.records import Record
from bench.schema import RunConfig, TrackerConfig, validate
from bench.wandb_run import check_environment, close_run, first_line, open_run, say, unreachable
from bench.wandb_sweep import not_sent

KEYS = [*(f"tracker.{name}" for name in TrackerConfig.model_fields if name != "kind"), "tags"]
USAGE = "python -m bench publish DIR ... [tracker.mode=online tracker.project=NAME tracker.entity=NAME tags=[WORD]]"


def publish(arguments: Sequence[str], conf: Path) -> int:
    """Log the records below the folders among `arguments`, and the analyses that lie in these folders.

    Returns the exit code: 1 where a file is no record and is left out. Raises ConfigError where a folder or option is
    none, where there is nothing to log, and where it cannot be written.
    """
    folders, config, base = _read(arguments, conf)
    found, broken = records.scan(folders)
    comparisons = [comparison for comparison in map(find, folders) if comparison]
    for error in broken:
        print(f"{error}; left out", file=sys.stderr)
    if not found and not comparisons:
        raise ConfigError(f"publish: no record and no analysis in {', '.join(map(str, folders))}")
    check_environment()
    if config.tracker.mode == "online" and (reason := unreachable()):
        say(f"{reason}, so runs are kept offline")
        config = config.model_copy(update={"tracker": config.tracker.model_copy(update={"mode": "offline"})})
    try:
        _log(found, comparisons, config, base)
    except (OSError, wandb.Error) as error:
        raise ConfigError(f"publish: W&B cannot be written ({type(error).__name__}: {first_line(error)})") from error
    for line in not_sent(Path(config.tracker.dir)):
        print(line)
    return 1 if broken else 0


def _log(
    found: Sequence[tuple[Path, Record]], comparisons: Sequence[Comparison], config: RunConfig, base: dict[str, object]
) -> None:
    runs = once(found)
    for number, (_, record) in enumerate(runs, start=1):
        tags = [*_protocol(record, base), *config.tags]
        run = open_run(config.tracker, described(record.model_dump(), tags))
        for epoch, values in history(record):
            run.log({"epoch": epoch, **values}, step=epoch)
        run.summary.update(summary(record))
        close_run(run, 0 if record.status == "completed" else 1)
        print(f"[{number}/{len(runs)}] {'/'.join(map(str, record.key))}", flush=True)
    for comparison in comparisons:
        folder = comparison.folder.resolve()
        own = once([(path, record) for path, record in found if path.resolve().is_relative_to(folder)])
        log(comparison, own, config.tracker, config.tags)
        print(f"analysis {comparison.folder} as {comparison.id}", flush=True)


def once(found: Sequence[tuple[Path, Record]]) -> list[tuple[Path, Record]]:
    """Each run once, by its fingerprint: the first completed record of it, else the first."""
    chosen: dict[str, tuple[Path, Record]] = {}
    for path, record in found:
        before = chosen.get(record.fingerprint)
        if before is None or (before[1].status != "completed" and record.status == "completed"):
            chosen[record.fingerprint] = (path, record)
    return list(chosen.values())


def _protocol(record: Record, base: dict[str, object]) -> list[str]:
    """The tag of the protocol where the record was made by this one, which its fingerprint shows."""
    try:
        again = identify(validate(base | record.config), str(record.provenance.get("data_hash")))
    except ConfigError:  # made by a version that had other options
        return []
    return [f"protocol-{PROTOCOL}"] if again.fingerprint == record.fingerprint else []


def _read(arguments: Sequence[str], conf: Path) -> tuple[list[Path], RunConfig, dict[str, object]]:
    """The folders, the configuration whose tracker and tags count, and a whole one for the rest of a record's."""
    words, paths = divided(arguments)
    folders = [Path(path) for path in paths]
    for word in words:
        key = word.partition("=")[0]
        if key not in KEYS:
            raise ConfigError(f"publish: {key} is no option{suggest(key, KEYS)}; {USAGE}")
    if not folders:
        raise ConfigError(f"publish needs folders of records or of an analysis: {USAGE}")
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"publish: {folder} is no folder")
    raw = composed(conf, "dataset=digits", "normalizer=softmax", "tracker=wandb", *words)
    if not any(word.startswith("tracker.dir=") for word in words):
        raw["tracker"]["dir"] = str(folders[0] / ".wandb")
    return folders, validate(raw), raw
