"""What every figure is drawn from: runs, plan and results, with the looks and names that all figures share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis import comparisons, names
from analysis.comparisons import FamilyResult
from analysis.figures import histories
from analysis.figures.histories import Histories
from analysis.figures.look import Look, look
from analysis.figures.sheet import INK, MARGIN, PHONE, WIDTH, Sheet
from analysis.frame import Runs
from analysis.paired import mean_sd, t_interval
from analysis.plan import Plan


@dataclass(frozen=True)
class Scene:
    """The input of one set of figures; what is asked for twice is made once."""

    runs: Runs
    plan: Plan
    results: Sequence[FamilyResult] = ()

    @cached_property
    def looks(self) -> dict[str, Look]:
        """The look of each normalizer, by its id."""
        present = {*self.runs.frame["normalizer"], *(row.normalizer for found in self.results for row in found.rows)}
        return {name: look(name) for name in present | set(self.plan.order)}

    @cached_property
    def histories(self) -> Histories:
        """What only the record files hold."""
        return histories.load(self.runs)

    @cached_property
    def datasets(self) -> list[str]:
        """Data sets with a completed run, in the order of the tables."""
        done = set(self.runs.frame["dataset"])
        return [name for name in comparisons.dataset_order(self.runs, self.plan) if name in done]

    def chance(self, dataset: str) -> float | None:
        """What guessing reaches: 1 / number of classes that any run predicted; None where records do not hold them."""
        classes = self.histories.classes.get(dataset, 0)
        return 1 / classes if classes else None

    def ordered(self, normalizers: Iterable[str]) -> list[str]:
        """`normalizers` in the order of the tables."""
        return names.ordered(normalizers, self.plan.order)

    def labels(self, normalizers: Iterable[str]) -> list[str]:
        """Their names as people read them."""
        return [names.display(name, self.plan.names) for name in normalizers]

    def means(self, dataset: str, column: str) -> dict[str, tuple[float, float]]:
        """normalizer -> mean over seeds and half its t interval (0 below two runs), where there are values."""
        found = {}
        for name in self.ordered(self.runs.normalizers(dataset)):
            values = self.runs.cell(dataset, name)[column].dropna()
            if len(values):
                low, high = t_interval(values, self.plan.confidence)
                found[name] = mean_sd(values)[0], float(np.nan_to_num(high - low)) / 2
        return found

    def footer(self, sheet: Sheet, text: str, *more: str) -> Sheet:
        """`sheet` with `text`, which says what is drawn, and the notes of the records below everything else."""
        width = PHONE - 2 * MARGIN if sheet.phone else max(sheet.right - MARGIN, WIDTH)
        y = sheet.paragraph(MARGIN, sheet.bottom + 0.2, text, width, color=INK)
        notes = self.runs.frame[["dataset", "notes"]].drop_duplicates()
        by_dataset: dict[str, list[str]] = {}
        for dataset, said in notes.itertuples(index=False, name=None):
            by_dataset.setdefault(dataset, []).extend(said or ())
        said = [f"{name}: {'; '.join(dict.fromkeys(by_dataset[name]))}" for name in self.datasets if by_dataset[name]]
        for note in (*more, *said):
            if note:
                y = sheet.paragraph(MARGIN, y, note, width)
        return sheet
