"""Where a record comes from: code, packages and hardware, without names of people, hosts or folders."""

import importlib.metadata
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from bench import ROOT

PACKAGES = ("torch", "numpy", "scikit-learn", "hydra-core")


@cache
def code_version() -> dict[str, Any]:
    """The commit of the code and whether it was changed since; the package version where there is no repository.

    Only a repository of the project itself counts, none that the project lies in. Where it is there and its commit
    cannot be read, the reason is said and stands under `code_unknown`.
    """
    installed = {"code_version": version("normbench"), "code_dirty": None}
    if not (ROOT / ".git").exists():
        return installed
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        return {"code_version": commit, "code_dirty": bool(_git("status", "--porcelain", "--untracked-files=no"))}
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or [f"exit code {error.returncode}"])[0].replace(str(ROOT), ".")
    except (OSError, subprocess.SubprocessError) as error:
        reason = f"git cannot be run ({getattr(error, 'strerror', None) or type(error).__name__})"
    print(f"notice: the commit of the code in {ROOT} cannot be read: {reason}; records say so", file=sys.stderr)
    return installed | {"code_unknown": reason}


@cache
def machine() -> dict[str, Any]:
    """Versions of Python and the packages that compute, and the processor."""
    versions = {name.replace("-", "_"): version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **versions, "system": platform.system(), "cpu": _cpu()}


def _git(*arguments: str) -> str:
    """What git says of the repository at ROOT, whoever owns it and whatever the environment says of another."""
    # Git reads a repository of another user only where that is declared safe, since it may name programs to run; this
    # one's code is running already.
    options = ["--no-optional-locks", "-c", f"safe.directory={ROOT}", "-c", "core.fsmonitor=false"]
    command = ["git", *options, f"--git-dir={ROOT / '.git'}", f"--work-tree={ROOT}", *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30, cwd=ROOT, env=environment)
    return done.stdout.strip()


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
