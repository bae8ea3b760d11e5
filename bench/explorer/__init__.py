"""`python -m bench explorer`: the theory of sparse attention as one page to play with, which loads nothing."""

from pathlib import Path

import torch

from bench import ROOT
from bench.explorer.document import page
from bench.schema import ConfigError

DEFAULT = Path("results/explorer.html")


def explorer(out: Path) -> int:
    """Write the page to `out` and say so; returns the exit code.

    Raises ConfigError where `out` cannot be written or a table in results/ is not what its command makes.
    """
    torch.set_num_threads(1)
    content = page(ROOT / "results")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(content, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"FILE={out} cannot be written ({error.strerror}); give another file") from error
    print(f"{out}: {len(content.encode()) / 1000:.0f} kB, to be opened in a browser")
    return 0
