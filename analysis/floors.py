"""Comparisons at the floor: an accuracy of 0 on both sides and every seed, where nothing could differ."""

from analysis.frame import Runs


def at_floor(runs: Runs, dataset: str, *normalizers: str) -> bool:
    """Whether every completed run of `normalizers` on `dataset` has an accuracy of 0; False where one has no run."""
    cells = [runs.cell(dataset, name)["accuracy"] for name in normalizers]
    return all(len(cell) and (cell == 0).all() for cell in cells)
