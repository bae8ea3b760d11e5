"""The list of licences is that of the packages that are pinned."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def listed() -> dict[str, str]:
    """Licences by package."""
    lines = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {normal(name): licence for name, _, licence in rows[2:]}


def test_every_pinned_package_is_listed_with_its_licence() -> None:
    pins = [
        line
        for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    everywhere = {normal(line.partition("==")[0]) for line in pins if ";" not in line}
    found = listed()
    assert len(everywhere) > 50
    assert sorted(everywhere - found.keys()) == []
    unsaid = {name for name, licence in found.items() if not licence or "UNKNOWN" in licence.upper()}
    assert unsaid <= {"cuda-toolkit"}  # an empty package of NVIDIA's, which only asks for others
