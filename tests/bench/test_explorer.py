"""The page of the theory: what is committed is what is made, its numbers are the library's, its figures the tables'."""

import csv
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from analysis.figures.alphas import ALLOWED
from bench import explorer
from bench.explorer import document, grids, looks
from bench.explorer.dots import Axis, Dot, plot
from bench.explorer.formulas import formulas
from bench.explorer.measured import measured
from bench.schema import ConfigError
from normalizers import REGISTRY, entmax, local_mask, softmax
from tests.bench.helpers import ROOT

RESULTS = ROOT / "results"
COMMITTED = RESULTS / "explorer.html"
DIGITS = 5.1e-6
"""What rounding to six significant digits may change, relative to the number."""
DATA = re.compile(r'(?<=<script type="application/json" id="data">).*?(?=</script>)')


@pytest.fixture(scope="module")
def fresh() -> str:
    torch.set_num_threads(1)
    return document.page(RESULTS)


def assert_close(ours: Any, theirs: Any) -> None:
    """Two nested lists and dictionaries of JSON differ in numbers only, and in these by 2e-5 of each at most."""
    assert type(ours) is type(theirs) or {type(ours), type(theirs)} == {int, float}
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        assert_close(list(ours.values()), list(theirs.values()))
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_close(one, other)
    else:
        assert ours == (pytest.approx(theirs, rel=2e-5, abs=1e-6) if isinstance(theirs, float) else theirs)


def test_the_committed_page_is_the_one_made_now(fresh: str) -> None:
    committed = COMMITTED.read_text(encoding="utf-8")
    remedy = "results/explorer.html is not what `make explorer` writes now: make and commit it"
    assert DATA.sub("", committed) == DATA.sub("", fresh), remedy
    assert_close(json.loads(DATA.findall(committed)[0]), json.loads(DATA.findall(fresh)[0]))


def test_the_same_tree_gives_the_same_bytes(fresh: str) -> None:
    assert document.page(RESULTS) == fresh


def test_the_page_stands_alone_and_is_small(fresh: str) -> None:
    assert len(fresh.encode()) < 1_000_000
    assert re.findall(r"""\b(?:src|srcset|action|poster)=|<link|<iframe|@import|url\(|fetch\(|import\(""", fresh) == []
    assert "default-src 'none'" in fresh


def test_every_placeholder_is_filled_and_every_section_has_a_formula_and_a_source(fresh: str) -> None:
    assert not re.search(r"\$(formula|measured)_|\$scores", fresh)
    sections = re.findall(r"<section id=.*?</section>", fresh, flags=re.DOTALL)
    assert len(sections) == 9
    for section in sections:
        assert "<math" in section
        assert re.search(
            r'class="sources">.*?href="https://(arxiv\.org/abs/\d{4}\.\d{5}|doi\.org/10\.)', section, re.DOTALL
        )
        assert section.count('class="play" hidden') == 1
        assert ('class="measured"' in section) or (">Not measured: " in section)


def test_identifiers_are_unique_and_what_is_referred_to_exists(fresh: str) -> None:
    identifiers = re.findall(r'\bid="([^"]+)"', fresh)
    assert len(identifiers) == len(set(identifiers))
    wanted = {word for words in re.findall(r'\b(?:for|aria-labelledby)="([^"]+)"', fresh) for word in words.split()}
    wanted |= set(re.findall(r'href="#([^"]+)"', fresh))
    assert wanted <= set(identifiers)


def test_colours_are_those_of_the_report() -> None:
    ours, theirs = (
        [
            dict(re.findall(r"--([\w-]+): (#\w+)", block))
            for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
        ]
        for style in (
            (ROOT / folder / "style.css").read_text(encoding="utf-8")
            for folder in ("bench/explorer", "analysis/report")
        )
    )
    for mine, other in zip(ours, theirs, strict=True):
        shared = {"page", "ink", "dim", "line", "soft", "link", "alert", "alert-soft"}
        assert {name: mine[name] for name in shared} == {name: other[name] for name in shared}


