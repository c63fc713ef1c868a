"""Whether the arguments of a call are like those of an earlier one, found out at the speed of compiled code.

All that a check of types, layouts, shapes and overlaps depends on stands in a few words of each object: its type, and
of an array the address, the extents, strides, dtype and flags. To ask for them from Python takes a microsecond for a
handful of arrays. So what a call was accepted with is written down as a table of integers, and a small compiled
function compares the next arguments with it, word by word, and the addresses of arrays with each other. It says yes
only where the checks would find nothing else than before; where it says no, they decide.

The words are where every extension module has them: the macros of NumPy's and Python's headers are compiled into those.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.buffers import ALIGNED, WRITEABLE

WORD = 8
HEADER = object.__basicsize__  # bytes ahead of what an object holds; its type is the last word of them
TYPE, ITEMS = HEADER - WORD, tuple.__basicsize__
DATA, AXES, EXTENTS, STRIDES, DTYPE, FLAGS = (HEADER + WORD * k for k in (0, 1, 2, 3, 5, 6))
ANY, ARRAY, FLOAT, INTEGER, WHOLE = range(5)  # what an entry of the table is about
ONE_ARGUMENT = 0x0008  # METH_O
emitted: Any = intrinsic  # to type checkers, what a function of the typing context is when called
Recognise = Callable[[tuple[Any, ...]], bool]


def read(bits: int) -> Any:
    """An intrinsic that reads so many bits at an address."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = builder.load(builder.inttoptr(values[0], ir.IntType(bits).as_pointer()))
        return found if bits == 64 else builder.sext(found, ir.IntType(64))

    return emitted(lambda typingctx, address: (signature(types.int64, types.int64), lower))


word, half = read(64), read(32)
as_integer = types.ExternalFunction("PyLong_AsLongLong", signature(types.int64, types.int64))
error = types.ExternalFunction("PyErr_Occurred", signature(types.int64))
clear_error = types.ExternalFunction("PyErr_Clear", signature(types.void))
new_bool = types.ExternalFunction("PyBool_FromLong", signature(types.int64, types.int64))


def are_alike(state: int, args: int) -> int:
    """Whether the arguments in the tuple at the address `args` are as a table says, as an object of Python's.

    The table is the array that the tuple at `state` begins with. It has the number of arguments and of pairs, what
    `entry_of` makes of each argument, and what `pair_of` makes of each pair of arrays that may not overlap.
    """
    at, first = word(word(state + ITEMS) + DATA), args + ITEMS
    count, pairs = word(at), word(at + WORD)
    at += 2 * WORD
    is_same = word(args + HEADER) == count
    k = 0
    while is_same and k < count:
        found, kind, expected = word(first + WORD * k), word(at), word(at + 2 * WORD)
        is_same = word(found + TYPE) == word(at + WORD)
        at += 3 * WORD
        if is_same and kind == ARRAY:
            axes, flags = word(at), word(at + WORD)
            is_same = word(found + DTYPE) == expected and half(found + AXES) == axes
            at += 2 * WORD
            if is_same:
                is_same = half(found + FLAGS) & flags == flags
                extents, strides = word(found + EXTENTS), word(found + STRIDES)
                for axis in range(0, WORD * axes, WORD):
                    is_same = is_same and word(extents + axis) == word(at) and word(strides + axis) == word(at + WORD)
                    at += 2 * WORD
        elif is_same and kind == FLOAT:
            is_same = word(found + HEADER) == expected
        elif is_same and (kind == INTEGER or kind == WHOLE):
            is_same = as_integer(found) == expected or kind == WHOLE
            if error() != 0:
                clear_error()
                is_same = False
        k += 1
    k = 0
    while is_same and k < pairs:
        ahead = word(word(first + word(at + WORD)) + DATA) - word(word(first + word(at)) + DATA)
        is_same = ahead <= word(at + 2 * WORD) or ahead >= word(at + 3 * WORD)
        at += 4 * WORD
        k += 1
    return new_bool(is_same)


