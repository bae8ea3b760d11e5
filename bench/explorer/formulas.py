"""The formulas of the page as MathML, which browsers set by themselves."""

GAP = "\n"
"""Between two statements, which stand on lines of their own where one is too short."""


def row(*parts: str) -> str:
    """Parts side by side, held together."""
    return f"<mrow>{''.join(parts)}</mrow>"


def i(name: str) -> str:
    """A variable."""
    return f"<mi>{name}</mi>"


def n(number: str) -> str:
    """A number."""
    return f"<mn>{number}</mn>"


def o(sign: str) -> str:
    """An operator or a bracket that keeps its size."""
    return f'<mo stretchy="false">{sign}</mo>'


def word(name: str) -> str:
    """The name of a function."""
    return f"<mi mathvariant='normal'>{name}</mi><mo>&#8289;</mo>"


def sub(base: str, index: str) -> str:
    """base with an index."""
    return f"<msub>{base}{index}</msub>"


def sup(base: str, power: str) -> str:
    """base to a power."""
    return f"<msup>{base}{power}</msup>"


def say(text: str) -> str:
    """A word between formulas."""
    return f'<mspace width="0.35em"/><mtext>{text}</mtext><mspace width="0.35em"/>'


def frac(above: str, below: str) -> str:
    """A fraction."""
    return f"<mfrac>{above}{below}</mfrac>"


def total(index: str) -> str:
    """The sum over `index`."""
    return f"<munder><mo>&#8721;</mo>{index}</munder>"


def over(above: str, below: str) -> str:
    """A fraction on one line: what brackets hold must not be high, since they grow with it only in a maths font."""
    return row(above, o("/"), below)


def plus(*inner: str) -> str:
    """The positive part of what is inside."""
    return sub(row(o("["), *inner, o("]")), o("+"))


def _block(label: str, *parts: str) -> str:
    statements = "".join(f'<math displaystyle="true">{row(part)}</math>' for part in "".join(parts).split(GAP))
    return f'<div class="formula" tabindex="0" role="group" aria-label="{label}">{statements}</div>'


def formulas() -> dict[str, str]:
    """Name -> the formula as a block of HTML."""
    p, z, x, j, k = (i(name) for name in "pzxjk")
    alpha, tau, lam, u = i("α"), i("τ"), i("λ"), i("u")
    index = i("i")
    p_i, z_i, u_i, s_i = (sub(name, index) for name in (p, z, u, i("s")))
    less = row(alpha, o("−"), n("1"))
    inverse = frac(n("1"), less)
    equals, minus = o("="), o("−")
    exp_i, exp_j = sup(i("e"), z_i), sup(i("e"), sub(z, j))
    entropy = row(total(index), o("("), p_i, minus, sup(p_i, alpha), o(")"))
    distance = over(sup(row(o("("), x, minus, sub(x, index), o(")")), n("2")), sup(i("b"), n("2")))
    chosen = i("K")
    return {
        "maps": _block(
            "softmax, top-k and sparsemax",
            *(word("softmax"), sub(row(o("("), z, o(")")), index), equals, frac(exp_i, row(total(j), exp_j)), GAP),
            *(word("top-k"), sub(row(o("("), z, o(")")), index), equals),
            *(frac(exp_i, row(total(row(j, o("∈"), chosen)), exp_j)), say("for"), index, o("∈"), chosen),
            *(say("and 0 elsewhere"), GAP),
            *(word("sparsemax"), sub(row(o("("), z, o(")")), index), equals, plus(z_i, minus, tau)),
        ),
        "entmax": _block(
            "α-entmax",
            *(p_i, equals, sup(plus(row(o("("), less, o(")")), z_i, minus, tau), inverse), GAP),
            *(tau, say("so that"), total(index), p_i, equals, n("1")),
        ),
        "length": _block(
            "the peak of softmax over scores of range R, and of sparsemax over evenly spaced ones",
            *(sub(row(word("peak")), i("softmax")), o("≤"), frac(sup(i("e"), i("R")), i("n")), GAP),
            *(sub(row(word("peak")), i("sparsemax")), o("≈")),
            sup(row(o("("), over(row(n("2"), i("R")), i("n")), o(")")), over(n("1"), n("2"))),
        ),
        "derivative": _block(
            "the derivative of the weights in α",
            *(frac(row(o("∂"), p_i), row(o("∂"), alpha)), equals, sub(i("v"), index), minus, s_i),
            *(frac(row(total(j), sub(i("v"), j)), row(total(j), sub(i("s"), j))), GAP),
            *(sub(i("v"), index), equals, frac(row(minus, p_i, word("log"), p_i, o("+"), s_i, z_i), less), GAP),
            *(s_i, equals, sup(p_i, row(n("2"), minus, alpha))),
        ),
        "fusedmax": _block(
            "fusedmax",
            *(p, equals, word("sparsemax"), o("("), x, o(")"), GAP, x, equals, word("argmin"), frac(n("1"), n("2"))),
            *(sup(row(o("‖"), x, minus, z, o("‖")), n("2")), o("+"), lam, total(j)),
            *(o("|"), sub(x, row(j, o("+"), n("1"))), minus, sub(x, j), o("|")),
        ),
        "constrained": _block(
            "constrained sparsemax",
            *(p_i, equals, word("min"), o("("), plus(z_i, minus, tau), o(","), u_i, o(")"), GAP),
            *(total(index), u_i, o("≥"), n("1")),
        ),
        "loss": _block(
            "the Fenchel–Young loss of α-entmax",
            *(sub(i("L"), alpha), o("("), z, o(","), i("y"), o(")"), equals),
            *(o("⟨"), p, minus, sub(i("e"), i("y")), o(","), z, o("⟩"), o("+")),
            *(frac(entropy, row(alpha, o("("), less, o(")"))), GAP),
            *(o("∇"), sub(i("L"), alpha), equals, p, minus, sub(i("e"), i("y"))),
        ),
        "kernel": _block(
            "attention as kernel regression",
            *(i("f"), o("("), x, o(")"), equals, total(index), p_i, sub(i("y"), index), GAP),
            *(p_i, o("∝"), sup(plus(n("1"), minus, distance), i("r")), GAP),
            *(alpha, equals, n("1"), o("+"), frac(n("1"), i("r"))),
        ),
        "mask": _block(
            "normalizing under a mask",
            *(sub(p, row(index, j)), equals, sub(row(word("map"), o("("), _over(k, index), o(")")), j), GAP),
            *(sub(p, row(index, j)), equals, n("0"), say("where"), sub(i("M"), row(index, j)), equals, n("0")),
        ),
    }


def _over(k: str, index: str) -> str:
    """The scores of row `index` at the keys that its mask keeps."""
    kept = row(k, o(":"), sub(i("M"), row(index, k)), o("="), n("1"))
    return sub(row(o("{"), sub(i("z"), row(index, k)), o("}")), kept)
