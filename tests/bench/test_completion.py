"""Completion of the command line in bash."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.helpers import ROOT, TIMEOUT

Command = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("line", "found", "absent"),
    [
        ("python -m bench data", {"dataset="}, "seed="),
        ("python -m bench dataset=digits normalizer=hae data", {"dataset=", "data."}, "seed="),
        ("python3 -m bench -m dataset=digits normalizer=topk", {"normalizer=topk", "normalizer=topk_4"}, "softmax"),
        ("/a/b/python -m bench hydra/launcher=", {"hydra/launcher=ray", "hydra/launcher=pool"}, "seed="),
        ("python -m bench dataset=digits normalizer=softmax train.", {"train.epochs=", "train.clip_norm="}, "seed="),
    ],
)
def test_what_can_come_next_is_shown(
    command: Command, monkeypatch: pytest.MonkeyPatch, line: str, found: set[str], absent: str
) -> None:
    monkeypatch.setenv("COMP_LINE", line)
    code, out, err = command("-sc", "query=bash")
    assert (code, err) == (0, "")
    assert found <= set(out.split())
    assert absent not in out.split()


@pytest.mark.parametrize("words", [("install=zsh",), (), ("query=bash",), ("install=bash", "dataset=digits")])
def test_what_cannot_be_completed_is_refused(
    command: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.delenv("COMP_LINE", raising=False)
    code, _, err = command("-sc", *words)
    assert code == 2
    assert 'completion is there for bash: eval "$(python -m bench -sc install=bash)"' in err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_the_command_line_without_loading_torch(command: Command, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was loaded')", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    _, script, _ = command("-sc", "install=bash")
    _, away, _ = command("-sc", "uninstall=bash")
    words = [sys.executable, "-m", "bench", "dataset=dig"]
    lines = [
        *("set -e", script, f"cd {ROOT}", f"COMP_WORDS=({' '.join(words)})", "COMP_CWORD=3"),
        *(f"COMP_LINE='{' '.join(words)}'", "COMP_POINT=${#COMP_LINE}"),
        *("_normbench_complete", 'echo "found: ${COMPREPLY[*]}"'),
        *("COMP_LINE='python setup.py x'", "COMP_POINT=17", "_normbench_complete", 'echo "other: ${COMPREPLY[*]}"'),
        *(away, "type -t _normbench_complete || echo removed"),
    ]
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=TIMEOUT, check=True, env=environment
    )
    assert done.stdout == "found: dataset=digits\nother: \nremoved\n"
    assert done.stderr == ""
