"""The figures of the analysis: every one as SVG and PNG, the same every time."""

from collections.abc import Callable, Sequence

from matplotlib import rc_context

from analysis.comparisons import FamilyResult
from analysis.figures import accuracy, cells, differences, lengths, pooling, training
from analysis.figures.render import rendered
from analysis.figures.scene import Scene
from analysis.figures.sheet import STYLE, Sheet
from analysis.frame import Runs
from analysis.plan import Plan

FIGURES: dict[str, Callable[[Scene], Sheet | None]] = {
    "accuracy_by_dataset": accuracy.by_dataset,
    "paired_differences": differences.forest,
    "support_accuracy": accuracy.against_support,
    "support_by_head": cells.support_by_head,
    "training_curves": training.curves,
    "alpha_training": training.alpha,
    "attention_pooling": pooling.six,
    "length_generalization": lengths.against_length,
    "time_by_normalizer": cells.times,
}
"""Stem -> what draws it, in the order of a report; None where the records do not hold its data."""

CAPTIONS: dict[str, tuple[str, str]] = {
    "accuracy_by_dataset": (
        "Accuracy by data set",
        "Test accuracy of each normalizer, mean and t interval over seeds, one panel per data set.",
    ),
    "paired_differences": (
        "Paired differences",
        "Forest plot of the accuracy differences on matched seeds with t intervals, the margin band around zero and a "
        "verdict per comparison, one block per family.",
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
        "The α that each head of each block has learned after every epoch, mean over seeds and single seeds.",
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
        "Seconds of training and of one inference pass for each normalizer, with their range over seeds and the ratio "
        "to the control.",
    ),
}
"""Stem -> (caption, alternative text)."""


def sheets(runs: Runs, plan: Plan, results: Sequence[FamilyResult] = ()) -> dict[str, Sheet]:
    """Stem -> figure, for every figure whose data the records hold.

    Raises InputError for a record file that can no longer be read or whose curves do not fit those of its cell.
    """
    scene = Scene(runs, plan, results)
    with rc_context(STYLE):
        drawn = {stem: figure(scene) for stem, figure in FIGURES.items()}
    return {stem: sheet for stem, sheet in drawn.items() if sheet is not None}


def draw(runs: Runs, plan: Plan, results: Sequence[FamilyResult] = ()) -> dict[str, bytes]:
    """File name (`accuracy_by_dataset.png`) -> content, for every figure whose data the records hold.

    `results` are the families and direct comparisons of `analysis.comparisons`; without them there is no figure of
    paired differences. Raises as `sheets` does.
    """
    return rendered({stem: (sheet, CAPTIONS[stem][0]) for stem, sheet in sheets(runs, plan, results).items()})
