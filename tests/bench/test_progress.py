from pathlib import Path

import pytest

from bench.fingerprint import Identity
from bench.plan import Job
from bench.progress import Progress, duration
from bench.work import Outcome


def job(label: str, cost: float) -> Job:
    return Job({}, label, Identity("f", "c", "s"), Path(label), Path(), {}, cost, force=False)


def test_lines_count_name_what_runs_and_estimate_the_rest() -> None:
    a0, a1, b0, b1 = (job(f"digits/{name}", cost) for name, cost in (("a/0", 10), ("a/1", 10), ("b/0", 5), ("b/1", 5)))
    progress = Progress([a0, a1, b0, b1], done=6, workers=2)
    assert progress.seconds_left() is None
    # b is not known yet: 30 s for a cost of 10 make 15 s each; a takes 30 s; two workers share 60 s.
    assert progress.line(a0, Outcome("completed", 0.9234, 30.0), ["digits/a/1", "digits/b/0"]) == (
        "[ 7/10] digits/a/0  accuracy 0.923  30.0 s | now digits/a/1, digits/b/0 | about 30 s left"
    )
    # b takes 100 s as was seen, whatever its cost; a still 30 s.
    assert progress.line(b0, Outcome("completed", 0.5, 100.0), ["digits/a/1"]) == (
        "[ 8/10] digits/b/0  accuracy 0.500  100.0 s | now digits/a/1 | about 1 min 05 s left"
    )
    assert progress.line(b1, Outcome("failed", error="ValueError: no"), ["digits/a/1"]) == (
        "[ 9/10] digits/b/1  FAILED ValueError: no | now digits/a/1 | about 15 s left"
    )
    assert progress.line(a1, Outcome("interrupted"), []) == "[10/10] digits/a/1  INTERRUPTED "
    assert progress.seconds_left() == 0


def test_a_run_done_elsewhere_says_so_and_teaches_nothing_of_time() -> None:
    progress = Progress([job("d/a/0", 1), job("d/a/1", 1)], done=0, workers=1)
    assert progress.line(job("d/a/0", 1), Outcome("present"), ["d/a/1"]) == (
        "[1/2] d/a/0  already done elsewhere | now d/a/1"
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (61, "1 min 01 s"),
        (3599.4, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (7321, "2 h 02 min"),
        (90_000, "25 h 00 min"),
    ],
)
def test_durations_as_a_person_says_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said
