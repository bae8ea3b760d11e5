"""The command line: runs and sweeps through Hydra (`--help`), and the commands of `COMMANDS` by name."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import ROOT, console, shadowing

CONF = ROOT / "conf"


def main() -> int:
    """Carry out the command line; returns the exit code, 2 where it cannot be carried out as it stands."""
    console.make_tolerant()
    try:
        shadowing.check()
    except ImportError as error:
        return _refuse(error)
    from bench.errors import ConfigError, suggest

    name, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    try:
        if name and "=" not in name and not name.startswith("-") and name not in COMMANDS:
            raise ConfigError(f"{name} is no command{suggest(name, list(COMMANDS))}, and no KEY=VALUE of a run")
        if name not in COMMANDS:
            return _run()
        if any(word.startswith("-") for word in arguments):
            print(COMMANDS[name].__doc__)
            return 0
        return COMMANDS[name](arguments)
    except ConfigError as error:
        return _refuse(error)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _data(arguments: Sequence[str]) -> int:
    """python -m bench data [NAME ...] [KEY=VALUE ...]: fetch and prepare data sets, all of them by default."""
    from bench.fetch import fetch

    return fetch(arguments, CONF)


def _collect(arguments: Sequence[str]) -> int:
    """python -m bench collect DIR ... [into=DIR]: copy finished records of folders into one, results/records."""
    from bench.collect import collect

    return collect(arguments)


def _speed(arguments: Sequence[str]) -> int:
    """python -m bench speed [DIR]: measure what each normalizer costs; tables go to DIR, results/speed by default."""
    from bench.speed import speed

    return speed(Path(arguments[0]) if arguments else Path("results/speed"))


def _verify(arguments: Sequence[str]) -> int:
    """python -m bench verify RECORD ... [KEY=VALUE ...]: make recorded runs again and compare them bit by bit."""
    from bench.verify import verify

    return verify(arguments, CONF)


def _doctor(arguments: Sequence[str]) -> int:
    """python -m bench doctor [KEY=VALUE ...]: what this machine has for the harness, and what to do about each lack."""
    from bench.doctor import doctor

    return doctor(arguments, CONF)


def _frames(arguments: Sequence[str]) -> int:
    """python -m bench frames [DIR] [KEY=VALUE ...]: train attention pooling, keep frames for its animation in DIR."""
    from bench.frames import frames

    return frames(arguments, CONF)


def _qjax(arguments: Sequence[str]) -> int:
    """python -m bench qjax [DIR]: compare with the qjax package; the table goes to DIR, results/attention_pooling."""
    from bench.speed.qjax import compare

    return compare(Path(arguments[0]) if arguments else Path("results/attention_pooling"))


def _status(arguments: Sequence[str]) -> int:
    """python -m bench status RECORDS [watch=SECONDS]: how far a sweep is, once or every so many seconds."""
    from bench.status import status

    return status(arguments)


def _publish(arguments: Sequence[str]) -> int:
    """python -m bench publish DIR ... [KEY=VALUE ...]: log records, and what an analysis wrote, to Weights & Biases."""
    from bench.publish import publish

    return publish(arguments, CONF)


def _dashboard(arguments: Sequence[str]) -> int:
    """python -m bench dashboard ENTITY/PROJECT [save=FILE]: lay out a dashboard at W&B, or write it to FILE."""
    from bench.dashboard import dashboard

    return dashboard(arguments)


def _explorer(arguments: Sequence[str]) -> int:
    """python -m bench explorer [FILE]: write the page that shows the theory, results/explorer.html by default."""
    from bench.errors import ConfigError
    from bench.explorer import DEFAULT, explorer

    if len(arguments) > 1:
        raise ConfigError(f"explorer writes one FILE, got {' '.join(arguments)}")
    return explorer(Path(arguments[0]) if arguments else DEFAULT)


COMMANDS = {
    **{"data": _data, "collect": _collect, "speed": _speed, "verify": _verify, "doctor": _doctor},
    **{"status": _status, "publish": _publish, "dashboard": _dashboard},
    **{"frames": _frames, "qjax": _qjax, "explorer": _explorer},
}


def _run() -> int:
    """One run or a sweep, as Hydra composes it from the command line."""
    from bench import completion

    if completion.asked(sys.argv[1:]):
        return completion.complete(sys.argv[1:], CONF)
    sys.path.append(str(ROOT / "bench" / "plugins"))
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig

    from bench import folders, overrides
    from bench.errors import ConfigError
    from bench.launcher import plain
    from bench.sweep import sweep

    typed_in = Path.cwd()

    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def run(config: DictConfig) -> None:
        os.chdir(typed_in)  # with hydra.job.chdir=true Hydra went elsewhere; folders mean what their words meant
        try:
            launcher = HydraConfig.get().runtime.choices["hydra/launcher"]
            if launcher != "pool":
                raise ConfigError(f"hydra/launcher={launcher} carries out sweeps; add -m")
            code = sweep([plain(config)])
        except ConfigError as error:  # here, because Hydra prints a line of its own for what leaves a job
            code = _refuse(error)
        if code:
            sys.exit(code)

    # Our own errors pass through Hydra as they are, to be said in one line by main.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    if len(sys.argv) == 1 or {"--help", "-h"} & set(sys.argv):
        # Hydra composes a configuration to print its help, and the choices it needs are the reader's to make.
        sys.argv = [sys.argv[0], "--help", "dataset=digits", "normalizer=softmax"]
    overrides.check_flags(sys.argv[1:])
    overrides.check(sys.argv[1:], CONF)
    for notice in folders.notices(sys.argv[1:]):
        print(f"notice: {notice}", file=sys.stderr)
    sys.argv[1:] = overrides.for_hydra(sys.argv[1:], CONF)
    try:
        run()
    except hydra.errors.HydraException as error:
        return _refuse(error)
    return 0


def _refuse(error: Exception | str) -> int:
    print(f"error: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
