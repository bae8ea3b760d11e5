"""`python -m bench doctor`: what this machine has for the harness, and what to do about each lack."""

import json
import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bench import provenance
from bench.launcher import composed
from bench.plan import at_once, cores
from bench.schema import RunConfig, validate
from datasets import DataError, manifest
from normalizers import native
from normalizers.native import build

ROOM_MB = 500
"""Free disk space below which a sweep may not end."""
LACK, BROKEN = "lack", "broken"


@dataclass(frozen=True)
class Finding:
    """`state`: ok, lack (something is slower or missing, all else works) or broken; `advice` for the latter two."""

    what: str
    found: str
    state: str = "ok"
    advice: str = ""


def doctor(arguments: Sequence[str], conf: Path) -> int:
    """Print every finding; `arguments` are overrides such as data.root=DIR. Returns 1 where something is broken."""
    config = _config(conf, "digits", arguments)
    findings = [*_software(), *_machine(config), *_data(config, conf, arguments), *_disk(config), *_tracking(config)]
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        advice = f"\n{'':9}{'':{width}}  -> {finding.advice}" if finding.advice else ""
        print(f"{finding.state:<8} {finding.what:<{width}}  {finding.found}{advice}")
    counts = {state: sum(finding.state == state for finding in findings) for state in (LACK, BROKEN)}
    print(f"\n{counts[BROKEN]} broken, {counts[LACK]} lacking, {len(findings) - sum(counts.values())} in order")
    return 1 if counts[BROKEN] else 0


def _config(conf: Path, dataset: str, arguments: Sequence[str]) -> RunConfig:
    return validate(composed(conf, f"dataset={dataset}", "normalizer=softmax", *arguments))


def _software() -> Iterator[Finding]:
    facts = {**provenance.machine(), **provenance.code_version()}
    for name in ("python", *(package.replace("-", "_") for package in provenance.PACKAGES)):
        yield Finding(name.replace("_", "-"), str(facts[name]))
    dirty = " with uncommitted changes" if facts["code_dirty"] else ""
    yield Finding("code", f"{facts['code_version']}{dirty}")
    compiler = _compiler()
    if native.variant() == "torch":
        advice = "install a C compiler (cc, gcc or clang); without kernels the sparse maps are several times as slow"
        yield Finding("kernels", f"none, compiler: {compiler}", LACK, advice)
    else:
        yield Finding("kernels", f"{native.variant()}, compiler: {compiler}")


def _compiler() -> str:
    try:
        return shlex.join(build.compiler())
    except (FileNotFoundError, ValueError):
        return "none"


def _machine(config: RunConfig) -> Iterator[Finding]:
    workers = at_once({"parallel": config.parallel, "threads": config.threads})
    yield Finding(
        "processor", f"{provenance.machine()['cpu']}, {cores()} cores: {workers} workers of {config.threads} thread"
    )
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none, runs use the processor"
    yield Finding("GPU", gpu)


def _data(config: RunConfig, conf: Path, arguments: Sequence[str]) -> Iterator[Finding]:
    root = Path(config.data.root)
    folders = sorted(path for path in root.glob("prepared/[!.]*") if path.is_dir())
    there = set()
    for folder in folders:
        try:
            facts: dict[str, Any] = json.loads((folder / manifest.NAME).read_text(encoding="utf-8"))
            prepared = manifest.load(folder, facts["source"], facts["options"])
            there.add(facts["source"])
            yield Finding(f"data {folder.name}", f"hash {prepared.hash}")
        except (DataError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            yield Finding(
                f"data {folder.name}", str(error).splitlines()[0], BROKEN, f"delete {folder}, it is made again"
            )
    for name in sorted(path.stem for path in (conf / "dataset").glob("*.yaml")):
        if _config(conf, name, arguments).dataset.source not in there:
            command = shlex.join(["python", "-m", "bench", "data", name, *arguments])
            yield Finding(f"data {name}", f"not prepared in {root}", LACK, command)


def _disk(config: RunConfig) -> Iterator[Finding]:
    for what, place in (("data.root", Path(config.data.root)), ("results_dir", Path(config.results_dir))):
        nearest = next(path for path in (place.absolute(), *place.absolute().parents) if path.exists())
        free = shutil.disk_usage(nearest).free / 2**20
        found = f"{place}, {free:,.0f} MiB free"
        if not os.access(nearest, os.W_OK):
            yield Finding(what, f"{found}, not writable", BROKEN, f"make {nearest} writable or give another {what}=DIR")
        elif free < ROOM_MB:
            yield Finding(what, found, BROKEN, f"free at least {ROOM_MB} MiB or give another {what}=DIR")
        else:
            yield Finding(what, found)


def _tracking(config: RunConfig) -> Iterator[Finding]:
    version = provenance.version("wandb")
    if version == "unknown":
        yield Finding("W&B", "not installed", LACK, "pip install wandb, where tracker=wandb is wanted")
        return
    key = os.environ.get("WANDB_API_KEY") or "api.wandb.ai" in _netrc()
    tracker = config.tracker
    asked = f"tracker={tracker.kind}" + (f", tracker.mode={tracker.mode}" if tracker.kind != "none" else "")
    mode = f"WANDB_MODE={os.environ['WANDB_MODE']}" if "WANDB_MODE" in os.environ else asked
    yield Finding("W&B", f"{version}, {mode}, {'with' if key else 'without'} a key")


def _netrc() -> str:
    try:
        path = Path(os.environ.get("NETRC") or "~/.netrc").expanduser()
    except RuntimeError:  # this user has no home folder
        return ""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
