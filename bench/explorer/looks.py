"""How normalizers look on the page: the colours and marks of conf/looks.yaml, those of all figures."""

import math
from functools import cache
from typing import Any

from omegaconf import OmegaConf

from bench import ROOT

REGISTRY = ROOT / "conf" / "looks.yaml"
SIDES = {"square": (4, 45), "diamond": (4, 0), "triangle": (3, 0), "down": (3, 180), "left": (3, 270), "right": (3, 90)}
SIDES |= {"pentagon": (5, 0), "hexagon": (6, 0)}
"""Mark -> its corners, and the angle of the first, in degrees from the top."""
POINTED = {"star": (5, 0, 0.45), "plus": (4, 0, 0.5), "cross": (4, 45, 0.5)}
"""Mark -> its points, the angle of the first, and how far the corners between them lie from the middle."""


@cache
def registry() -> dict[str, Any]:
    """The content of conf/looks.yaml: `colours` by name, the names of `marks`, and `normalizers`."""
    content: Any = OmegaConf.to_container(OmegaConf.load(REGISTRY))
    return dict(content)


def style() -> str:
    """CSS: a variable for each colour, light and dark, and a variable and a class `n-ID` for each normalizer."""
    listed = registry()
    light = "".join(f" --{name}: {colour};" for name, colour in listed["colours"].items())
    night = "".join(f" --{name}: {dark(colour)};" for name, colour in listed["colours"].items())
    owners = listed["normalizers"]
    named = "".join(f" --{name}: var(--{look['colour']});" for name, look in owners.items())
    classes = "".join(f".n-{name} {{ --own: var(--{name}); }}\n" for name in owners)
    return (
        f":root {{{light}{named} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{{night} }} }}\n{classes}"
    )


def dark(colour: str) -> str:
    """`#rrggbb` for a dark ground: lightness turned around, the hue kept; CSS `invert(.91) hue-rotate(180deg)`."""
    red, green, blue = (0.91 - 0.82 * int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    grey = 0.213 * red + 0.715 * green + 0.072 * blue
    turned = (min(max(2 * grey - part, 0.0), 1.0) for part in (red, green, blue))
    return "#" + "".join(f"{round(255 * part):02x}" for part in turned)


def shape(mark: str, x: float, y: float, r: float) -> str:
    """The start of an SVG element: `mark` at (x, y), about `r` to each side."""
    if mark == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"'
    if mark in SIDES:
        corners, first = SIDES[mark]
        angles = [(first + 360 * place / corners, 1.25) for place in range(corners)]
    else:
        points, first, inner = POINTED[mark]
        angles = [(first + 180 * place / points, inner if place % 2 else 1.35) for place in range(2 * points)]
    places = [
        (x + r * out * math.sin(math.radians(angle)), y - r * out * math.cos(math.radians(angle)))
        for angle, out in angles
    ]
    return f'<path d="M{"L".join(f"{across:.1f} {down:.1f}" for across, down in places)}z"'
