"""Ctrl-C and SIGTERM as one thing that is not lost.

The exception of a signal handler is dropped where it falls into a finalizer or into code that catches everything, as
some imports do. So the handler also leaves a note, which a run looks for after every epoch and a sweep at every turn.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_asked = False
_holding = False
_late = False


def listen(*numbers: signal.Signals) -> None:
    """Let these signals `ask` from now on; what was asked before is forgotten."""
    global _asked
    _asked = False
    for number in numbers:
        signal.signal(number, ask)


def ask(number: int, _frame: object) -> None:
    """Signal handler: stop as on Ctrl-C. SIGTERM is heard once, since a scheduler may send it until it is obeyed."""
    global _asked, _late
    _asked = True
    if number == signal.SIGTERM:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if _holding:
        _late = True
    else:
        raise KeyboardInterrupt


def check() -> None:
    """Raise KeyboardInterrupt where one was asked for and got lost on its way."""
    if _asked:
        raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """What must not be torn: an interrupt that is asked for inside is raised at the end."""
    global _holding, _late
    _holding, _late = True, False
    try:
        yield
    finally:
        _holding = False
    if _late:
        raise KeyboardInterrupt
