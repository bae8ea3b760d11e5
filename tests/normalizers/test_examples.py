"""Every example in the docstrings of the library runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest
import torch

import normalizers

MODULES = ["normalizers", *(m.name for m in pkgutil.walk_packages(normalizers.__path__, "normalizers."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(name)
    found = doctest.testmod(module, extraglobs={"torch": torch})
    assert found.failed == 0


def test_every_public_function_has_an_example():
    functions = [getattr(normalizers, name) for name in normalizers.__all__]
    shown = [f for f in functions if callable(f) and not isinstance(f, type)]
    without = {f.__name__ for f in shown if ">>>" not in (f.__doc__ or "")}
    assert without <= {"entmax_through_bisection"}