def test_peaks_and_entropies_are_those_of_the_rows_described() -> None:
    found = grids._length()
    spread, lead, n = 2, 1, 3
    scores = torch.tensor([4.0 * i / 62 for i in range(63)] + [4.5], dtype=torch.float64)
    assert (found["spreads"][spread], found["leads"][lead], found["lengths"][n]) == (4.0, 0.5, 64)
    powers = [math.exp(score) for score in scores.tolist()]
    shares = [power / sum(powers) for power in powers]
    curve = found["curves"][0]
    assert curve["peak"][spread][lead][n] == pytest.approx(max(shares), rel=DIGITS)
    assert curve["entropy"][spread][lead][n] == pytest.approx(-sum(p * math.log(p) for p in shares), rel=DIGITS)
    assert found["curves"][3]["peak"][spread][lead][n] == pytest.approx(entmax(scores, 1.5).max().item(), rel=DIGITS)


def test_what_the_text_says_of_long_contexts_holds() -> None:
    found = grids._length()
    curves = {curve["name"]: curve for curve in found["curves"]}
    lead_of = {lead: place for place, lead in enumerate(found["leads"])}
    for place, spread in enumerate(found["spreads"]):
        for lead in found["leads"]:
            bound = [math.exp(spread + lead) / n for n in found["lengths"]]
            peaks = curves["softmax"]["peak"][place][lead_of[lead]]
            assert all(peak <= most * (1 + 1e-6) for peak, most in zip(peaks, bound, strict=True))
        assert curves["sparsemax"]["peak"][place][lead_of[1.0]] == [1.0] * len(found["lengths"])
        assert curves["entmax-1.5"]["peak"][place][lead_of[2.0]] == [1.0] * len(found["lengths"])
        longest = curves["sparsemax"]["peak"][place][lead_of[0.0]][-1]
        assert longest == pytest.approx(math.sqrt(2 * spread / found["lengths"][-1]), rel=0.05)
        assert max(max(row) for row in curves["top-k (k = 8)"]["entropy"][place]) <= math.log(8) + 1e-6


def test_losses_end_at_their_margin_and_cross_entropy_never() -> None:
    found = grids._loss()
    for place, classes in enumerate(found["classes"]):
        for alpha, losses in zip(found["alphas"], found["values"][place], strict=True):
            end = math.inf if alpha == 1 else 1 / (alpha - 1)
            for margin, loss in zip(found["margins"], losses, strict=True):
                if abs(margin - end) > 0.05:
                    assert (loss == 0) == (margin > end)
        expected = [math.log1p((classes - 1) * math.exp(-margin)) for margin in found["margins"]]
        assert found["values"][place][0] == pytest.approx(expected, rel=DIGITS)


def test_masks_come_bit_by_bit() -> None:
    assert grids._bits(torch.tensor([[True, False, True], [False, False, True], [False, False, False]])) == [5, 4, 0]
    found = grids._pattern()
    assert found["masks"]["local"][1] == grids._bits(local_mask(24, 2))
    diagonal = [1 << place for place in range(24)]
    for of_sizes in (masks for name, masks in found["masks"].items() if name != "global"):
        assert all(row & own for rows in of_sizes for row, own in zip(rows, diagonal, strict=True))
    counts = [len(set(rows)) for rows in found["masks"]["clusters"]]
    assert counts[0] == 1
    assert max(counts) > 3


def test_measured_figures_are_those_of_the_tables() -> None:
    shown = measured(RESULTS)
    with (RESULTS / "reference/tables/main_results.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["normalizer"] == "sparsemax"]
    assert rows
    for row in rows:
        assert f"<td>{float(row['support_mean']):.3f}</td>" in shown["support"]
    assert "results/reference/tables/main_results.csv" in shown["support"]
    assert "make tables SWEEP=reference" in shown["support"]
    assert all(("<svg" in block) and ("made by" in block) for block in shown.values())


def test_attention_and_alpha_against_length_are_those_of_their_study() -> None:
    shown = measured(RESULTS)
    tables = RESULTS / "attention_pooling/tables"
    for idea, name, column, maps in (
        ("mass", "informative_mass.csv", "mass_mean", ("softmax", "entmax15", "sparsemax")),
        ("learned", "learned_q.csv", "mean", ("bounded_entmax",)),
    ):
        with (tables / name).open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["normalizer"] in maps]
        assert sorted(re.findall(r"<td>([\d.]+)</td>", shown[idea])) == sorted(
            f"{float(row[column]):.3f}" for row in rows
        )
        assert re.findall(r'scope="row">(\d+) tokens', shown[idea]) == ["4", "8", "16", "32", "64", "128"]
        assert shown[idea].count('class="span') == len(rows)


