"""Opening and closing a run at Weights & Biases, whatever its server does: nothing asks, and every wait has an end."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from bench.errors import ConfigError

if TYPE_CHECKING:
    from bench.schema import TrackerConfig

Mode = Literal["online", "offline", "disabled"]

START_SECONDS = 20.0
"""How long a server has for its answer before a run is kept offline."""
END_SECONDS = 60.0
"""How long the last of a run's data may take to be sent."""

KEPT = "kept"
"""Marks the folder of an online run whose data the server did not take in time."""

SECRET = "WANDB_API_KEY"
"""What is never shown."""

_said: set[str] = set()
_lost: set[str] = set()
"""Servers that did not answer this process: what follows is kept offline, without waiting for them again."""


def check_environment() -> None:
    """Raise ConfigError, a line each, for variables WANDB_* that the wandb package refuses: no run could begin."""
    import wandb

    faults = []
    for name, value in sorted(os.environ.items()):
        if name.startswith("WANDB_") and name != SECRET:
            try:
                wandb.Settings().update_from_env_vars({name: value})
            except (ValueError, wandb.Error) as error:
                faults.append(f"the environment variable {name}={value}: {_reason(error)}; change or unset it")
    if faults:
        raise ConfigError("\n".join(faults))


def _reason(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(fault["msg"].removeprefix("Value error, ") for fault in error.errors())
    return first_line(error)


def unreachable() -> str | None:
    """Why nothing can be sent to W&B from here, or None where it can."""
    import wandb

    wandb.setup(settings=wandb.Settings(silent=True))
    try:
        key = wandb.login(prompt=False, verify=True)
    except Exception as error:
        return f"W&B cannot be reached ({type(error).__name__}: {first_line(error)})"
    return None if key else "W&B has no key here (`wandb login` sets one)"


def open_run(tracker: "TrackerConfig", described: Mapping[str, Any]) -> Any:
    """A run at W&B as `described` (see `bench.logged.described`).

    Where `mode: online` has no key or no server, the run is kept offline below `tracker.dir`, with a notice.
    """
    import wandb

    place = Path(tracker.dir)
    place.mkdir(parents=True, exist_ok=True)
    # Tables and artifacts wait there until they are sent, so it must not be a folder that comes and goes with a job.
    os.environ.setdefault("WANDB_DATA_DIR", str(place.absolute()))
    wandb.setup(settings=wandb.Settings(silent=True))
    mode: Mode = "offline" if _lost else tracker.mode
    if mode == "online" and not wandb.login(prompt=False, verify=False):  # whether the key is good, `init` will see
        mode = _keep_offline("W&B has no key here (`wandb login` sets one)")
    try:
        return _init(tracker, described, mode)
    except Exception as error:
        if mode != "online":
            raise
        mode = _keep_offline(f"W&B cannot be reached ({type(error).__name__}: {first_line(error)})")
        wandb.teardown()  # it holds on to the id of the run that it could not begin
        return _init(tracker, described, mode)


def close_run(run: Any, exit_code: int) -> None:
    """End `run`; what a server does not take in time stays on disk, with a notice."""
    folder = Path(run.settings.sync_dir)
    try:
        run.finish(exit_code=exit_code)
    except TimeoutError:
        _lost.add("server")
        (folder / KEPT).touch()
        command = f"wandb sync --include-online {shlex.quote(os.path.relpath(folder.parent))}"
        say(f"W&B did not take all data of a run within {END_SECONDS:g} s; they are kept, and `{command}` sends them")


def say(what: str) -> None:
    """One notice per process and reason."""
    if what not in _said:
        _said.add(what)
        print(f"notice: tracker: {what}; records are complete without it", file=sys.stderr, flush=True)


def first_line(error: BaseException) -> str:
    """What `error` says, in one line."""
    return next(iter(str(error).strip().splitlines()), "")


def _keep_offline(reason: str) -> Mode:
    _lost.add("server")
    say(f"{reason}, so runs are kept offline")
    return "offline"


def _init(tracker: "TrackerConfig", described: Mapping[str, Any], mode: Mode) -> Any:
    import wandb

    settings = wandb.Settings(
        console="off",
        silent=True,
        disable_git=True,
        save_code=False,
        host="",
        x_disable_stats=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
        init_timeout=START_SECONDS,
        finish_timeout=END_SECONDS,
        finish_timeout_raises=True,
    )
    return wandb.init(
        project=tracker.project,
        entity=tracker.entity,
        dir=tracker.dir,
        mode=mode,
        # A run that is there already keeps its curves: steps it has are not taken again.
        resume="allow" if mode == "online" else None,
        reinit="create_new",
        settings=settings,
        **described,
    )
