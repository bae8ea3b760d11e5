"""The command line: `python -m analysis records=DIR out=DIR`, and the commands `power` and `animate` by name."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

import hydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel

from analysis.console import tolerant
from analysis.errors import InputError, near
from analysis.overrides import explained, for_hydra
from analysis.settings import PowerSettings, Settings, validated

CONF = Path(__file__).resolve().parent.parent / "conf"
REQUIRED = ("records", "out")
POWER, ANIMATE = "power", "animate"


def main() -> None:
    """What `python -m analysis` runs; what the user got wrong ends it with one message and status 2.

    Where standard output fails, files are written all the same; `power`, which only prints, ends with status 1.
    """
    words = sys.argv[1:]
    with tolerant() as output:
        obey(words)
    if words[:1] == [POWER] and output is not None and output.lost:
        raise SystemExit(1)


def obey(words: Sequence[str]) -> None:
    """Do what the command line `words` asks for."""
    command = shlex.join(["python", "-m", "analysis", *words])
    if {"-m", "--multirun"} & set(words):
        fail("one call makes one report: --multirun does not belong here")
    try:
        if words[:1] == [POWER]:
            plan_seeds(words[1:])
        elif words[:1] == [ANIMATE]:
            animate(words[1:])
        elif words and "=" not in words[0] and near(words[0], [POWER, ANIMATE]):
            fail(f"{words[0]} is no command{near(words[0], [POWER, ANIMATE])}")
        else:
            analyse(words, command)
    except (InputError, OmegaConfBaseException) as error:
        fail(str(error))


def analyse(words: Sequence[str], command: str) -> None:
    """Tables, figures and report, unless Hydra has only shown its help or the configuration."""
    config = composed(words, "analysis", Settings)
    if config is not None:
        settings = validated(plain(config), Settings)
        # Only now: help and configuration errors need neither pandas nor matplotlib.
        from analysis import run

        run.analyse(settings, command)


def plan_seeds(words: Sequence[str]) -> None:
    """The seeds that planned comparisons need, unless Hydra has only shown its help or the configuration."""
    config = composed(words, POWER, PowerSettings)
    if config is not None:
        settings = validated(plain(config), PowerSettings)
        from analysis import planner

        planner.plan_seeds(settings)


def animate(words: Sequence[str]) -> None:
    """The animation of the frames in the one folder that `words` name."""
    if len(words) != 1 or words[0].startswith("-"):
        fail("animate takes one folder with frames: python -m analysis animate results/attention_pooling")
    from analysis import animation

    animation.animate(Path(words[0]))


def composed(words: Sequence[str], name: str, model: type[BaseModel]) -> DictConfig | None:
    """The configuration that Hydra makes of `words` and conf/`name`.yaml, or None where they ask it to show something.

    `model` has the keys that a refusal may suggest.
    """
    found: list[DictConfig] = []

    def keep(config: DictConfig) -> None:
        found.append(config)

    sys.argv[1:] = [for_hydra(word) for word in words]
    # Hydra then raises its refusals instead of printing and ending with status 1, so that they can be explained here.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        hydra.main(config_path=str(CONF), config_name=name, version_base="1.3")(keep)()
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        fail(explained(words, CONF, str(error), model))
    return found[0] if found else None


def plain(config: DictConfig) -> dict[str, Any]:
    """`config` as plain containers. Raises InputError naming every value that is still `???`."""
    missing = {key.partition("[")[0] for key in OmegaConf.missing_keys(config)}
    if missing:
        lines = [f"{key}: a value is required, as {key}=DIR" for key in REQUIRED if key in missing]
        lines += [f"{key}: a value is required" for key in sorted(missing.difference(REQUIRED))]
        raise InputError("\n".join(lines))
    return cast("dict[str, Any]", OmegaConf.to_container(config, resolve=True))


def fail(message: str) -> NoReturn:
    """End with status 2 and `message` on standard error."""
    print(f"error: {message}", file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    main()
