"""Run records built by hand, and the published ones where a checkout has them beside it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis import frame
from analysis.frame import Runs
from analysis.settings import Plan
from bench.records import Record, record_path, write

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT.parent / "shared" / "paper"

ACCURACY = {
    "softmax": (0.50, 0.52, 0.51, 0.53),
    "sparsemax": (0.53, 0.54, 0.55, 0.55),
    "hae": (0.49, 0.53, 0.50, 0.54),
    "entmax15": (0.50, 0.52, 0.52, 0.53),
}


def make(dataset: str, normalizer: str, seed: int, accuracy: float | None, **changes: Any) -> Record:
    """A completed record; `changes` replaces fields, and `provenance` adds to the usual one."""
    provenance = {"code_version": "1", "torch": "2.9.0", "cpu": "Test CPU", "threads": 2, "device": "cpu"}
    metrics = {"accuracy": accuracy, "macro_f1": accuracy, "support": 0.5, "train_seconds": 2.0}
    fields: dict[str, Any] = {
        "schema": 1,
        "dataset": dataset,
        "normalizer": normalizer,
        "seed": seed,
        "fingerprint": f"{dataset}{normalizer}{seed}",
        "setting": f"setting-{dataset}",
        "cell": f"cell-{dataset}-{normalizer}",
        "status": "completed",
        "config": {},
        "metrics": metrics | {"inference_seconds": 0.1, "test_loss": 1.0, "alpha_mean": None},
    }
    return Record(**fields | changes | {"provenance": provenance | changes.get("provenance", {})})


def save(folder: Path, *records: Record) -> list[Path]:
    """Write `records` below `folder` as the harness does."""
    paths = []
    for record in records:
        paths.append(record_path(folder, *record.key, record.fingerprint))
        write(paths[-1], record, folder)
    return paths


def grid(values: dict[str, Iterable[float | None]] = ACCURACY, dataset: str = "digits") -> list[Record]:
    """One record per normalizer and seed."""
    return [make(dataset, name, seed, acc) for name, row in values.items() for seed, acc in enumerate(row)]


def at_lengths(
    dataset: str,
    normalizer: str,
    seed: int,
    exact: Sequence[float],
    *,
    token: Sequence[float] | None = None,
    level: Sequence[float] | None = None,
    lengths: Sequence[int] = (16, 32, 64),
    **changes: Any,
) -> Record:
    """A record tested at `lengths`, with two blocks and heads whose mean entropy is `level`, and peak a tenth of it.

    `changes` replaces parts of `by_length`.
    """
    means = [1.0] * len(lengths) if level is None else level
    heads = [[[value - 0.1, value + 0.1], [value - 0.3, value + 0.3]] for value in means]
    shares = [[[value / 10 for value in row] for row in block] for block in heads]
    by_length = {"length": list(lengths), "rows": [100] * len(lengths), "exact_match": list(exact)}
    by_length |= {"token_accuracy": list(exact if token is None else token)}
    by_length |= {"entropy": heads, "peak": shares, "support": shares}
    metrics = {"accuracy": exact[-1], "support": 0.5, "train_seconds": 2.0, "inference_seconds": 0.1}
    config = {"dataset": {"task": dataset, "train_shortest": 4, "train_longest": 16}, "model": {"kind": "causal"}}
    fields = {"metrics": metrics, "config": config, "attention": {"by_length": by_length | changes}}
    return make(dataset, normalizer, seed, exact[-1], **fields)


def runs_of(records: Iterable[Record]) -> Runs:
    """The frame of `records`, each with a made-up path."""
    return frame.from_records((Path(f"{r.dataset}-{r.normalizer}-{r.seed}.json"), r) for r in records)


def plan(**changes: Any) -> Plan:
    """A plan for `grid`: one family of two tests on digits and one direct comparison."""
    return Plan.model_validate(
        {
            "control": "softmax",
            "order": ["softmax", "sparsemax", "entmax15", "hae"],
            "families": {"demo": {"datasets": ["digits"], "treatments": ["sparsemax", "hae"]}},
            "pairs": [{"treatment": "hae", "control": "entmax15"}],
        }
        | changes
    )


@pytest.fixture
def records_dir(tmp_path: Path) -> Path:
    """A folder with the records of `grid`."""
    save(tmp_path / "records", *grid())
    return tmp_path / "records"


@pytest.fixture(scope="session")
def published_runs() -> Runs:
    """The 350 published runs."""
    if not PAPER.is_dir():
        pytest.skip(f"the published run records are not at {PAPER}")
    return frame.load([PAPER / "main_combined_runs.csv", PAPER / "kmnist_followup_runs.csv"])


@pytest.fixture(scope="session")
def build() -> SimpleNamespace:
    """The builders above, for test files: under importlib mode they cannot import this file."""
    return SimpleNamespace(
        make=make, at_lengths=at_lengths, save=save, grid=grid, runs_of=runs_of, plan=plan, accuracy=ACCURACY
    )
