"""What README says is run or at least understood by the program it speaks of."""

import csv
import re
import shlex
import textwrap
from pathlib import Path

import pytest
import torch
from hydra import compose, initialize_config_dir

from analysis.names import display
from analysis.plan import Plan
from bench import overrides
from bench.__main__ import COMMANDS, CONF
from bench.launcher import plain
from bench.schema import validate
from tests.bench.helpers import PUBLISHED

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands(program: str) -> list[list[str]]:
    lines = [line.partition("  #")[0] for block in blocks("bash") for line in block.splitlines()]
    return [shlex.split(line)[3:] for line in lines if line.startswith(f"python -m {program} ")]


def run_block(number: int) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(textwrap.dedent(blocks("python")[number]), "README.md", "exec"), names)
    return names


def test_the_library_example_runs():
    names = run_block(0)
    assert names["weights"].sum().item() == pytest.approx(8 * 4 * 10, rel=1e-5)


def test_the_normalizer_of_the_recipe_is_one():
    scores = torch.randn(2, 4, 3, 5)
    module = run_block(1)["MyMap"](4, temperature=0.5)
    torch.testing.assert_close(module(scores, None, None), torch.softmax(scores * 2, dim=-1))
    with pytest.raises(ValueError, match="temperature must be above 0"):
        run_block(1)["MyMap"](4, temperature=0.0)


@pytest.mark.parametrize("words", [words for words in commands("bench") if words[0] not in COMMANDS], ids=" ".join)
def test_bench_commands_are_understood(words):
    overrides.check(words, CONF)
    choices = [word for word in words if "=" in word and not word.startswith("experiment=")]
    single = [word.replace("range(10)", "0").split(",")[0] for word in choices]
    if single:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            config = validate(plain(compose("config", overrides=single)))
        assert config.label.startswith(config.dataset.name)


def test_data_sets_named_for_fetching_exist():
    named = [name for words in commands("bench") if words[0] == "data" for name in words[1:]]
    assert named
    assert all((CONF / "dataset" / f"{name}.yaml").is_file() for name in named)


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"make ([a-z-]+)", " ".join(re.findall(r"`[^`]*`|```.*?```", README, flags=re.DOTALL))))
    assert {"bench", "test"} <= named
    assert named <= set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))


@pytest.mark.parametrize("group", ["dataset", "normalizer", "model", "experiment", "tracker", "hydra/launcher"])
def test_choices_named_in_the_table_exist(group):
    (row,) = re.findall(rf"^\| `{group}` \| (.*) \|$", README, flags=re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", row))
    assert named
    assert named <= {path.stem for path in (CONF / group).glob("*.yaml")}


def test_option_examples_are_keys():
    named = set(re.findall(r"`((?:train|dataset|normalizer|data|analysis)\.[a-z_]+)=", README))
    known = set(overrides.known_keys(CONF)) | {f"analysis.{name}" for name in Plan.model_fields}
    assert named
    assert named <= known


@pytest.mark.parametrize(
    ("label", "name"),
    [("sparsemax", "sparsemax"), ("entmax-1.5", "entmax15"), ("HAE, with ∂α", "hae"), ("top-k 0.25", "topk")],
)
def test_costs_are_those_of_the_committed_table(label, name):
    with (ROOT / "results" / "speed" / "normalizers.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["n"]: row for row in csv.DictReader(file) if row["normalizer"] == name}
    measured = [f"{float(rows[n]['both_to_softmax']):.2f}x" for n in ("17", "97", "512", "2048")]
    package = rows["97"]["entmax_package_to_ours"]
    measured.append(f"{float(package):.0f}x as long" if package else "-")
    assert f"| {label} | {' | '.join(measured)} |" in README


REFERENCE = ROOT / "results" / "reference" / "tables"
MARKS = {"better": " **+**", "worse": " **-**", "equivalent": " =", "inconclusive": ""}


def shown(table):
    """The lines of the reference sweep's `table` as people read it: column -> text, the data set in every line."""
    columns, dataset = [], ""
    for line in (REFERENCE / f"{table}.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if "data set" in cells:
            columns = cells
        elif line.startswith("|") and "---" not in line:
            dataset = cells[0] or dataset
            yield dict(zip(columns, cells, strict=True)) | {"data set": dataset}


def pivoted(table, cell):
    """`table` as lines of README: a row per data set, a column per published normalizer."""
    found = {}
    for row in shown(table):
        found.setdefault(row["data set"], {})[row["normalizer"]] = cell(row)
    columns = [name for name in (display(name, {}) for name in PUBLISHED) if name in found["kmnist"]]
    return [f"| {dataset} | {' | '.join(cells[name] for name in columns)} |" for dataset, cells in found.items()]


@pytest.mark.parametrize(
    ("table", "cell"),
    [
        ("main_results", lambda row: row["accuracy"]),
        ("paired_vs_softmax", lambda row: f"{row['Δ accuracy']} ({row['Holm p']}){MARKS[row['verdict']]}"),
        ("runtime", lambda row: row["training CPU ratio"].partition(" ")[0]),
    ],
    ids=["main_results", "paired_vs_softmax", "runtime"],
)
def test_the_results_are_those_of_the_reference_tables(table, cell):
    lines = pivoted(table, cell)
    assert len(lines) == 5
    assert "\n".join(lines) in README
