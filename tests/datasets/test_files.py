import gzip
import hashlib
import socket
from pathlib import Path
from typing import Any

import pytest

from datasets import DataError, files
from datasets.files import Expected, download, timeout, unpack, verify, verify_md5
from tests.conftest import Tally

CONTENT = bytes(range(256)) * 40
PATH = Path("raw/some-file")
EXPECTED = Expected(len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
MD5 = hashlib.md5(CONTENT).hexdigest()


def test_the_expected_content_passes() -> None:
    assert verify(PATH, CONTENT, EXPECTED) is None
    assert verify_md5(PATH, CONTENT, MD5) is None


@pytest.mark.fault("a data file of another size under a right name")
def test_another_size_is_named_with_the_one_expected(fault: Tally) -> None:
    with fault.refused(DataError, match=r"some-file is not the official file: .* 100 bytes, expected 10240. Delete it"):
        verify(PATH, CONTENT[:100], EXPECTED)


@pytest.mark.fault("a data file with a changed byte")
def test_one_changed_byte_is_named_by_its_hash(fault: Tally) -> None:
    changed = b"\x01" + CONTENT[1:]
    with fault.refused(DataError, match=f"sha256 {hashlib.sha256(changed).hexdigest()}, expected {EXPECTED.sha256}"):
        verify(PATH, changed, EXPECTED)
    with fault.refused(DataError, match=f"10240 bytes with md5 {hashlib.md5(changed).hexdigest()}, expected md5 {MD5}"):
        verify_md5(PATH, changed, MD5)


def test_a_gzip_file_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(CONTENT))
    assert unpack(tmp_path / "x.gz") == CONTENT


@pytest.mark.parametrize("damage", ["half", "flip", "html", "empty"])
@pytest.mark.fault("a damaged gzip file")
def test_a_damaged_gzip_file_is_named(tmp_path: Path, damage: str, fault: Tally) -> None:
    packed = gzip.compress(CONTENT)
    flipped = packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:]
    path = tmp_path / "x.gz"
    path.write_bytes({"half": packed[: len(packed) // 2], "flip": flipped, "html": b"<html>"}.get(damage, b""))
    with fault.refused(DataError, match=r"x.gz is not a whole gzip file .*Delete it and run again"):
        unpack(path)


def test_a_download_lies_at_its_place_whole(tmp_path: Path, server: Any) -> None:
    server.content["f"] = CONTENT
    download([server.url + "f"], tmp_path / "new" / "f", MD5)
    assert (tmp_path / "new" / "f").read_bytes() == CONTENT
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["f"]


def test_the_next_mirror_is_tried(tmp_path: Path, server: Any) -> None:
    server.content["good/f"] = CONTENT
    download([server.url + "bad/f", server.url + "good/f"], tmp_path / "f", MD5)
    assert (tmp_path / "f").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("mode", "reason"),
    [("403", "Forbidden"), ("404", "Not Found"), ("html", "corrupted"), ("half", ""), ("stall", "timed out")],
)
@pytest.mark.fault("a download that fails: 403, 404, HTML, half, stalled")
def test_a_failed_download_names_url_reason_and_place_and_leaves_nothing(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch, mode: str, reason: str, fault: Tally
) -> None:
    server.content["f"] = CONTENT
    server.mode = mode
    monkeypatch.setattr(files, "DOWNLOAD_TIMEOUT", 0.3)
    with fault.refused(DataError) as caught:
        download([server.url + "f", server.url + "again/f"], tmp_path / "f", MD5)
    message = str(caught.value)
    assert f"{server.url}f (" in message
    assert f"{server.url}again/f (" in message
    assert reason in message
    assert f"put the file at {tmp_path / 'f'} by hand" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("no network")
def test_without_a_network_the_message_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Tally
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/f"
        with fault.refused(DataError, match=r"could not download f from .*refused.* by hand"):
            download([url], tmp_path / "f", MD5)


def test_the_timeout_is_put_back_even_after_a_failure() -> None:
    before = socket.getdefaulttimeout()
    inside = []

    @timeout()
    def fail() -> None:
        inside.append(socket.getdefaulttimeout())
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert inside == [files.DOWNLOAD_TIMEOUT]
    assert socket.getdefaulttimeout() == before
