import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import provenance

INSTALLED = {"code_version": "version of normbench", "code_dirty": None}


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
    return committed(tmp_path)


def committed(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "a.py").write_text(f"{folder}\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


def head(folder: Path) -> str:
    words = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


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
    monkeypatch.setattr(provenance, "version", lambda name: f"version of {name}")
    assert provenance.code_version() == INSTALLED


def test_a_repository_that_the_installed_copy_lies_in_is_not_taken_for_its_own(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "ROOT", repository / "lib" / "site-packages")
    provenance.ROOT.mkdir(parents=True)
    monkeypatch.setattr(provenance, "version", lambda name: f"version of {name}")
    assert provenance.code_version() == INSTALLED


def test_the_environment_does_not_name_another_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = head(repository), committed(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert provenance.code_version() == {"code_version": own, "code_dirty": False}


def test_a_worktree_has_its_own_commit(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "worktree"
    subprocess.run(["git", "-C", str(repository), "worktree", "add", "-q", str(place)], check=True)
    monkeypatch.setattr(provenance, "ROOT", place)
    assert provenance.code_version() == {"code_version": head(place), "code_dirty": False}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_checkout_of_another_user_keeps_its_commit(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = head(repository)
    for path in (repository, *repository.rglob("*")):
        os.chown(path, 54001, 54001)
    monkeypatch.setenv("HOME", str(repository))  # where nothing is declared safe
    refused = subprocess.run(["git", "-C", str(repository), "status"], capture_output=True, text=True)
    assert "dubious ownership" in refused.stderr
    assert provenance.code_version() == {"code_version": own, "code_dirty": False}
    assert capsys.readouterr().err == ""


def test_a_commit_that_cannot_be_read_is_said_and_recorded(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "version", lambda name: f"version of {name}")
    (repository / ".git" / "HEAD").write_text("broken", encoding="utf-8")
    found = provenance.code_version()
    assert found == INSTALLED | {"code_unknown": "fatal: not a git repository: './.git'"}
    said = f"notice: the commit of the code in {repository} cannot be read: {found['code_unknown']}; records say so\n"
    assert capsys.readouterr().err == said


def test_a_checkout_without_git_on_the_machine_says_so(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "version", lambda name: f"version of {name}")
    monkeypatch.setenv("PATH", str(repository))
    found = provenance.code_version()
    assert found == INSTALLED | {"code_unknown": "git cannot be run (No such file or directory)"}
    assert "cannot be read: git cannot be run" in capsys.readouterr().err


def test_the_machine_without_names_of_hosts() -> None:
    found = provenance.machine()
    assert found["numpy"] == importlib.metadata.version("numpy")
    assert found["python"] == platform.python_version()
    assert found["cpu"]
    assert platform.node() not in found.values()


def test_a_package_that_is_not_installed_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "PACKAGES", ("no-such-package",))
    assert provenance.machine()["no_such_package"] == "unknown"
