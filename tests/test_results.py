"""What the committed results say in words is what their tables hold, and the tables are what the records give."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from bench import records
from bench.fingerprint import Identity, identify
from bench.verify import _configuration

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
STUDIES = sorted(path.parent.name for path in RESULTS.glob("*/README.md") if (path.parent / "records").is_dir())
FIGURE = re.compile(r"(?<![\w.-])[+-]?\d+\.\d{3,}(?!\w|\.\d)")
"""A figure of three decimals or more; none but `top-k 0.125` is a name."""
BLOCK = re.compile(r"\n\s*\n|\n(?=- )")
"""What lies between two paragraphs, points of a list or tables."""
NAMED = re.compile(r"`(?:tables/)?(\w+)\.md`")
"""A table that a block says its figures are from."""


def missing(text: str, tables: dict[str, str]) -> list[str]:
    """The figures of `text` that the tables (name -> text) do not show: those that a block names, else any of them."""
    found = []
    for block in BLOCK.split(text):
        names = NAMED.findall(block) or tables
        shown = {figure for name in names for figure in FIGURE.findall(tables[name])}
        shown |= {figure.lstrip("+-") for figure in shown}
        found += [figure for figure in FIGURE.findall(block) if figure not in shown and figure != "0.125"]
    return found


def tables_of(study: str) -> dict[str, str]:
    """Every table of a study as people read it, with what it says of speed."""
    paths = (path for path in (RESULTS / study).rglob("*.md") if path.name != "README.md")
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def test_a_figure_that_no_table_shows_is_found():
    tables = {"a": "| 0.677 | -0.0192 | 1.0000 |", "b": "| 0.5000 |"}
    text = "0.677 here, 0.0192 and -0.0192 there; +0.0192, 1.9999 and top-k 0.125, 0.12 and 1.2.345.\n- 0.5000\n\n"
    assert missing(text, tables) == ["+0.0192", "1.9999"]
    assert missing(text + "- 0.5000 and\n  1.0000 (`tables/a.md`)", tables) == ["+0.0192", "1.9999", "0.5000"]


@pytest.mark.parametrize("study", STUDIES)
def test_figures_in_words_are_those_of_the_tables(study):
    text = (RESULTS / study / "README.md").read_text(encoding="utf-8")
    assert len(FIGURE.findall(text)) >= 5
    assert missing(text, tables_of(study)) == []


@pytest.mark.parametrize(
    ("section", "study"),
    [("What the reference sweep says", "reference"), ("Length generalization", "length_generalization")],
)
def test_figures_in_the_readme_are_those_of_the_tables(section, study):
    (text,) = re.findall(rf"^## {section}\n(.*?)^## ", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert FIGURE.search(text)
    assert missing(text, tables_of(study)) == []


@pytest.mark.parametrize("study", STUDIES)
def test_the_code_of_today_gives_every_record_its_fingerprint(study):
    found, broken = records.scan([RESULTS / study / "records"])
    assert broken == []
    assert len(found) >= 150
    for _, record in found:
        identity = identify(_configuration(record, [], ROOT / "conf"), record.provenance["data_hash"])
        assert identity == Identity(record.fingerprint, record.cell, record.setting)


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    """A function: study -> the folder of tables that the code of today makes of its records, by file name."""

    @cache
    def made(study):
        out = tmp_path_factory.mktemp(study)
        words = [f"records=results/{study}/records", f"out={out}", f"analysis={study}", "figures=false"]
        subprocess.run([sys.executable, "-m", "analysis", *words], cwd=ROOT, check=True, capture_output=True)
        return out / "tables"

    return made


@pytest.mark.parametrize("study", STUDIES)
def test_tables_are_rebuilt_byte_for_byte(study, rebuilt):
    committed = {path.name: path.read_bytes() for path in (RESULTS / study / "tables").iterdir()}
    made = {path.name: path.read_bytes() for path in rebuilt(study).iterdir()}
    assert sorted(made) == sorted(committed)
    assert [name for name in made if made[name] != committed[name]] == []


def test_the_attention_of_trained_softmax_models_disperses_with_length(rebuilt):
    table = pd.read_csv(rebuilt("length_generalization") / "dispersion_by_length.csv")
    entropy = table[(table["normalizer"] == "softmax") & (table["measure"] == "entropy")].set_index("dataset")
    means = entropy[[f"mean_{length}" for length in (16, 32, 64, 128, 256)]].to_numpy()
    assert len(means) == 6
    assert (means[:, 1:] > means[:, :-1]).all()
    assert set(entropy["verdict"]) == {"grows"}
