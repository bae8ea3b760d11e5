"""What the published claims are judged on: the study's cells, and what run records say of each of them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis import names
from analysis.comparisons import FamilyResult
from analysis.frame import Runs
from analysis.matched import Comparison
from analysis.paired import mean_sd
from analysis.plan import UNPLANNED, Plan

Part = bool | str
"""One of the things a claim says: whether it holds, or in words why the records cannot tell."""

CONTROL = "softmax"
RATIOS = {"topk_0125": 0.125, "topk_025": 0.25, "topk_050": 0.5}
LEADERS = ("entmax15", "hae")
TREATMENTS = ("sparsemax", *LEADERS, *RATIOS)
TOKENS = {"cifar10": 17, "fashion_mnist": 17, "twenty_newsgroups": 97, "marker": 97, "kmnist": 17}
"""Tokens, CLS included, of each data set; slots of an attention row."""
FOLLOW_UP = "kmnist"
TEXT = "twenty_newsgroups"
TIMED = ("cifar10", TEXT, "marker")
"""Data sets whose training seconds the study quotes."""
LEVEL = 0.05


@dataclass(frozen=True)
class Evidence:
    """`against`: the planned rows against softmax by (data set, normalizer), each with its family's m.

    `direct`: the rows HAE - entmax-1.5 by data set.
    """

    runs: Runs
    plan: Plan
    against: Mapping[tuple[str, str], tuple[Comparison, int]]
    direct: Mapping[str, Comparison]

    @property
    def datasets(self) -> list[str]:
        """The main data sets, and the follow-up where it has records."""
        return [name for name in TOKENS if name != FOLLOW_UP or name in self.runs.datasets]

    def show(self, normalizer: str) -> str:
        """The display name of a normalizer."""
        return names.display(normalizer, self.plan.names)

    def mean(self, dataset: str, normalizer: str, metric: str) -> float:
        """The mean of `metric` over the completed seeds; NaN without any."""
        return mean_sd(self.runs.cell(dataset, normalizer)[metric])[0]

    def clock(self, cells: Iterable[tuple[str, str]]) -> str:
        """By which seconds training is timed: those of the processor where every run of `cells` holds them."""
        held = [self.runs.cell(*cell)["train_cpu_seconds"].notna().all() for cell in cells]
        return "train_cpu_seconds" if all(held) else "train_seconds"

    def gain(self, dataset: str, normalizer: str) -> float:
        """Mean Δ accuracy against softmax; NaN without a result."""
        row = self.against.get((dataset, normalizer))
        return row[0].delta_accuracy if row else math.nan

    def better(self, dataset: str, normalizer: str) -> Part:
        """Whether the normalizer is significantly more accurate than softmax, by Holm's p."""
        row, _ = self.against.get((dataset, normalizer), (None, 0))
        return self._significant(row, row.p_holm if row else math.nan, (dataset, normalizer, CONTROL))

    def no_gain(self, dataset: str) -> Part:
        """Whether HAE is not significantly more accurate than entmax-1.5, by the raw p."""
        row = self.direct.get(dataset)
        gains = self._significant(row, row.p if row else math.nan, (dataset, "hae", "entmax15"))
        return gains if isinstance(gains, str) else not gains

    def near(self, targets: Mapping[tuple[str, str], float], metric: str, band: float) -> list[Part]:
        """Whether the mean of `metric` lies within `band` of its target, per (data set, normalizer) of `targets`."""
        return [
            self.known(mean, abs(mean - target) < band, key[0], f"{metric} of {self.show(key[1])}")
            for key, target in targets.items()
            for mean in [self.mean(*key, metric)]
        ]

    def known(self, value: float, holds: bool, dataset: str, what: str) -> Part:
        """`holds`, or the reason where the `value` it rests on is NaN."""
        if not math.isnan(value):
            return bool(holds)  # a numpy truth value is never `is False`
        return f"{dataset}: no {what}" if dataset in self.runs.datasets else f"no records of {dataset}"

    def _significant(self, row: Comparison | None, p: float, test: tuple[str, str, str]) -> Part:
        dataset, *sides = test
        pair = " and ".join(self.show(side) for side in sides)
        if row is None:
            tried = all(side in self.runs.normalizers(dataset) for side in sides)
            return self.known(math.nan, False, dataset, f"{'planned comparison' if tried else 'run'} of {pair}")
        if row.status == "identical":
            return False
        return self.known(p, row.delta_accuracy > 0 and p <= LEVEL, dataset, f"test of {pair} ({row.status})")


def gathered(runs: Runs, plan: Plan, families: Iterable[FamilyResult], pairs: Iterable[FamilyResult]) -> Evidence:
    """The evidence in `runs` and in what the plan's families and direct comparisons gave."""
    against: dict[tuple[str, str], tuple[Comparison, int]] = {}
    for result in families:
        for row in result.rows:
            # Holm's correction belongs to the family that was planned, so unplanned rows decide nothing.
            if result.name != UNPLANNED and row.control == CONTROL:
                against.setdefault((row.dataset, row.normalizer), (row, result.m))
    rows = [row for result in pairs for row in result.rows]
    direct = {row.dataset: row for row in rows if (row.normalizer, row.control) == ("hae", "entmax15")}
    return Evidence(runs, plan, against, direct)
