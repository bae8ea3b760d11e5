"""What the tables in results/ hold on each idea of the page; an idea whose table is absent is left without."""

import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from bench import records
from bench.explorer.asides import Origin, aside
from bench.explorer.dots import Axis, Dot
from bench.schema import ConfigError

SWEEP, POOLING = "reference", "attention_pooling"
TABLES, SPEED = f"{SWEEP}/tables", "speed"
MAKES_TABLES, MAKES_SPEED = f"make tables SWEEP={SWEEP}", "make speed"
MAKES_POOLING = f"python -m analysis records=results/{POOLING}/records out=results/{POOLING} analysis={POOLING}"
DATASETS = ("fashion_mnist", "kmnist", "cifar10", "twenty_newsgroups", "marker")
"""In this order they take marks, the same in every plot."""
TOKENS = "informative_tokens_"
MASS, LEARNED = (f"{POOLING}/tables/{name}.csv" for name in ("informative_mass", "learned_q"))
NAMES = {
    "softmax": "softmax",
    "sparsemax": "sparsemax",
    "entmax15": "entmax-1.5",
    "entmax": "α-entmax",
    "hae": "HAE",
    "topk_0125": "top-k 0.125",
    "topk_025": "top-k 0.25",
    "topk_050": "top-k 0.50",
    "constrained_sparsemax": "constrained sparsemax",
}
"""Id -> the name shown; another id shows itself."""
IDS = {shown: name for name, shown in NAMES.items()} | {"fusedmax": "fusedmax"}
ONE = "one α for all heads"
COMPACT = {"entmax15": "entmax-1.5 (biweight)", "sparsemax": "sparsemax (Epanechnikov)"}
TOPK = {name: shown for name, shown in NAMES.items() if name.startswith("topk")}
SELECTED = (
    "Top-k fixes beforehand how many keys are used, as a pattern does, but picks them by their scores, which all have "
    "to be computed for that. What this does to accuracy has been measured. "
)
Row = dict[str, str]


def measured(results: Path) -> dict[str, str]:
    """Idea -> what was measured on it, as HTML, empty where `results` holds nothing on it."""
    done = _records(results / SWEEP / "records")
    notes = sorted({f"{record.dataset}: {note}" for record in done for note in record.notes})
    speed = _rows(results / SPEED / "normalizers.csv", ("n", "normalizer", "both_to_softmax"), MAKES_SPEED)
    compared = ("dataset", "normalizer", "delta_accuracy", "ci_low", "ci_high")
    paired = _rows(results / TABLES / "paired_vs_softmax.csv", compared, MAKES_TABLES)
    shares = _rows(results / TABLES / "main_results.csv", ("dataset", "normalizer", "n", "support_mean"), MAKES_TABLES)
    masses = _rows(results / MASS, ("dataset", "normalizer", "n", "mass_mean", "ci_low", "ci_high"), MAKES_POOLING)
    learned = _rows(results / LEARNED, ("dataset", "normalizer", "n", "mean", "ci_low", "ci_high"), MAKES_POOLING)
    return {
        "support": _support(shares, notes),
        "threshold": _cost(speed, ("sparsemax", "entmax15", "entmax", "hae"), "the cost of finding the threshold"),
        "mass": _mass(masses),
        "alpha": _alpha(done, notes),
        "learned": _learned(learned),
        "fused": _cost(speed, ("sparsemax", "fusedmax"), "the cost of fusing neighbours"),
        "bounded": _cost(speed, ("sparsemax", "constrained_sparsemax"), "the cost of bounding every weight"),
        "kernel": _differences(paired, COMPACT, "compact kernels against softmax", notes),
        "selected": _differences(paired, TOPK, "keys selected by their scores, against softmax", notes, SELECTED),
    }


def _records(folder: Path) -> list[records.Record]:
    """The completed records below `folder` whose normalizer has a name, in the order of their paths."""
    try:
        every = [records.read(path) for path in sorted(folder.glob("*/*/seed=*.json"))]
    except records.RecordError as error:
        raise ConfigError(f"{error}; set it aside and make its run again") from error
    return [record for record in every if record.status == "completed" and record.normalizer in NAMES]


