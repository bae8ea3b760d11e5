"""Guards against another installed package that has the name of one of ours."""

import importlib.util
from pathlib import Path

from bench import ROOT

OURS = ("normalizers", "datasets", "analysis")


def check(root: Path = ROOT) -> None:
    """Raise ImportError, saying what to do, where `normalizers`, `datasets` or `analysis` would be somebody else's."""
    for name in OURS:
        found = importlib.util.find_spec(name)
        places = [Path(place).resolve() for place in (found and found.submodule_search_locations) or []]
        if places != [root / name]:
            where = places[0] if places else found.origin if found else None
            raise ImportError(
                f"the package {name!r} would be imported from {where}, not from {root / name}: another package of "
                f"that name comes first. Run from {root}, put that folder first on PYTHONPATH, or uninstall the other."
            )
