"""An installed package has every file that a checkout has."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("normalizers", "datasets", "bench", "analysis", "conf", "results/published")


def files(folder: Path) -> set[str]:
    """The paths below `folder` of all files of PACKAGES, caches left out."""
    found = (path for package in PACKAGES for path in (folder / package).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in found if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of a wheel, built from a copy of what packages need."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(built), "."]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(built / "content")
    return built / "content"


def test_a_wheel_holds_every_file_of_the_packages(unpacked: Path) -> None:
    assert files(ROOT) - files(unpacked) == set()


def test_an_installed_package_finds_the_published_figures(unpacked: Path) -> None:
    script = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from analysis import summaries; "
        "print(json.dumps([str(summaries.FOLDER), summaries.missing(), len(summaries.read('cells'))]))"
    )
    command = [sys.executable, "-I", "-c", script, str(unpacked)]
    done = subprocess.run(command, cwd=unpacked.parent, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == [str(unpacked / "results" / "published"), [], 35]
