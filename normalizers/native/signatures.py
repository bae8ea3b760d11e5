"""Types of the functions that `kernels.c` exports, and the error where one of them finds too little memory."""

import ctypes
from typing import Any

_POINTER, _INT, _INT64, _DOUBLE = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_double
_SIZES = (_INT64, _INT64, _INT)
"""Rows, slots of a row, threads."""

SIGNATURES: dict[str, tuple[Any, ...]] = {
    "lanes": (_INT,),
    "sparsemax_forward": (_INT, *[_POINTER] * 2, *_SIZES),
    "entmax15_forward": (_INT, *[_POINTER] * 2, *_SIZES),
    "entmax_forward": (_INT, *[_POINTER] * 3, *_SIZES),
    "topk_forward": (_INT, *[_POINTER] * 2, *_SIZES, _INT64, _DOUBLE),
    "bisected_forward": (None, *[_POINTER] * 3, *_SIZES, _INT),
    "bisected_backward": (None, *[_POINTER] * 7, *_SIZES, _INT),
    "softmax_backward": (None, *[_POINTER] * 3, *_SIZES),
    "entmax15_backward": (None, *[_POINTER] * 3, *_SIZES),
    "sparsemax_backward": (None, *[_POINTER] * 3, *_SIZES),
    "entmax_backward": (_INT, *[_POINTER] * 5, *_SIZES),
}
"""Result and arguments of each function. One that takes arguments and returns an int allocates; 1 says it could not."""


def declare(kernels: ctypes.CDLL) -> ctypes.CDLL:
    """`kernels`, each function of which then takes its own types only and raises MemoryError where memory is too short.

    Raises AttributeError where the library lacks a function.
    """
    for name, (result, *arguments) in SIGNATURES.items():
        function = getattr(kernels, name)
        function.restype, function.argtypes = result, arguments
        if result is not None and arguments:
            function.errcheck = _raise_without_memory
    return kernels


def _raise_without_memory(short: int, function: Any, _arguments: tuple[Any, ...]) -> None:
    if short:
        raise MemoryError(
            f"the native kernel {function.__name__} found no memory to work in, a few rows for each thread; "
            "use fewer threads, or NORMALIZERS_NATIVE=0 for the maps in torch"
        )
