"""The page: its sections with their formulas, measured figures, style, scripts and numbers, in one document."""

import base64
import hashlib
import json
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from bench.explorer import looks
from bench.explorer.formulas import formulas
from bench.explorer.grids import grids
from bench.explorer.measured import measured

TITLE = "Sparse attention, to play with"
SCRIPTS = ("maps", "draw", "scores", "rows", "dial", "grids", "planes", "start")
"""In this order they make one script."""
SCORES = 8
"""Sliders for the shared row of scores."""


def page(results: Path) -> str:
    """The whole page, the same bytes for the same `results`, the folder that measured figures are read from."""
    folder = resources.files("bench.explorer")
    style = looks.style() + _read(folder / "style.css")
    parts = "".join(_read(folder / "script" / f"{name}.js") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{parts}}})();\n'
    numbers = json.dumps(grids(), separators=(",", ":"), ensure_ascii=False)
    filled = {
        "scores": _scores(),
        **{f"formula_{name}": block for name, block in formulas().items()},
        **{f"measured_{name}": block for name, block in measured(results).items()},
    }
    files = sorted((folder / "sections").iterdir(), key=lambda file: file.name)
    sections = [Template(_read(file)).substitute(filled) for file in files]
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{TITLE}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the page</a>\n'
        f"<header>\n<h1>{TITLE}</h1>\n{_read(folder / 'opening.html')}</header>\n"
        f'<div class="columns">\n{_contents(sections)}'
        f'<main id="main" tabindex="-1">\n{"".join(sections)}</main>\n</div>\n'
        f'<script type="application/json" id="data">{numbers}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


def _read(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")


def _hash(asset: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(asset.encode()).digest()).decode('ascii')}'"


def _scores() -> str:
    """A slider for each score of the shared row."""
    return "".join(
        f'<label>key {key + 1} <input type="range" id="score-{key}" min="-3" max="3" step="0.1" value="0"> '
        f'<output id="score-{key}-value"></output></label>\n'
        for key in range(SCORES)
    )


def _contents(sections: list[str]) -> str:
    """Links to the sections, by the headings that these have."""
    found = [re.findall(r'<section id="([\w-]+)".*?<h2[^>]*>(.*?)</h2>', section) for section in sections]
    links = "".join(f'<li><a href="#{anchor}">{title}</a></li>' for ((anchor, title),) in found)
    return f'<nav aria-label="Contents">\n<ol>{links}</ol>\n</nav>\n'
