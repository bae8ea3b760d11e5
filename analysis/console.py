"""What is printed: standard output may be closed early, as by `| head`, without costing the files."""

import os
import sys


def say(text: str) -> None:
    """Print `text`; once nobody reads any more, print into nothing."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Send standard output into nothing from here on, also what Python still holds and writes at its end."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
