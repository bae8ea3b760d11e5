"""Compiles the kernels with the system's C compiler, once per source, compiler and processor, into a cache folder.

Environment variables: `NORMALIZERS_NATIVE=0` does without kernels; `NORMALIZERS_CACHE` is the cache folder; `CC` is the
compiler, with options of its own where it needs some; `NORMALIZERS_CFLAGS` are further compiler flags, behind `FLAGS`:
`-mno-avx512f` makes kernels of 8 lanes on a processor with AVX-512, `-march=x86-64` kernels of 4 lanes, and
`-fsanitize=address,undefined` checked ones (for a process that has the sanitizer's library preloaded).
"""

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .signatures import declare

SOURCE = Path(__file__).with_name("kernels.c")
# Not -ffast-math: linked with it, a library changes the rounding of the whole process.
FLAGS = ("-O3", "-march=native", "-fno-trapping-math", "-fno-math-errno", "-shared", "-fPIC")
THREADS = "-fopenmp"
SWITCH = "NORMALIZERS_NATIVE"
CACHE = "NORMALIZERS_CACHE"
EXTRA = "NORMALIZERS_CFLAGS"


@cache
def library() -> ctypes.CDLL | None:
    """The kernels, compiled first where the cache has none for this machine; None, with one warning, without them."""
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        return load(extra_flags())
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        detail = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        flags = f" with {EXTRA}={os.environ[EXTRA]!r}" if os.environ.get(EXTRA) else ""
        warnings.warn(
            f"the native kernels could not be built{flags} ({detail[0] if detail else error}); the slower maps in torch"
            f" are used. A C compiler (cc, gcc or clang) makes them, into ~/.cache or {CACHE}=DIR; {SWITCH}=0 silences "
            "this.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def variant() -> str:
    """Which kernels this process uses, for the record of a run."""
    kernels = library()
    if kernels is None:
        return "torch"
    extra = " ".join(extra_flags())
    return f"native, {kernels.lanes()} lanes{f', compiled with {extra}' if extra else ''}"


def load(extra: Sequence[str] = ()) -> ctypes.CDLL:
    """The kernels compiled with the flags `extra` behind `FLAGS`, from the cache where it has them.

    Raises OSError without a compiler, a place for the cache or a library that loads, ValueError where `CC` cannot be
    split into words, and subprocess.SubprocessError where the compiler fails.
    """
    return declare(ctypes.CDLL(str(compiled(extra))))


def extra_flags() -> tuple[str, ...]:
    """The words of `NORMALIZERS_CFLAGS`. Raises ValueError where its quotes do not match."""
    return _words(EXTRA)


def compiler() -> tuple[str, ...]:
    """The words of `CC`, or the first compiler there is. Raises FileNotFoundError without one."""
    words = _words("CC") or tuple(filter(None, map(shutil.which, ("cc", "gcc", "clang"))))[:1]
    if not words:
        raise FileNotFoundError("no C compiler found")
    return words


def _words(variable: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(os.environ.get(variable, "")))
    except ValueError as error:
        raise ValueError(f"{variable}={os.environ[variable]!r}: {str(error).lower()}") from error


def compiled(extra: Sequence[str]) -> Path:
    """The library that `load` loads, compiled first where the cache has none; raises as `load` does."""
    command = compiler()
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    sources = [path.read_text(encoding="utf-8") for path in sorted(SOURCE.parent.glob("*.[ch]"))]
    key = "\n".join([*sources, *FLAGS, THREADS, *extra, *command[1:], version, _processor()])
    target = _folder() / f"kernels-{hashlib.sha256(key.encode()).hexdigest()[:16]}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            part = Path(folder) / "kernels.so"
            try:
                _compile(command, part, (*FLAGS, THREADS, *extra))
            except subprocess.CalledProcessError:  # a compiler without OpenMP: one thread
                _compile(command, part, (*FLAGS, *extra))
            part.replace(target)  # whole or not at all, whoever else compiles at the same time
    return target


def _compile(command: tuple[str, ...], target: Path, flags: tuple[str, ...]) -> None:
    arguments = [*command, *flags, "-o", str(target), str(SOURCE), "-lm"]
    subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=300)


def _folder() -> Path:
    chosen = os.environ.get(CACHE)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "normalizers"
    except RuntimeError as error:  # neither HOME nor an entry for the user in /etc/passwd
        raise FileNotFoundError(f"this user has no home folder to cache them in; set {CACHE}=DIR") from error


def _processor() -> str:
    """What `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
