"""Where Hydra finds the pool: it takes plugins only from the namespace package `hydra_plugins`.

`bench.__main__` puts this folder's parent on the path.
"""

from bench import launcher


class PoolLauncher(launcher.PoolLauncher):
    """See `bench.launcher`."""
