"""A first look at the command line: names and choices are checked before Hydra composes anything.

Hydra refuses these too, but a sweep only when it comes to the bad job, and without near matches.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, ValueType
from hydra.errors import OverrideParseException
from omegaconf import OmegaConf

from bench.schema import ConfigError, suggest

PASSED_ON = ("hydra",)
"""Keys that are Hydra's own business."""
NOTHING = "experiment=null"
"""What is so without a word, and which Hydra does not take as one."""
LISTED = (ValueType.CHOICE_SWEEP, ValueType.SIMPLE_CHOICE_SWEEP, ValueType.RANGE_SWEEP)
"""Sweeps whose values stand on the command line."""


def check(arguments: Sequence[str], conf: Path) -> None:
    """Raise ConfigError, with every fault on a line of its own, where an override names what is not there.

    `arguments` are those of the command line; `conf` is the folder of the configuration.
    """
    words = [word for word in arguments if "=" in word and not word.startswith("-") and word != NOTHING]
    try:
        overrides = OverridesParser.create().parse_overrides(words)
    except OverrideParseException as error:
        raise ConfigError(f"{error.override}: {str(error).splitlines()[0]}; write KEY=VALUE") from error
    faults = [fault for override in overrides for fault in _faults(override, conf)]
    if faults:
        raise ConfigError("\n".join(faults))


def _faults(override: Override, conf: Path) -> Iterator[str]:
    key = override.key_or_group
    if key.split(".")[0].split("/")[0] in PASSED_ON or override.is_add():
        return  # what is added is looked at with the composed configuration
    values = _values(override)
    if values == []:
        yield f"{override.input_line}: an empty sweep, there is nothing to run"
    if (conf / key).is_dir():
        choices = sorted(path.stem for path in (conf / key).glob("*.yaml"))
        for value in values or []:
            if str(value) not in choices:
                yield f"{key}={value} is unknown{suggest(str(value), choices)}"
    elif key not in known_keys(conf):
        yield f"{key} is not a key of the configuration{_nearest(key, known_keys(conf))}"


def _values(override: Override) -> list[Any] | None:
    """The values that the override sweeps or sets; those of a glob or an interval are Hydra's to find."""
    if not override.is_sweep_override():
        return [override.value()]
    if override.value_type in LISTED:
        return list(override.sweep_string_iterator())
    return None


def _nearest(key: str, known: list[str]) -> str:
    """Near matches of the whole key, or of its last part anywhere: `epochs` finds `train.epochs`."""
    same_end = [name for name in known if name.rpartition(".")[2] == key.rpartition(".")[2]]
    if same_end:
        return f"; did you mean {' or '.join(same_end)}?"
    return suggest(key, known)


def known_keys(conf: Path) -> list[str]:
    """Every key that some choice of files has: those of config.yaml, and `group` and `group.key` of its groups."""
    main = _load(conf / "config.yaml")
    groups = [str(group) for entry in main.pop("defaults") if isinstance(entry, dict) for group in entry]
    found = dict.fromkeys(_leaves({key: value for key, value in main.items() if key not in PASSED_ON}))
    for group in (name for name in groups if (conf / name).is_dir()):
        found[group] = None
        if group != "experiment":
            for path in sorted((conf / group).glob("*.yaml")):
                content = _load(path)
                content.pop("defaults", None)
                found |= dict.fromkeys(f"{group}.{leaf}" for leaf in _leaves(content))
    return list(found)


def _load(path: Path) -> dict[str, Any]:
    content = OmegaConf.to_container(OmegaConf.load(path))
    return {str(key): value for key, value in content.items()} if isinstance(content, dict) else {}


def _leaves(content: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in content.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def forced(arguments: Sequence[str], conf: Path) -> list[str]:
    """`arguments`, options of a group's choice (`dataset.patch=4`) marked so that Hydra always takes them.

    Hydra composes a sweep once without its swept choices and would refuse the option of a choice that is not made yet.
    Whether each run's choice has the option is seen by the schema, for every run of the sweep.
    """
    groups = tuple(f"{path.name}." for path in conf.iterdir() if path.is_dir() and path.name not in PASSED_ON)
    words = [word for word in arguments if word != NOTHING]
    return [f"++{word}" if word.startswith(groups) and "=" in word else word for word in words]
