"""The committed tables of the reference sweep are what its committed records give."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "results" / "reference"


@pytest.mark.skipif(not (REFERENCE / "records").is_dir(), reason="no reference records are committed yet")
def test_tables_are_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    words = ["records=results/reference/records", f"out={tmp_path}", "analysis=reference", "figures=false"]
    subprocess.run([sys.executable, "-m", "analysis", *words], cwd=ROOT, check=True, capture_output=True)
    committed = {path.name: path.read_bytes() for path in (REFERENCE / "tables").iterdir()}
    made = {path.name: path.read_bytes() for path in (tmp_path / "tables").iterdir()}
    assert sorted(made) == sorted(committed)
    assert [name for name in made if made[name] != committed[name]] == []
