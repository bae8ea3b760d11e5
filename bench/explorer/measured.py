"""What the tables in results/ hold on each idea of the page; an idea whose table is absent is left without."""

import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from bench import records
from bench.explorer.dots import Axis, Dot, plot
from bench.explorer.markup import code, table, text
from bench.schema import ConfigError

SWEEP = "reference"
TABLES, SPEED = f"{SWEEP}/tables", "speed"
MAKES_TABLES, MAKES_SPEED = f"make tables SWEEP={SWEEP}", "make speed"
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
COMPACT = {"entmax15": "entmax-1.5 (biweight)", "sparsemax": "sparsemax (Epanechnikov)"}
TOPK = {name: shown for name, shown in NAMES.items() if name.startswith("topk")}
Row = dict[str, str]


def measured(results: Path) -> dict[str, str]:
    """Idea -> what was measured on it, as HTML, empty where `results` holds nothing on it."""
    done = _records(results / SWEEP / "records")
    notes = sorted({f"{record.dataset}: {note}" for record in done for note in record.notes})
    speed = _rows(results / SPEED / "normalizers.csv", ("n", "normalizer", "both_to_softmax"), MAKES_SPEED)
    compared = ("dataset", "normalizer", "delta_accuracy", "ci_low", "ci_high")
    paired = _rows(results / TABLES / "paired_vs_softmax.csv", compared, MAKES_TABLES)
    shares = _rows(results / TABLES / "main_results.csv", ("dataset", "normalizer", "n", "support_mean"), MAKES_TABLES)
    return {
        "support": _support(shares, notes),
        "threshold": _cost(speed, ("sparsemax", "entmax15", "entmax", "hae"), "the cost of finding the threshold"),
        "entropy": _entropy(done, notes),
        "alpha": _alpha(done, notes),
        "fused": _cost(speed, ("sparsemax", "fusedmax"), "the cost of fusing neighbours"),
        "bounded": _cost(speed, ("sparsemax", "constrained_sparsemax"), "the cost of bounding every weight"),
        "kernel": _differences(paired, COMPACT, "compact kernels against softmax", notes),
        "selected": _differences(paired, TOPK, "keys selected by their scores, against softmax", notes),
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
    seeds = "; ".join(dict.fromkeys(f"{row['n']} seeds" for row in rows))
    of = f"mean over heads, blocks, rows and {seeds}"
    said = f"Share of attention weights above 1e-7 in the trained classifier, {of}."
    axis = Axis("support", ".3f")
    return _shown("support after training", said, dots, axis, f"{TABLES}/main_results.csv", MAKES_TABLES, notes)


def _cost(rows: list[Row], maps: tuple[str, ...], title: str) -> str:
    dots = [
        Dot(NAMES.get(row["normalizer"], row["normalizer"]), f"n = {row['n']}", float(row["both_to_softmax"]))
        for name in maps
        for row in rows
        if row["normalizer"] == name
    ]
    said = "Time of a map forward and backward over that of torch.softmax on the same scores, on one CPU thread."
    axis = Axis("times torch.softmax", ".2f", log=True, base=1.0)
    return _shown(title, said, dots, axis, f"{SPEED}/normalizers.csv", MAKES_SPEED)


def _entropy(done: Sequence[records.Record], notes: Sequence[str]) -> str:
    found = defaultdict(list)
    for record in done:
        heads = [head for block in record.attention["entropy"] for head in block]
        found[record.normalizer, record.dataset].append(fmean(heads))
    ordered = sorted(found.items(), key=lambda item: (list(NAMES).index(item[0][0]), item[0][1]))
    dots = [Dot(NAMES[name], dataset, fmean(values)) for (name, dataset), values in ordered]
    said = "Entropy of attention rows in the trained classifier, mean over heads, blocks, rows and seeds."
    axis = Axis("entropy, nats", ".3f")
    return _shown("entropy after training", said, dots, axis, f"{SWEEP}/records", _sweep(done), notes)


def _alpha(done: Sequence[records.Record], notes: Sequence[str]) -> str:
    found = defaultdict(list)
    for record in done:
        if record.normalizer == "hae" and record.metrics.get("alpha_mean") is not None:
            found[record.dataset].append(float(record.metrics["alpha_mean"] or 0.0))
    dots = [Dot(name, "HAE", fmean(values), min(values), max(values)) for name, values in sorted(found.items())]
    said = (
        "Head-wise adaptive entmax learns one α per head, between 1.05 and 1.95, from 1.5 at the start: the mean over "
        "heads after training, averaged over seeds; the line spans the least to the largest seed."
    )
    axis = Axis("learned α, mean over heads", ".4f", base=1.5)
    return _shown("the α that training chose", said, dots, axis, f"{SWEEP}/records", _sweep(done), notes)


def _differences(rows: list[Row], maps: dict[str, str], title: str, notes: Sequence[str]) -> str:
    dots = [
        Dot(shown, row["dataset"], *(float(row[key]) for key in ("delta_accuracy", "ci_low", "ci_high")))
        for name, shown in maps.items()
        for row in rows
        if row["normalizer"] == name
    ]
    said = (
        "Accuracy minus that of softmax on matched seeds, with t intervals taken one at a time; the file named below "
        "has the p values that correct for the number of tests."
    )
    axis = Axis("accuracy minus softmax", "+.4f", base=0.0)
    file = f"{TABLES}/paired_vs_softmax.csv"
    return _shown(title, said, dots, axis, file, MAKES_TABLES, notes)


def _sweep(done: Sequence[records.Record]) -> str:
    return f"python -m bench experiment=paper results_dir=results/{SWEEP}/records" if done else ""


def _shown(
    title: str, said: str, dots: Sequence[Dot], axis: Axis, file: str, command: str, notes: Sequence[str] = ()
) -> str:
    """The plot with what it is of, its numbers as a table, and where they come from; nothing without dots."""
    if not dots:
        return ""
    series = list(dict.fromkeys(dot.series for dot in dots))
    lines = []
    for name in dict.fromkeys(dot.row for dot in dots):
        cells = {dot.series: format(dot.value, axis.form) for dot in dots if dot.row == name}
        lines.append((name, *(cells.get(one, "–") for one in series)))
    about = [note for note in notes if note.partition(":")[0] in {*series, *(dot.row for dot in dots)}]
    return (
        f'<aside class="measured"><h3>Measured: {text(title)}</h3>\n<p>{text(said)}</p>\n'
        f"{plot(dots, axis, title)}"
        f"<details><summary>The numbers</summary>{table(('', *series), lines, title)}</details>\n"
        + "".join(f'<p class="origin">{text(note)}</p>\n' for note in about)
        + f'<p class="origin">From {code(f"results/{file}")}, made by {code(command)}</p></aside>\n'
    )
