"""How names, notes and seeds are shown to people: the one place where an id becomes a display name."""

from collections.abc import Iterable, Mapping

# Control and direction marks would break a page or turn its text around unseen, so they are spelled out.
_UNSEEN = dict.fromkeys((*range(32), *range(127, 160), 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F)))
_UNSEEN |= dict.fromkeys((0x2028, 0x2029, *range(0x2066, 0x206A), *range(0xD800, 0xE000), 0xFEFF))
_SPELLED = {code: f"\\u{code:04x}" for code in _UNSEEN} | {ord(blank): " " for blank in "\t\n\r"}

DISPLAY = {
    "softmax": "softmax",
    "sparsemax": "sparsemax",
    "entmax15": "entmax-1.5",
    "entmax15_bisection": "entmax-1.5 (through bisection)",
    "hae": "HAE",
    "hae_bisection": "HAE (through bisection)",
    "topk_0125": "top-k 0.125",
    "topk_025": "top-k 0.25",
    "topk_050": "top-k 0.50",
    "topk_4": "top-4",
    "scalable_softmax": "scalable softmax",
    "asentmax": "ASEntmax",
    "stick_breaking": "stick-breaking",
    "sink_softmax": "softmax with sink",
}


def display(normalizer: str, names: Mapping[str, str]) -> str:
    """The name shown for the id `normalizer`: from `names` (the configuration), else DISPLAY, else the id itself."""
    return names.get(normalizer) or DISPLAY.get(normalizer, normalizer)


def readable(text: str) -> str:
    """`text` in one line, with characters that cannot be seen spelled out: `\\u0000`."""
    return text.translate(_SPELLED)


def ordered(present: Iterable[str], order: Iterable[str]) -> list[str]:
    """`present` without doubles: first what `order` names, in that order, then the rest by alphabet."""
    left = set(present)
    first = [name for name in dict.fromkeys(order) if name in left]
    return first + sorted(left - set(first))


def seeds(numbers: Iterable[int]) -> str:
    """Seeds as a person writes them: `seed 3`, `seeds 0-9`, `seeds 0-2, 5`, `no seeds`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if not runs:
        return "no seeds"
    parts = [", ".join(map(str, run)) if len(run) < 3 else f"{run[0]}-{run[-1]}" for run in runs]
    return ("seed " if len(runs) == len(runs[0]) == 1 else "seeds ") + ", ".join(parts)
