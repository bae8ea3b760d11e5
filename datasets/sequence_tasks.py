"""Tasks on sequences of symbols, which can be had at any length: what a causal model reads, and what it has to write.

A row is one sequence of ids. Some of its tokens are answers, which everything before them determines; the model writes
those and reads the others. Ids: 0 pads, 1 … 3 are signs of the task, symbols begin at 4. `length` counts what grows:
symbols, or pairs of a key and a value, or of an instruction and a bit.

    copy, reverse, sort    s₁ … s_L | answer of L symbols
    two_back               s₁ s₂ s₃ (s₁) s₄ (s₂) … s_L (s_{L-2}): after each symbol the one two before it
    flip_flop              write, ignore or read, each with a bit, that of a read is the last written (Liu et al. 2023)
    associative_recall     k₁ v₁ … k_L v_L | k (v) …: the value that stands last with a key (after Arora et al. 2023);
                           several queries ask for different keys, whose last places are drawn evenly

What stands in brackets is an answer, as are all symbols after | and the bits of reads. The tasks are those of Vasylenko
et al. 2025, at the sizes of a small machine.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SEPARATOR = 1
WRITE, IGNORE, READ = 1, 2, 3
FIRST_SYMBOL = 4
OFTEN_IGNORED = 0.8
"""How much of a flip-flop sequence is to be ignored; writes and reads have half of the rest each."""

Generator = np.random.Generator
Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sequences:
    """`ids` (n, tokens) int64 and `answers` (n, tokens) bool: which tokens the model has to write."""

    ids: Ids
    answers: NDArray[np.bool_]


@dataclass(frozen=True)
class Task:
    """`draw(generator, n, length, symbols, queries)` gives n sequences of `length`.

    shortest: the least length. symbols(queries): how many it takes at least. many_queries: whether it can ask several.
    """

    draw: Callable[[Generator, int, int, int, int], Sequences]
    shortest: int = 1
    symbols: Callable[[int], int] = lambda _: 2
    many_queries: bool = False


def _copy(generator: Generator, n: int, length: int, symbols: int, _queries: int) -> Sequences:
    return _written_after(given := _symbols(generator, n, length, symbols), given)


def _reverse(generator: Generator, n: int, length: int, symbols: int, _queries: int) -> Sequences:
    return _written_after(given := _symbols(generator, n, length, symbols), given[:, ::-1])


def _sort(generator: Generator, n: int, length: int, symbols: int, _queries: int) -> Sequences:
    return _written_after(given := _symbols(generator, n, length, symbols), np.sort(given, axis=1))


def _two_back(generator: Generator, n: int, length: int, symbols: int, _queries: int) -> Sequences:
    given = _symbols(generator, n, length, symbols)
    later = np.stack([given[:, 2:], given[:, :-2]], axis=2).reshape(n, -1)
    written = np.tile([False, True], length - 2)
    return _sequences(np.hstack([given[:, :2], later]), np.concatenate([[False, False], written]))


def _flip_flop(generator: Generator, n: int, length: int, _symbols: int, _queries: int) -> Sequences:
    rest = (1 - OFTEN_IGNORED) / 2
    instructions = generator.choice([WRITE, IGNORE, READ], p=[rest, OFTEN_IGNORED, rest], size=(n, length))
    instructions[:, 0], instructions[:, -1] = WRITE, READ
    bits = generator.integers(FIRST_SYMBOL, FIRST_SYMBOL + 2, size=(n, length))
    places = np.where(instructions == WRITE, np.arange(length), 0)
    last_written = np.take_along_axis(bits, np.maximum.accumulate(places, axis=1), axis=1)
    read = instructions == READ
    ids = np.stack([instructions, np.where(read, last_written, bits)], axis=2).reshape(n, -1)
    return Sequences(ids, np.stack([np.zeros_like(read), read], axis=2).reshape(n, -1))


def _associative_recall(generator: Generator, n: int, length: int, symbols: int, queries: int) -> Sequences:
    kinds = symbols // 2  # the lower half are keys, the others values
    order = generator.random((n, kinds)).argsort(axis=1)
    asked, spare = order[:, :queries], order[:, queries:]
    places = generator.random((n, length)).argsort(axis=1)[:, :queries]
    keys = generator.integers(0, kinds, size=(n, length))
    others = np.take_along_axis(spare, generator.integers(0, kinds - queries, size=(n, length)), axis=1)
    for query in range(queries):  # so that the place where a key stands last is anywhere, as near as it is far
        later = np.arange(length) > places[:, query, np.newaxis]
        keys = np.where(later & (keys == asked[:, query, np.newaxis]), others, keys)
    np.put_along_axis(keys, places, asked, axis=1)
    values = generator.integers(kinds, symbols, size=(n, length))
    pairs = FIRST_SYMBOL + np.stack([keys, values], axis=2)
    questions = np.take_along_axis(pairs, places[:, :, np.newaxis], axis=1).reshape(n, -1)
    given = np.hstack([pairs.reshape(n, -1), np.full((n, 1), SEPARATOR)])
    written = np.concatenate([np.zeros(given.shape[1], np.bool_), np.tile([False, True], questions.shape[1] // 2)])
    return _sequences(np.hstack([given, questions]), written)


TASKS: dict[str, Task] = {
    "copy": Task(_copy),
    "reverse": Task(_reverse),
    "sort": Task(_sort),
    "two_back": Task(_two_back, shortest=3),
    "flip_flop": Task(_flip_flop, shortest=2),
    "associative_recall": Task(_associative_recall, symbols=lambda queries: 2 * (queries + 1), many_queries=True),
}


def _symbols(generator: Generator, n: int, length: int, symbols: int) -> Ids:
    return generator.integers(FIRST_SYMBOL, FIRST_SYMBOL + symbols, size=(n, length))


def _written_after(given: Ids, answer: Ids) -> Sequences:
    """The given symbols, a separator and the answer."""
    line = np.full((len(given), 1), SEPARATOR)
    written = np.arange(given.shape[1] + 1 + answer.shape[1]) > given.shape[1]
    return _sequences(np.hstack([given, line, answer]), written)


def _sequences(ids: Ids, written: NDArray[np.bool_]) -> Sequences:
    """Sequences that all have their answers in the same places."""
    return Sequences(ids, np.broadcast_to(written, ids.shape))
