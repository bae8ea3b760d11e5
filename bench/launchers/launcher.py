"""The Hydra launchers of clusters. As with the pool, a multirun is one sweep, planned where it is submitted."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from bench import launcher
from bench.launchers.cluster import Cluster
from bench.launchers.settings import LocalSettings, RaySettings, SlurmSettings, check_runs, validate_settings
from bench.plan import at_once
from bench.schema import ConfigError
from bench.sweep import sweep


class _ClusterLauncher(launcher.PoolLauncher):
    """Checks its settings, then plans and carries out the sweep on its cluster."""

    name: str
    """The choice of hydra/launcher."""
    extra: str
    """The optional dependency that the cluster needs."""

    def cluster(self, settings: Mapping[str, Any], raws: list[dict[str, Any]]) -> Cluster:
        """The cluster for runs of these configurations. Raises ConfigError where they do not fit."""
        raise NotImplementedError

    def _sweep(self, raws: list[dict[str, Any]]) -> int:
        assert self.config is not None
        node = OmegaConf.to_container(self.config.hydra.launcher, resolve=True)
        assert isinstance(node, dict)
        settings = {str(key): value for key, value in node.items() if key != "_target_"}
        try:
            cluster = self.cluster(settings, raws)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"hydra/launcher={self.name} needs the package {error.name}; "
                f"install it with: pip install 'normbench[{self.extra}]'"
            ) from error
        return sweep([absolute(raw) for raw in raws], cluster)


class SubmititLocalLauncher(_ClusterLauncher):
    """Jobs of submitit as processes of this machine."""

    name, extra = "submitit_local", "submitit"

    def cluster(self, settings: Mapping[str, Any], raws: list[dict[str, Any]]) -> Cluster:
        typed = validate_settings(settings, LocalSettings)
        from bench.launchers.with_submitit import Local

        return Local(typed, at_once(raws[0]))


class SubmititSlurmLauncher(_ClusterLauncher):
    """Jobs of submitit as elements of a Slurm array."""

    name, extra = "submitit_slurm", "submitit"

    def cluster(self, settings: Mapping[str, Any], raws: list[dict[str, Any]]) -> Cluster:
        typed = validate_settings(settings, SlurmSettings)
        check_runs(typed, raws)
        from bench.launchers.with_slurm import Slurm

        return Slurm(typed, raws[0]["parallel"], _threads(raws))


class RayLauncher(_ClusterLauncher):
    """Tasks of Ray."""

    name, extra = "ray", "ray"

    def cluster(self, settings: Mapping[str, Any], raws: list[dict[str, Any]]) -> Cluster:
        typed = validate_settings(settings, RaySettings)
        check_runs(typed, raws)
        from bench.launchers.with_ray import Ray

        return Ray(typed, raws[0]["parallel"], _threads(raws))


def absolute(raw: Mapping[str, Any]) -> dict[str, Any]:
    """`raw` with its folders named from the root: for a job, relative ones would begin elsewhere."""
    result = deepcopy(dict(raw))
    for place, key in ((result, "results_dir"), (result["data"], "root"), (result["tracker"], "dir")):
        if place.get(key):
            place[key] = str(Path(place[key]).absolute())
    return result


def _threads(raws: list[dict[str, Any]]) -> int:
    return max(int(raw["threads"]) for raw in raws)
