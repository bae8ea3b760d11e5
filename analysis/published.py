"""The CSV of published runs (Canay 2026, replication package 1.0.1), row by row as run records."""

import csv
import math
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from analysis.errors import InputError, near
from bench.records import Record, Status, check_metrics

DATASETS = {"twenty_news": "twenty_newsgroups", "synthetic_marker": "marker"}
METHODS = {
    "headwise_adaptive_entmax": "hae",
    "topk_softmax_0125": "topk_0125",
    "topk_softmax_025": "topk_025",
    "topk_softmax_05": "topk_050",
}
METRICS = {
    "accuracy": "accuracy",
    "macro_f1": "macro_f1",
    "loss": "test_loss",
    "nonzero_ratio": "support",
    "train_seconds": "train_seconds",
    "inference_seconds": "inference_seconds",
    "wall_seconds_total": "wall_seconds",
    "peak_memory_mb": "peak_memory_mb",
    "parameter_count": "parameters",
    "learned_alpha_mean": "alpha_mean",
}
SETTING = (
    *("dataset_source", "epochs", "train_n", "test_n", "input_kind", "seq_len"),
    *("classes", "embed_dim", "heads", "layers"),
)
STATUSES: dict[str, Status] = {"completed": "completed", "failed": "failed"}
COLUMNS = ("dataset", "method", "seed", "status", "device", *SETTING, *METRICS)


def read(path: Path) -> list[tuple[Path, Record]]:
    """The runs in the CSV file `path`, each with `path:line` as its place.

    Raises InputError naming the file and the columns that are missing, or the line, the column and a value that is no
    number or cannot be.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            found = reader.fieldnames or []
            missing = [f"{name!r}{near(name, set(found) - set(COLUMNS))}" for name in COLUMNS if name not in found]
            if missing:
                raise InputError(f"{path}: not a CSV of published runs, it has no column {', '.join(missing)}")
            double = next((name for name in COLUMNS if list(found).count(name) > 1), None)
            if double:
                raise InputError(f"{path}: column {double!r} stands twice, so its values are uncertain")
            return [_record(Path(f"{path}:{reader.line_num}"), row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV text ({error})") from error


def _record(place: Path, row: dict[str | None, Any]) -> tuple[Path, Record]:
    if None in row or None in row.values():  # what DictReader makes of too many fields, and of too few
        raise InputError(
            f"{place}: this row has {'more' if None in row else 'fewer'} fields than the header; is it whole?"
        )

    def number(column: str) -> float | None:
        text = (row[column] or "").strip()
        try:
            value = float(text) if text else None
        except ValueError:
            value = math.nan
        if value is not None and not math.isfinite(value):
            raise InputError(f"{place}: column {column} holds {text!r}, not a number")
        try:
            check_metrics({METRICS[column]: value})
        except ValueError as error:
            raise InputError(f"{place}: column {column} holds {text!r}: {error}") from error
        return value

    if not row["seed"].strip().isdecimal():
        raise InputError(f"{place}: column seed holds {row['seed']!r}, not a whole number")
    seed = int(row["seed"])
    if row["status"] not in STATUSES:
        raise InputError(f"{place}: column status holds {row['status']!r}, none of {', '.join(STATUSES)}")
    dataset, method = row["dataset"] or "", row["method"] or ""
    normalizer = METHODS.get(method, method)
    setting = " ".join(f"{name}={row[name]}" for name in SETTING)
    try:
        record = Record(
            schema=1,
            dataset=DATASETS.get(dataset, dataset),
            normalizer=normalizer,
            seed=seed,
            fingerprint=f"{setting} {normalizer} {seed}",
            setting=setting,
            cell=f"{setting} {normalizer}",
            status=STATUSES[row["status"]],
            config={name: row[name] for name in SETTING},
            metrics={ours: number(theirs) for theirs, ours in METRICS.items()},
            provenance={"device": row["device"], "code_version": "published"},
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{place}: {where}: {first['msg']}, not {first['input']!r}") from error
    return place, record
