"""Another installed package of the name of one of ours, such as Hugging Face's `datasets`."""

import sys
from pathlib import Path

import pytest

from bench import shadowing
from tests.bench.helpers import ROOT, finish, start


def test_ours_pass() -> None:
    shadowing.check()
    assert shadowing.OURS == ("normalizers", "datasets", "analysis")


@pytest.mark.parametrize("module", ["datasets/__init__.py", "datasets.py"])
def test_the_other_package_is_named_with_both_places_and_the_remedy(tmp_path: Path, module: str) -> None:
    site = tmp_path / "site"
    other = site / module
    other.parent.mkdir(parents=True)
    other.write_text("raise RuntimeError('imported')\n", encoding="utf-8")
    code, out, err = finish(start("dataset=digits", "normalizer=softmax", cwd=tmp_path, path=(site,)))
    place = other if module == "datasets.py" else other.parent
    assert code == 2
    assert out == ""
    assert err == (
        f"error: the package 'datasets' would be imported from {place}, not from {ROOT / 'datasets'}: another package "
        f"of that name comes first. Run from {ROOT}, put that folder first on PYTHONPATH, or uninstall the other.\n"
    )


def test_a_package_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(shadowing, "OURS", ("no_such_package",))
    with pytest.raises(ImportError, match="'no_such_package' would be imported from None, not from"):
        shadowing.check(tmp_path)
