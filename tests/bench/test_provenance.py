import importlib.metadata
import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import provenance


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    for cached in (provenance.code_version, provenance.machine):
        cached.cache_clear()
    yield
    for cached in (provenance.code_version, provenance.machine):
        cached.cache_clear()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of one commit in place of the project's."""
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text("1\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "dirty"), [(None, False), ("a.py", True), ("results.json", False)], ids=["clean", "changed", "untracked"]
)
def test_the_commit_and_whether_the_code_was_changed_since(repository: Path, file: str | None, dirty: bool) -> None:
    if file:
        (repository / file).write_text("2\n", encoding="utf-8")
    found = provenance.code_version()
    assert re.fullmatch("[0-9a-f]{12}", found["code_version"])
    assert found["code_dirty"] is dirty


def test_without_a_repository_it_is_the_packages_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(provenance, "version", lambda name: f"version of {name}")
    assert provenance.code_version() == {"code_version": "version of normbench", "code_dirty": None}


def test_the_machine_without_names_of_hosts() -> None:
    found = provenance.machine()
    assert found["numpy"] == importlib.metadata.version("numpy")
    assert found["python"] == platform.python_version()
    assert found["cpu"]
    assert platform.node() not in found.values()


def test_a_package_that_is_not_installed_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "PACKAGES", ("no-such-package",))
    assert provenance.machine()["no_such_package"] == "unknown"
