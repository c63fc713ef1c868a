"""What compiled functions print: they hand numbers and arrays, as words, to a function of Python."""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir as llvm_ir
from numba import types
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype

from loopdiff.rules.printing import tell

NAME = "loopdiff_tell"
INT64, BYTES = llvm_ir.IntType(64), llvm_ir.IntType(8).as_pointer()
Words = ctypes.POINTER(ctypes.c_int64)


def told(key: bytes, kinds: bytes, words: Any) -> None:
    """Print what `key` says of the values in `words`, whose types are `kinds`."""
    values, at = [], 0
    for kind in kinds.decode().split():
        dtype, _, rank = kind.partition("/")
        size = 1 if not rank else 1 + 2 * int(rank)
        found = np.array(words[at : at + size], np.int64)
        values.append(array_at(found, np.dtype(dtype)) if rank else number_of(found, np.dtype(dtype)))
        at += size
    tell(key.decode(), tuple(values))


def number_of(word: np.ndarray, dtype: np.dtype) -> Any:
    """The number whose bits are in `word`: a double's for the floating ones."""
    if dtype.kind == "f":
        return dtype.type(word.view(np.float64)[0])
    return bool(word[0]) if dtype.kind == "b" else int(word[0])


def array_at(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array that `words` say: its place, its extents and its strides."""
    rank = len(words) // 2
    place, shape, strides = int(words[0]), words[1 : 1 + rank], words[1 + rank :]
    described = {
        "data": (place, False), "shape": tuple(map(int, shape)), "strides": tuple(map(int, strides)),
        "typestr": dtype.str, "version": 3,
    }  # fmt: skip
    if 0 in shape:
        return np.empty(described["shape"], dtype)
    return np.asarray(type("Held", (), {"__array_interface__": described})())


TELL = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, Words)(told)
llvm.add_symbol(NAME, ctypes.cast(TELL, ctypes.c_void_p).value or 0)


@overload(tell, prefer_literal=True)
def overload_tell(key: Any, values: Any) -> Any:
    def run(key: Any, values: Any) -> None:
        hand_over(key, values)  # type: ignore[call-arg]

    return run


def kind_of_value(kind: Any) -> str:
    if isinstance(kind, types.Array):
        return f"{as_dtype(kind.dtype).str}/{kind.ndim}"
    return as_dtype(kind).str


@intrinsic(prefer_literal=True)
def hand_over(typingctx: Any, key: Any, values: Any) -> Any:
    """Have Python print what the literal `key` says of the tuple `values`."""

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        parts = [(kind, builder.extract_value(args[1], k)) for k, kind in enumerate(values)]
        words = [word for kind, part in parts for word in words_of(context, builder, kind, part)]
        place = builder.alloca(INT64, max(len(words), 1))
        for k, word in enumerate(words):
            builder.store(word, builder.gep(place, [INT64(k)]))
        kinds = " ".join(map(kind_of_value, values))
        texts = [context.insert_const_string(builder.module, t) for t in (key.literal_value, kinds)]
        kind = llvm_ir.FunctionType(llvm_ir.VoidType(), [BYTES, BYTES, INT64.as_pointer()])
        function = builder.module.globals.get(NAME) or llvm_ir.Function(builder.module, kind, NAME)
        builder.call(function, [*texts, place])
        return context.get_dummy_value()

    return types.void(key, values), lower


def words_of(context: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    """`value` of type `kind` in words."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        axes = [builder.extract_value(part, k) for part in (array.shape, array.strides) for k in range(kind.ndim)]
        return [builder.ptrtoint(array.data, INT64), *axes]
    if isinstance(kind, types.Float):
        return [builder.bitcast(context.cast(builder, value, kind, types.float64), INT64)]
    return [context.cast(builder, value, kind, types.int64)]
