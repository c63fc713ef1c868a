"""glibc's vector mathematics library, where it is present.

The functions follow the vector ABI of the platform: `_ZGV`, instruction set, lanes, one `v` per argument,
name. Importing this module loads the library, so that compiled code read from a disk cache finds its symbols."""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir as llvm_ir
from numba.core import types
from numba.core.cgutils import get_or_insert_function

from loopdiff.settings.installation import vector_library

from ..simd.build import shuffle
from ..simd.types import cpu_features

# Feature needed, ABI letter, bytes of a register.
INSTRUCTION_SETS = (("avx512f", "e", 64), ("avx2", "d", 32), ("sse4.1", "b", 16), ("neon", "n", 16))
IS_LOADED = bool(vector_library())


@cache
def variants(name: str, element: types.Type, arity: int) -> tuple[tuple[int, str], ...]:
    """(lanes, symbol) of every usable variant of `name`, widest first; empty without the library."""
    if not IS_LOADED:
        return ()
    item, suffix = (4, "f") if element == types.float32 else (8, "")
    features = cpu_features()
    found = [
        (size // item, f"_ZGV{letter}N{size // item}{'v' * arity}_{name}{suffix}")
        for needed, letter, size in INSTRUCTION_SETS
        if needed in features
    ]
    return tuple((lanes, symbol) for lanes, symbol in found if llvm.address_of_symbol(symbol))


def emit(builder: Any, element: types.Type, name: str, *values: Any) -> Any:
    """Call the library on vectors of any width, in pieces of its own widths (a short last piece is
    padded)."""
    usable = variants(name, element, len(values))
    width = values[0].type.count
    lanes, symbol = next((v for v in usable if v[0] <= width), usable[-1])
    piece = llvm_ir.VectorType(values[0].type.element, lanes)
    function = get_or_insert_function(builder.module, llvm_ir.FunctionType(piece, [piece] * len(values)), symbol)
    for attribute in ("nounwind", "readnone"):
        function.attributes.add(attribute)
    if lanes == width:
        return builder.call(function, values)
    results = []
    for start in range(0, width, lanes):
        picks = [min(start + lane, width - 1) for lane in range(lanes)]
        results.append(builder.call(function, [shuffle(builder, v, picks) for v in values]))
    joined = results[0]
    for number, result in enumerate(results[1:], 1):
        joined = shuffle(builder, *widened(builder, joined, result, number, lanes))
    return shuffle(builder, joined, range(width)) if joined.type.count != width else joined


def widened(builder: Any, joined: Any, result: Any, number: int, lanes: int) -> tuple[Any, list[int], Any]:
    """Arguments of the shuffle that appends piece `number` to the `number * lanes` lanes so far."""
    done = number * lanes
    same_size = shuffle(builder, result, [min(lane, lanes - 1) for lane in range(done)])
    return joined, [*range(done), *range(done, done + lanes)], same_size
