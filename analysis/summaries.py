"""The published summary figures: results/published/*.csv, row by row under the ids of the project."""

import csv
from pathlib import Path

from analysis.errors import InputError

FOLDER = Path(__file__).resolve().parent.parent / "results" / "published"
NAMES = ("cells", "paired", "hae_vs_entmax15", "runtime", "alpha")
KEYS = ("dataset", "normalizer")

Key = tuple[str, ...]
Figures = dict[str, float]


def read(name: str) -> dict[Key, Figures]:
    """The figures of `FOLDER/<name>.csv` by (data set, normalizer), or by (data set,) where it has no normalizers.

    A figure that was not printed is NaN. Empty where the file is not there (see `missing`).
    Raises InputError naming file, line and column of a field that is no number, or the line of a second row of one key.
    """
    path = _path(name)
    if not path.is_file():
        return {}
    found: dict[Key, Figures] = {}
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        for row in reader:
            place = f"{path}:{reader.line_num}"
            key = tuple(row.pop(column) for column in KEYS if column in row)
            if key in found:
                raise InputError(f"{place}: {' '.join(key)} stands twice; keep one row")
            found[key] = {column: _number(place, column, text) for column, text in row.items()}
    return found


def missing() -> list[str]:
    """The files of published figures that are not there, as in a package that was installed in part."""
    return [str(_path(name)) for name in NAMES if not _path(name).is_file()]


def _path(name: str) -> Path:
    return FOLDER / f"{name}.csv"


def _number(place: str, column: str, text: str) -> float:
    try:
        return float("nan") if text == "" else float(text)
    except (TypeError, ValueError):
        raise InputError(f"{place}: column {column} holds {text!r}, not a number") from None
