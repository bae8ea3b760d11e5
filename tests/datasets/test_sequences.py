"""The generated sequence tasks: every answer checked by the rule of its task, written down anew."""

from pathlib import Path

import numpy as np
import pytest

from datasets import Maker, doublings, prepare
from datasets.sequence_tasks import FIRST_SYMBOL, IGNORE, READ, SEPARATOR, TASKS, WRITE
from datasets.sequences import POOL, build

ROOT = Path()  # nothing is read


def drawn(task: str, length: int, queries: int = 1, n: int = 300, vocabulary: int = 16):
    sequences = Maker(task, vocabulary, queries).draw(np.random.default_rng(7), n, length)
    assert sequences.ids.shape == sequences.answers.shape
    assert sequences.ids.min() >= 1  # 0 pads
    assert sequences.ids.max() < vocabulary
    return list(zip(sequences.ids.tolist(), sequences.answers.tolist(), strict=True))


RULES = {"copy": lambda symbols: symbols, "reverse": lambda symbols: symbols[::-1], "sort": sorted}


@pytest.mark.parametrize("task", RULES)
@pytest.mark.parametrize("length", [1, 5, 40])
def test_symbols_a_separator_and_what_the_rule_makes_of_them(task, length):
    for ids, answers in drawn(task, length):
        assert ids[length] == SEPARATOR
        assert min(ids[:length]) >= FIRST_SYMBOL
        assert ids[length + 1 :] == RULES[task](ids[:length])
        assert answers == [False] * (length + 1) + [True] * length


def test_two_back_answers_every_symbol_from_the_third_on():
    for ids, answers in drawn("two_back", 6):
        symbols = ids[:2] + ids[2::2]
        assert [ids[i] for i in range(len(ids)) if answers[i]] == symbols[:-2]
        assert answers == [False] * 2 + [False, True] * 4


def test_flip_flop_reads_the_bit_last_written():
    reads = 0
    for ids, answers in drawn("flip_flop", 30):
        held = None
        for place in range(0, len(ids), 2):
            instruction, bit = ids[place], ids[place + 1]
            assert answers[place : place + 2] == [False, instruction == READ]
            held = bit if instruction == WRITE else held
            if instruction == READ:
                reads += 1
                assert bit == held
            assert instruction in (WRITE, IGNORE, READ)
            assert bit in (FIRST_SYMBOL, FIRST_SYMBOL + 1)
        assert (ids[0], ids[-2]) == (WRITE, READ)
    assert reads / 300 == pytest.approx(1 + 28 * 0.1, rel=0.1)  # the last, and a tenth of those between


@pytest.mark.parametrize(("length", "queries"), [(4, 1), (16, 4), (100, 3)])
def test_associative_recall_answers_with_the_value_that_stands_last_with_the_key(length, queries):
    asked = 0
    for ids, answers in drawn("associative_recall", length, queries, vocabulary=36):
        held = dict(zip(ids[: 2 * length : 2], ids[1 : 2 * length : 2], strict=True))
        assert ids[2 * length] == SEPARATOR
        questions = ids[2 * length + 1 :]
        for key, value in zip(questions[::2], questions[1::2], strict=True):
            assert held[key] == value
            asked += 1
        assert len(set(questions[::2])) == queries
        assert max(held) < FIRST_SYMBOL + 16 <= min(held.values())
        assert answers == [False] * (2 * length + 1) + [False, True] * queries
    assert asked == 300 * queries


def test_the_pair_asked_for_stands_anywhere():
    places = []
    for ids, _ in drawn("associative_recall", 60, 4, n=500, vocabulary=36):
        last = {key: place for place, key in enumerate(ids[:120:2])}
        places += [last[key] for key in ids[121::2]]
    assert np.histogram(places, bins=6, range=(0, 60))[0] / 2000 == pytest.approx(np.full(6, 1 / 6), abs=0.03)


@pytest.mark.parametrize("task", TASKS)
def test_the_same_generator_gives_the_same_sequences_and_another_gives_others(task):
    first, again, other = (Maker(task, 16).draw(np.random.default_rng(seed), 50, 9).ids for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_pool_has_every_length_with_zeros_behind_the_shorter_ones():
    arrays = build(ROOT, task="copy", test_shortest=4, test_longest=20)
    assert arrays.test.marks is not None
    assert np.unique(arrays.test.y, return_counts=True)[0].tolist() == [4, 8, 16] == doublings(4, 20)
    assert (np.bincount(arrays.test.y)[[4, 8, 16]] == POOL).all()
    assert ((arrays.test.x != 0).sum(1) == 2 * arrays.test.y + 1).all()
    assert (arrays.test.marks.sum(1) == arrays.test.y).all()
    assert sorted(set(arrays.train.y)) == list(range(4, 17))


def test_the_hash_is_that_of_the_generators(tmp_path: Path):
    """Of the arrays as first published here: a change of a task, or of numpy's generator, would show."""
    hashes = {task: prepare("sequences", tmp_path, task=task, test_longest=32).hash for task in TASKS}
    assert hashes == HASHES


HASHES = {
    "copy": "0d9beeeb178bb442",
    "reverse": "c79839c725ded397",
    "sort": "1ee009d441e27930",
    "two_back": "eeb7eb628ebce082",
    "flip_flop": "cf8d7b41573278a4",
    "associative_recall": "1107b5a4757fffbd",
}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "two_back", "train_shortest": 2}, "train_shortest=2 is too short for task=two_back; set it to 3"),
        ({"train_longest": 3}, "train_longest=3 is below train_shortest=4; set it to that or more"),
        ({"test_shortest": 512}, "test_longest=256 is below test_shortest=512"),
        ({"vocabulary": 5}, "vocabulary=5 is too small for task=flip_flop; set it to 6 or more"),
        ({"queries": 2}, "queries=2 means nothing for task=flip_flop; leave it at 1"),
        ({"task": "associative_recall", "queries": 6}, "vocabulary=16 is too small for .*; set it to 18 or more"),
        ({"task": "associative_recall", "queries": 5}, "queries=5 must lie between 1 and the 4 pairs"),
        ({"task": "associative_recall", "queries": 0}, "queries=0 must lie between 1 and the 4 pairs"),
    ],
)
def test_impossible_options_name_key_value_and_remedy(options, message):
    with pytest.raises(ValueError, match=message):
        build(ROOT, **options)
