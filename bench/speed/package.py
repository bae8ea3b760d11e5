"""The entmax package, where it is installed: what the maps of this project are compared with."""

import torch

from bench.speed.timing import Map


def entmax_package(heads: int = 4) -> dict[str, Map]:
    """The maps of the entmax package by the names of ours, where it is installed."""
    try:
        import entmax
    except ImportError:
        print("notice: the entmax package is not installed, so nothing is compared with it")
        return {}
    alpha = torch.full((1, heads, 1, 1), 1.5, requires_grad=True)
    return {
        "sparsemax": lambda z: entmax.sparsemax(z, dim=-1),
        "entmax15": lambda z: entmax.entmax15(z, dim=-1),
        "entmax": lambda z: entmax.entmax_bisect(z, alpha=1.25, dim=-1),
        "hae": lambda z: entmax.entmax_bisect(z, alpha=alpha, dim=-1),
    }
