"""Where a record comes from: code, packages and hardware, without names of people, hosts or folders."""

import importlib.metadata
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from bench import ROOT

PACKAGES = ("torch", "numpy", "scikit-learn", "hydra-core")


@cache
def code_version() -> dict[str, Any]:
    """The commit of the code and whether it was changed since; the package version where there is no repository."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        dirty = bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return {"code_version": version("normbench"), "code_dirty": None}
    return {"code_version": commit, "code_dirty": dirty}


@cache
def machine() -> dict[str, Any]:
    """Versions of Python and the packages that compute, and the processor."""
    versions = {name.replace("-", "_"): version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **versions, "system": platform.system(), "cpu": _cpu()}


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()


@cache
def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
