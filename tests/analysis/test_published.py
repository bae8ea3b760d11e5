"""The published figures come out of the published records, to the printed digit; and the adapter's refusals."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from analysis import comparisons, frame, published, tables, tables_paired, tables_runtime
from analysis.errors import InputError
from analysis.frame import Runs
from analysis.settings import Plan
from analysis.table import Table

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT.parent / "shared" / "paper"
DATASETS = ("cifar10", "fashion_mnist", "twenty_newsgroups", "marker", "kmnist")
RESULTS = """
softmax   .382 (.019) / .999 | .780 (.011) / 1.0  | .304 (.009) / .998 | .101 (.007) / 1.0  | .745 (.012) / 1.0
sparsemax .394 (.017) / .458 | .803 (.007) / .490 | .326 (.014) / .156 | .100 (.008) / .061 | .757 (.010) / .497
entmax15  .396 (.014) / .768 | .797 (.008) / .780 | .349 (.010) / .420 | .101 (.003) / .261 | .758 (.012) / .793
hae       .397 (.012) / .769 | .796 (.008) / .779 | .350 (.012) / .401 | .100 (.007) / .239 | .759 (.012) / .800
topk_0125 .404 (.010) / .176 | .806 (.007) / .176 | .328 (.016) / .134 | .097 (.005) / .134 | .758 (.011) / .176
topk_025  .408 (.010) / .294 | .803 (.012) / .294 | .329 (.016) / .258 | .100 (.004) / .258 | .763 (.010) / .294
topk_050  .406 (.009) / .529 | .795 (.008) / .529 | .328 (.019) / .505 | .103 (.006) / .505 | .760 (.015) / .529
"""
CELLS = [
    (dataset, line.split()[0], cell.split())
    for line in RESULTS.strip().splitlines()
    for dataset, cell in zip(DATASETS, line.split(maxsplit=1)[1].split("|"), strict=True)
]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.model_validate(OmegaConf.to_container(OmegaConf.load(ROOT / "conf" / "analysis" / "paper.yaml")))


def shown(table: Table) -> dict[tuple[str, str], dict[str, str]]:
    """(data set, normalizer) -> header -> cell as it is printed."""
    rows = [row for section in table.sections for row in section.rows]
    return {
        (str(v[0]), str(v[1])): dict(zip(table.header, row, strict=True))
        for v, row in zip(table.values, rows, strict=True)
    }


@pytest.fixture(scope="module")
def main_results(published_runs: Runs, plan: Plan) -> dict[tuple[str, str], dict[str, str]]:
    return shown(tables.main_results(published_runs, plan))


@pytest.mark.parametrize(("dataset", "normalizer", "cell"), CELLS)
def test_main_results(
    main_results: dict[tuple[str, str], dict[str, str]], dataset: str, normalizer: str, cell: list[str]
) -> None:
    row = main_results[dataset, normalizer]
    assert row["accuracy"] == f"0{cell[0]} ± 0{cell[1].strip('()')}"
    assert row["support"] == ("1.000" if cell[3] == "1.0" else f"0{cell[3]}")
    assert row["n"] == "10"


def test_kmnist_follow_up(published_runs: Runs, plan: Plan) -> None:
    [kmnist] = [family for family in comparisons.families(published_runs, plan) if family.name == "kmnist"]
    table = tables.follow_up(published_runs, plan, "kmnist_followup", kmnist)
    rows = shown(table)
    assert len(rows) == 7
    for dataset, normalizer, cell in CELLS:
        if dataset == "kmnist":
            assert rows[dataset, normalizer]["accuracy"] == f"0{cell[0]} ± 0{cell[1].strip('()')}"
    best = rows["kmnist", "topk_025"]
    assert (best["Δ accuracy"], best["p"], best["macro-F1"]) == ("+0.0186", "0.0076", "0.764 ± 0.010")
    assert (rows["kmnist", "softmax"]["Δ accuracy"], rows["kmnist", "softmax"]["p"]) == ("-", "-")


@pytest.mark.parametrize(
    ("dataset", "normalizer", "expected"),
    [
        ("cifar10", "topk_025", {"Δ": "+0.0263", "CI": "[0.0161, 0.0365]", "p": "0.0002", "holm": "0.0051"}),
        ("fashion_mnist", "topk_0125", {"Δ": "+0.0260", "CI": "[0.0158, 0.0362]", "holm": "0.0055"}),
        ("twenty_newsgroups", "hae", {"Δ": "+0.0463", "CI": "[0.0393, 0.0532]", "holm": "2.55e-06"}),
        ("twenty_newsgroups", "entmax15", {"Δ": "+0.0449", "CI": "[0.0380, 0.0517]", "holm": "3.01e-06"}),
        ("kmnist", "topk_025", {"Δ": "+0.0186", "CI": "[0.0063, 0.0308]", "holm": "0.0381"}),
    ],
)
def test_paired_rows(published_runs: Runs, plan: Plan, dataset: str, normalizer: str, expected: dict[str, str]) -> None:
    results = comparisons.families(published_runs, plan)
    assert [(result.name, result.m) for result in results] == [("main", 24), ("kmnist", 6)]
    table = tables_paired.paired_table(published_runs, plan, "paired", results)
    shown = [row for section in table.sections for row in section.rows]
    keys = [row[1:3] for row in table.values]
    row = shown[keys.index((dataset, normalizer))]
    found = {"Δ": row[2], "CI": row[3], "p": row[8], "holm": row[9]}
    assert {key: found[key] for key in expected} == expected


def test_hae_against_entmax15(published_runs: Runs, plan: Plan) -> None:
    [pair] = comparisons.pairs(published_runs, plan)
    table = tables_paired.paired_table(published_runs, plan, pair.name, [pair])
    shown = {row[0]: (row[2], row[5], row[8]) for row in table.sections[0].rows}
    assert table.name == "hae_vs_entmax15"
    assert shown["cifar10"] == ("+0.0015", "+0.0006", "0.4776")
    assert shown["fashion_mnist"] == ("-0.0008", "-0.0010", "0.4149")
    assert shown["twenty_newsgroups"] == ("+0.0014", "+0.0018", "0.4582")
    assert shown["marker"] == ("-0.0006", "-0.0011", "0.7720")


def test_runtime(published_runs: Runs, plan: Plan) -> None:
    table = tables_runtime.runtime(published_runs, plan)
    rows = shown(table)
    assert len(rows) == 35
    published_means = {
        ("cifar10", "softmax"): ("7.02", "0.139"),
        ("cifar10", "hae"): ("29.26", "0.589"),
        ("twenty_newsgroups", "softmax"): ("9.01", "0.211"),
        ("twenty_newsgroups", "hae"): ("45.13", "2.013"),
        ("marker", "softmax"): ("24.27", "0.383"),
        ("marker", "hae"): ("83.90", "2.241"),
    }
    found = {
        key: (rows[key]["training s"].split(" ± ")[0], rows[key]["inference s"].split(" ± ")[0])
        for key in published_means
    }
    assert found == published_means
    assert "Measured on: device cuda." in table.notes


def test_verdicts_on_the_published_runs(published_runs: Runs, plan: Plan) -> None:
    main, kmnist = comparisons.families(published_runs, plan)
    assert main.verdicts == {"better": 15, "worse": 0, "equivalent": 6, "inconclusive": 3}
    assert kmnist.verdicts == {"better": 6, "worse": 0, "equivalent": 0, "inconclusive": 0}
    assert main.least_p == 2 / 2**10
    # 24 tests of 10 seeds are the most that the exact test can decide.
    assert 25 * main.least_p < 0.05 < 26 * main.least_p


ROW = dict.fromkeys(published.COLUMNS, "1") | {
    "dataset": "twenty_news",
    "method": "headwise_adaptive_entmax",
    "status": "completed",
    "device": "cuda",
    "accuracy": "0.5",
    "learned_alpha_mean": "",
}


def write(path: Path, row: dict[str, str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow(row)
    return path


def test_a_row_becomes_a_record_under_our_names(tmp_path: Path) -> None:
    [(place, record)] = published.read(write(tmp_path / "runs.csv", ROW))
    assert record.key == ("twenty_newsgroups", "hae", 1)
    assert record.metrics["alpha_mean"] is None
    assert place == Path(f"{tmp_path}/runs.csv:2")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accuracy": "high"}, r"runs\.csv:2: column accuracy holds 'high', not a number"),
        ({"seed": "1.5"}, r"runs\.csv:2: column seed holds '1\.5', not a whole number"),
        ({"seed": "inf"}, r"runs\.csv:2: column seed holds 'inf', not a whole number"),
        ({"dataset": "Big Data"}, r"runs\.csv:2: dataset: .*'Big Data'"),
        ({"accuracy": "nan"}, r"runs\.csv:2: column accuracy holds 'nan', not a number"),
        ({"loss": "-1e999"}, r"runs\.csv:2: column loss holds '-1e999', not a number"),
    ],
)
def test_a_wrong_value_is_named_with_its_line(tmp_path: Path, change: dict[str, str], message: str) -> None:
    path = write(tmp_path / "runs.csv", ROW | change)
    with pytest.raises(InputError, match=message):
        published.read(path)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("nonzero_ratio", "50", "support is 50, which is not a share of 1; a percentage must be divided by 100"),
        ("accuracy", "83.0", "accuracy is 83, which is not a share of 1; a percentage must be divided by 100"),
        ("macro_f1", "-0.1", "macro_f1 is -0.1, which is not a share of 1"),
        ("train_seconds", "-5", "train_seconds is -5, which is not a number of seconds"),
        ("inference_seconds", "-5", "inference_seconds is -5, which is not a number of seconds"),
        ("wall_seconds_total", "-5", "wall_seconds is -5, which is not a number of seconds"),
        ("loss", "-0.5", "test_loss is -0.5, which is not a cross-entropy"),
        ("peak_memory_mb", "-1", "peak_memory_mb is -1, which is not a number of MiB"),
        ("parameter_count", "-1", "parameters is -1, which is not a number of parameters"),
        ("learned_alpha_mean", "0.5", "alpha_mean is 0.5, which is not an α of entmax"),
    ],
)
def test_a_number_that_cannot_be_is_refused_with_line_and_column(
    tmp_path: Path, column: str, value: str, said: str
) -> None:
    path = write(tmp_path / "runs.csv", ROW | {column: value})
    with pytest.raises(InputError) as error:
        frame.load([path])
    assert str(error.value).startswith(f"{path}:2: column {column} holds {value!r}: {said}")


def test_every_column_of_numbers_has_a_domain() -> None:
    from bench.domains import METRICS

    assert set(published.METRICS.values()) <= set(METRICS)


def test_missing_columns_are_named_with_near_matches(tmp_path: Path) -> None:
    row = {("acuracy" if name == "accuracy" else name): value for name, value in ROW.items() if name != "seed"}
    with pytest.raises(InputError, match="it has no column 'seed', 'accuracy'; did you mean 'acuracy'"):
        published.read(write(tmp_path / "runs.csv", row))


def test_a_byte_order_mark_and_the_order_of_rows_change_nothing(tmp_path: Path) -> None:
    rows = [ROW | {"seed": str(seed), "accuracy": f"0.{seed + 1}"} for seed in range(4)]

    def saved(name: str, order: list[dict[str, str]], encoding: str) -> Path:
        path = tmp_path / name
        with path.open("w", newline="", encoding=encoding) as file:
            writer = csv.DictWriter(file, ROW)
            writer.writeheader()
            writer.writerows(order)
        return path

    plain = frame.load([saved("plain.csv", rows, "utf-8")]).frame.drop(columns="path")
    marked = frame.load([saved("marked.csv", rows[::-1], "utf-8-sig")]).frame.drop(columns="path")
    assert marked.equals(plain)
    assert plain["accuracy"].tolist() == [0.1, 0.2, 0.3, 0.4]


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("dataset,method\n", encoding="utf-16")
    with pytest.raises(InputError, match=r"runs\.csv: not a CSV text"):
        published.read(path)


def copied(tmp_path: Path, change: Callable[[str], str]) -> Path:
    if not PAPER.is_dir():
        pytest.skip(f"the published run records are not at {PAPER}")
    target = tmp_path / "runs.csv"
    target.write_text(change((PAPER / "main_combined_runs.csv").read_text(encoding="utf-8")), encoding="utf-8")
    return target


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[:-109], "fewer fields than the header; is it whole?"),
        (lambda text: text.rstrip("\n") + ",9,9\n", "more fields than the header"),
        (lambda text: text.replace("\n", ",accuracy\n", 1), "column 'accuracy' stands twice"),
        (lambda text: text.replace(",completed", ", Completed", 1), "column status holds ' Completed', none of"),
    ],
)
def test_a_damaged_csv_is_refused(tmp_path: Path, change: Callable[[str], str], said: str) -> None:
    with pytest.raises(InputError, match=said.replace("?", r"\?")):
        frame.load([copied(tmp_path, change)])
