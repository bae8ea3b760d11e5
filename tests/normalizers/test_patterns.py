"""Connectivity patterns: their known matrices, their counts, and that they are masks of every normalizer."""

import pytest
import torch

from normalizers import (
    block_mask,
    causal_mask,
    cluster_mask,
    entmax15,
    global_mask,
    local_mask,
    nearest_centroid,
    random_mask,
    softmax,
    sparsemax,
    strided_mask,
    support_size,
)
from tests.normalizers.conftest import HEADS


def rows(mask):
    """The mask as texts, a row each: x where a pair is kept."""
    return ["".join("x" if kept else "." for kept in row) for row in mask.tolist()]


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (causal_mask(3), ["x..", "xx.", "xxx"]),
        (local_mask(5, 1), ["xx...", "xxx..", ".xxx.", "..xxx", "...xx"]),
        (local_mask(3, 0), ["x..", ".x.", "..x"]),
        (strided_mask(5, 3), ["x..x.", ".x..x", "..x..", "x..x.", ".x..x"]),
        (global_mask(4, [0, 2]), ["xxxx", "x.x.", "xxxx", "x.x."]),
        (global_mask(2, []), ["..", ".."]),
        (block_mask(5, 2), ["xx...", "xx...", "..xx.", "..xx.", "....x"]),
        (cluster_mask(torch.tensor([1, 0, 1]), torch.tensor([0, 1])), [".x", "x.", ".x"]),
        (local_mask(4, 1) & causal_mask(4), ["x...", "xx..", ".xx.", "..xx"]),
        (local_mask(4, 0) | global_mask(4, [3]), ["x..x", ".x.x", "..xx", "xxxx"]),
    ],
    ids=["causal", "local", "diagonal", "strided", "global", "nothing", "block", "clusters", "window", "longformer"],
)
def test_known_patterns(mask, expected):
    assert mask.dtype == torch.bool
    assert rows(mask) == expected


@pytest.mark.parametrize("keys", [0, 3, 12])
def test_random_keeps_so_many_different_keys_and_repeats_itself(keys):
    first, again, other = (random_mask(12, keys, generator=torch.Generator().manual_seed(s)) for s in (5, 5, 6))
    assert first.sum(-1).tolist() == [keys] * 12
    assert torch.equal(first, again)
    assert torch.equal(first, other) == (keys in (0, 12))


def test_random_draws_every_key_equally_often():
    mask = random_mask(2000, 500, generator=torch.Generator().manual_seed(1))
    counts = mask.double().sum(0)
    assert abs(counts - 500).max() < 5.5 * (2000 * 0.25 * 0.75) ** 0.5


def test_clusters_follow_the_angle_and_not_the_length():
    centroids = torch.tensor([[10.0, 0.0], [0.1, 0.1]])
    vectors = torch.tensor([[[1.0, 0.1], [0.5, 0.4]], [[3.0, 3.0], [9.0, 1.0]]])
    labels = nearest_centroid(vectors, centroids)
    assert labels.tolist() == [[0, 1], [1, 0]]
    assert cluster_mask(labels).shape == (2, 2, 2)


@pytest.mark.parametrize("normalizer", [softmax, sparsemax, entmax15])
def test_a_pattern_is_a_mask_over_batch_and_heads(normalizer):
    scores = torch.randn(2, 3, 9, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mask = local_mask(9, 1) | global_mask(9, [4])
    weights = normalizer(scores, mask=mask)
    assert weights[..., ~mask].count_nonzero() == 0
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 9, dtype=torch.float64))
    assert bool((support_size(weights) <= mask.sum(-1)).all())
    alone = normalizer(scores[1, 2, 0, [0, 1, 4]])
    torch.testing.assert_close(weights[1, 2, 0, [0, 1, 4]], alone)


def test_every_normalizer_takes_patterns(case, normalizer):
    """Under any of them, no weight where nothing may be seen, and nothing that a dropped score could change."""
    scores = torch.randn(2, HEADS, 4, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    patterns = {
        "window": local_mask(4, 2) & causal_mask(4),
        "strided": strided_mask(4, 2) | local_mask(4, 1),
        "global": global_mask(4, [0, 1, 3]),
        "blocks": block_mask(4, 3) | random_mask(4, 3, generator=torch.Generator().manual_seed(0)),
    }
    for name, mask in patterns.items():
        if case[0] == "constrained_sparsemax":
            mask = mask | (torch.arange(4) < 3)  # its bound of 0.4 needs three keys
        weights = normalizer(scores, mask)
        assert weights[..., ~mask].count_nonzero() == 0, name
        assert weights[..., mask].count_nonzero() > 0, name
        torch.testing.assert_close(normalizer(scores.masked_fill(~mask, 5.0), mask), weights)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: causal_mask(0), "n must be at least 1, got 0"),
        (lambda: block_mask(0, 1), "n must be at least 1, got 0"),
        (lambda: local_mask(3, -1), "reach must be at least 0, got -1"),
        (lambda: strided_mask(3, 0), "stride must be at least 1, got 0"),
        (lambda: block_mask(3, 0), "size must be at least 1, got 0"),
        (lambda: global_mask(3, [1, 3]), r"tokens must be in 0..2, got \[3\]"),
        (lambda: random_mask(3, 4), r"keys must be in 0..3, got 4"),
    ],
)
def test_impossible_patterns_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
