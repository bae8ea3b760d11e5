"""20 Newsgroups, "bydate" version: 11,314 train and 7,532 test posts in 20 groups, as rows of hashed word ids.

K. Lang, "NewsWeeder: Learning to Filter Netnews", ICML 1995; read by scikit-learn with headers, footers and quotes
removed. Tokens and ids are those of the protocol (Canay 2026): words of two or more ASCII letters, lower-cased, hashed
into a fixed vocabulary, so that no vocabulary has to be learned from, or leaks out of, the test posts.
"""

import contextlib
import functools
import hashlib
import io
import pickle
import re
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.arrays import Arrays, DataError, Rows
from datasets.files import failed_download, timeout

CACHE = "20news-bydate_py3.pkz"  # scikit-learn's name for the posts of both splits
ARCHIVE = "20news-bydate.tar.gz"
ARCHIVE_URL = "https://ndownloader.figshare.com/files/5975967"  # where scikit-learn downloads it from, for the message
POSTS = {"train": 11_314, "test": 7_532}
FIRST_TRAIN_LABELS = [7, 4, 4, 1, 14, 16, 13, 3, 2, 4]
CLASSES = 20
PARTS = {
    *((module, "Bunch") for module in ("sklearn.utils._bunch", "sklearn.utils", "sklearn.datasets.base")),
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *(("numpy", name) for name in ("ndarray", "dtype")),
}
"""What a cache of posts is made of besides lists and texts, in scikit-learn's and numpy's versions."""
RESERVED_IDS = 2  # 0 pads; 1 is left to the marker task, so that all token sets share one layout
WORD = re.compile(r"[a-zA-Z]{2,}")


def build(root: Path, *, length: int = 96, vocabulary: int = 20_000) -> Arrays:
    """Word ids (n, length) int32, cut off or padded with 0 at the end, and the group of each post.

    Raises DataError for a damaged cache or a failed download, ValueError for an impossible option.
    """
    if length < 1:
        raise ValueError(f"length={length} leaves no token; set it to 1 or more (published: 96)")
    if vocabulary <= RESERVED_IDS:
        raise ValueError(f"vocabulary={vocabulary} leaves no id for a word; set it to 3 or more (published: 20000)")
    if not (root / CACHE).exists():
        _download(root)
    _refuse_foreign(root)
    train, test = (_rows(root, split, length, vocabulary) for split in ("train", "test"))
    if train.y[: len(FIRST_TRAIN_LABELS)].tolist() != FIRST_TRAIN_LABELS:
        raise _damaged(root, f"the first train labels are {train.y[:10].tolist()}, not {FIRST_TRAIN_LABELS}")
    return Arrays(train, test, classes=CLASSES, vocabulary=vocabulary, raw=(root / CACHE,))


def encode(texts: Iterable[str], length: int, vocabulary: int) -> NDArray[np.int32]:
    """Word ids (len(texts), length) of `texts`; 0 pads at the end, words beyond `length` are dropped.

    A word's id is 2 + (the 4-byte BLAKE2b digest of its lower-case form, as little-endian uint32, mod vocabulary - 2).
    """

    @functools.cache
    def identify(word: str) -> int:
        digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
        return RESERVED_IDS + int.from_bytes(digest, "little") % (vocabulary - RESERVED_IDS)

    rows = [[identify(word.lower()) for word in WORD.findall(text)[:length]] for text in texts]
    ids = np.zeros((len(rows), length), dtype=np.int32)
    for row, words in zip(ids, rows, strict=True):
        row[: len(words)] = words
    return ids


class _Plain(pickle.Unpickler):
    """Unpickles what scikit-learn's cache is made of, and calls nothing else that a pickle might name."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in PARTS:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no cache of posts holds")
        return super().find_class(module, name)


def _refuse_foreign(root: Path) -> None:
    """Raise DataError where the cache is a pickle of anything but posts, before scikit-learn unpickles it."""
    try:
        _Plain(io.BytesIO(zlib.decompress((root / CACHE).read_bytes()))).load()
    except Exception as error:  # whatever half a file leads to
        raise _damaged(root, f"{type(error).__name__}: {error}") from error


def _rows(root: Path, split: str, length: int, vocabulary: int) -> Rows:
    posts = _posts(root, split)
    if len(posts.data) != POSTS[split] or len(posts.target) != POSTS[split]:
        raise _damaged(root, f"it holds {len(posts.data)} {split} posts, not {POSTS[split]}")
    groups = np.asarray(posts.target)
    if groups.ndim != 1 or groups.dtype.kind not in "iu":
        raise _damaged(root, f"its {split} groups are {groups.dtype} {groups.shape}, not whole numbers (n,)")
    if not all(isinstance(text, str) for text in posts.data):
        raise _damaged(root, f"among its {split} posts there are some that are no text")
    return Rows(encode(posts.data, length, vocabulary), groups.astype(np.int64))


def _posts(root: Path, split: str) -> Any:
    from sklearn.datasets import fetch_20newsgroups

    # A cache that it cannot read scikit-learn prints and then takes for a missing one, so what it says is kept.
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            return fetch_20newsgroups(
                data_home=str(root),
                subset=split,
                remove=("headers", "footers", "quotes"),
                download_if_missing=False,
            )
    except Exception as error:  # whatever an unpickled half of a file leads to
        reason = " ".join(said.getvalue().replace("_", " ").split()) or f"{type(error).__name__}: {error}"
        raise _damaged(root, f"scikit-learn cannot read it ({reason})") from error


def _download(root: Path) -> None:
    """Let scikit-learn download (or take from `<root>/20news-bydate.tar.gz`), check and pack the posts."""
    from sklearn.datasets import fetch_20newsgroups

    # In a home of its own, since scikit-learn writes its cache in place, where a killed process would leave half of it.
    with tempfile.TemporaryDirectory(prefix=".20news-", dir=root) as home, timeout():
        by_hand = root / ARCHIVE
        if by_hand.exists():
            inner = Path(home) / "20news_home" / ARCHIVE
            inner.parent.mkdir()
            inner.symlink_to(by_hand.absolute())
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                fetch_20newsgroups(data_home=home, n_retries=1)
        except Exception as error:  # no network, a refusal, a page instead of the file, half a file
            failure = f"{ARCHIVE_URL} ({type(error).__name__}: {error})"
            if by_hand.exists():
                failure += f"; {by_hand} is there, but only the official archive is taken"
            raise failed_download(by_hand, [failure]) from error
        (Path(home) / CACHE).replace(root / CACHE)


def _damaged(root: Path, what: str) -> DataError:
    return DataError(
        f"{root / CACHE} is not the whole 20 Newsgroups 'bydate' set: {what}. Delete it and run again to download it."
    )
