"""Where Hydra finds the sweeper and the launcher: it takes plugins only from the namespace package `hydra_plugins`.

`bench.__main__` puts this folder's parent on the path.
"""

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from bench import launcher
from bench.errors import ConfigError
from bench.launchers import launcher as clusters


class PoolLauncher(launcher.PoolLauncher):
    """See `bench.launcher`."""


class SubmititLocalLauncher(clusters.SubmititLocalLauncher):
    """See `bench.launchers.launcher`."""


class SubmititSlurmLauncher(clusters.SubmititSlurmLauncher):
    """See `bench.launchers.launcher`."""


class RayLauncher(clusters.RayLauncher):
    """See `bench.launchers.launcher`."""


class PlannedSweeper(BasicSweeper):
    """Hydra's own sweeper without its trial composition of every job and the multirun.yaml it leaves behind.

    Every job is composed and checked once, by the launcher.
    """

    def sweep(self, arguments: list[str]) -> launcher.Returns:
        assert self.config is not None
        assert self.launcher is not None
        assert self.hydra_context is not None
        if not isinstance(self.launcher, launcher.PoolLauncher):
            name = self.config.hydra.runtime.choices["hydra/launcher"]
            raise ConfigError(f"hydra/launcher={name} carries out no sweep here; use pool, or see --help")
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        overrides = parser.parse_overrides([*self._parse_config(), *arguments])
        (jobs,) = self.split_arguments(overrides, max_batch_size=None)
        if not jobs:
            swept = ", ".join(str(word.input_line) for word in overrides if word.is_sweep_override())
            raise ConfigError(f"an empty sweep, there is nothing to run: one of {swept} has no value")
        return [self.launcher.launch(jobs, initial_job_idx=0)]
