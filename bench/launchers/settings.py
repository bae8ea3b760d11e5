"""What can be set of a launcher (`hydra.launcher.*`), checked before anything is planned."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from bench.schema import ConfigError, suggest


class Settings(BaseModel):
    """What every launcher of `bench.launchers` has; conf/hydra/launcher/ says what each key means."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    runs_per_job: int = Field(ge=1)
    retries: int = Field(ge=0)
    folder: str | None = Field(min_length=1)


class LocalSettings(Settings):
    minutes: int = Field(ge=1)


TAKEN = {
    "time": "hydra.launcher.minutes",
    "partition": "hydra.launcher.partition",
    "account": "hydra.launcher.account",
    "qos": "hydra.launcher.qos",
    "constraint": "hydra.launcher.constraint",
    "mem": "hydra.launcher.memory_gb",
    "cpus-per-task": "hydra.launcher.cpus",
    "gpus-per-node": "hydra.launcher.gpus",
    **dict.fromkeys(("array", "output", "error", "open-mode", "signal", "nodes", "ntasks-per-node"), ""),
}
"""Options of sbatch that the launcher sets by itself, with the setting that is to be used instead, if there is one."""


class SlurmSettings(Settings):
    cpus: int | None = Field(ge=1)
    memory_gb: float | None = Field(gt=0)
    gpus: int = Field(ge=0)
    minutes: int = Field(ge=2)  # a job is asked to leave up to 90 s before
    partition: str | None
    account: str | None
    qos: str | None
    constraint: str | None
    setup: list[str]
    options: dict[str, str | int | bool] | None

    @field_validator("options")
    @classmethod
    def _not_taken(cls, options: dict[str, str | int | bool] | None) -> dict[str, str | int | bool]:
        """The options as sbatch spells them."""
        spelled = {key.lstrip("-").replace("_", "-"): value for key, value in (options or {}).items()}
        for key in spelled:
            if key in TAKEN:
                remedy = f"use {TAKEN[key]}" if TAKEN[key] else "leave it out"
                raise ValueError(f"{key} is set by the launcher; {remedy}")
        return spelled


class RaySettings(Settings):
    cpus: int | None = Field(ge=1)
    memory_gb: float | None = Field(gt=0)
    gpus: float = Field(ge=0)
    address: str | None = Field(min_length=1)


Kind = TypeVar("Kind", bound=Settings)


def validate_settings(content: Mapping[str, Any], kind: type[Kind]) -> Kind:
    """The typed settings in `content`. Raises ConfigError, with every fault on a line of its own."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise ConfigError("\n".join(_fault(fault, kind) for fault in error.errors())) from error


def _fault(fault: Any, kind: type[Settings]) -> str:
    names = [str(part) for part in fault["loc"]]
    key = f"hydra.launcher.{names[0]}"
    if fault["type"] == "extra_forbidden":
        return f"{key} is not a setting of this launcher{suggest(names[0], list(kind.model_fields))}"
    if fault["type"] == "missing":
        return f"{key} is missing; give it as {key}=VALUE"
    value = fault["input"]
    if fault["type"] == "value_error":
        return f"{key}: {fault['ctx']['error']}"
    return f"{key}={value!r}: {fault['msg'].lower()}, got {type(value).__name__}"


def check_runs(settings: SlurmSettings | RaySettings, raws: list[dict[str, Any]]) -> None:
    """Raise ConfigError where a run of `raws` needs processors or a GPU that no job is given."""
    threads = max(raw["threads"] for raw in raws)
    if settings.cpus is not None and threads > settings.cpus:
        raise ConfigError(
            f"threads={threads} is more than hydra.launcher.cpus={settings.cpus}; leave cpus out, or raise it"
        )
    if not settings.gpus and any(raw["device"] == "cuda" for raw in raws):
        raise ConfigError("device=cuda: jobs are given no GPU; ask for one with hydra.launcher.gpus=1")
