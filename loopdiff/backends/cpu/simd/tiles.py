"""Register tiles: tuples of vectors that stand for a block of a matrix, updated and stored as a whole.

A tile of R rows and C columns of vectors is one tuple of R * C vectors, row after row. Whole-tile operations keep the
generated text short and Numba's compilation fast; LLVM takes the tuples apart into registers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from .build import FLOATS, Typed, overloaded, shuffle
from .memory import accepts, is_mask, lane_type, locate_run, place, whole_load, whole_store, writable
from .types import Vector


def is_tile(ty: Any) -> bool:
    """Whether `ty` is a tuple of floating vectors of one type."""
    return isinstance(ty, types.UniTuple) and isinstance(ty.dtype, Vector) and ty.dtype.element in FLOATS


def parts(builder: Any, value: Any, ty: Any) -> list[Any]:
    return [builder.extract_value(value, k) for k in range(ty.count)]


@intrinsic(prefer_literal=True)
def repeat(typingctx: Any, v: Any, count: Any) -> Typed | None:
    """The tile of `count` (a literal) vectors that all equal `v`."""
    if not isinstance(v, Vector) or not isinstance(count, types.IntegerLiteral):
        return None
    result = types.UniTuple(v, count.literal_value)

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return context.make_tuple(builder, result, [values[0]] * result.count)

    return signature(result, v, count), lower


@intrinsic
def rank_one(typingctx: Any, tile: Any, rows: Any, columns: Any) -> Typed | None:
    """`tile` with rows[r] * columns[c] added to the vector in row r and column c."""
    if not (is_tile(tile) and is_tile(rows) and is_tile(columns)):
        return None
    if not tile.dtype == rows.dtype == columns.dtype or tile.count != rows.count * columns.count:
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        old, left, right = (parts(builder, v, t) for v, t in zip(values, sig.args, strict=True))
        # The shorter side stays in registers while the longer one passes by.
        places = [(r, c) for r in range(len(left)) for c in range(len(right))]
        new = list(old)
        for r, c in places if len(left) >= len(right) else sorted(places, key=lambda p: p[1]):
            k = r * len(right) + c
            new[k] = overloaded(builder, "llvm.fmuladd", left[r], right[c], old[k])
        return context.make_tuple(builder, tile, new)

    return signature(tile, tile, rows, columns), lower


@intrinsic
def add_each(typingctx: Any, tile: Any, values: Any) -> Typed | None:
    """The sums of the vectors of two tiles."""
    if not is_tile(tile) or tile != values:
        return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pairs = zip(parts(builder, args[0], tile), parts(builder, args[1], tile), strict=True)
        return context.make_tuple(builder, tile, [builder.fadd(a, b) for a, b in pairs])

    return signature(tile, tile, values), lower


@intrinsic(prefer_literal=True)
def row_of(typingctx: Any, tile: Any, row: Any, columns: Any) -> Typed | None:
    """Row number `row` of a tile with `columns` vectors in each row (both literals)."""
    if not is_tile(tile) or not all(isinstance(t, types.IntegerLiteral) for t in (row, columns)):
        return None
    first, count = row.literal_value * columns.literal_value, columns.literal_value
    result = types.UniTuple(tile.dtype, count)

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        held = parts(builder, values[0], tile)[first : first + count]
        return context.make_tuple(builder, result, held)

    return signature(result, tile, row, columns), lower


@intrinsic
def sums_of(typingctx: Any, vectors: Any) -> Typed | None:
    """One vector whose first lanes are the sums over the lanes of each of `vectors`.

    As many vectors as lanes or fewer, both powers of two. Two vectors at a time, lanes are added in pairs: first
    neighbours, then pairs of neighbours and so on, so that one of the two operands is a cheap blend.
    """
    if not is_tile(vectors):
        return None
    width, count = vectors.dtype.width, vectors.count
    if count > width or width & (width - 1) or count & (count - 1):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        held = parts(builder, values[0], vectors)
        lanes = width
        while lanes > count:
            lanes //= 2
            low, high = range(lanes), range(lanes, 2 * lanes)
            held = [builder.fadd(shuffle(builder, v, low), shuffle(builder, v, high)) for v in held]
        run = 1
        while len(held) > 1:
            blend = [k + lanes if k & run else k for k in range(lanes)]
            swap = [k - run + lanes if k & run else k + run for k in range(lanes)]
            pairs = zip(held[::2], held[1::2], strict=True)
            held = [builder.fadd(shuffle(builder, a, blend, b), shuffle(builder, a, swap, b)) for a, b in pairs]
            run *= 2
        padding = [k if k < lanes else lanes for k in range(width)]
        return held[0] if lanes == width else shuffle(builder, held[0], padding, zeros(held[0].type))

    return signature(vectors.dtype, vectors), lower


def zeros(ty: ir.VectorType) -> ir.Constant:
    return ir.Constant(ty, [0.0] * ty.count)


def row_update(a: Any, idx: Any, row: Any, masks: Any, is_live: Any, is_sum: bool) -> Typed | None:
    """Typing and lowering of an update of consecutive memory with a row of vectors."""
    if not accepts(a, idx) or not writable(a, idx) or not is_tile(row) or not isinstance(is_live, types.Boolean):
        return None
    is_masked = isinstance(masks, types.UniTuple) and is_mask(masks.dtype) and masks.count == row.count
    if row.dtype.element != lane_type(a) or not (is_masked or masks == types.Tuple(())):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, a, values[0], idx, values[1])
        first, _ = locate_run(context, builder, at, sig, values)
        bytes_apart = row.dtype.width * at.itemsize
        with builder.if_then(values[4]):
            live = parts(builder, values[3], masks) if is_masked else [None] * row.count
            for k, (vector, mask) in enumerate(zip(parts(builder, values[2], row), live, strict=True)):
                where = builder.gep(first, [ir.IntType(64)(k * bytes_apart)], source_etype=ir.IntType(8))
                if is_sum:
                    vector = builder.fadd(whole_load(builder, at, where, row.dtype.width, mask), vector)
                whole_store(builder, at, where, vector, mask)
        return context.get_dummy_value()

    return signature(types.void, a, idx, row, masks, is_live), lower


@intrinsic
def add_row(typingctx: Any, a: Any, idx: Any, row: Any, masks: Any, is_live: Any) -> Typed | None:
    """Add the vectors of `row` to the consecutive elements from a[idx] on if `is_live`; in lanes of `masks` only,
    one for each vector, unless that is the empty tuple."""
    return row_update(a, idx, row, masks, is_live, True)


@intrinsic
def store_row(typingctx: Any, a: Any, idx: Any, row: Any, masks: Any, is_live: Any) -> Typed | None:
    """Store the vectors of `row` to the consecutive elements from a[idx] on if `is_live`; in lanes of `masks` only,
    one for each vector, unless that is the empty tuple."""
    return row_update(a, idx, row, masks, is_live, False)
