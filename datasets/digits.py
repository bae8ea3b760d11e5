"""Optical recognition of handwritten digits: 1,797 grey images of 8x8 pixels in 0 … 16, shipped with scikit-learn.

E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998, doi:10.24432/C50P49 (its test part, which is what
scikit-learn ships). It needs no download, so it serves quick runs and tests. There is no official split of these rows.
"""

from pathlib import Path

import numpy as np

from datasets.arrays import Arrays, Rows

TEST_ROWS = 500
SPLIT_SEED = 1797
SCALE = 16.0


def build(root: Path) -> Arrays:  # noqa: ARG001 (every source is built from a root)
    """1,297 train and 500 test images (n, 8, 8, 1) by one fixed permutation, 10 classes."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    # The scans come sorted by writer; a split in that order would test on other writers, and on fewer of them.
    order = np.random.default_rng(SPLIT_SEED).permutation(len(digits.target))
    images = digits.images.astype(np.uint8)[..., None]
    labels = digits.target.astype(np.int64)
    train, test = order[:-TEST_ROWS], order[-TEST_ROWS:]
    return Arrays(Rows(images[train], labels[train]), Rows(images[test], labels[test]), classes=10, scale=SCALE)
