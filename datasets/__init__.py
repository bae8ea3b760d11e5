"""Data sets as verified arrays: a name goes in; arrays come out that were prepared once, hashed, and memory-mapped.

    prepared = prepare("kmnist", root)
    rows = subset(len(prepared.train), len(prepared.test), seed=0, train_limit=12_000, test_limit=3_000)
    tokens = patches(prepared.train.x[rows.train], 7)

torchvision and scikit-learn are imported only while a data set is built, so importing and loading stay fast.
"""

from datasets.arrays import Arrays, DataError, Kind, Prepared, Rows, Source
from datasets.pixels import channel_statistics, patches
from datasets.registry import SOURCES
from datasets.sequence_tasks import Sequences
from datasets.sequences import Maker, doublings
from datasets.store import prepare
from datasets.subsets import Subset, counts, subset

__all__ = [
    "SOURCES",
    "Arrays",
    "DataError",
    "Kind",
    "Maker",
    "Prepared",
    "Rows",
    "Sequences",
    "Source",
    "Subset",
    "channel_statistics",
    "counts",
    "doublings",
    "patches",
    "prepare",
    "subset",
]
