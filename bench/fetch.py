"""`python -m bench data`: fetch and prepare data sets before a sweep needs them."""

from collections.abc import Sequence
from pathlib import Path

from bench import inputs
from bench.launcher import composed
from bench.schema import ConfigError, suggest, validate
from datasets import DataError


def fetch(arguments: Sequence[str], conf: Path) -> int:
    """Prepare the data sets named in `arguments` (all of `conf/dataset` where none is), with overrides among them.

    Returns the exit code: 1 where one could not be had. Raises ConfigError for an unknown name.
    """
    known = sorted(path.stem for path in (conf / "dataset").glob("*.yaml"))
    overrides = [word for word in arguments if "=" in word]
    names = [word for word in arguments if "=" not in word] or known
    for name in names:
        if name not in known:
            raise ConfigError(f"the data set {name} is unknown{suggest(name, known)}")
    failures = 0
    for name in names:
        config = validate(composed(conf, f"dataset={name}", "normalizer=softmax", *overrides))
        try:
            prepared = inputs.arrays(config)
        except DataError as error:
            failures += 1
            print(f"{name:20} not available: {error}", flush=True)
            continue
        rows = f"{len(prepared.train):,} train, {len(prepared.test):,} test"
        print(f"{name:20} {rows:28} hash {prepared.hash}  {prepared.folder} {prepared.note}".rstrip(), flush=True)
    if failures:
        print(f"{failures} of {len(names)} data sets are not available; the reasons are above")
    return 1 if failures else 0
