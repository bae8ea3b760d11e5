"""The harness: one run is data flowing once through config, arrays, model, record."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The folder that holds `conf`, `bench`, `normalizers`, `datasets` and `analysis`."""
