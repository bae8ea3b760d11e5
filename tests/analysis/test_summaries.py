"""The typed figures are those of the published records, and what cannot be read is named."""

import csv
import math
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from analysis import comparisons, summaries
from analysis.errors import InputError
from analysis.frame import Runs
from analysis.paired import mean_sd
from analysis.plan import Plan

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = {
    "accuracy_mean": lambda cell: cell["accuracy"].mean(),
    "accuracy_sd": lambda cell: mean_sd(cell["accuracy"])[1],
    "support": lambda cell: cell["support"].mean(),
    "n": len,
    "train_seconds": lambda cell: cell["train_seconds"].mean(),
    "inference_seconds": lambda cell: cell["inference_seconds"].mean(),
    "alpha_mean": lambda cell: cell["alpha_mean"].mean(),
    "alpha_min": lambda cell: cell["alpha_mean"].min(),
    "alpha_max": lambda cell: cell["alpha_mean"].max(),
}


def printed(name: str) -> list[dict[str, str]]:
    with (summaries.FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def agrees(text: str, value: float) -> bool:
    """Whether `value` rounds to the printed `text`, either way where it lies on the half."""
    mantissa, _, exponent = text.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(float(text) - value) <= 0.5 * unit + 1e-12


@pytest.mark.parametrize(("name", "rows"), [("cells", 35), ("runtime", 6), ("alpha", 4)])
def test_typed_means_are_those_of_the_records(published_runs: Runs, name: str, rows: int) -> None:
    table = printed(name)
    assert len(table) == rows
    for row in table:
        cell = published_runs.cell(row.pop("dataset"), row.pop("normalizer", "hae"))
        wrong = {column: text for column, text in row.items() if text and not agrees(text, COLUMNS[column](cell))}
        assert wrong == {}


@pytest.mark.parametrize(("name", "rows"), [("paired", 5), ("hae_vs_entmax15", 4)])
def test_typed_comparisons_are_those_of_the_records(published_runs: Runs, name: str, rows: int) -> None:
    plan = Plan.model_validate(OmegaConf.to_container(OmegaConf.load(ROOT / "conf" / "analysis" / "paper.yaml")))
    made = (comparisons.families if name == "paired" else comparisons.pairs)(published_runs, plan)
    found = {(row.dataset, row.normalizer): row for result in made for row in result.rows}
    table = printed(name)
    assert len(table) == rows
    for row in table:
        ours = found[row.pop("dataset"), row.pop("normalizer", "hae")]
        wrong = {column: text for column, text in row.items() if text and not agrees(text, getattr(ours, column))}
        assert wrong == {}


def test_rows_come_by_key_as_numbers_and_what_was_not_printed_is_nan() -> None:
    assert summaries.read("cells")["cifar10", "topk_025"] == {
        **{"accuracy_mean": 0.408, "accuracy_sd": 0.010, "support": 0.294, "n": 10.0}
    }
    assert math.isnan(summaries.read("alpha")["marker",]["alpha_mean"])


def test_a_file_that_is_not_there_has_no_figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(summaries, "FOLDER", tmp_path / "absent")
    assert summaries.read("cells") == {}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["digits,softmax,high"], r"cells\.csv:2: column accuracy_mean holds 'high', not a number"),
        (["digits,softmax"], r"cells\.csv:2: column accuracy_mean holds None, not a number"),
        (["digits,softmax,0.5", "digits,softmax,0.6"], r"cells\.csv:3: digits softmax stands twice"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lines: list[str], message: str
) -> None:
    (tmp_path / "cells.csv").write_text("\n".join(["dataset,normalizer,accuracy_mean", *lines]) + "\n")
    monkeypatch.setattr(summaries, "FOLDER", tmp_path)
    with pytest.raises(InputError, match=message):
        summaries.read("cells")
