"""The Hydra launcher that makes a multirun one sweep on this machine: planned as a whole, then run by workers."""

import inspect
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bench import overrides
from bench.schema import ConfigError
from bench.sweep import sweep
from normalizers import REGISTRY


def plain(config: DictConfig) -> dict[str, Any]:
    """The configuration as a resolved plain dictionary, without Hydra's own part.

    Raises ConfigError, naming the full key, where a required value is missing or an interpolation has no target.
    """
    config = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    _write_reals(config)
    try:
        missing = OmegaConf.missing_keys(config)
        if missing:
            raise ConfigError("\n".join(f"{key} is missing; give it as {key}=VALUE" for key in sorted(missing)))
        return OmegaConf.to_container(config, resolve=True)  # type: ignore[return-value]
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {str(error).splitlines()[0]}") from error


def composed(conf: Path, *words: str) -> dict[str, Any]:
    """The resolved configuration that the overrides `words` give, for commands that Hydra does not start.

    Raises ConfigError where one of them is no override of the configuration in the folder `conf`.
    """
    overrides.check(words, conf)
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf), version_base="1.3"):
            return plain(compose("config", overrides.for_hydra(words, conf)))
    except HydraException as error:
        raise ConfigError(str(error)) from error


def _write_reals(config: DictConfig) -> None:
    """Whole numbers given for real options of the normalizer become real ones, as in labels: entmax_2.0, not entmax_2.

    So one value has one label, however it is written.
    """
    options = OmegaConf.select(config, "normalizer", default=None)
    map_ = REGISTRY.get(OmegaConf.select(config, "normalizer.map", default=None))
    for option in inspect.signature(map_, eval_str=True).parameters.values() if map_ else ():
        reals = float in (option.annotation, *get_args(option.annotation))
        if reals and type(OmegaConf.select(options, option.name)) is int:
            options[option.name] = float(options[option.name])


Returns = list[Sequence[JobReturn]]


class PoolLauncher(Launcher):
    """Runs the jobs of a multirun as one sweep; see `bench.sweep`."""

    def __init__(self, **_settings: Any) -> None:
        self.config: DictConfig | None = None
        self.hydra_context: HydraContext | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.hydra_context = hydra_context
        self.config = config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """One JobReturn per job. Raises SystemExit with the sweep's exit code where that is not 0."""
        code = self._sweep(self._compose(job_overrides))
        if code:
            raise SystemExit(code)
        return [JobReturn(overrides=list(job), _return_value=None, status=JobStatus.COMPLETED) for job in job_overrides]

    def _sweep(self, raws: list[dict[str, Any]]) -> int:
        return sweep(raws)

    def _compose(self, job_overrides: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """A resolved configuration per job. Jobs that differ in nothing but the seed are composed once."""
        parser = OverridesParser.create()
        composed: dict[tuple[str, ...], dict[str, Any]] = {}
        result = []
        for job in job_overrides:
            # A value that refers to the seed has to be composed with it. (Hydra hands ${seed} on as $\\{seed\\}.)
            apart = not any("{seed" in word for word in job)
            seeds = [word for word in job if apart and word.startswith("seed=")]
            rest = tuple(word for word in job if word not in seeds)
            if rest not in composed:
                composed[rest] = self._compose_one(rest)
            content = deepcopy(composed[rest])
            for word in seeds:
                content["seed"] = parser.parse_override(word).value()
            result.append(content)
        return result

    def _compose_one(self, words: tuple[str, ...]) -> dict[str, Any]:
        assert self.hydra_context is not None
        assert self.config is not None
        try:
            return plain(self.hydra_context.config_loader.load_sweep_config(self.config, list(words)))
        except HydraException as error:
            raise ConfigError(f"{error} (in the job {' '.join(words)})") from error
