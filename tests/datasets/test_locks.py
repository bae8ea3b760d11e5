"""Lock files in a folder that a group shares."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import datasets.locks
from datasets import prepare
from datasets.locks import lock

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def umask_of_before() -> Any:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize(("umask", "mode"), [(0o002, 0o664), (0o022, 0o644), (0o077, 0o600)])
def test_a_lock_file_is_as_open_as_the_umask_says(umask: int, mode: int, tmp_path: Path) -> None:
    os.umask(umask)
    path = tmp_path / "new" / "a.lock"
    with lock(path):
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize(("umask", "mode"), [(0o002, 0o664), (0o022, 0o644)])
def test_the_mode_is_given_since_not_every_version_of_filelock_asks_the_umask(
    umask: int, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.umask(umask)
    given: list[int] = []
    monkeypatch.setattr(datasets.locks, "FileLock", lambda *_paths, mode=0o644, **_options: given.append(mode))
    lock(tmp_path / "new" / "a.lock")
    assert given == [mode]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become two users")
def test_two_users_of_a_group_share_a_folder() -> None:
    code = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
import datasets.locks
for user in (54001, 54002):
    if (child := os.fork()) == 0:
        os.setgroups([]); os.setgid(54321); os.setuid(user); os.umask(0o002)
        with datasets.locks.lock(Path(sys.argv[1]) / ".locks" / "a.lock", timeout=0):
            os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    with tempfile.TemporaryDirectory() as shared:  # tmp_path is its user's alone
        os.chown(shared, 0, 54321)
        Path(shared).chmod(0o2775)
        done = subprocess.run([sys.executable, "-c", code, shared], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("0\n0\n", "")


def test_prepared_data_can_be_used_by_a_group(tmp_path: Path) -> None:
    os.umask(0o002)
    folder = prepare("informative_tokens", tmp_path, length=4).folder
    made = list((tmp_path / "prepared").rglob("*"))
    assert folder in made
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in made}
    assert modes == {path: 0o775 if path.is_dir() else 0o664 for path in made}