def test_a_data_set_has_one_mark_on_the_whole_page(fresh: str) -> None:
    entries = re.findall(r'class="(mark s\d)"/></svg>([^<]+)</li>', fresh)
    marks = {name: {mark for mark, other in entries if other == name} for _, name in entries}
    assert all(len(of) == 1 for of in marks.values())
    names = {"fashion_mnist", "kmnist", "cifar10", "twenty_newsgroups", "marker"}
    assert len(set.union(*(marks[name] for name in names))) == len(names)


def test_formulas_are_whole_and_their_brackets_need_not_grow() -> None:
    """Every index and power has its base, every bracket keeps its size and holds nothing that is high."""
    for name, block in formulas().items():
        for node in ElementTree.fromstring(unescape(block).replace("&", "&amp;")).iter():
            if node.tag in ("msub", "msup", "mfrac", "munder"):
                assert len(node) == 2, name
            depth = 0
            for part in node:
                sign = part.text if part.tag == "mo" else ""
                if sign and sign in "([{⟨)]}⟩":
                    assert part.get("stretchy") == "false", name
                    depth += 1 if sign in "([{⟨" else -1
                elif depth > 0:
                    assert part.find(".//mfrac") is None, name
                    assert part.tag not in ("mfrac", "msqrt"), name


def test_without_tables_their_sentences_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(measured(tmp_path).values()) == {""}
    monkeypatch.setattr(document, "grids", dict)
    page = document.page(tmp_path)
    assert "Measured" not in page
    assert page.count("<math") >= 9


