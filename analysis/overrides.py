"""Command-line words: made safe for Hydra's grammar before it reads them, explained after it refuses them."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from hydra._internal.utils import get_args
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from pydantic import BaseModel

from analysis.errors import near
from analysis.settings import Plan, Settings, keys

PATHS = ("records", "out")


def for_hydra(word: str) -> str:
    """`word` as Hydra is to read it: paths quoted, and keys of the plan (`analysis.names={hae: mine}`) forced.

    Unforced, Hydra would refuse those that the chosen file of conf/analysis/ lacks, and new entries of a mapping.
    """
    first, _, rest = word.partition("=")[0].partition(".")
    return f"++{word}" if first == "analysis" and rest.partition(".")[0] in Plan.model_fields else quoted(word)


def quoted(word: str) -> str:
    """`word` with the paths of `records=` and `out=` quoted, so that commas, blanks and `=` in them mean no grammar.

    `records=a,b` becomes a list (Hydra would take it for a sweep). What is already a list or quoted stays as it is.
    """
    key, equals, value = word.partition("=")
    if not equals or key not in PATHS or value[:1] in ("[", '"', "'"):
        return word
    parts = [_quote(part) for part in (value.split(",") if key == "records" else [value])]
    return f"{key}=[{','.join(parts)}]" if key == "records" else f"{key}={parts[0]}"


def _quote(text: str) -> str:
    # Hydra reads backslashes as escapes only before a quote and at the end.
    return '"' + re.sub(r"(\\*)(\"|$)", lambda found: 2 * found[1] + (found[2] and f"\\{found[2]}"), text) + '"'


def _parsed(word: str) -> bool:
    try:
        OverridesParser.create().parse_override(word)
    except HydraException:
        return False
    return True


def explained(words: Sequence[str], conf: Path, refusal: str, model: type[BaseModel] = Settings) -> str:
    """Why Hydra refused these words: the key, the value and near matches, or its own `refusal` where no word is odd.

    `model` has the keys that there are. Only called after a refusal, so that nothing which Hydra understands (a search
    path, an addition) is turned away.
    """
    overrides = get_args(words).overrides
    choices = sorted(path.stem for path in (conf / "analysis").glob("*.yaml"))
    for word in overrides:
        key, equals, value = word.partition("=")
        path = key.lstrip("+~").partition("@")[0]
        if not equals and not key.startswith("~"):
            return f"{word!r} is not of the form key=value{near(word, model.model_fields)}"
        if not _parsed(quoted(word)):
            cured = shlex.quote(f"{key}={_quote(value)}")
            return f"{word}: the value has signs with a meaning of their own; as they stand they are {cured}"
        if path == "analysis" and value not in choices:
            return f"analysis={value}: no such choice{near(value, choices)} (there are {', '.join(choices)})"
        if path.partition(".")[0] not in (*model.model_fields, "hydra"):
            return f"unknown key {path} (value {value!r}){near(path, model.model_fields)}"
        if path.startswith("analysis.") and path.split(".")[1] not in Plan.model_fields:
            return f"unknown key {path} (value {value!r}){near(path.split('.')[1], Plan.model_fields)}"
    last = overrides[-1].partition("=")[0].rpartition(".")[2] if overrides else ""
    return refusal.strip() + (near(last, keys(model)) if last not in keys(model) else "")
