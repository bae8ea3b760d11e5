"""A first look at the command line: names and choices are checked before Hydra composes anything.

Hydra refuses these too, but a sweep only when it comes to the bad job, and without near matches.
"""

import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hydra._internal.utils import get_args
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, ValueType
from hydra.errors import HydraException
from omegaconf import OmegaConf

from bench.errors import nearest
from bench.folders import in_quotes, quoted
from bench.schema import ConfigError, suggest

PASSED_ON = ("hydra",)
"""Keys that are Hydra's own business."""
LOGGING = {"hydra/job_logging": ("none", "disabled", "stdout")}
"""Hydra's choices that leave no file behind."""
ALL_KEYS = "`python -m bench dataset=digits normalizer=softmax --cfg job` shows the keys of a run"
NOTHING = "experiment=null"
"""What is so without a word, and which Hydra does not take as one."""
LISTED = (ValueType.CHOICE_SWEEP, ValueType.SIMPLE_CHOICE_SWEEP, ValueType.RANGE_SWEEP)
"""Sweeps whose values stand on the command line."""


def check(arguments: Sequence[str], conf: Path) -> None:
    """Raise ConfigError, with every fault on a line of its own, where an override names what is not there.

    `arguments` are those of the command line; `conf` is the folder of the configuration.
    """
    words = [quoted(word) for word in arguments if "=" in word and not word.startswith("-") and word != NOTHING]
    faults = [fault for override in map(_parsed, words) for fault in _faults(override, conf)]
    if faults:
        raise ConfigError("\n".join(faults))


def _parsed(word: str) -> Override:
    parser = OverridesParser.create()
    try:
        return parser.parse_override(word)
    except HydraException as error:
        key, _, value = word.partition("=")
        try:
            cured = f"{key}={in_quotes(value)}"
            parser.parse_override(cured)
        except HydraException:
            raise ConfigError(f"{word} is not of the form KEY=VALUE") from error
        raise ConfigError(
            f"{word}: the value has signs with a meaning of their own; to take them as they stand, quote it twice: "
            f"{shlex.quote(cured)}"
        ) from error


def _faults(override: Override, conf: Path) -> Iterator[str]:
    key = override.key_or_group
    if key in LOGGING and override.value() not in LOGGING[key]:
        yield f"{key}={override.value()} would leave a log file beside the records; {key}=stdout prints it instead"
    if (conf / key).is_dir():
        yield from _choice_faults(override, conf)
    elif key.split(".")[0].split("/")[0] in PASSED_ON or override.is_add():
        return  # what is added is looked at with the composed configuration
    elif key not in known_keys(conf):
        yield f"{key} is not a key of the configuration{_nearest(key, known_keys(conf))}"
    elif _values(override, []) == []:
        yield f"{override.input_line}: an empty sweep, there is nothing to run; list values, as in {key}=1,2"


def _choice_faults(override: Override, conf: Path) -> Iterator[str]:
    """The faults of an override whose key is a group: its values must be files of it."""
    group = override.key_or_group
    choices = sorted(path.stem for path in (conf / group).glob("*.yaml"))
    values = _values(override, choices)
    if values == []:
        pattern = override.value()
        wanted = " ".join(pattern.include) if isinstance(pattern, Glob) else ""
        yield f"{override.input_line}: an empty sweep, no choice matches{suggest(wanted, choices)}"
    unknown = [str(value) for value in values or [] if str(value) not in choices]
    for value in unknown:
        yield f"{group}={value} is unknown{suggest(value, choices)}"
    if group == "experiment" and len(values or []) > 1 and not unknown:
        prepared = [value for value in values or [] if "hydra" in _load(conf / group / f"{value}.yaml")]
        if prepared:
            yield f"{override.input_line}: {prepared[0]} is a sweep of its own; one command carries out one experiment"


def _values(override: Override, choices: list[str]) -> list[Any] | None:
    """The values that the override sweeps or sets, those of a glob among `choices`; None for an interval."""
    if not override.is_sweep_override():
        return [override.value()]
    if override.value_type in LISTED:
        return list(override.sweep_string_iterator())
    value = override.value()
    return value.filter(choices) if isinstance(value, Glob) else None


def _nearest(key: str, known: list[str]) -> str:
    """Near matches of the whole key, or of its last part anywhere: `epochs` finds `train.epochs`."""
    same_end = [name for name in known if name.rpartition(".")[2] == key.rpartition(".")[2]]
    if same_end:
        return f"; did you mean {' or '.join(same_end)}?"
    return nearest(key, known, ALL_KEYS)


@cache
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


def for_hydra(arguments: Sequence[str], conf: Path) -> list[str]:
    """`arguments` as Hydra is to read them: paths quoted, and options of a group's choice (`dataset.patch=4`) forced.

    Hydra composes a sweep once without its swept choices and would refuse the option of a choice that is not made yet.
    Whether each run's choice has the option is seen by the schema, for every run of the sweep.
    """
    groups = tuple(f"{path.name}." for path in conf.iterdir() if path.is_dir() and path.name not in PASSED_ON)
    words = [quoted(word) for word in arguments if word != NOTHING]
    return [f"++{word}" if word.startswith(groups) and "=" in word else word for word in words]


def check_flags(arguments: Sequence[str]) -> None:
    """Raise ConfigError where Hydra's flags among `arguments` do not go together, or ask for what no run leaves."""
    flags = get_args(arguments)
    if flags.experimental_rerun is not None:
        raise ConfigError(
            f"--experimental-rerun {flags.experimental_rerun}: runs leave their record alone, and no configuration of "
            "Hydra's to run again; repeat the command, with force=true where it is to replace finished records"
        )
    given = {"--run": flags.run, "--multirun": flags.multirun, "--cfg": flags.cfg, "--info": flags.info}
    commands = [name for name, value in given.items() if value]
    if len(commands) > 1:
        raise ConfigError(f"{' and '.join(commands)} do not go together; leave one")
    if flags.resolve and not (flags.cfg or flags.help):
        raise ConfigError("--resolve goes with --cfg job, which shows the configuration")
    for word in flags.overrides:
        if "=" not in word and not word.startswith("~"):
            raise ConfigError(f"{word} is not of the form KEY=VALUE")
