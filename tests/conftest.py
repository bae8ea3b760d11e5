"""The table of faults: tests marked `fault` say what they broke and count what it cost; `make faults` prints them.

A test marked `@pytest.mark.fault("what is broken")` takes the fixture `fault`, calls it once for each injection, and
counts on it the records that were lost, the results that came out wrong, and the message that a user sees. The test
fails where anything is lost or wrong, or where no message is shown although the fault is one to be told of.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import pytest

pytest_plugins = ["pytester"]

# Before torch is imported: tests run in as many processes as there are cores, and threads that wait for each other on
# the same cores take several times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

UNSAID = "none, and none is needed"
NO_RECORDS = "none at stake"
SHOWN = 100
"""Characters of a message in the table."""


@dataclass
class Tally:
    """What one test injected and what came of it."""

    name: str
    injected: int = 0
    lost: int = 0
    wrong: int = 0
    message: str = ""
    compared: int = 0
    """Records, or other results, that were looked at before and after."""

    def inject(self, times: int = 1) -> None:
        self.injected += times

    def kept(self, before: Mapping[Any, object], after: Mapping[Any, object]) -> None:
        """What is in `before` and not, or otherwise, in `after` counts as lost."""
        self.compared += len(before)
        self.lost += sum(key not in after or after[key] != value for key, value in before.items())

    def same(self, expected: Mapping[Any, object], found: Mapping[Any, object]) -> None:
        """What is expected and not found counts as lost; what is found and not as expected, as wrong."""
        self.compared += len(expected)
        self.lost += len(expected.keys() - found.keys())
        self.wrong += sum(key not in expected or expected[key] != value for key, value in found.items())

    @contextmanager
    def refused(self, error: type[Exception], match: str | None = None) -> Iterator[pytest.ExceptionInfo[Exception]]:
        """One injection, which must end in an `error` whose message matches and is what a user sees."""
        self.inject()
        with pytest.raises(error, match=match) as caught:
            yield caught
        self.said(str(caught.value))

    def said(self, text: str, *parts: str) -> None:
        """The message shown: the line of `text` that has all `parts`; none that has them counts as wrong."""
        lines = [line.strip() for line in text.splitlines() if all(part in line for part in parts)]
        self.wrong += not lines
        self.message = self.message or (lines[0] if lines else "")

    def unsaid(self) -> None:
        """Nothing is to be told: the fault has no effect."""
        self.message = UNSAID


@pytest.fixture
def fault(request: pytest.FixtureRequest) -> Iterator[Tally]:
    marker = request.node.get_closest_marker("fault")
    tally = Tally(marker.args[0])
    yield tally
    request.node.user_properties.append(("fault", asdict(tally)))
    assert (tally.lost, tally.wrong) == (0, 0), f"{tally.name}: records were lost or results are wrong: {tally}"
    assert tally.injected > 0, f"{tally.name}: nothing was injected"
    assert tally.message, f"{tally.name}: no message was seen"


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if config.getoption("markexpr") != "fault":
        return
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    terminalreporter.section("faults")
    terminalreporter.write_line("\n".join(table(report for report in reports if isinstance(report, pytest.TestReport))))


def table(reports: Iterable[Any]) -> list[str]:
    """The lines of a Markdown table, one per fault with its tests added up, from reports of tests."""
    rows: dict[str, Tally] = {}
    failed: set[str] = set()
    tests: dict[str, str] = {}
    for report in reports:
        if report.outcome == "failed":
            failed.add(report.nodeid)
        values = dict(report.user_properties).get("fault")
        if values and report.when == "teardown":
            tests[report.nodeid] = values["name"]
            row = rows.setdefault(values["name"], Tally(values["name"]))
            row.injected += values["injected"]
            row.lost += values["lost"]
            row.wrong += values["wrong"]
            row.compared += values["compared"]
            row.message = row.message or values["message"]
    unproven = {tests.get(nodeid, nodeid) for nodeid in failed}
    cells = [["fault", "times injected", "records lost", "wrong results", "message shown"]]
    for name, row in sorted(rows.items()):
        message = row.message if len(row.message) <= SHOWN else f"{row.message[: SHOWN - 1]}…"
        lost = f"{row.lost} of {row.compared}" if row.compared or row.lost else NO_RECORDS
        cells.append([name, str(row.injected), lost, str(row.wrong), message.replace("|", "\\|")])
    total = [sum(getattr(row, key) for row in rows.values()) for key in ("injected", "lost", "wrong", "compared")]
    total = [total[0], f"{total[1]} of {total[3]}", total[2]]
    cells.append([f"all {len(rows)} faults", *map(str, total), ""])
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in cells]
    lines.insert(1, f"| {' | '.join('-' * width for width in widths)} |")
    return [*lines, *(f"FAILED: {name}" for name in sorted(unproven))]
