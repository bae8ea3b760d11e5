"""Calls every native kernel on rows of many kinds, so that sanitizers can watch: no torch, which they cannot follow.

`python drive_kernels.py SIGNATURES LIBRARY...` prints how many calls it made; `overrun` before these makes one call too
many slots long for its memory, which a sanitizer has to stop.
"""

import ctypes
import runpy
import sys

import numpy as np

STEPS = 18
LOWEST, HIGHEST = np.finfo(np.float32).min, np.finfo(np.float32).max


def scores(rng, rows, n):
    """Random scores; among them are dropped slots and rows that are dropped, NaN, infinite, tied or far apart."""
    x = rng.normal(size=(rows, n)) * rng.choice([1e-3, 1.0, 30.0, 1e8], size=(rows, 1))
    x[rng.random((rows, n)) < 0.2] = -np.inf
    for kind in range(min(rows - 1, 6)):
        x[kind] = [-np.inf, np.nan, np.round(x[kind]), 0.0, np.where(x[kind] > 0, HIGHEST, LOWEST), np.inf][kind]
    return x.astype(np.float32)


def drive(kernels, rng, rows, n, threads):
    """Call every function for `rows` rows of `n` slots; each array has exactly the room that it needs."""

    def new(*shape):
        return np.empty(shape, np.float32)

    def call(name, *arguments, after=()):
        pointers = [array.ctypes.data for array in arguments]
        failed = getattr(kernels, name)(*pointers, rows, n, threads, *after)
        assert not failed, name

    x, g, p, dx = scores(rng, rows, n), rng.normal(size=(rows, n)).astype(np.float32), new(rows, n), new(rows, n)
    alpha, dalpha = rng.uniform(1.0001, 3.0, size=rows).astype(np.float32), new(rows)
    for k, ratio in ((1, 0.0), (n, 0.0), (0, 0.3)):
        call("topk_forward", x, p, after=(k, ratio))
        call("softmax_backward", p, g, dx)
    for name in ("sparsemax", "entmax15"):
        call(f"{name}_forward", x, p)
        call(f"{name}_backward", p, g, dx)
    call("entmax_forward", x, alpha, p)
    call("entmax_backward", p, g, alpha, dx, dalpha)
    largest = p.max(-1)
    call("bisected_forward", x, alpha, p, after=(STEPS,))
    call("bisected_backward", x, p, g, largest, alpha, dx, dalpha, after=(STEPS,))
    return 12


def main(arguments):
    overrun = arguments[0] == "overrun"
    signatures, *libraries = arguments[overrun:]
    calls = 0
    for path in libraries:
        kernels = ctypes.CDLL(path)
        for name, (result, *types) in runpy.run_path(signatures)["SIGNATURES"].items():
            getattr(kernels, name).restype, getattr(kernels, name).argtypes = result, types
        if overrun:
            small = np.zeros(8, np.float32).ctypes.data
            kernels.softmax_backward(small, small, small, 1, 1000, 1)
        rng = np.random.default_rng(0)
        for n in (*range(1, 36), 97, 513):
            for rows in (1, 5, 16, 35):
                calls += drive(kernels, rng, rows, n, 1)
        calls += drive(kernels, rng, 701, 97, 3)
    print(f"{calls} calls of {len(libraries)} libraries")


if __name__ == "__main__":
    main(sys.argv[1:])
