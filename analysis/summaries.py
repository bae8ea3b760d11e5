"""The published summary figures: results/published/*.csv, row by row under the ids of the project."""

import csv
from pathlib import Path

from analysis.errors import InputError

FOLDER = Path(__file__).resolve().parent.parent / "results" / "published"
KEYS = ("dataset", "normalizer")

Key = tuple[str, ...]
Figures = dict[str, float]


def read(name: str) -> dict[Key, Figures]:
    """The figures of `FOLDER/<name>.csv` by (data set, normalizer), or by (data set,) where it has no normalizers.

    A figure that was not printed is NaN. Empty where the file is not there, as in a package installed without results.
    Raises InputError naming file, line and column of a field that is no number, or the line of a second row of one key.
    """
    path = FOLDER / f"{name}.csv"
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


def _number(place: str, column: str, text: str) -> float:
    try:
        return float("nan") if text == "" else float(text)
    except (TypeError, ValueError):
        raise InputError(f"{place}: column {column} holds {text!r}, not a number") from None
