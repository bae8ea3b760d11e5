"""Every command of docs/cluster.md is run: with less data and fewer epochs, and on the tests' own cluster."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bench import ROOT
from tests.bench.helpers import TINY

DOCS = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", DOCS, flags=re.DOTALL)
SMALL = ("dataset=digits", "normalizer=softmax", "seed=0,1")
"""What stands in for the data sets, normalizers and seeds of an experiment."""


def commands(block: str) -> list[list[str]]:
    return [shlex.split(line, comments=True) for line in block.replace("\\\n", " ").splitlines()]


def carry_out(words: list[str], folder: Path) -> None:
    """Run one command in `folder`, and fail where it fails."""
    if words[:2] == ["pip", "install"]:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "optional-dependencies"
        ]
        assert re.fullmatch(r"normbench\[(\w+)\]", words[2])[1] in extras  # type: ignore[index]
    elif words[:2] == ["ray", "start"]:
        assert os.environ["NORMBENCH_RAY"]  # tests/cluster/run.py takes these from here
    else:
        assert words[:2] == ["python", "-m"]
        words = [sys.executable, *(word.replace("HEAD:6379", os.environ["NORMBENCH_RAY"]) for word in words[1:])]
        if "-m" in words[3:]:
            words += TINY
        elif any(word.startswith("experiment=") for word in words):
            words += [*SMALL, *TINY]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
        assert "failed:" not in done.stderr


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: commands(block)[-1][-1])
def test_the_commands_of_the_documentation_run(block: str, tmp_path: Path) -> None:
    for words in commands(block):
        carry_out(words, tmp_path)
    made = list(tmp_path.rglob("seed=*.json"))
    assert made or "data" in commands(block)[0]


def test_the_versions_that_the_documentation_names_are_those_that_run() -> None:
    import ray
    import submitit

    slurm = subprocess.run(["sinfo", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    for version in (f"Slurm {slurm}", f"Ray {ray.__version__}", f"submitit {submitit.__version__}"):
        assert version in DOCS
