"""The typed configuration of one analysis (conf/analysis.yaml with a choice from conf/analysis/)."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from analysis.errors import InputError, near

Missing = Literal["refuse", "drop"]


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Family(_Frozen):
    """Planned comparisons of each treatment with the control on each data set; Holm's m is their number."""

    datasets: list[str] = Field(min_length=1)
    treatments: list[str] = Field(min_length=1)

    @field_validator("datasets", "treatments")
    @classmethod
    def _no_doubles(cls, names: list[str]) -> list[str]:
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise ValueError(f"{double!r} is named twice, which would count one test twice in m")
        return names

    @property
    def m(self) -> int:
        """The number of planned tests, with or without a result."""
        return len(self.datasets) * len(self.treatments)


class Pair(_Frozen):
    """A direct comparison treatment - control, made on every data set that has records of either."""

    treatment: str
    control: str

    @property
    def name(self) -> str:
        """The name of its table."""
        return f"{self.treatment}_vs_{self.control}"


class Plan(_Frozen):
    """What is compared: one file of conf/analysis/.

    `order` gives the rows of the tables and is the list of known normalizers; normalizers that only the records name
    follow after it. `names` overrides display names. `confidence` holds for every interval. `missing` says what becomes
    of a comparison whose seeds are incomplete.
    """

    control: str
    order: list[str] = Field(min_length=1)
    names: dict[str, str] = {}
    families: dict[str, Family] = {}
    pairs: list[Pair] = []
    confidence: float = Field(default=0.95, gt=0, lt=1)
    missing: Missing = "refuse"

    @model_validator(mode="after")
    def _known_normalizers(self) -> Self:
        uses = [("control", self.control)]
        uses += [(f"families.{key}.treatments", name) for key, f in self.families.items() for name in f.treatments]
        for index, pair in enumerate(self.pairs):
            uses += [(f"pairs.{index}.treatment", pair.treatment), (f"pairs.{index}.control", pair.control)]
            if pair.treatment == pair.control:
                raise ValueError(f"pairs.{index}: {pair.control!r} is compared with itself")
        for where, name in uses:
            if name not in self.order:
                known = ", ".join(self.order)
                raise ValueError(f"{where}: unknown normalizer {name!r}{near(name, self.order)} (order has {known})")
            if where.endswith(".treatments") and name == self.control:
                raise ValueError(f"{where}: {name!r} is the control, it cannot be compared with itself")
        return self


def _not_empty(value: object) -> object:
    if value == "":
        raise ValueError("an empty path")
    return value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Place = Annotated[Path, BeforeValidator(_not_empty)]


class Settings(_Frozen):
    """Everything one call of `python -m analysis` needs; paths are relative to the current directory."""

    records: Annotated[list[Place], BeforeValidator(_as_list)] = Field(min_length=1)
    out: Place
    analysis: Plan


KEYS = sorted({name for model in (Settings, Plan, Family, Pair) for name in model.model_fields})
"""Every key a configuration can hold, at whatever depth; where near matches are looked for."""


def validated(content: Mapping[str, Any]) -> Settings:
    """The settings in `content` (plain containers). Raises InputError naming key, value and near matches."""
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        raise InputError("\n".join(_explained(item) for item in error.errors())) from error


def _explained(item: Any) -> str:
    key = ".".join(str(part) for part in item["loc"])
    value = item["input"]
    if item["type"] == "extra_forbidden":
        return f"unknown key {key} (value {value!r}){near(str(item['loc'][-1]), KEYS)}"
    if item["type"] == "missing":
        return f"{key}: a value is required"
    if item["type"] == "value_error":
        # What the plan says of itself begins with the rest of the key.
        return f"{key}{'.' if key == 'analysis' else ': '}{item['ctx']['error']}"
    if item["type"] == "literal_error":
        choices = [ast.literal_eval(quoted) for quoted in re.findall(r"'[^']*'", item["ctx"]["expected"])]
        return f"{key}: {value!r} is none of {', '.join(choices)}{near(str(value), choices)}"
    return f"{key}: {item['msg']}, not {value!r}"
