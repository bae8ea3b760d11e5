"""Ctrl-C and SIGTERM as one thing that is not lost.

The exception of a signal handler is dropped where it falls into a finalizer or into code that catches everything, as
some imports do. So the handler also leaves a note, and a run looks for it after every epoch.
"""

import signal

_asked = False


def ask(number: int, _frame: object) -> None:
    """Signal handler: stop as on Ctrl-C. SIGTERM is heard once, since a scheduler may send it until it is obeyed."""
    global _asked
    _asked = True
    if number == signal.SIGTERM:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def check() -> None:
    """Raise KeyboardInterrupt where one was asked for and got lost on its way."""
    if _asked:
        raise KeyboardInterrupt


def listen(*numbers: signal.Signals) -> None:
    """Let these signals `ask` from now on; what was asked before is forgotten."""
    global _asked
    _asked = False
    for number in numbers:
        signal.signal(number, ask)
