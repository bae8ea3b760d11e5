"""One analysis from settings to files: read, compare, write, and say what was done."""

from pathlib import Path

from analysis import comparisons, frame, names, provenance, report, tables
from analysis.errors import InputError
from analysis.frame import Runs
from analysis.settings import Plan, Settings


def analyse(settings: Settings, command: str) -> None:
    """Write tables, figures and report into `settings.out` and print what a reader needs first.

    `command` is shown in the report as what made it. Raises InputError for input that cannot be analysed and for an
    `out` that cannot be written.
    """
    plan = settings.analysis
    runs = frame.load(settings.records)
    print(_read(runs, plan), end="\n\n")
    families = comparisons.families(runs, plan) + comparisons.unplanned(runs, plan)
    pairs = comparisons.pairs(runs, plan)
    made = tables.all_tables(runs, plan, families, pairs)
    for table in made:
        print(table.markdown())
    warnings = [*runs.warnings, *comparisons.warnings(runs, plan, [*families, *pairs])]
    if warnings:
        print("## Warnings\n", *(f"- {text}" for text in warnings), sep="\n", end="\n\n", flush=True)

    # Only now: matplotlib takes longer to load than all of the above.
    from analysis import figures

    drawn = figures.draw(runs, plan)
    page = report.page(runs, plan, made, drawn, warnings, command)
    texts = {f"tables/{table.name}.md": table.markdown() for table in made}
    texts |= {f"tables/{table.name}.csv": table.csv() for table in made} | {"report.html": page}
    contents = {name: text.encode() for name, text in texts.items()}
    _write(settings.out, contents | {f"figures/{name}": content for name, content in drawn.items()})
    pictures = sorted({Path(name).stem for name in drawn})
    lines = {
        "records": ", ".join(map(str, settings.records)),
        "tables": f"{settings.out / 'tables'} ({', '.join(table.name for table in made)}; .md and .csv)",
        "figures": f"{settings.out / 'figures'} ({', '.join(pictures)}; .png and .svg)",
        "report": str(settings.out / "report.html"),
    }
    print("\n".join(f"{what:<8} {where}" for what, where in lines.items()))


def _read(runs: Runs, plan: Plan) -> str:
    lines = [f"Read {len(runs.frame)} completed runs"]
    for dataset in comparisons.dataset_order(runs, plan):
        group = runs.frame[runs.frame["dataset"] == dataset]
        count = group["normalizer"].nunique()
        lines.append(f"  {dataset}: {len(group)} runs, {count} normalizers, {names.seeds(group['seed'])}")
    return "\n".join(lines + [f"  {what}: {values}" for what, values in provenance.summary(runs.frame)])


def _write(out: Path, contents: dict[str, bytes]) -> None:
    try:
        for name, content in contents.items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise InputError(f"out: cannot write {error.filename or out}: {error.strerror}") from error
