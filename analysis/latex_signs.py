"""Signs and letters as LaTeX: whatever stands in a table compiles with pdflatex and needs no package."""

import re
import unicodedata
from functools import cache

UNKNOWN = "?"
"""Stands for a sign that has no form in LaTeX here."""
MINUS = re.compile(r"(?<![\w.\-])-(?=[\d.])|-(?=inf)")
"""A hyphen that is the sign of a number."""

GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
    *("xi", "omicron", "pi", "rho", "", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
)
"""The small letters from α on, in the order of Unicode; the empty one is the sigma at the end of a word."""
CAPITALS = frozenset({"Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"})
"""Capital letters that have a command, because they do not look like Latin ones."""
LATIN = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True))
"""Greek letters that LaTeX sets as Latin ones."""
MATHS = {
    **{"±": "pm", "∓": "mp", "×": "times", "÷": "div", "·": "cdot", "∘": "circ", "⊕": "oplus", "⊗": "otimes"},
    **{"≤": "leq", "≥": "geq", "≠": "neq", "≈": "approx", "≡": "equiv", "∼": "sim", "≃": "simeq", "≅": "cong"},
    **{"≪": "ll", "≫": "gg", "∝": "propto", "∞": "infty", "∂": "partial", "∇": "nabla", "√": "surd", "∫": "int"},
    **{"∑": "sum", "∏": "prod", "∈": "in", "∋": "ni", "∉": "notin", "⊂": "subset", "⊆": "subseteq", "⊃": "supset"},
    **{"∪": "cup", "∩": "cap", "∅": "emptyset", "∀": "forall", "∃": "exists", "¬": "neg", "∧": "wedge", "∨": "vee"},
    **{"→": "rightarrow", "←": "leftarrow", "↔": "leftrightarrow", "↑": "uparrow", "↓": "downarrow"},
    **{"⇒": "Rightarrow", "⇐": "Leftarrow", "⇔": "Leftrightarrow", "↦": "mapsto", "⊥": "perp", "∥": "parallel"},
    **{"⌈": "lceil", "⌉": "rceil", "⌊": "lfloor", "⌋": "rfloor", "⟨": "langle", "⟩": "rangle", "‖": "Vert"},
    **{"ℓ": "ell", "ℜ": "Re", "ℑ": "Im", "′": "prime", "⋅": "cdot", "∗": "ast", "ϵ": "epsilon", "ϕ": "phi"},
    **{"ς": "varsigma", "ϑ": "vartheta", "°": "circ", "†": "dagger", "‡": "ddagger", "•": "bullet", "★": "star"},
}
RAISED = frozenset({"°", "′"})
SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        "−": "$-$",
        "–": "--",
        "—": "---",
        "‐": "-",
        "‑": "-",
        "…": r"\ldots{}",
        "⁄": "/",
    },
    **{"‘": "`", "’": "'", "“": "``", "”": "''", "„": ",,", "…": r"\ldots{}"},
    **{"µ": r"$\mu$", "∆": r"$\Delta$", "∣": r"$\mid$"},
    **{"§": r"\S{}", "¶": r"\P{}", "©": r"\copyright{}", "£": r"\pounds{}", "ß": r"\ss{}", "ı": r"\i{}", "ȷ": r"\j{}"},
    **{"æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}"},
    **{"Ł": r"\L{}", "¡": "!`", "¿": "?`", "✓": r"$\surd$", "✗": r"$\times$"},
    **{sign: f"$\\{name}$" for sign, name in MATHS.items() if sign not in RAISED},
    **{sign: f"$^{{\\{MATHS[sign]}}}$" for sign in RAISED},
    **{chr(ord("α") + place): f"$\\{name}$" for place, name in enumerate(GREEK) if name},
    **{chr(ord("Α") + place): f"$\\{name.title()}$" for place, name in enumerate(GREEK) if name.title() in CAPITALS},
    **LATIN,
    **{sign: f"$^{{{digit}}}$" for sign, digit in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True)},
    **{sign: f"$_{{{digit}}}$" for sign, digit in zip("₀₁₂₃₄₅₆₇₈₉₊₋ₙ", "0123456789+-n", strict=True)},
}
ACCENTS = {
    **{"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": "."},
    **{"\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b"},
}
"""Combining marks of Unicode, and the accents that LaTeX has for them in any encoding of fonts."""


def escaped(text: str) -> str:
    """`text` on one line, every sign as LaTeX reads it; UNKNOWN stands for those of `unknown`."""
    return "".join(_form(sign) or UNKNOWN for sign in MINUS.sub("−", _flat(text)))


def unknown(text: str) -> set[str]:
    """The signs of `text` that have no form in LaTeX here."""
    return {sign for sign in _flat(text) if not _form(sign)}


def _flat(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split()))


@cache
def _form(sign: str) -> str:
    """One sign as LaTeX; empty where there is no form for it."""
    if sign in SIGNS:
        return SIGNS[sign]
    if sign.isascii():
        return sign if sign.isprintable() else ""
    parts = unicodedata.normalize("NFKD", sign)
    if parts == sign:
        return ""
    base, marks = _form(parts[0]), parts[1:]
    for mark in marks:
        if mark in ACCENTS and base:
            base = f"\\{ACCENTS[mark]}{{{base}}}"
        elif base and _form(mark):
            base += _form(mark)
        else:
            return ""
    return base
