"""Lock files: the one way to make them, here and in the harness."""

from pathlib import Path

from filelock import FileLock

READ_AND_WRITE = 0o666


def lock(path: Path, timeout: float = -1) -> FileLock:
    """The lock file `path`, which everybody may use who may write into its folder; the folder is made if need be.

    Acquiring it raises filelock.Timeout after `timeout` seconds, and waits for ever where that is -1.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Given in full, as the umask gave it to the folder: by themselves some versions of filelock keep the group out.
    return FileLock(path, timeout=timeout, mode=path.parent.stat().st_mode & READ_AND_WRITE)
