"""What is said of a configuration that does not fit its schema: the key, the value, and what would do."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bench.errors import suggest

LABELS = {"dataset": "name", "normalizer": "name", "model": "kind"}
"""Groups whose keys differ from choice to choice, with the key that names the choice."""

Types = Mapping[str, type[BaseModel]]


def lines(error: ValidationError, raw: Mapping[str, Any], types: Types, choices: Callable[[str], Types]) -> list[str]:
    """A line for each fault that `error` found in the configuration `raw`.

    `types` are the schemas by group, that of the whole under ""; `choices(group)` those of everything that a group of
    `LABELS` can be.
    """
    return [_line(fault, raw, types, choices) for fault in error.errors()]


def _line(fault: ErrorDetails, raw: Mapping[str, Any], types: Types, choices: Callable[[str], Types]) -> str:
    path = [str(part) for part in fault["loc"]]
    key, value = ".".join(path), fault["input"]
    said = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        return _unknown(path, raw, types, choices)
    if fault["type"] == "missing":
        return f"{key} is missing; give it as {key}=VALUE"
    if isinstance(value, Mapping):
        return f"{key}: {said}"
    if fault["type"] == "value_error":
        return f"{key}={value!r}: {said}"
    return f"{key}={value!r}: {said.lower()}, got {type(value).__name__}"


def _unknown(path: list[str], raw: Mapping[str, Any], types: Types, choices: Callable[[str], Types]) -> str:
    """What is said of the key `path`, which the schema of its group does not have."""
    group, name = path[0] if len(path) > 1 else "", path[-1]
    fields = types[group].model_fields
    if group not in LABELS:
        return f"{'.'.join(path)} is not a key of this configuration{suggest(name, list(fields))}"
    owner = f"{group} {raw[group].get(LABELS[group])}"
    others = sorted(choice for choice, type_ in choices(group).items() if name in type_.model_fields)
    having = f"; {_listed(others)} can have it: give it in a command without {owner}" if others else ""
    return f"{'.'.join(path)} is not a key of {owner}{suggest(name, list(fields))}{having}"


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
