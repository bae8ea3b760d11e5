"""Compiles the kernels with the system's C compiler, once per source, compiler and processor, into a cache folder."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("kernels.c")
HEADERS = ("bisection.h", "entmax.h", "topk.h", "tiles.h", "elementary.h", "vectors.h")
# Not -ffast-math: linked with it, a library changes the rounding of the whole process.
FLAGS = ("-O3", "-march=native", "-fno-trapping-math", "-fno-math-errno", "-shared", "-fPIC")
THREADS = "-fopenmp"
SWITCH = "NORMALIZERS_NATIVE"
CACHE = "NORMALIZERS_CACHE"


@cache
def library() -> ctypes.CDLL | None:
    """The kernels, compiled first where the cache has none for this machine; None, with one warning, without them."""
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        return ctypes.CDLL(str(_compiled()))
    except (OSError, subprocess.SubprocessError) as error:
        detail = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        warnings.warn(
            f"the native kernels could not be built ({detail[0] if detail else error}); the slower maps in torch are "
            f"used. A C compiler (cc, gcc or clang) makes them; {SWITCH}=0 silences this.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def variant() -> str:
    """Which kernels this process uses, for the record of a run."""
    kernels = library()
    return "torch" if kernels is None else f"native, {kernels.lanes()} lanes"


def _compiled() -> Path:
    compiler = os.environ.get("CC") or next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise FileNotFoundError("no C compiler found")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    sources = [path.read_text(encoding="utf-8") for path in (SOURCE, *map(SOURCE.with_name, HEADERS))]
    key = "\n".join([*sources, *FLAGS, THREADS, version, _processor()])
    target = _folder() / f"kernels-{hashlib.sha256(key.encode()).hexdigest()[:16]}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            part = Path(folder) / "kernels.so"
            try:
                _compile(compiler, part, (*FLAGS, THREADS))
            except subprocess.CalledProcessError:  # a compiler without OpenMP: one thread
                _compile(compiler, part, FLAGS)
            part.replace(target)  # whole or not at all, whoever else compiles at the same time
    return target


def _compile(compiler: str, target: Path, flags: tuple[str, ...]) -> None:
    command = [compiler, *flags, "-o", str(target), str(SOURCE), "-lm"]
    subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)


def _folder() -> Path:
    chosen = os.environ.get(CACHE)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "normalizers"


def _processor() -> str:
    """What `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
