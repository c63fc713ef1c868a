"""Objects of Python as compiled code reads them: the words of an array, of a tuple, and whether they are there.

Every extension module reads arrays this way, which has the macros of NumPy's headers compiled in: `ArrayFields` is
their `PyArrayObject_fields`, a part of the binary interface whose version they compare when they are loaded, and so
does `is_as_expected` here, which then compares the words of some arrays with what these say.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from typing import TypeVar

import numpy as np

T = TypeVar("T")
WORD = 8
KNOWN_INTERFACES = (0x01000009, 0x02000000)  # NPY_ABI_VERSION of NumPy 1 and 2
WRITEABLE, ALIGNED = 0x400, 0x100  # flags of arrays
HAS_LOCK: bool = getattr(sys, "_is_gil_enabled", lambda: True)()


class ArrayFields(ctypes.Structure):
    """The beginning of an array: `PyArrayObject_fields`."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        ("data", ctypes.c_void_p),
        ("axes", ctypes.c_int),
        ("extents", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("base", ctypes.c_void_p),
        ("dtype", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    )


TYPE = object.__basicsize__ - WORD  # the last word of what every object begins with
ITEMS = tuple.__basicsize__
DATA, AXES, EXTENTS, STRIDES, DTYPE, FLAGS = (
    getattr(ArrayFields, name).offset for name in ("data", "axes", "extents", "strides", "dtype", "flags")
)


@cache
def is_as_expected() -> bool:
    """Whether this is a Python with a lock, and a NumPy, whose arrays have their words where they are looked for."""
    return (
        sys.implementation.name == "cpython"
        and HAS_LOCK
        and ctypes.sizeof(ctypes.c_void_p) == WORD
        and np.dtype(np.intp).itemsize == WORD
        and interface_version() in KNOWN_INTERFACES
        and np.ndarray.__basicsize__ >= ctypes.sizeof(ArrayFields)
        and is_tuple_read(tuple(examples()))
        and all(map(is_read, examples()))
    )


def interface_version() -> int:
    """NumPy's version of the binary interface, which extension modules ask for when they are loaded; 0 where it does
    not say."""
    core = sys.modules.get("numpy._core._multiarray_umath") or sys.modules.get("numpy.core._multiarray_umath")
    ask = getattr(core, "_get_ndarray_c_version", None)
    return 0 if ask is None else ask()


class Derived(np.ndarray):
    """An array of another type."""


def examples() -> Iterator[np.ndarray]:
    """Arrays of many kinds."""
    plain = np.zeros((3, 5), np.float32)
    frozen = plain.view()
    frozen.flags.writeable = False
    yield from (plain, plain.T, plain[::-1, ::2], plain[:, 1], plain[1, 1:2].reshape(()), plain[:0], frozen)
    yield from (plain.view(Derived), plain.astype(">f4"), np.zeros(9, np.uint8)[1:].view(np.float64))


def is_tuple_read(values: tuple[object, ...]) -> bool:
    """Whether the words of a tuple are its items."""
    found = (ctypes.c_void_p * len(values)).from_address(id(values) + ITEMS)
    return list(found) == list(map(id, values))


def is_read(array: np.ndarray) -> bool:
    """Whether the words of `array` say of it what NumPy says."""
    found, integers = ArrayFields.from_address(id(array)), ctypes.c_int64 * array.ndim
    if (found.data, found.axes, found.dtype) != (array.ctypes.data, array.ndim, id(array.dtype)):
        return False
    if found.flags & (ALIGNED | WRITEABLE) != array.flags.num & (ALIGNED | WRITEABLE):
        return False
    if ctypes.c_void_p.from_address(id(array) + TYPE).value != id(type(array)):
        return False
    if not array.ndim:
        return True
    geometry = [tuple(integers.from_address(place)) for place in (found.extents, found.strides)]
    return geometry == [array.shape, array.strides]


def for_ever(memory: T) -> T:
    """`memory` that compiled code knows by its address. It stays when the interpreter ends and frees what modules hold:
    daemon threads are in the midst of their loops then, and go on until the process is gone."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    return memory
