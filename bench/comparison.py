"""What an analysis wrote, as one run at W&B: its tables, figures, verdicts and report, with the records it is of."""

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.records import Record
from bench.wandb_limits import NAME, shortened
from bench.wandb_run import close_run, open_run

if TYPE_CHECKING:
    from bench.schema import TrackerConfig

VERDICT = "verdict"
"""The column of a table that says what follows from a row."""
DIGITS = 12


@dataclass(frozen=True)
class Comparison:
    """The files of an analysis in `folder`: `tables` as CSV, `figures` as PNG, `report` as HTML where there is one."""

    folder: Path
    tables: tuple[Path, ...]
    figures: tuple[Path, ...]
    report: Path | None

    @property
    def id(self) -> str:
        """The same for the same files, so that logging them again makes no second run."""
        content = hashlib.sha256()
        for path in (*self.tables, *self.figures, *([self.report] if self.report else [])):
            content.update(f"{path.name}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
        return f"analysis-{content.hexdigest()[:DIGITS]}"

    @property
    def name(self) -> str:
        """The folder's own name, with room for what is put before it."""
        return shortened(re.sub(r"[^\w.-]", "_", self.folder.resolve().name), NAME - len("analysis/"))


def find(folder: Path) -> Comparison | None:
    """The analysis written into `folder`; None where there is none."""
    tables, figures = sorted(folder.glob("tables/*.csv")), sorted(folder.glob("figures/*.png"))
    report = folder / "report.html"
    return Comparison(folder, tuple(tables), tuple(figures), report if report.is_file() else None) if tables else None


def log(
    comparison: Comparison, found: Sequence[tuple[Path, Record]], tracker: "TrackerConfig", tags: Sequence[str]
) -> None:
    """Log `comparison` as one run, and the records `found` as an artifact, which W&B gives versions by its content."""
    import wandb

    described = {
        "id": comparison.id,
        "name": f"analysis/{comparison.name}",
        "group": "analysis",
        "job_type": "analysis",
        "tags": list(dict.fromkeys(["analysis", *tags])),
        "config": {"records": len(found), "datasets": sorted({record.dataset for _, record in found})},
    }
    read = {path.stem: rows(path) for path in comparison.tables}
    run = open_run(tracker, described)
    content: dict[str, Any] = {
        f"tables/{name}": wandb.Table(columns=[*columns], data=[*values]) for name, (columns, values) in read.items()
    }
    content |= {f"figures/{path.stem}": wandb.Image(str(path)) for path in comparison.figures}
    if comparison.report:
        content["report"] = wandb.Html(str(comparison.report), inject=False)
    run.log(content)
    run.summary.update(verdicts(read))
    if found:
        artifact = wandb.Artifact(f"records-{comparison.name}", type="records")
        for path, record in found:
            name = f"{record.dataset}/{record.normalizer}/{path.name}"
            artifact.add_file(str(path.absolute()), name, policy="immutable")  # sent from where it lies
        run.log_artifact(artifact)
    close_run(run, 0)


Table = tuple[list[str], list[tuple[Any, ...]]]


def rows(path: Path) -> Table:
    """Columns and rows of a CSV. A column is of numbers where each of its entries is one; an empty entry is None."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    entries = [_numbers([line[place] for line in lines]) for place in range(len(header))]
    return header, list(zip(*entries, strict=True))


def _numbers(texts: Sequence[str]) -> list[Any]:
    for kind in (int, float, str):
        try:
            return [kind(text) if text else None for text in texts]
        except ValueError:
            continue
    raise AssertionError("every text is one")


def verdicts(tables: dict[str, Table]) -> dict[str, Any]:
    """`claims/C1: replicated` for each claim, and `verdicts/TABLE/better: 3`, how often each verdict stands."""
    found: dict[str, Any] = {}
    for name, (columns, lines) in tables.items():
        if VERDICT not in columns:
            continue
        place = columns.index(VERDICT)
        if name == "claims":
            found |= {f"claims/{line[0]}": line[place] for line in lines}
        counts = Counter(line[place] for line in lines if line[place])
        found |= {f"verdicts/{name}/{verdict}": count for verdict, count in sorted(counts.items())}
    return found
