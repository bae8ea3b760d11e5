"""The typed configuration of one call (conf/analysis.yaml or conf/power.yaml), and how its mistakes are said."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from analysis.errors import InputError, near
from analysis.plan import Family, Frozen, Missing, Pair, Plan, Selection, Target

__all__ = ["Family", "Missing", "Pair", "Plan", "PowerSettings", "Selection", "Settings", "keys", "validated"]


def _not_empty(value: object) -> object:
    if value == "":
        raise ValueError("an empty path")
    return value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Place = Annotated[Path, BeforeValidator(_not_empty)]
Sources = Annotated[Annotated[list[Place], Field(min_length=1)], BeforeValidator(_as_list)]


class Settings(Frozen):
    """Everything one call of `python -m analysis` needs; paths are relative to the current directory."""

    records: Sources
    out: Place
    analysis: Plan
    figures: bool = True


class PowerSettings(Frozen):
    """Everything one call of `python -m analysis power` needs.

    `target` is the power wanted; `effect` the difference in accuracy to find, that of the pilot where it is None.
    """

    records: Sources
    analysis: Plan
    target: float = Field(default=0.8, gt=0, lt=1)
    effect: float | None = Field(default=None, gt=0, lt=1)


AnySettings = TypeVar("AnySettings", Settings, PowerSettings)


def keys(model: type[BaseModel]) -> list[str]:
    """Every key that a configuration of `model` can hold, at whatever depth; where near matches are looked for."""
    return sorted({name for part in (model, Plan, Family, Pair, Target) for name in part.model_fields})


def validated(content: Mapping[str, Any], model: type[AnySettings]) -> AnySettings:
    """The settings in `content` (plain containers). Raises InputError naming key, value and near matches."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise InputError("\n".join(_explained(item, model) for item in error.errors())) from error


def _explained(item: Any, model: type[BaseModel]) -> str:
    key = ".".join(str(part) for part in item["loc"])
    value = item["input"]
    if item["type"] == "extra_forbidden":
        return f"unknown key {key} (value {value!r}){near(str(item['loc'][-1]), keys(model))}"
    if item["type"] == "missing":
        return f"{key}: a value is required"
    if item["type"] == "value_error":
        # What the plan says of itself begins with the rest of the key.
        return f"{key}{'.' if key == 'analysis' else ': '}{item['ctx']['error']}"
    if item["type"] == "literal_error":
        choices = [ast.literal_eval(quoted) for quoted in re.findall(r"'[^']*'", item["ctx"]["expected"])]
        return f"{key}: {value!r} is none of {', '.join(choices)}{near(str(value), choices)}"
    return f"{key}: {item['msg']}, not {value!r}"
