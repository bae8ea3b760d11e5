"""How the native kernels are found, built and declared, and what happens where they cannot be had."""

import ctypes
import re
import subprocess
import warnings

import pytest
import torch

from normalizers import native, sparsemax
from normalizers.native import build
from normalizers.native.signatures import SIGNATURES

needs_a_compiler = pytest.mark.skipif(
    native.variant() == "torch", reason="the native kernels are switched off, or there is no C compiler"
)


@pytest.fixture
def tried_again(monkeypatch):
    """A function that looks for the kernels as a new process would, and gives their variant and the warnings."""
    monkeypatch.delenv(build.SWITCH, raising=False)

    def look():
        build.library.cache_clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            weights = sparsemax(torch.tensor([0.5, 0.0, -2.0]))
            found = native.variant()
        assert weights.tolist() == [0.75, 0.25, 0.0]
        return found, [str(warning.message) for warning in caught]

    yield look
    build.library.cache_clear()


def test_switched_off_by_the_environment_without_a_word(tried_again, monkeypatch):
    monkeypatch.setenv("NORMALIZERS_NATIVE", "0")
    assert tried_again() == ("torch", [])


def test_without_a_compiler_there_is_one_notice_and_the_same_map(tried_again, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", str(tmp_path / "nothing"))
    found, (notice,) = tried_again()
    assert found == "torch"
    assert "native kernels could not be built" in notice


def test_without_a_home_folder_there_is_one_notice_that_names_the_variable_and_the_same_map(tried_again, monkeypatch):
    def no_entry(_uid):
        raise KeyError("getpwuid(): uid not found")

    for variable in ("HOME", "XDG_CACHE_HOME", "NORMALIZERS_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", no_entry)
    found, (notice,) = tried_again()
    assert found == "torch"
    assert "no home folder" in notice
    assert "NORMALIZERS_CACHE=DIR" in notice


def test_a_cache_that_cannot_be_written_gives_one_notice_and_the_same_map(tried_again, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NORMALIZERS_CACHE", str(tmp_path / "file"))
    found, (notice,) = tried_again()
    assert found == "torch"
    assert "native kernels could not be built" in notice


@needs_a_compiler
def test_built_once_into_the_cache(tried_again, monkeypatch, tmp_path):
    expected = native.variant()
    monkeypatch.setenv("NORMALIZERS_CACHE", str(tmp_path))
    assert tried_again() == (expected, [])
    built = list(tmp_path.iterdir())
    assert [path.suffix for path in built] == [".so"]
    stamp = built[0].stat().st_mtime_ns
    assert tried_again() == (expected, [])
    assert [path.stat().st_mtime_ns for path in tmp_path.iterdir()] == [stamp]


@needs_a_compiler
def test_a_compiler_with_options_of_its_own_is_split_into_words(tried_again, monkeypatch):
    expected = native.variant()
    monkeypatch.setenv("CC", f"{build.compiler()[0]} -std=gnu11 '-DA=two words'")
    assert tried_again() == (expected, [])


@needs_a_compiler
def test_flags_of_the_environment_reach_the_compiler_the_cache_and_the_record(tried_again, monkeypatch, tmp_path):
    monkeypatch.setenv("NORMALIZERS_CACHE", str(tmp_path))
    for flags in ("-O1", "-O1 '-DA=two words'"):
        monkeypatch.setenv("NORMALIZERS_CFLAGS", flags)
        found, notices = tried_again()
        assert notices == []
        assert found.startswith("native, ")
        assert found.endswith(f" lanes, compiled with {flags}".replace("'", ""))
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("NORMALIZERS_CFLAGS", "-fno-such-flag", "-fno-such-flag"),
        ("NORMALIZERS_CFLAGS", "'-O1", "no closing quotation"),
        ("CC", "gcc '-O1", "no closing quotation"),
    ],
)
def test_flags_that_are_none_are_named_in_one_notice(tried_again, monkeypatch, variable, value, said, tmp_path):
    monkeypatch.setenv("NORMALIZERS_CACHE", str(tmp_path))
    monkeypatch.setenv(variable, value)
    found, (notice,) = tried_again()
    assert found == "torch"
    assert said in notice
    assert variable in notice


@needs_a_compiler
def test_every_exported_function_has_its_types_declared():
    command = [*build.compiler(), "-E", "-P", str(build.SOURCE)]
    source = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    types = {"void": None, "int": ctypes.c_int, "int64_t": ctypes.c_int64, "double": ctypes.c_double}
    found = {}
    for result, name, arguments in re.findall(r"^\s*(int|void) (\w+)\(([^()]*)\) {", source, re.MULTILINE):
        listed = [] if arguments == "void" else arguments.split(",")
        found[name] = types[result], *(ctypes.c_void_p if "*" in each else types[each.split()[0]] for each in listed)
    assert found == SIGNATURES
    for name, (result, *arguments) in SIGNATURES.items():
        function = getattr(native.library(), name)
        assert function.restype == result
        assert list(function.argtypes) == arguments


@needs_a_compiler
def test_an_argument_of_a_wrong_type_is_refused_and_not_taken_for_memory():
    x = torch.zeros(4)
    with pytest.raises(ctypes.ArgumentError):
        native.library().softmax_backward(x, x, x, 1, 4, 1)
    with pytest.raises(ctypes.ArgumentError):
        native.library().topk_forward(x.data_ptr(), x.data_ptr(), 1, 4, 1, 1.5, 0.5)