def test_a_changed_table_changes_the_page(tmp_path: Path) -> None:
    table = tmp_path / "speed/normalizers.csv"
    table.parent.mkdir()
    table.write_text("n,normalizer,both_to_softmax\n17,fusedmax,3.25\n17,sparsemax,\n", encoding="utf-8")
    shown = measured(tmp_path)["fused"]
    assert "<td>3.25</td>" in shown
    assert "sparsemax</text>" not in shown


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        (
            "speed/normalizers.csv",
            "n,normalizer\n17,hae\n",
            "no column both_to_softmax; make the table again by make speed",
        ),
        ("reference/records/digits/hae/seed=0-ab.json", "{", "not whole JSON .*make its run again"),
    ],
)
def test_files_that_are_not_what_they_should_be_are_named(tmp_path: Path, file: str, content: str, words: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=words) as caught:
        measured(tmp_path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("log", [False, True])
def test_dots_stand_where_their_values_are(log: bool) -> None:
    dots = [Dot("a", "x", 1.0, 0.5, 2.0), Dot("b", "x", 4.0), Dot("b", "y", 2.5)]
    drawn = plot(dots, Axis("seconds", ".1f", log=log, base=1.0), "Times")
    places = [
        float(place) for place in re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="4.6" class="mark s0"', drawn)
    ][:2]
    base, again = (float(place) for place in re.findall(r'class="base" x1="([\d.]+)"', drawn))
    ticks = {
        label: float(x) for x, label in re.findall(r'x="([\d.]+)" y="[\d.]+" text-anchor="middle">([\d.]+)<', drawn)
    }
    assert places[0] == pytest.approx(base, abs=0.1)
    assert again == base
    assert places[0] == pytest.approx(ticks["1"], abs=0.1)
    assert places[0] < ticks["2"] < places[1]
    assert 'aria-label="Times. a, x: 1.0; b, x: 4.0; b, y: 2.5"' in drawn
    assert drawn.count("<li>") == 2


Command = Callable[..., tuple[int, str, str]]


def test_the_command_writes_where_it_is_told(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "page", lambda results: f"made from {results.name}")
    assert command("explorer", "deep/page.html")[0] == 0
    assert Path("deep/page.html").read_text(encoding="utf-8") == "made from results"
    code, out, _ = command("explorer")
    assert (code, Path("results/explorer.html").is_file()) == (0, True)
    assert out.startswith("results/explorer.html: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [(("a.html", "b.html"), "explorer writes one FILE, got a.html b.html"), (("/dev/null/a",), "cannot be written")],
)
def test_the_command_refuses_what_it_cannot_do(
    command: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.setattr(explorer, "page", lambda _results: "")
    code, _, error = command("explorer", *words)
    assert code == 2
    assert message in error


def numbers_of(content: Any) -> list[float]:
    """Every number in nested lists and dictionaries that is not whole."""
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list):
        return [number for part in content for number in numbers_of(part)]
    return [content] if isinstance(content, float) else []


def test_the_numbers_of_the_page_are_rounded_to_the_digits_stated() -> None:
    found = numbers_of(json.loads(DATA.findall(COMMITTED.read_text(encoding="utf-8"))[0]))
    assert len(found) > 2000
    assert [number for number in found if number != float(f"{number:.{grids.DIGITS}g}")] == []
    assert [number for number in found if number != round(number, grids.DECIMALS)] == []
    weights = softmax(torch.tensor([0.0, -14.0, -60.0], dtype=torch.float64))
    assert grids._rounded(weights) == [0.999999, 8.31528e-07, 0.0]


def test_the_page_made_with_other_last_digits_is_the_committed_one(tmp_path: Path) -> None:
    """Without the native kernels and the widest vector units of torch, sums are added up in another order."""
    environment = os.environ | {"NORMALIZERS_NATIVE": "0", "ATEN_CPU_CAPABILITY": "default"}
    path = tmp_path / "page.html"
    words = [sys.executable, "-m", "bench", "explorer", str(path)]
    subprocess.run(words, env=environment, cwd=ROOT, check=True, timeout=120)
    assert path.read_bytes() == COMMITTED.read_bytes()


def test_normalizers_have_the_colours_and_marks_of_the_registry(fresh: str) -> None:
    listed = looks.registry()["normalizers"]
    style = fresh[: fresh.index("</style>")]
    for name, look in listed.items():
        assert f"--{name}: var(--{look['colour']});" in style
    assert f"--{listed['sparsemax']['colour']}: {looks.registry()['colours'][listed['sparsemax']['colour']]};" in style
    shown = measured(RESULTS)
    for name, said in (("softmax", "softmax"), ("entmax15", "entmax-1.5"), ("sparsemax", "sparsemax")):
        shape = looks.shape(listed[name]["mark"], 7, 7, 4.6)
        assert re.search(rf'{re.escape(shape)} class="mark s\d n-{name}"/></svg>{said}</li>', shown["mass"])
    assert set(re.findall(r'class="mark s\d n-(\w+)"', shown["alpha"])) == {"hae"}
    assert set(re.findall(r'class="mark s\d n-(\w+)"', shown["kernel"])) == {"entmax15", "sparsemax"}


def test_every_mark_of_the_registry_is_drawn_in_a_shape_of_its_own() -> None:
    marks = looks.registry()["marks"]
    shapes = [looks.shape(mark, 7, 7, 4.6) for mark in marks]
    assert len(set(shapes)) == len(marks) == 12
    for shape in shapes[1:]:
        corners = re.findall(r"([\d.]+) ([\d.]+)[Lz]", shape)
        assert len(corners) >= 3
        assert all(0 < float(place) < 14 for corner in corners for place in corner)


def test_learned_alphas_stand_on_the_whole_range_with_an_inset_where_they_hardly_move() -> None:
    shown = measured(RESULTS)
    whole, _, inset = shown["alpha"].partition('class="inset"')
    ticks = [float(label) for label in re.findall(r'text-anchor="middle">([\d.]+)<', whole)]
    assert min(ticks) <= 1.05 < 1.95 <= max(ticks)
    enlarged = [float(label) for label in re.findall(r'text-anchor="middle">([\d.]+)<', inset)]
    assert max(enlarged) - min(enlarged) < 0.1
    assert "Enlarged" in inset
    assert whole.count("<path") == inset.count("<path") == 5
    assert 'class="inset"' not in shown["learned"]
    ticks = [float(label) for label in re.findall(r'text-anchor="middle">([\d.]+)<', shown["learned"])]
    assert min(ticks) <= 1.1 < 2.8 <= max(ticks)


def test_the_whole_ranges_of_alpha_in_figures_and_page_are_those_of_the_maps() -> None:
    free = {name: map_ for name, map_ in REGISTRY.items() if name in ("hae", "bounded_entmax")}
    learning = {name: map_(1) for name, map_ in free.items()}
    page = COMMITTED.read_text(encoding="utf-8")
    for name, map_ in learning.items():
        ends = []
        for end in (-torch.inf, torch.inf):
            with torch.no_grad():
                for parameter in map_.parameters():
                    parameter.fill_(end)
            ends.append(float(map_.learned()["alpha"].detach()))
        assert ALLOWED[name] == pytest.approx(ends), name
        assert f"between {ALLOWED[name][0]:g} and {ALLOWED[name][1]:g}" in re.sub(r"\s+", " ", page), name