def entry_of(value: Any, is_written: bool, has_value: bool) -> list[int]:
    """The entry of an argument; `has_value`: it is a number, and another one is not the same.

    Of other integers it is asked that they fit in 64 bits.
    """
    kind = id(type(value))
    if isinstance(value, np.ndarray):
        flags = ALIGNED | (WRITEABLE if is_written else 0)
        geometry = (n for axis in zip(value.shape, value.strides, strict=True) for n in axis)
        return [ARRAY, kind, id(value.dtype), value.ndim, flags, *geometry]
    if not has_value:
        return [WHOLE if isinstance(value, int | np.integer) else ANY, kind, 0]
    if isinstance(value, int):
        return [INTEGER, kind, value]
    return [FLOAT, kind, int(np.float64(value).view(np.int64))]


def reach(array: np.ndarray) -> tuple[int, int]:
    """Where the memory of an array begins, and where it ends, in bytes from its first element."""
    steps = [s * (n - 1) for s, n in zip(array.strides, array.shape, strict=True)]
    return sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + array.itemsize


def pair_of(args: Sequence[Any], i: int, j: int) -> list[int]:
    """The entry of a pair of arrays: the second is so far behind the first, or so far ahead of it."""
    (low, high), (other_low, other_high) = reach(args[i]), reach(args[j])
    return [WORD * i, WORD * j, low - other_high, high - other_low]


def can_be_told(value: Any, has_value: bool) -> bool:
    """Whether a table can say what a value is."""
    return isinstance(value, np.ndarray) or not has_value or type(value) in (int, bool, float)


def recogniser(
    args: tuple[Any, ...], written: Collection[int], valued: Collection[int]
) -> Recognise | None:  # fmt: skip
    """What says whether other arguments are like `args`, which were accepted; None where that cannot be told.

    No array at a place in `written` may overlap another one; numbers at places in `valued` decide about the rest.
    """
    arrays = [k for k, value in enumerate(args) if isinstance(value, np.ndarray)]
    filled = [k for k in arrays if args[k].size]
    pairs = [(i, j) for i in filled if i in written for j in filled if j > i or (j < i and j not in written)]
    if not all(can_be_told(value, k in valued) for k, value in enumerate(args)):
        return None
    entries = [entry_of(value, k in written, k in valued) for k, value in enumerate(args)]
    table = [len(args), len(pairs), *(n for entry in entries for n in entry)]
    table += [n for i, j in pairs for n in pair_of(args, i, j)]
    kept = [(type(value), getattr(value, "dtype", None)) for value in args]  # the table has their addresses
    make = maker()
    return None if make is None else make((np.array(table, np.int64), kept))


class MethodDefinition(ctypes.Structure):
    """A function in C for Python: `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def maker() -> Callable[[Any], Recognise] | None:
    """What makes `are_alike` a function of the tuple of arguments, for a pair of a table and what it has addresses of;
    None in a Python whose objects are not as they are expected."""
    if not is_read_as_expected():
        return None
    compiled: Any = cfunc(types.int64(types.int64, types.int64), cache=True, error_model="numpy")(are_alike)
    definition = MethodDefinition(b"are_alike", compiled.address, ONE_ARGUMENT, None)
    bind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    kept = definition, compiled  # as long as there is a function made of them

    def make(state: Any) -> Recognise:
        return bind(ctypes.addressof(kept[0]), state, None)

    return make


def is_read_as_expected() -> bool:
    """Whether the words of an array are where they are looked for."""
    like = np.zeros((3, 5), np.float32)[:, ::2]
    words = (ctypes.c_int64 * 7).from_address(id(like) + HEADER)
    if words[0] != like.ctypes.data or words[5] != id(like.dtype) or words[6] & 0xFFFFFFFF != like.flags.num:
        return False
    geometry = [tuple((ctypes.c_int64 * 2).from_address(words[k])) for k in (2, 3)]
    return geometry == [like.shape, like.strides] and word_at(id(like) + TYPE) == id(np.ndarray)


def word_at(address: int) -> int:
    return ctypes.c_int64.from_address(address).value