def _rows(path: Path, columns: Sequence[str], command: str) -> list[Row]:
    """The rows of a table in which all `columns` have a value; none where there is no table."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        lacking = [name for name in columns if name not in (reader.fieldnames or ())]
        if lacking:
            raise ConfigError(f"{path}: no column {', '.join(lacking)}; make the table again by {command}")
        return [row for row in reader if all(row[name] for name in columns)]


def _support(rows: list[Row], notes: Sequence[str]) -> str:
    dots = [
        Dot(NAMES[row["normalizer"]], row["dataset"], float(row["support_mean"]))
        for row in rows
        if row["normalizer"] in NAMES
    ]
    of = f"mean over heads, blocks, rows and {_seeds(rows)}"
    said = f"Share of attention weights above 1e-7 in the trained classifier, {of}."
    axis = Axis("support", ".3f")
    origin = Origin(f"{TABLES}/main_results.csv", MAKES_TABLES, notes)
    return aside("support after training", said, dots, axis, origin, DATASETS, IDS)


def _cost(rows: list[Row], maps: tuple[str, ...], title: str) -> str:
    dots = [
        Dot(NAMES.get(row["normalizer"], row["normalizer"]), f"n = {row['n']}", float(row["both_to_softmax"]))
        for name in maps
        for row in rows
        if row["normalizer"] == name
    ]
    said = "Time of a map forward and backward over that of torch.softmax on the same scores, on one CPU thread."
    axis = Axis("times torch.softmax", ".2f", log=True, base=1.0)
    return aside(title, said, dots, axis, Origin(f"{SPEED}/normalizers.csv", MAKES_SPEED), (), IDS)


def _mass(rows: list[Row]) -> str:
    dots = [
        Dot(f"{row['dataset'].removeprefix(TOKENS)} tokens", NAMES[row["normalizer"]], *_interval(row, "mass_mean"))
        for row in _by_length(rows)
        if row["normalizer"] in ("softmax", "entmax15", "sparsemax")
    ]
    said = (
        "The share of attention that three informative tokens get in a row of 4 to 128, the others being noise, after "
        f"training at that length: mean over {_seeds(rows)}, with its 95 % t interval."
    )
    axis = Axis("attention on the informative tokens", ".3f")
    return aside("attention against length", said, dots, axis, Origin(MASS, MAKES_POOLING), (), IDS)


def _alpha(done: Sequence[records.Record], notes: Sequence[str]) -> str:
    found = defaultdict(list)
    for record in done:
        if record.normalizer == "hae" and record.metrics.get("alpha_mean") is not None:
            found[record.dataset].append(float(record.metrics["alpha_mean"] or 0.0))
    ordered = sorted(found, key=lambda name: (DATASETS.index(name) if name in DATASETS else len(DATASETS), name))
    dots = [Dot(name, "HAE", fmean(found[name]), min(found[name]), max(found[name])) for name in ordered]
    said = (
        "Head-wise adaptive entmax learns one α per head, between 1.05 and 1.95, from 1.5 at the start: the mean over "
        "heads after training, averaged over seeds; the line spans the least to the largest seed."
    )
    axis = Axis("learned α, mean over heads", ".4f", base=1.5, whole=(1.05, 1.95))
    return aside(
        "the α that training chose", said, dots, axis, Origin(f"{SWEEP}/records", _sweep(done), notes), (), IDS
    )


def _learned(rows: list[Row]) -> str:
    dots = [
        Dot(f"{row['dataset'].removeprefix(TOKENS)} tokens", ONE, *_interval(row, "mean"))
        for row in _by_length(rows)
        if row["normalizer"] == "bounded_entmax"
    ]
    said = (
        "In the attention-pooling study one α, called q there, serves all heads and may pass sparsemax: it is learned "
        f"between 1.1 and 2.8, from 1.557 at the start. Mean over {_seeds(rows)} after training, with its 95 % t "
        "interval; the line is sparsemax."
    )
    axis = Axis("learned α", ".3f", base=2.0, whole=(1.1, 2.8))
    return aside("an α that may pass 2", said, dots, axis, Origin(LEARNED, MAKES_POOLING), (), {ONE: "bounded_entmax"})


def _by_length(rows: list[Row]) -> list[Row]:
    """The rows on the informative tokens, the shortest first."""
    return sorted(
        (row for row in rows if row["dataset"].startswith(TOKENS)),
        key=lambda row: int(row["dataset"].removeprefix(TOKENS)),
    )


def _interval(row: Row, mean: str) -> tuple[float, float, float]:
    return float(row[mean]), float(row["ci_low"]), float(row["ci_high"])


def _seeds(rows: list[Row]) -> str:
    return "; ".join(dict.fromkeys(f"{row['n']} seeds" for row in rows))


def _differences(rows: list[Row], maps: dict[str, str], title: str, notes: Sequence[str], why: str = "") -> str:
    dots = [
        Dot(shown, row["dataset"], *(float(row[key]) for key in ("delta_accuracy", "ci_low", "ci_high")))
        for name, shown in maps.items()
        for row in rows
        if row["normalizer"] == name
    ]
    said = why + (
        "Accuracy minus that of softmax on matched seeds, with t intervals taken one at a time; the file named below "
        "has the p values that correct for the number of tests."
    )
    axis = Axis("accuracy minus softmax", "+.4f", base=0.0)
    origin = Origin(f"{TABLES}/paired_vs_softmax.csv", MAKES_TABLES, notes)
    owners = {shown: name for name, shown in maps.items()}
    return aside(title, said, dots, axis, origin, DATASETS, owners)


def _sweep(done: Sequence[records.Record]) -> str:
    return f"python -m bench experiment=paper results_dir=results/{SWEEP}/records" if done else ""
