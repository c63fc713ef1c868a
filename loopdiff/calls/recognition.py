"""Whether the arguments of a call are like those of an earlier one, found out at the speed of compiled code.

All that a check of types, layouts, shapes and overlaps depends on stands in a few words of each object: its type, and
of an array the address, the extents, strides, dtype and flags. To ask for them from Python takes ten microseconds for
sixteen arrays; a function that Numba compiles for their types takes one, and two seconds to compile. So what a call was
accepted with is written down as a table of integers, and one small compiled function compares the next arguments with
it, word by word, and the addresses of arrays with each other. It says yes only where the checks would find nothing else
than before; where it says no, they decide.

The words are those of `python_objects`; numbers are read by Python's own functions. Last, the compiled function has to
tell known arguments apart (`tells_apart`). Where any of this is otherwise, nothing is recognised.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir as llvm_ir
from numba import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.backends.machine_code import kept_callback
from loopdiff.backends.python_objects import (
    ALIGNED,
    AXES,
    DATA,
    DTYPE,
    EXTENTS,
    FLAGS,
    ITEMS,
    STRIDES,
    TYPE,
    WORD,
    WRITEABLE,
    Derived,
    is_as_expected,
)

ANY, ARRAY, INTEGER, WHOLE = range(4)  # what an entry of the table is about
ONE_ARGUMENT = 0x0008  # METH_O
emitted: Any = intrinsic  # to type checkers, what a function of the typing context is when called
Recognise = Callable[[tuple[Any, ...]], bool]


def read(bits: int) -> Any:
    """An intrinsic that reads so many bits at an address."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = builder.load(builder.inttoptr(values[0], llvm_ir.IntType(bits).as_pointer()))
        return found if bits == 64 else builder.sext(found, llvm_ir.IntType(64))

    return emitted(lambda typingctx, address: (signature(types.int64, types.int64), lower))


word, half = read(64), read(32)
size_of_tuple = types.ExternalFunction("PyTuple_Size", signature(types.int64, types.int64))
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
    is_same = size_of_tuple(args) == count
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
        elif is_same and kind != ANY:
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


# -- tables ------------------------------------------------------------------------------------------------
def entry_of(value: Any, is_written: bool, has_value: bool) -> list[int]:
    """The entry of an argument; `has_value`: it is an integer, and another one is not the same.

    Of other integers it is asked that they fit in 64 bits.
    """
    kind = id(type(value))
    if isinstance(value, np.ndarray):
        flags = ALIGNED | (WRITEABLE if is_written else 0)
        geometry = (n for axis in zip(value.shape, value.strides, strict=True) for n in axis)
        return [ARRAY, kind, id(value.dtype), value.ndim, flags, *geometry]
    if has_value:
        return [INTEGER, kind, int(value)]
    return [WHOLE if isinstance(value, int | np.integer) else ANY, kind, 0]


def reach(array: np.ndarray) -> tuple[int, int]:
    """Where the memory of an array begins, and where it ends, in bytes from its first element."""
    steps = [s * (n - 1) for s, n in zip(array.strides, array.shape, strict=True)]
    return sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + array.itemsize


def pair_of(i: int, j: int, reaches: Mapping[int, tuple[int, int]]) -> list[int]:
    """The entry of a pair of arrays: the second is so far behind the first, or so far ahead of it."""
    (low, high), (other_low, other_high) = reaches[i], reaches[j]
    return [WORD * i, WORD * j, low - other_high, high - other_low]


def table_of(args: tuple[Any, ...], written: Collection[int], valued: Collection[int]) -> tuple[Any, ...]:
    """A table, with what it has addresses of."""
    reaches = {k: reach(value) for k, value in enumerate(args) if isinstance(value, np.ndarray) and value.size}
    pairs = [(i, j) for i in reaches if i in written for j in reaches if j > i or (j < i and j not in written)]
    entries = [entry_of(value, k in written, k in valued) for k, value in enumerate(args)]
    table = [len(args), len(pairs), *(n for entry in entries for n in entry)]
    table += [n for i, j in pairs for n in pair_of(i, j, reaches)]
    return np.array(table, np.int64), [(type(value), getattr(value, "dtype", None)) for value in args]


def recogniser(args: tuple[Any, ...], written: Collection[int], valued: Collection[int]) -> Recognise | None:
    """What says whether other arguments are like `args`, which were accepted; None where that cannot be told.

    No array at a place in `written` may overlap another one; numbers at places in `valued` decide about the rest.
    """
    if not all(isinstance(args[k], np.ndarray | int | np.integer) for k in valued):
        return None
    make = maker()
    return None if make is None else make(table_of(args, written, valued))


# -- the compiled function as one of Python's --------------------------------------------------------------
class MethodDefinition(ctypes.Structure):
    """A function in C for Python: `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def maker() -> Callable[[tuple[Any, ...]], Recognise] | None:
    """What makes `are_alike` a function of the tuple of arguments, for a table; None in a Python whose objects are not
    as they are expected."""
    if not is_as_expected():
        return None
    compiled = kept_callback(types.int64(types.int64, types.int64))(are_alike)
    definition = MethodDefinition(b"are_alike", compiled.address, ONE_ARGUMENT, None)
    bind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )

    def make(table: tuple[Any, ...]) -> Recognise:
        # Python reads the definition of a function as long as that exists, so the function itself keeps it.
        return bind(ctypes.addressof(definition), (*table, definition, compiled), None)

    return make if tells_apart(make) else None


def tells_apart(make: Callable[[tuple[Any, ...]], Recognise]) -> bool:
    """Whether the compiled function recognises arguments, and nothing in which one of them is not as it was."""
    memory = np.zeros(64)
    read_only = memory[:4].view()
    read_only.flags.writeable = False
    args = (memory[:12].reshape(3, 4), memory[12:16], 3, 0.5, 7)
    is_known = make(table_of(args, {1}, {2}))
    alike = (args, (np.ones((3, 4)), np.ones(4), 3, 1.5, 8), (args[0], memory[63:59:-1][::-1], 3, 0.5, -1))
    others = (
        *((k, value) for k in range(5) for value in (None, "3", 3.5j, True, np.ones(3))),
        *((0, wrong) for wrong in (np.ones((4, 3)), np.ones((3, 4), np.float32), np.ones((4, 3)).T, np.ones(12))),
        *((0, wrong) for wrong in (memory[10:22].reshape(3, 4), args[0].view(Derived), args[0].astype(">f8"))),
        *((1, wrong) for wrong in (read_only, memory[:4], memory[11:15], np.ones(5), np.ones(8)[::2], memory[3::-1])),
        *((1, wrong) for wrong in (np.zeros(33, np.uint8)[1:].view(np.float64), np.ones((4, 1)), np.ones(4, np.int64))),
        *((2, wrong) for wrong in (4, 1 << 70, np.int64(3))),
        (4, -(1 << 70)),
    )
    changed = ((*args[:k], wrong, *args[k + 1 :]) for k, wrong in others)
    return all(map(is_known, alike)) and not any(map(is_known, (*changed, args[:4], (*args, 0), ())))
