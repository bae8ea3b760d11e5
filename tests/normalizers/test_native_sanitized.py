"""The native kernels under the compiler's address and undefined-behaviour sanitizers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from normalizers import native
from normalizers.native import build, signatures
from tests.normalizers.conftest import WIDTHS, kernels_of

FLAGS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
DRIVER = Path(__file__).with_name("drive_kernels.py")


@pytest.fixture(scope="module")
def watched():
    """A function that runs the driver on the kernels of each width under sanitizers, and gives the finished process."""
    if native.variant() == "torch":
        pytest.skip("the native kernels are switched off, or there is no C compiler")
    command = [*build.compiler(), "-print-file-name=libasan.so"]
    runtime = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(runtime).is_file():
        pytest.skip("the compiler has no libasan.so, the address sanitizer of gcc")
    widths = [lanes for lanes in WIDTHS if not isinstance(kernels_of(lanes), str)]
    libraries = [build.compiled((*WIDTHS[lanes].split(), *FLAGS)) for lanes in widths]

    def drive(*first):
        # Leaks are the interpreter's own. Python's small objects get memory that the sanitizer can watch.
        settings = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
        arguments = [sys.executable, DRIVER, *first, signatures.__file__, *libraries]
        return subprocess.run(
            arguments, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **settings}
        )

    return drive


def test_kernels_of_every_width_run_clean_under_sanitizers(watched):
    process = watched()
    assert process.stderr == ""
    assert process.returncode == 0
    assert int(process.stdout.split()[0]) > 1000


def test_sanitizers_stop_a_kernel_that_leaves_its_memory(watched):
    process = watched("overrun")
    assert process.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in process.stderr
