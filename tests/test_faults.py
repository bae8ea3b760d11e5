"""The table of faults itself: that it adds up, and that a loss fails its test."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import Tally, table

ROOT = Path(__file__).resolve().parent.parent


def report(nodeid: str, when: str = "teardown", outcome: str = "passed", **values: Any) -> SimpleNamespace:
    properties = [
        ("fault", {"name": "x", "injected": 1, "lost": 0, "wrong": 0, "message": "m", "compared": 0} | values)
    ]
    return SimpleNamespace(nodeid=nodeid, when=when, outcome=outcome, user_properties=properties)


def test_the_tests_of_one_fault_share_a_line() -> None:
    lines = table(
        [
            report("a", injected=3, lost=1, compared=7, message="first | second"),
            report("b", wrong=2),
            report("c", name="y"),
        ]
    )
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert cells[2:] == [
        ["x", "4", "1 of 7", "2", "first \\| second"],
        ["y", "1", "none at stake", "0", "m"],
        ["all 2 faults", "5", "1 of 7", "2", ""],
    ]


def test_a_phase_counts_once_and_a_failed_test_is_named() -> None:
    lines = table([report("a", "call", "failed"), report("a"), report("b", "setup", "failed")])
    assert lines[-2:] == ["FAILED: b", "FAILED: x"]
    assert "| all 1 faults | 1 " in lines[-3]


def test_what_is_lost_wrong_and_said_is_counted() -> None:
    tally = Tally("x")
    tally.kept({1: "a", 2: "b", 3: "c"}, {1: "a", 2: "other"})
    tally.same({1: "a", 2: "b"}, {2: "c", 3: "d"})
    assert (tally.lost, tally.wrong) == (3, 2)
    tally.said("one line\n  error: the file x  \n", "error", "x")
    assert (tally.message, tally.wrong) == ("error: the file x", 2)
    tally.said("nothing of it", "error")
    assert tally.wrong == 3


@pytest.mark.parametrize("loss", ["fault.lost = 1", "fault.wrong = 1", "fault.injected = 0", "fault.message = ''"])
def test_a_loss_fails_the_test_and_shows_in_the_table(pytester: pytest.Pytester, loss: str) -> None:
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.fault("an example")
        def test_it(fault):
            fault.inject()
            fault.unsaid()
            {loss}
        """
    )
    result = pytester.runpytest("-m", "fault", "-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*| an example *", "FAILED: an example"])
