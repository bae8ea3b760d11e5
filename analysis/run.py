"""One analysis from settings to files: read, compare, write, and say what was done."""

from pathlib import Path

from analysis import absent, claims, comparisons, frame, latex, names, output, provenance, report, selection, tables
from analysis.console import say
from analysis.frame import Runs
from analysis.settings import Plan, Settings


def analyse(settings: Settings, command: str) -> None:
    """Write tables, figures and report into `settings.out` and print what a reader needs first.

    `command` is shown in the report as what made it. Raises InputError for input that cannot be analysed and for an
    `out` that cannot be written.
    """
    plan = settings.analysis
    runs = frame.load(settings.records)
    families = comparisons.families(runs, plan) + comparisons.unplanned(runs, plan)
    pairs = comparisons.pairs(runs, plan)
    chosen = selection.chosen(runs, plan)
    say(read(runs, plan) + "\n")
    made = tables.all_tables(runs, plan, families, pairs, chosen)
    for table in made:
        say(table.markdown(alone=False))
    results = [*families, *pairs]
    warnings = [*runs.warnings, *absent.warnings(runs, plan), *comparisons.warnings(runs, plan, results)]
    warnings += [*selection.warnings(plan, chosen), *claims.warnings(runs, plan, families, pairs)]
    warnings += provenance.notices(runs.frame)
    if warnings:
        say("\n".join(["## Warnings\n", *(f"- {text}" for text in warnings)]) + "\n")

    drawn: dict[str, bytes] = {}
    pictures = report.Pictures()
    if settings.figures:
        # Only now: matplotlib takes longer to load than all of the above.
        from analysis import figures

        all_drawn = figures.draw(runs, plan, results)
        drawn, pictures = all_drawn.files, report.Pictures(all_drawn.parts, all_drawn.phone)
        for notice in all_drawn.notices:
            say(f"notice: {notice}\n")
        warnings += all_drawn.notices
    theory = "../explorer.html" if (settings.out.parent / "explorer.html").is_file() else ""
    page = report.page(runs, plan, made, drawn, warnings, command, theory, pictures)
    texts = {f"tables/{table.name}.md": table.markdown() for table in made}
    texts |= {f"tables/{table.name}.csv": table.csv() for table in made}
    texts |= {f"tables/{table.name}.tex": latex.latex(table) for table in made} | {"report.html": page}
    # Paths may hold bytes that are no text.
    contents = {name: text.encode(errors="backslashreplace") for name, text in texts.items()}
    stale = output.write(settings.out, contents | {f"figures/{name}": content for name, content in drawn.items()})
    lines = {
        "records": ", ".join(map(str, settings.records)),
        "tables": f"{settings.out / 'tables'} ({', '.join(table.name for table in made)}; .md, .csv and .tex)",
        "figures": f"{settings.out / 'figures'} ({', '.join(sorted({Path(name).stem for name in drawn}))})",
        "report": str(settings.out / "report.html"),
        "removed": f"{', '.join(stale)}, of an earlier analysis",
    }
    unsaid = {what for what, there in (("figures", drawn), ("removed", stale)) if not there}
    say("\n".join(f"{what:<8} {where}" for what, where in lines.items() if what not in unsaid))


def read(runs: Runs, plan: Plan) -> str:
    """What was read, in a few lines."""
    lines = [f"Read {len(runs.frame)} completed runs"]
    for dataset in comparisons.dataset_order(runs, plan):
        group = runs.frame[runs.frame["dataset"] == dataset]
        count = group["normalizer"].nunique()
        lines.append(f"  {dataset}: {len(group)} runs, {count} normalizers, {names.seeds(group['seed'])}")
    return "\n".join(lines + [f"  {what}: {values}" for what, values in provenance.summary(runs.frame)])
