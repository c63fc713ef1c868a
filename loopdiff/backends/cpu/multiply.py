"""Calls of the product of matrices from generated code.

There is one function for each floating type, compiled once per machine, which generated code calls by a symbol: so no
function that is compiled contains it.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.backends.cpu.simd import build, kernels, products, words
from loopdiff.backends.cpu.simd.build import INT64, Typed, call
from loopdiff.backends.cpu.simd.memory import Place, accepts, address, place, writable
from loopdiff.backends.load import import_module, write_module
from loopdiff.transform import tiles

TEXT = """{title}
from numba import cfunc, types
from loopdiff.backends.cpu.simd.products import product

@cfunc(types.void({types}), cache=True)
def multiply({names}, scale):
    product(({names}), scale)
"""
NAMES = (
    *("c", "c_row", "c_row2", "a", "a_row", "a_row2", "a1", "a2", "a3", "b", "b_col", "b1", "b2", "b3"),
    *("rows", "rows2", "columns", "n1", "n2", "n3", "is_sum"),
)


@cache
def use(dtype: str) -> Any:
    """Make the product of matrices of `dtype` known to code that is compiled or loaded from now on."""
    text = TEXT.format(
        title=f'"""Products of {dtype} matrices, by loopdiff {version()}."""',
        types=", ".join([*["types.int64"] * len(NAMES), f"types.{dtype}"]),
        names=", ".join(NAMES),
    )
    function = import_module(write_module(f"multiply_{dtype}", text)).multiply
    llvm.add_symbol(symbol(dtype), function.address)
    return function


@cache
def version() -> str:
    """A hash of what makes the function."""
    modules = (build, kernels, products, tiles, words)
    return hashlib.sha256(b"".join(Path(str(m.__file__)).read_bytes() for m in modules)).hexdigest()[:16]


def symbol(dtype: str) -> str:
    return f"loopdiff_multiply_{dtype}"


def is_operand(a: Any, idx: Any, moves: Any, count: int, like: Any) -> bool:
    return accepts(a, idx) and a.dtype == like and isinstance(moves, types.BaseTuple) and len(moves) == count


@intrinsic
def multiply(
    typingctx: Any,
    c: Any,
    c_idx: Any,
    c_moves: Any,
    a: Any,
    a_idx: Any,
    a_moves: Any,
    b: Any,
    b_idx: Any,
    b_moves: Any,
    rows: Any,
    columns: Any,
    sums: Any,
    is_sum: Any,
    scale: Any,
) -> Typed | None:
    """c = scale * a * b, or c += that if `is_sum`, from the indices on.

    `rows` (one or two) and `sums` (up to three) are trip counts from the inside out, `columns` is one. The moves say
    for each of these loops how far it goes along each axis: rows for c, rows and sums for a, columns and sums for b.
    Columns of c are consecutive elements.
    """
    if not isinstance(rows, types.BaseTuple) or not isinstance(sums, types.BaseTuple):
        return None
    outer, inner = len(rows), len(sums)
    operands = ((c, c_idx, c_moves, outer), (a, a_idx, a_moves, outer + inner), (b, b_idx, b_moves, 1 + inner))
    if not all(is_operand(*o, scale) for o in operands) or not writable(c, c_idx) or outer > 2 or inner > 3:
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        def walk(first: int, *groups: tuple[int, int]) -> list[Any]:
            """Address and strides of an operand; a group of so many loops is filled up with ones that stand still."""
            array, idx = sig.args[first : first + 2]
            at = place(context, builder, array, values[first], idx, values[first + 1])
            found = [builder.ptrtoint(address(context, builder, at), INT64)]
            steps = iter(numbers(builder, values[first + 2]))
            for count, room in groups:
                found += [stride(builder, at, next(steps)) for _ in range(count)] + [INT64(0)] * (room - count)
            return found

        counts = [*numbers(builder, values[9]), *[INT64(1)] * (2 - outer), values[10]]
        counts += [*numbers(builder, values[11]), *[INT64(1)] * (3 - inner)]
        args = [*walk(0, (outer, 2)), *walk(3, (outer, 2), (inner, 3)), *walk(6, (1, 1), (inner, 3)), *counts]
        call(builder, symbol(str(scale)), ir.VoidType(), [*args, *values[12:]])
        return context.get_dummy_value()

    args = (c, c_idx, c_moves, a, a_idx, a_moves, b, b_idx, b_moves, rows, types.int64, sums, types.int64, scale)
    return signature(types.void, *args), lower


def numbers(builder: Any, value: Any) -> list[Any]:
    """The elements of a tuple."""
    return [builder.extract_value(value, k) for k in range(len(value.type.elements))]


def stride(builder: Any, at: Place, moves: Any) -> Any:
    """Bytes from one iteration to the next of a loop that moves so far along each axis."""
    total = INT64(0)
    for move, along in zip(numbers(builder, moves), at.strides, strict=True):
        total = builder.add(total, builder.mul(move, along))
    return total
