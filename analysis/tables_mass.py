"""The table of attention mass: how much of the attention lies on the tokens that carry the answer."""

from collections.abc import Sequence

from analysis import comparisons, names, provenance
from analysis.frame import Runs
from analysis.paired import mean_sd, t_interval
from analysis.plan import Plan
from analysis.table import TEXT, Row, Section, Table, blocks, interval, spread


def mass(runs: Runs, plan: Plan) -> Table | None:
    """Mean and t interval over seeds, per data set and normalizer; None where no record holds it."""
    rows: list[Row] = []
    values: list[Sequence[str | int | float]] = []
    for dataset, normalizer, cell in comparisons.cells(runs, plan):
        mass = cell["informative_mass"].dropna()
        if mass.empty:
            continue
        mean, sd = mean_sd(mass)
        low, high = t_interval(mass, plan.confidence)
        label = names.display(normalizer, plan.names)
        rows.append((dataset, label, spread(mean, sd), interval(low, high), str(len(mass))))
        values.append((dataset, normalizer, len(mass), mean, sd, low, high))
    if not rows:
        return None
    return Table(
        name="informative_mass",
        title="Attention on informative tokens",
        header=("data set", "normalizer", "mass", f"{plan.percent} CI", "n"),
        left=TEXT,
        sections=(Section("", blocks(rows)),),
        columns=("dataset", "normalizer", "n", "mass_mean", "mass_sd", "ci_low", "ci_high"),
        values=tuple(tuple(row) for row in values),
        notes=(
            "Mass: share of a row's attention on the tokens that carry its answer, mean over the test rows of a seed; "
            "mean ± standard deviation (ddof 1) over n seeds. CI: Student's t.",
        ),
        cautions=tuple(provenance.notices(runs.frame[runs.frame["informative_mass"].notna()])),
    )
