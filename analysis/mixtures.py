"""What may not stand in one frame: two runs of one key, and runs of different settings. Each refusal names files.

Runs that other source code made may stand in one frame, and are warned of.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.errors import InputError

Configs = Mapping[tuple[str, str], Mapping[str, Any]]
"""(setting, cell) -> the configuration of a run with them."""

ABSENT = "not there"
SOURCES = {
    "map_source": "normalizer's code",
    "model_source": "model's code",
    "data_source": "code that builds the data set",
}
"""What records say of the source code of the parts of a run, each with a name for it."""


def refuse_doubles(frame: pd.DataFrame, key: list[str]) -> None:
    """Raise InputError where two rows of `frame` have one `key`, naming both files."""
    double = frame[frame.duplicated(key, keep=False)]
    if double.empty:
        return
    first = double[key].iloc[0]
    same = (double[key] == first).all(axis="columns")
    more = len(double[key].drop_duplicates()) - 1
    dataset, normalizer, seed = first
    raise InputError(
        f"records: more than one completed run of {dataset}, {normalizer}, seed {seed}:\n"
        + "\n".join(f"  {file}" for file in double.loc[same, "path"])
        + (f"\n  and {more} more keys with more than one run" if more else "")
        + "\nKeep one of them, or give folders that do not overlap."
    )


def refuse(frame: pd.DataFrame, configs: Configs) -> None:
    """Raise InputError where runs that are compared or averaged differ in their settings, saying in which.

    `configs` gives the configuration that belongs to each setting and cell of `frame`.
    """
    _refuse(frame, ["dataset"], "setting", "one data set was run with different settings", configs)
    _refuse(frame, ["dataset", "normalizer"], "cell", "one normalizer was run in different configurations", configs)


def _refuse(frame: pd.DataFrame, by: list[str], column: str, what: str, configs: Configs) -> None:
    for _, group in frame.groupby(by, sort=True):
        if group[column].nunique() < 2:
            continue
        kinds = group.drop_duplicates(column)
        counts = group[column].value_counts()
        lines = [
            f"  {row[column]} ({_runs(counts[row[column]])}), such as {row['path']}" for _, row in kinds.iterrows()
        ]
        # A setting covers all normalizers and seeds, a cell all seeds: these may differ.
        free = ("seed", "normalizer") if column == "setting" else ("seed",)
        compared = [
            {
                key: value
                for key, value in flat(configs[row["setting"], row["cell"]])
                if key.partition(".")[0] not in free
            }
            for _, row in kinds.iterrows()
        ]
        raise InputError(
            f"records: {what}: {' '.join(kinds[by].iloc[0])} has {len(kinds)} values of `{column}`, "
            + "which are never pooled:\n"
            + "\n".join([*lines, *_differences(compared)])
            + "\nAnalyse them apart, each from a folder of its own."
        )


def source_warnings(frame: pd.DataFrame) -> list[str]:
    """What a reader must know where one mean, or one comparison, has runs that other source code made.

    The normalizer's code is looked at within each data set and normalizer; that of the model and of the data set within
    each data set, where all normalizers must share it. Records that do not say it are left out.
    """
    warnings = []
    for column, what in SOURCES.items():
        by = ["dataset", "normalizer"] if column == "map_source" else ["dataset"]
        for key, group in frame[frame[column].notna()].groupby(by, sort=True):
            kinds = [kind for _, kind in group.groupby(column, sort=False)]
            if len(kinds) > 1:
                shown = "; ".join(f"{_runs(len(kind))} of {_who(kind, column)}" for kind in kinds)
                warnings.append(
                    f"{' '.join(map(str, key))}: the {what} was not the same in all runs: {shown}. What they differ in "
                    "may be the code; the same sweep with force=true makes them again"
                )
    return warnings


def _who(kind: pd.DataFrame, column: str) -> str:
    """The hash of the source of some runs, with their normalizers where these may differ, and a file."""
    names = f" ({', '.join(kind['normalizer'].unique())})" if column != "map_source" else ""
    return f"{kind[column].iloc[0]}{names}, such as {kind['path'].iloc[0]}"


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(`train.epochs`, value) for every value of nested `config`."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _differences(configs: list[dict[str, Any]]) -> Iterator[str]:
    """One line for each key that the configurations disagree on, with its values in their order."""
    keys = dict.fromkeys(key for config in configs for key in config)
    found = {key: [str(config.get(key, ABSENT)) for config in configs] for key in keys}
    different = {key: values for key, values in found.items() if len(set(values)) > 1}
    yield from (f"  they differ in {key}: {', '.join(values)}" for key, values in different.items())
    if not different:
        rest = "the data, the version of the protocol or the major version of torch or numpy"
        yield f"  their `config` is the same, so they differ in {rest}"


def _runs(count: int) -> str:
    return f"{count} run{'s' if count > 1 else ''}"
