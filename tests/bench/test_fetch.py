"""`python -m bench data`."""

from collections.abc import Callable
from pathlib import Path

from datasets import prepare

Command = Callable[..., tuple[int, str, str]]


def test_a_named_data_set_is_prepared_and_its_hash_shown(command: Command, tmp_path: Path) -> None:
    code, out, err = command("data", "digits", f"data.root={tmp_path}")
    assert (code, err) == (0, "")
    prepared = prepare("digits", tmp_path)
    line = ["digits", "1,297", "train,", "500", "test", "hash", prepared.hash, str(prepared.folder)]
    assert out.split() == line


def test_what_cannot_be_had_is_named_and_the_others_are_prepared(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "KMNIST" / "raw"
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(bytes(100))
    code, out, _ = command("data", "kmnist", "digits", f"data.root={tmp_path}")
    assert code == 1
    assert f"not available: {folder / 'train-images-idx3-ubyte'} is not the official file" in out
    assert out.endswith("1 of 2 data sets are not available; the reasons are above\n")
    assert (tmp_path / "prepared" / "digits").is_dir()


def test_an_unknown_name_is_refused_with_near_matches(command: Command, tmp_path: Path) -> None:
    code, out, err = command("data", "digts", f"data.root={tmp_path}")
    assert (code, out) == (2, "")
    assert err.startswith("error: the data set digts is unknown; did you mean digits")
