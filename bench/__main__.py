"""`python -m bench dataset=digits normalizer=hae seed=3`: see conf/config.yaml, or --help."""

import os
import sys

from bench import ROOT, shadowing


def main() -> None:
    """The command line; exits with the sweep's code, or with 2 where the command cannot be carried out."""
    try:
        shadowing.check()
    except ImportError as error:
        sys.exit(_refuse(error))

    sys.path.append(str(ROOT / "bench" / "plugins"))
    import hydra
    from omegaconf import DictConfig

    from bench import overrides
    from bench.launcher import plain
    from bench.schema import ConfigError
    from bench.sweep import sweep

    conf = ROOT / "conf"

    @hydra.main(config_path=str(conf), config_name="config", version_base="1.3")
    def run(config: DictConfig) -> None:
        try:
            code = sweep([plain(config)])
        except ConfigError as error:  # here, because Hydra prints a line of its own for what leaves a job
            code = _refuse(error)
        if code:
            sys.exit(code)

    # Our own errors pass through Hydra as they are, to be said in one line below.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    if len(sys.argv) == 1 or {"--help", "-h"} & set(sys.argv):
        # Hydra composes a configuration to print its help, and the choices it needs are the reader's to make.
        sys.argv = [sys.argv[0], "--help", "dataset=digits", "normalizer=softmax"]
    try:
        overrides.check(sys.argv[1:], conf)
        run()
    except ConfigError as error:
        sys.exit(_refuse(error))
    except hydra.errors.HydraException as error:
        sys.exit(_refuse(overrides.explained(error)))


def _refuse(error: Exception | str) -> int:
    print(f"error: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
