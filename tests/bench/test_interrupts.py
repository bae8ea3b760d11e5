"""An interrupt is heard, even where its exception got lost."""

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest

from bench import interrupts
from tests.bench.helpers import config, run
from tests.conftest import Tally


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    interrupts.listen()


@pytest.mark.fault("an interrupt that is swallowed, as in a finalizer or an import")
def test_a_swallowed_interrupt_ends_the_run_after_the_epoch(tiny: tuple[str, ...], fault: Tally) -> None:
    before = run(config(*tiny, "train.epochs=3"))
    interrupts.listen(signal.SIGINT)
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("the signal was not heard")
    fault.inject()
    record = run(config(*tiny, "train.epochs=3"))
    assert (before.status, record.status) == ("completed", "interrupted")
    assert record.metrics == {}
    interrupts.listen()
    assert run(config(*tiny, "train.epochs=3")).metrics["accuracy"] == before.metrics["accuracy"]
    fault.unsaid()


def test_sigterm_is_heard_once() -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        interrupts.listen(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            interrupts.ask(signal.SIGTERM, None)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    finally:
        signal.signal(signal.SIGTERM, before)
