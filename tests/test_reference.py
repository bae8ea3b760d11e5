"""The tables of the reference sweep are what its committed records give, and those are still runs of this code."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import records
from bench.fingerprint import Identity, identify
from bench.verify import _configuration

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "results" / "reference"


@pytest.mark.skipif(not (REFERENCE / "records").is_dir(), reason="no reference records are committed yet")
def test_the_code_of_today_gives_every_record_its_fingerprint() -> None:
    found, broken = records.scan([REFERENCE / "records"])
    assert broken == []
    by_cell = {record.cell: record for _, record in found}  # a seed of each: composing a configuration takes a while
    assert len(by_cell) >= 7
    for record in by_cell.values():
        identity = identify(_configuration(record, [], ROOT / "conf"), record.provenance["data_hash"])
        assert identity == Identity(record.fingerprint, record.cell, record.setting)


@pytest.mark.skipif(not (REFERENCE / "records").is_dir(), reason="no reference records are committed yet")
def test_tables_are_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    words = ["records=results/reference/records", f"out={tmp_path}", "analysis=reference", "figures=false"]
    subprocess.run([sys.executable, "-m", "analysis", *words], cwd=ROOT, check=True, capture_output=True)
    committed = {path.name: path.read_bytes() for path in (REFERENCE / "tables").iterdir()}
    made = {path.name: path.read_bytes() for path in (tmp_path / "tables").iterdir()}
    assert sorted(made) == sorted(committed)
    assert [name for name in made if made[name] != committed[name]] == []
