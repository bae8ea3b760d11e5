import codecs
import hashlib
import io
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import _twenty_newsgroups as scikit
from sklearn.datasets._base import RemoteFileMetadata
from sklearn.utils import Bunch

from datasets import DataError, files, newsgroups, prepare
from datasets.newsgroups import build, encode
from tests.conftest import Tally

HEADER = "From: someone@example.org\nSubject: words\n\n"
TRAIN = ["Hello, hello WORLD a 42", "It's me\n> quoted words\n\n--\nthe signature", "1 2 3"]
TEST = ["only this"]


def word_id(word: str, vocabulary: int = 20_000) -> int:
    """The protocol's id, written another way: base 256 by hand."""
    a, b, c, d = hashlib.blake2b(word.encode("ascii"), digest_size=4).digest()
    return (a + 256 * (b + 256 * (c + 256 * d))) % (vocabulary - 2) + 2


def split(texts: list[str]) -> Bunch:
    names = np.array([str(i) for i in range(len(texts))])
    return Bunch(
        data=[HEADER + t for t in texts], target=np.zeros(len(texts), int), filenames=names, target_names=["g"]
    )


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newsgroups, "POSTS", {"train": 3, "test": 1})
    monkeypatch.setattr(newsgroups, "FIRST_TRAIN_LABELS", [0, 0, 0])


def write_cache(root: Path) -> bytes:
    content = codecs.encode(pickle.dumps({"train": split(TRAIN), "test": split(TEST)}), "zlib_codec")
    (root / newsgroups.CACHE).write_bytes(content)
    return content


