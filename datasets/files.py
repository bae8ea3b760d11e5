"""Raw files of the official releases: checked by content before use, downloaded whole or not at all."""

import contextlib
import hashlib
import socket
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from datasets.arrays import DataError

DOWNLOAD_TIMEOUT = 60.0  # seconds without a byte, after which a download has failed rather than hangs


@dataclass(frozen=True)
class Expected:
    """Size in bytes and sha256 (hexadecimal) of a file's official content."""

    size: int
    sha256: str


def verify(path: Path, content: bytes, expected: Expected) -> None:
    """Raise DataError, naming `path` and both sizes or hashes, unless `content`, read from it, is the expected one."""
    if len(content) != expected.size:
        found, wanted = f"{len(content)} bytes", f"{expected.size}"
    else:
        found, wanted = f"sha256 {hashlib.sha256(content).hexdigest()}", expected.sha256
        if found == f"sha256 {wanted}":
            return
    raise DataError(
        f"{path} is not the official file: its content has {found}, expected {wanted}. "
        f"Delete it and run again to download it anew, or replace it by the official file."
    )


def verify_md5(path: Path, content: bytes, md5: str) -> None:
    """The same for a release that publishes md5 sums; they guard against damage, not against malice."""
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != md5:
        raise DataError(
            f"{path} is not the official file: it has {len(content)} bytes with md5 {found}, expected md5 {md5}. "
            f"Delete it and run again to download it anew, or replace it by the official file."
        )


def unpack(path: Path) -> bytes:
    """The content of a gzip file. Raises DataError, naming it, where it is damaged or cut short."""
    try:
        stream = zlib.decompressobj(wbits=31)  # 31: a gzip header and its check sum
        content = stream.decompress(path.read_bytes())
    except zlib.error as error:
        reason = str(error)
    else:
        if stream.eof:
            return content
        reason = "it ends too early"
    raise DataError(
        f"{path} is not a whole gzip file ({reason}). Delete it and run again to download it anew, "
        f"or replace it by the official file."
    )


def download(urls: Sequence[str], target: Path, md5: str) -> None:
    """Download the first of `urls` that yields a file with this md5 to `target`.

    Another file never lies at `target`, not even for a moment. Raises DataError, naming every URL with its failure
    and where to put the file by hand.
    """
    from torchvision.datasets.utils import download_url

    target.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    with tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as part, timeout():
        for url in urls:
            try:
                download_url(url, part, filename=target.name, md5=md5)
            except Exception as error:  # any failure of a mirror means the same: try the next, then say so
                failures.append(f"{url} ({type(error).__name__}: {error})")
            else:
                (Path(part) / target.name).replace(target)
                return
    raise failed_download(target, failures)


def failed_download(target: Path, failures: Sequence[str]) -> DataError:
    """The one message for every failed download."""
    return DataError(
        f"could not download {target.name} from {'; '.join(failures)}. "
        f"Run again with a network connection, or put the file at {target.absolute()} by hand."
    )


@contextlib.contextmanager
def timeout() -> Iterator[None]:
    """Sockets opened inside give up after DOWNLOAD_TIMEOUT seconds without a byte; no downloader used sets its own."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(DOWNLOAD_TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
