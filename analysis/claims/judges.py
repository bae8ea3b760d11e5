"""The ten claims of the published study: what each says, when it holds, and its figures on both sides."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from analysis import summaries
from analysis.claims.evidence import CONTROL, LEADERS, RATIOS, TEXT, TIMED, TOKENS, TREATMENTS, Evidence, Part
from analysis.claims.texts import alphas, decimals, differences, range_of, ranking, times
from analysis.table import NONE, p_value, signed

Verdict = Literal["replicated", "not replicated", "not testable"]

ALPHA, ALPHA_BAND = 1.5, 0.03
CHANCE, CHANCE_BAND = 0.1, 0.02
SUPPORT_BAND = 5e-4
MULTIPLE = 1.5


@dataclass(frozen=True)
class Claim:
    """A published claim and what the records say of it; `lacking` gives the reasons where it is not testable."""

    id: str
    statement: str
    verdict: Verdict
    published: str
    ours: str
    lacking: tuple[str, ...]


def judged(e: Evidence) -> list[Claim]:
    """The ten claims in order. Raises InputError where a published figure cannot be read."""
    return [
        _gain(e, "C1", "cifar10", "topk_025"),
        _gain(e, "C2", "fashion_mnist", "topk_0125"),
        _gain(e, "C3", "kmnist", "topk_025"),
        _all_gain(e),
        _leaders(e),
        _no_gain(e),
        _alpha(e),
        _chance(e),
        _support(e),
        _cost(e),
    ]


def _claim(id: str, statement: str, parts: Iterable[Part], published: str, ours: str) -> Claim:
    found = list(parts)
    lacking = tuple(dict.fromkeys(part for part in found if isinstance(part, str)))
    # One counterexample decides, whatever else is missing.
    refuted = any(part is False for part in found)
    verdict: Verdict = "not replicated" if refuted else "not testable" if lacking else "replicated"
    return Claim(id, statement, verdict, published or NONE, ours or NONE, () if refuted else lacking)


def _gain(e: Evidence, id: str, dataset: str, normalizer: str) -> Claim:
    figures = summaries.read("paired").get((dataset, normalizer))
    published = f"{signed(figures['delta_accuracy'])}, Holm p {p_value(figures['p_holm'])}" if figures else ""
    row, m = e.against.get((dataset, normalizer), (None, 0))
    ours = ""
    if row and not math.isnan(row.delta_accuracy):
        ours = f"{signed(row.delta_accuracy)}, Holm p {p_value(row.p_holm)} (m {m}, n {row.n})"
    statement = f"{dataset}: {e.show(normalizer)} is more accurate than softmax"
    return _claim(id, statement, [e.better(dataset, normalizer)], published, ours)


def _all_gain(e: Evidence) -> Claim:
    quoted = [(key[1], row) for key, row in summaries.read("paired").items() if key[0] == TEXT]
    published = [
        f"{e.show(name)} {signed(row['delta_accuracy'])} (Holm p {p_value(row['p_holm'])})" for name, row in quoted
    ]
    parts = [e.better(TEXT, name) for name in TREATMENTS]
    gains = range_of((e.gain(TEXT, name) for name in TREATMENTS), signed)
    ours = f"{gains}, {sum(part is True for part in parts)} of 6 significant" if gains else ""
    return _claim("C4", f"{TEXT}: each of the six is more accurate than softmax", parts, ", ".join(published), ours)


def _leaders(e: Evidence) -> Claim:
    cells = {key[1]: row["accuracy_mean"] for key, row in summaries.read("cells").items() if key[0] == TEXT}
    published = {e.show(name): mean - cells[CONTROL] for name, mean in cells.items()}
    ours = {name: e.gain(TEXT, name) for name in TREATMENTS}
    parts = [e.known(gain, True, TEXT, f"result of {e.show(name)}") for name, gain in ours.items()]
    if all(part is True for part in parts):
        parts = [min(ours[name] for name in LEADERS) > max(ours[name] for name in TREATMENTS if name not in LEADERS)]
    statement = f"{TEXT}: entmax-1.5 and HAE gain more than the other four"
    shown = ranking({e.show(name): gain for name, gain in ours.items()}, 4)
    return _claim("C5", statement, parts, ranking(published, 3), shown)


def _no_gain(e: Evidence) -> Claim:
    published = summaries.read("hae_vs_entmax15").values()
    ours = [row for row in (e.direct.get(dataset) for dataset in e.datasets) if row]
    parts = [e.no_gain(dataset) for dataset in e.datasets]
    return _claim(
        "C6",
        "HAE is nowhere significantly more accurate than entmax-1.5",
        parts,
        differences((row["delta_accuracy"], row["p"]) for row in published),
        differences((row.delta_accuracy, row.p) for row in ours),
    )


def _alpha(e: Evidence) -> Claim:
    published = summaries.read("alpha").values()
    seeds = [alpha for dataset in e.datasets for alpha in e.runs.cell(dataset, "hae")["alpha_mean"]]
    targets = {(dataset, "hae"): ALPHA for dataset in e.datasets}
    return _claim(
        "C7",
        f"the mean learned α of HAE stays near {ALPHA}",
        e.near(targets, "alpha_mean", ALPHA_BAND),
        alphas(
            [row["alpha_mean"] for row in published],
            [row[end] for row in published for end in ("alpha_min", "alpha_max")],
        ),
        alphas([e.mean(*key, "alpha_mean") for key in targets], seeds),
    )


def _chance(e: Evidence) -> Claim:
    published = [row["accuracy_mean"] for key, row in summaries.read("cells").items() if key[0] == "marker"]
    targets = {("marker", name): CHANCE for name in (CONTROL, *TREATMENTS)}
    return _claim(
        "C8",
        "marker: no normalizer leaves chance",
        e.near(targets, "accuracy", CHANCE_BAND),
        range_of(published, decimals),
        range_of((e.mean(*key, "accuracy") for key in targets), decimals),
    )


def _support(e: Evidence) -> Claim:
    cells = summaries.read("cells")
    by_tokens = [
        ", ".join(f"{cells[dataset, name]['support']:.3f}" for name in RATIOS) + f" of {TOKENS[dataset]}"
        for dataset in ("cifar10", TEXT)
        if cells
    ]
    imposed = {
        (dataset, name): math.ceil(ratio * TOKENS[dataset]) / TOKENS[dataset]
        for dataset in e.datasets
        for name, ratio in RATIOS.items()
    }
    parts = e.near(imposed, "support", SUPPORT_BAND)
    deviations = [abs(e.mean(*key, "support") - target) for key, target in imposed.items()]
    largest = max((value for value in deviations if not math.isnan(value)), default=math.nan)
    held = sum(part is True for part in parts)
    ours = f"{held} of {len(parts)} cells, largest deviation {largest:.1e}" if largest == largest else ""
    statement = "the support of top-k is what its ratio imposes"
    return _claim("C9", statement, parts, "; ".join(by_tokens), ours)


def _cost(e: Evidence) -> Claim:
    printed = {key: row["train_seconds"] for key, row in summaries.read("runtime").items()}
    cells = [(dataset, name) for dataset in TIMED for name in (CONTROL, *LEADERS)]
    kind = e.clock(cells)
    seconds: dict[tuple[str, ...], float] = {cell: e.mean(*cell, kind) for cell in cells}
    ratios = {dataset: _ratio(seconds, dataset, "hae") for dataset in TIMED}
    parts = [
        e.known(ratio, ratio >= MULTIPLE, dataset, "training seconds of HAE and softmax")
        for dataset, ratio in ratios.items()
    ]
    hae = ", ".join(f"{dataset} {times(ratio)}" for dataset, ratio in ratios.items() if not math.isnan(ratio))
    entmax = range_of((_ratio(seconds, dataset, "entmax15") for dataset in TIMED), times)
    return _claim(
        "C10",
        "HAE trains at a multiple of softmax's time",
        parts,
        ", ".join(f"{dataset} {times(_ratio(printed, dataset, 'hae'))}" for dataset in TIMED if printed),
        "; ".join([hae] * bool(hae) + [f"entmax-1.5 {entmax}"] * bool(entmax)),
    )


def _ratio(seconds: Mapping[tuple[str, ...], float], dataset: str, normalizer: str) -> float:
    reference = seconds.get((dataset, CONTROL), math.nan)
    return seconds.get((dataset, normalizer), math.nan) / reference if reference > 0 else math.nan
