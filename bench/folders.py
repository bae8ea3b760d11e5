"""Folders on the command line: a path is taken as it stands, whatever its signs mean in Hydra's grammar."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

KEYS = (
    *("results_dir", "data.root", "tracker.dir", "hydra.launcher.folder"),
    *("hydra.run.dir", "hydra.sweep.dir", "hydra.output_subdir"),
)
"""Keys whose values are paths."""
GRAMMAR = re.compile(r"""^(['"].*['"]|\[.*\]|null|(choice|glob|shuffle|sort|tag)\(.*\))?$""", re.DOTALL)
"""Values that are handed on unchanged: quoted ones, lists, null, and functions of a sweep, as in choice(a,b)."""


def quoted(word: str) -> str:
    """The command-line word `word`, its value in quotes where it is a path that is not quoted yet.

    Blanks, commas, `=`, `#`, brackets, backslashes and letters of any language then belong to the path. Interpolations
    such as ${seed} keep their meaning.
    """
    key, equals, value = word.partition("=")
    if not equals or key.lstrip("+") not in KEYS or GRAMMAR.match(value):
        return word
    return f"{key}={in_quotes(value)}"


def divided(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The overrides KEY=VALUE and the paths among the `arguments` of a command.

    A word with `=` is a path where that path exists, or where a slash comes before the `=`.
    """
    overrides = [word for word in arguments if "=" in word.partition("/")[0] and not Path(word).exists()]
    return overrides, [word for word in arguments if word not in overrides]


def notices(arguments: Sequence[str]) -> Iterator[str]:
    """What is to be said of command-line words of a sweep: a comma in a path lists nothing, unlike in other values."""
    if not {"-m", "--multirun"} & set(arguments) and not any(word.startswith("experiment=") for word in arguments):
        return
    for word in arguments:
        key, _, value = word.partition("=")
        if key.startswith("hydra."):  # settings of the whole sweep
            continue
        if quoted(word) != word and not Path(value).exists() and "," in re.sub(r"\$\{[^}]*\}", "", value):
            yield f"{word} is one folder; a sweep over several is written {key}=choice(A,B)"


def in_quotes(value: str) -> str:
    """`value` as a quoted string of Hydra's grammar that means these very characters."""
    # Only backslashes before a quote or at the end are read as escapes.
    escaped = re.sub(r"(\\*)(\"|$)", lambda found: 2 * found[1] + (found[2] and f"\\{found[2]}"), value)
    return f'"{escaped}"'