def archive(outside: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, texts in (("train", TRAIN), ("test", TEST)):
            for number, text in enumerate(texts):
                content = (HEADER + text).encode()
                member = tarfile.TarInfo(f"20news-bydate-{name}/group/{number}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        if outside:
            tar.addfile(tarfile.TarInfo(outside))
    return buffer.getvalue()


def use_archive(monkeypatch: pytest.MonkeyPatch, url: str, content: bytes) -> None:
    remote = RemoteFileMetadata(newsgroups.ARCHIVE, url + newsgroups.ARCHIVE, hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(scikit, "ARCHIVE", remote)


def test_words_of_two_letters_or_more_get_the_protocols_ids() -> None:
    found = encode(["Hello, hello WORLD a 42 x2y don't naïve"], length=8, vocabulary=20_000)
    assert found.dtype == np.int32
    expected = [word_id(word) for word in ("hello", "hello", "world", "don", "na", "ve")]
    assert found.tolist() == [[*expected, 0, 0]]


def test_known_ids() -> None:
    # From `b2sum -l 32`: ea6706f7, 723ee6a6 and 6103c7df, first byte lowest.
    assert encode(["hello the god"], length=3, vocabulary=20_000).tolist() == [[6652, 7162, 17171]]


def test_ids_follow_the_vocabulary_and_never_touch_the_reserved_ones() -> None:
    words = [chr(97 + i) + chr(97 + j) for i in range(26) for j in range(26)]
    found = encode([" ".join(words)], length=len(words), vocabulary=7)[0]
    assert found.tolist() == [word_id(word, 7) for word in words]
    assert set(found.tolist()) == {2, 3, 4, 5, 6}


def test_long_posts_are_cut_and_empty_ones_are_all_padding() -> None:
    found = encode(["one two three", "", "1 2 3"], length=2, vocabulary=100)
    assert found.tolist() == [[word_id("one", 100), word_id("two", 100)], [0, 0], [0, 0]]


@pytest.mark.usefixtures("small")
def test_headers_quotes_and_footers_are_removed(tmp_path: Path) -> None:
    write_cache(tmp_path)
    arrays = build(tmp_path, length=4)
    rows = {tuple(row) for row in arrays.train.x.tolist()}
    hello = (word_id("hello"), word_id("hello"), word_id("world"), 0)
    assert rows == {hello, (word_id("it"), word_id("me"), 0, 0), (0, 0, 0, 0)}
    assert arrays.test.x.tolist() == [[word_id("only"), word_id("this"), 0, 0]]
    assert (arrays.vocabulary, arrays.classes) == (20_000, 20)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("damage", ["half", "empty", "text", "other pickle"])
@pytest.mark.fault("a text cache that is cut, empty or another pickle")
def test_an_unreadable_cache_is_named_and_left_alone(tmp_path: Path, damage: str, fault: Tally) -> None:
    content = write_cache(tmp_path)
    path = tmp_path / newsgroups.CACHE
    other = codecs.encode(pickle.dumps([1]), "zlib_codec")
    path.write_bytes({"half": content[: len(content) // 2], "empty": b"", "text": b"hello"}.get(damage, other))
    before = path.read_bytes()
    with fault.refused(DataError, match=rf"{newsgroups.CACHE} is not the whole .*Delete it and run again"):
        build(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.usefixtures("small")
@pytest.mark.fault("a text cache with posts missing or in another order")
def test_a_cache_with_too_few_posts_or_another_order_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Tally
) -> None:
    write_cache(tmp_path)
    monkeypatch.setattr(newsgroups, "FIRST_TRAIN_LABELS", [7, 4, 4])
    with fault.refused(DataError, match=r"first train labels are \[0, 0, 0\], not \[7, 4, 4\]"):
        build(tmp_path)
    monkeypatch.setattr(newsgroups, "POSTS", {"train": 11_314, "test": 7_532})
    with fault.refused(DataError, match="holds 3 train posts, not 11314"):
        build(tmp_path)


@pytest.mark.parametrize(("key", "value"), [("length", 0), ("vocabulary", 2)])
def test_impossible_options_are_named(tmp_path: Path, key: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{key}={value} .*set it to"):
        build(tmp_path, **{key: value})


@pytest.mark.usefixtures("small")
def test_a_download_leaves_only_the_whole_cache(tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    content = archive()
    server.content[newsgroups.ARCHIVE] = content
    use_archive(monkeypatch, server.url, content)
    assert len(build(tmp_path).train) == 3
    assert [path.name for path in tmp_path.iterdir()] == [newsgroups.CACHE]


@pytest.mark.usefixtures("small")
def test_an_archive_put_there_by_hand_needs_no_network(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = archive()
    (tmp_path / newsgroups.ARCHIVE).write_bytes(content)
    use_archive(monkeypatch, server.url, content)
    assert len(build(tmp_path).test) == 1
    assert server.requested == []
    assert (tmp_path / newsgroups.ARCHIVE).exists()


@pytest.mark.usefixtures("small")
@pytest.mark.filterwarnings("ignore:Retry downloading")
@pytest.mark.parametrize("mode", ["403", "html", "half", "stall"])
@pytest.mark.fault("a download that fails: 403, 404, HTML, half, stalled")
def test_a_failed_download_names_url_and_place_and_leaves_nothing(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch, mode: str, fault: Tally
) -> None:
    server.content[newsgroups.ARCHIVE] = archive()
    server.mode = mode
    use_archive(monkeypatch, server.url, archive())
    monkeypatch.setattr(files, "DOWNLOAD_TIMEOUT", 0.3)
    with fault.refused(DataError) as caught:
        build(tmp_path)
    assert newsgroups.ARCHIVE_URL in str(caught.value)
    assert f"put the file at {tmp_path / newsgroups.ARCHIVE} by hand" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.fault("an archive that would write outside the data folder")
def test_an_archive_cannot_write_outside_the_data_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Tally
) -> None:
    content = archive("../../../outside")
    root = tmp_path / "in" / "root"
    root.mkdir(parents=True)
    (root / newsgroups.ARCHIVE).write_bytes(content)
    use_archive(monkeypatch, "http://127.0.0.1:1/", content)
    with fault.refused(DataError, match=r"could not download .*OutsideDestinationError.*only the official archive is"):
        build(root)
    assert not list(tmp_path.rglob("outside"))
    assert [path.name for path in root.iterdir()] == [newsgroups.ARCHIVE]


def test_the_url_in_the_message_is_scikit_learns() -> None:
    assert scikit.ARCHIVE.url == newsgroups.ARCHIVE_URL
    assert scikit.ARCHIVE.filename == newsgroups.ARCHIVE


class Hostile:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Path.touch, (self.mark,)


def test_a_foreign_pickle_is_refused_before_its_code_runs(tmp_path: Path) -> None:
    mark = tmp_path / "it ran"
    content = codecs.encode(pickle.dumps({"train": Hostile(mark), "test": split(TEST)}), "zlib_codec")
    (tmp_path / newsgroups.CACHE).write_bytes(content)
    with pytest.raises(DataError, match="which no cache of posts holds"):
        build(tmp_path)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"target": np.zeros((3, 1), int)}, r"its train groups are int64 \(3, 1\), not whole numbers \(n,\)"),
        ({"target": np.zeros(3)}, r"its train groups are float64 \(3,\), not whole numbers \(n,\)"),
        ({"data": [HEADER, None, HEADER]}, ""),
    ],
)
@pytest.mark.usefixtures("small")
def test_posts_or_groups_of_another_form_are_named_with_the_file_and_the_remedy(
    tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    bad = Bunch(**{**split(TRAIN), **change})
    content = codecs.encode(pickle.dumps({"train": bad, "test": split(TEST)}), "zlib_codec")
    (tmp_path / newsgroups.CACHE).write_bytes(content)
    with pytest.raises(
        DataError, match=f"{newsgroups.CACHE} is not the whole .* set: .*{what}.* Delete it and run again"
    ):
        build(tmp_path)


@pytest.mark.usefixtures("small")
def test_a_replaced_cache_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cache(tmp_path)
    before = prepare("twenty_newsgroups", tmp_path)
    other = codecs.encode(pickle.dumps({"train": split(TRAIN[::-1]), "test": split(TEST)}), "zlib_codec")
    (tmp_path / newsgroups.CACHE).write_bytes(other + b" ")
    assert prepare("twenty_newsgroups", tmp_path).hash != before.hash
    assert f"{newsgroups.CACHE} was replaced after" in capsys.readouterr().err
