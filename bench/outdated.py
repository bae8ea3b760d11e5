"""Finished runs that are skipped although their map, model or data set has other source now: said, with the remedy."""

import shlex
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import ROOT
from bench.parts import NAMES
from bench.plan import Job

Done = tuple[Job, Mapping[str, Any]]
"""A job that is done, and the provenance of its record."""
WHAT = {"map_source": ("map", "the map"), "model_source": ("kind", "the model")} | {
    "data_source": ("source", "the code that builds the data set"),
}
"""Part -> the key of its group that names it, and how it is called in a message."""
CONF = ROOT / "conf"


def notices(done: Sequence[Done]) -> list[str]:
    """One line for each part whose source is another now than in the records of these runs.

    Records that do not say which source they had are left out.
    """
    found: dict[tuple[str, str], list[Job]] = defaultdict(list)
    for job, origin in done:
        for part, group in NAMES.items():
            if origin.get(part) not in (None, job.part_sources.get(part)):
                found[part, job.raw[group][WHAT[part][0]]].append(job)
    return [_notice(f"{WHAT[part][1]} {name}", jobs) for (part, name), jobs in found.items()]


def _notice(what: str, jobs: Sequence[Job]) -> str:
    some = f"{len(jobs)} finished runs, such as {jobs[0].label}, were"
    one = f"1 finished run, {jobs[0].label}, was"
    return f"{one if len(jobs) == 1 else some} made by other source of {what} and skipped; {_remedy(jobs)}"


def _remedy(jobs: Sequence[Job]) -> str:
    """How to make `jobs` again: the command of this process, for their data sets, normalizers and seeds alone."""
    called, *words = sys.argv
    if Path(called).parent.name != "bench" and called != "bench":  # a sweep that is a function call of somebody's code
        return "force=true makes them again"
    chosen = {group: list(dict.fromkeys(job.raw[group]["name"] for job in jobs)) for group in ("dataset", "normalizer")}
    # A label that is made from options, as topk_0.3, is no choice of its group: then the words stay as they were.
    known = {g: names for g, names in chosen.items() if all((CONF / g / f"{name}.yaml").is_file() for name in names)}
    known["seed"] = sorted({str(job.raw["seed"]) for job in jobs}, key=int)
    kept = [word for word in words if word.partition("=")[0].lstrip("+") not in (*known, "force")]
    chosen_words = [f"{key}={','.join(values)}" for key, values in known.items()]
    return f"to make them again: {shlex.join(['python', '-m', 'bench', *kept, *chosen_words, 'force=true'])}"
