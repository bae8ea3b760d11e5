"""The figures of the analysis: every one as SVG and PNG, the same every time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from matplotlib import rc_context

from analysis.comparisons import FamilyResult
from analysis.figures import accuracy, alphas, cells, differences, lengths, pooling, training
from analysis.figures.render import Picture, rendered
from analysis.figures.scene import Scene
from analysis.figures.sheet import STYLE, Sheet
from analysis.frame import Runs
from analysis.plan import Plan

Figure = Callable[[Scene], Sheet | None]

FIGURES: dict[str, Figure] = {
    "accuracy_by_dataset": accuracy.by_dataset,
    "paired_differences": differences.forest,
    "support_accuracy": accuracy.against_support,
    "support_by_head": cells.support_by_head,
    "training_curves": training.curves,
    "alpha_training": alphas.alpha,
    "attention_pooling": pooling.six,
    "length_generalization": lengths.against_length,
    "time_by_normalizer": cells.times,
}
"""Stem -> what draws it, in the order of a report; None where the records do not hold its data."""

PHONE_FIGURES: dict[str, Figure] = {
    "accuracy_by_dataset": partial(accuracy.by_dataset, phone=True),
    "paired_differences": partial(differences.forest, phone=True),
    "support_by_head": partial(cells.support_by_head, phone=True),
    "time_by_normalizer": partial(cells.times, phone=True),
}
"""Those of FIGURES whose rows have names and words that a phone would cut off, in one column."""
PHONE = "phone: "
"""Begins the keys of their files among those of the others."""

CAPTIONS: dict[str, tuple[str, str]] = {
    "accuracy_by_dataset": (
        "Accuracy by data set",
        "Test accuracy of each normalizer, mean and t interval over seeds, beside chance, one panel per data set.",
    ),
    "paired_differences": (
        "Paired differences",
        "Forest plot of the accuracy differences on matched seeds: mean, t interval, simultaneous interval and single "
        "seeds, the margin band around zero and a verdict per comparison, one block per family.",
    ),
    "support_accuracy": (
        "Attention support and accuracy",
        "Test accuracy of each normalizer against the share of attention weights above 1e-7, one panel per data set.",
    ),
    "support_by_head": (
        "Attention support by block and head",
        "Attention support of every head, one row per normalizer and one panel per data set.",
    ),
    "training_curves": (
        "Training curves",
        "Training loss, and validation accuracy where it was recorded, over epochs: mean over seeds with a band of one "
        "standard deviation for each normalizer.",
    ),
    "alpha_training": (
        "Learned α over training",
        "The α that each head of each block has learned after every epoch, mean over seeds and single seeds, on the "
        "whole range that it may take, with an inset where it hardly moves.",
    ),
    "attention_pooling": (
        "Attention pooling",
        "Six panels: test accuracy and attention mass on the informative tokens against the number of tokens for each "
        "normalizer; the learned q over training steps for each number of tokens; and attention maps of 18 test rows.",
    ),
    "length_generalization": (
        "Length generalization",
        "Exact match, token accuracy, entropy and peak weight of attention against the test length for each "
        "normalizer, one row of panels per data set, with the lengths of training shaded.",
    ),
    "time_by_normalizer": (
        "Time by normalizer",
        "Time of training and of one inference pass over that of the control for each normalizer, geometric mean over "
        "matched seeds with its t interval.",
    ),
}
"""Stem -> (caption, alternative text)."""


@dataclass(frozen=True)
class Drawn:
    """Every figure whose data the records hold.

    `files`: file name (`accuracy_by_dataset.png`) -> content. `parts`: stem -> the pictures that make up the figure
    from top to bottom, each (`svg` or `png`, content) and short enough for a printed page. `phone`: stem -> an SVG as
    wide as a phone. `notices`: what could not be drawn as it is.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, tuple[Picture, ...]] = field(default_factory=dict)
    phone: dict[str, bytes] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def sheets(runs: Runs, plan: Plan, results: Sequence[FamilyResult] = ()) -> dict[str, Sheet]:
    """Stem -> figure, for every figure whose data the records hold.

    Raises InputError for a record file that can no longer be read or whose curves do not fit those of its cell.
    """
    return _sheets(FIGURES, Scene(runs, plan, results))


def _sheets(figures: Mapping[str, Figure], scene: Scene) -> dict[str, Sheet]:
    with rc_context(STYLE):
        drawn = {stem: figure(scene) for stem, figure in figures.items()}
    return {stem: sheet for stem, sheet in drawn.items() if sheet is not None}


def draw(runs: Runs, plan: Plan, results: Sequence[FamilyResult] = ()) -> Drawn:
    """Every figure whose data the records hold, as files and as pictures for a report.

    `results` are the families and direct comparisons of `analysis.comparisons`; without them there is no figure of
    paired differences. Raises as `sheets` does.
    """
    scene = Scene(runs, plan, results)
    wide, narrow = _sheets(FIGURES, scene), _sheets(PHONE_FIGURES, scene)
    jobs = {stem: (sheet, CAPTIONS[stem][0]) for stem, sheet in wide.items()}
    jobs |= {f"{PHONE}{stem}": (sheet, CAPTIONS[stem][0]) for stem, sheet in narrow.items()}
    made = rendered(jobs)
    kinds = {stem: {"svg": made[stem].svg, "png": made[stem].png} for stem in wide}
    return Drawn(
        {f"{stem}.{kind}": content for stem, contents in kinds.items() for kind, content in contents.items()},
        {stem: made[stem].parts for stem in wide},
        {stem: made[f"{PHONE}{stem}"].svg for stem in narrow},
        _notices(wide.values()),
    )


def _notices(drawn: Iterable[Sheet]) -> tuple[str, ...]:
    lacking = sorted(set().union(*(sheet.lacking for sheet in drawn)))
    if not lacking:
        return ()
    named = ", ".join(f"{letter} (U+{ord(letter):04X})" for letter in lacking)
    return (
        f"figures: their font has no sign for {named}; PNG files show a box there, SVG files whatever the fonts of "
        "those who open them have",
    )
