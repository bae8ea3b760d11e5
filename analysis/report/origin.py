"""What was run, and where: data sets, seeds, settings, machines and versions."""

from pathlib import Path

import pandas as pd

from analysis import comparisons, names, provenance
from analysis.frame import Runs
from analysis.mixtures import flat
from analysis.plan import Plan
from analysis.report.grid import grid
from analysis.report.markup import pairs
from analysis.table import NONE, Row
from bench.records import read

COVERED = ("seed", "normalizer")
"""Parts of a configuration that differ within a setting."""
ID = "id of the setting"


def origin(runs: Runs, plan: Plan) -> str:
    """The runs by data set, the settings that belong to each, and what the records say of their making."""
    datasets = comparisons.dataset_order(runs, plan)
    groups = {dataset: runs.frame[runs.frame["dataset"] == dataset] for dataset in datasets}
    rows: list[Row] = []
    for dataset, group in groups.items():
        shown = [names.display(name, plan.names) for name in names.ordered(set(group["normalizer"]), plan.order)]
        rows.append((dataset, str(len(group)), names.seeds(group["seed"]), ", ".join(shown) or NONE))
    header = ("data set", "runs", "seeds", "normalizers")
    settings = {dataset: _settings(group) for dataset, group in groups.items() if len(group)}
    keys = dict.fromkeys(key for known in settings.values() for key in known)
    lines = [(key, *(known.get(key, NONE) for known in settings.values())) for key in keys]
    return (
        grid("Completed runs by data set", header, frozenset(header) - {"runs"}, rows)
        + grid("Settings by data set", ("setting", *settings), frozenset({"setting", *settings}), lines)
        + pairs(provenance.summary(runs.frame), "origin")
    )


def _settings(group: pd.DataFrame) -> dict[str, str]:
    """Key -> value of what all runs of a data set share: from a record where there is a file, else as it was read."""
    path, setting = Path(str(group["path"].iloc[0])), str(group["setting"].iloc[0])
    if path.suffix == ".json" and path.is_file():
        config = read(path).config
        found = {key: str(value) for key, value in flat(config) if key.partition(".")[0] not in COVERED}
        return {ID: setting} | found
    words = [word.partition("=") for word in setting.split()]
    return {key: value for key, _, value in words} if all(sign for _, sign, _ in words) else {ID: setting}
