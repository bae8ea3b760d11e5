"""Completion of `python -m bench` in bash: `eval "$(python -m bench -sc install=bash)"`.

Hydra's own script looks for a Python file behind the word `python` and does not know `-m`; what could come next in a
command line is found by Hydra. Neither torch nor the harness is loaded.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from bench.errors import ConfigError

FLAGS = {"-sc", "--shell-completion"}
USAGE = 'eval "$(python -m bench -sc install=bash)", or uninstall=bash'
INSTALL = r"""_normbench_complete() {
    local line="${COMP_LINE:0:COMP_POINT}"
    COMPREPLY=()
    [[ $line =~ ^[^[:space:]]*python[0-9.]*[[:space:]]+-m[[:space:]]+bench[[:space:]] ]] || return 0
    local choices
    choices=$(COMP_LINE="$line" "${COMP_WORDS[0]}" -m bench -sc query=bash 2>/dev/null)
    COMPREPLY=($(compgen -W "$choices" -- "${COMP_WORDS[COMP_CWORD]}"))
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
complete -o nospace -o bashdefault -o default -F _normbench_complete python python3"""
UNINSTALL = "complete -r python python3; unset -f _normbench_complete"


def asked(arguments: Sequence[str]) -> bool:
    """True if the command line `arguments` asks for completion."""
    return bool(FLAGS & set(arguments))


def complete(arguments: Sequence[str], conf: Path) -> int:
    """Print the script that installs or removes completion, or how the line in the variable COMP_LINE could go on.

    Returns the exit code. Raises ConfigError where `arguments` ask for anything else.
    """
    words = [word for word in arguments if word not in FLAGS]
    if words == ["install=bash"]:
        print(INSTALL)
    elif words == ["uninstall=bash"]:
        print(UNINSTALL)
    elif words == ["query=bash"] and "COMP_LINE" in os.environ:
        _query(conf)
    else:
        raise ConfigError(f"-sc {' '.join(words)}: completion is there for bash: {USAGE}")
    return 0


def _query(conf: Path) -> None:
    import hydra
    from omegaconf import DictConfig

    @hydra.main(config_path=str(conf), config_name="config", version_base="1.3")
    def run(_config: DictConfig) -> None:
        """Nothing to do: Hydra answers before it would call this."""

    # Hydra takes off the words of a script, `python FILE`.
    os.environ["COMP_LINE"] = re.sub(r"^\S+\s+-m\s+bench", "python bench", os.environ["COMP_LINE"])
    run()
