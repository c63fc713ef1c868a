"""Register tiles: tuples of vectors that stand for a block of a matrix, and arithmetic on whole tiles.

A tile of R rows and C columns of vectors is one tuple of R * C vectors, row after row. Whole-tile operations keep the
generated text short and Numba's compilation fast; LLVM takes the tuples apart into registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from .build import ARITHMETIC, FLOATS, Typed, bring, overloaded, shuffle
from .memory import is_mask, literal
from .types import Vector, element_of


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


def each(left: Any, right: Any, name: str) -> Typed | None:
    """Typing and lowering of an operation on vectors at the same place of two tiles; one may be the same everywhere,
    a vector or a scalar."""
    tiles = [t for t in (left, right) if is_tile(t)]
    if not tiles or tiles[0] != tiles[-1]:
        return None
    tile, element = tiles[0], tiles[0].dtype.element
    others = [t for t in (left, right) if not is_tile(t)]
    if any(element_of(t) is None or (isinstance(t, Vector) and t != tile.dtype) for t in others):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        def everywhere(value: Any, ty: Any) -> list[Any]:
            if is_tile(ty):
                return parts(builder, value, ty)
            return [bring(context, builder, value, ty, element, tile.dtype.width)] * tile.count

        pairs = zip(*map(everywhere, values, sig.args), strict=True)
        return context.make_tuple(builder, tile, [getattr(builder, name)(a, b, flags=ARITHMETIC) for a, b in pairs])

    return signature(tile, left, right), lower


@intrinsic
def add_each(typingctx: Any, a: Any, b: Any) -> Typed | None:
    """The sums of the vectors of two tiles; either may be one vector or scalar for all places."""
    return each(a, b, "fadd")


@intrinsic
def subtract_each(typingctx: Any, a: Any, b: Any) -> Typed | None:
    """The differences of the vectors of two tiles; either may be one vector or scalar for all places."""
    return each(a, b, "fsub")


@intrinsic
def multiply_each(typingctx: Any, a: Any, b: Any) -> Typed | None:
    """The products of the vectors of two tiles; either may be one vector or scalar for all places."""
    return each(a, b, "fmul")


@intrinsic
def keep_each(typingctx: Any, mask: Any, tile: Any) -> Typed | None:
    """`tile` with zero in the lanes that `mask` leaves out."""
    if not is_mask(mask) or not is_tile(tile) or tile.dtype.width != mask.width:
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        held = [builder.select(values[0], v, zeros(v.type)) for v in parts(builder, values[1], tile)]
        return context.make_tuple(builder, tile, held)

    return signature(tile, mask, tile), lower


@intrinsic
def select_each(typingctx: Any, mask: Any, tile: Any, other: Any) -> Typed | None:
    """`tile` with the lanes of `other` where `mask` leaves them out."""
    if not is_mask(mask) or not is_tile(tile) or tile != other or tile.dtype.width != mask.width:
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        pairs = zip(*(parts(builder, v, tile) for v in values[1:]), strict=True)
        return context.make_tuple(builder, tile, [builder.select(values[0], a, b) for a, b in pairs])

    return signature(tile, mask, tile, other), lower


def spread(tile: Any, count: Any, order: Callable[[int, int], list[int]]) -> Typed | None:
    """Typing and lowering of a tile made of `count` copies of the vectors of `tile`, which `order` says."""
    if not is_tile(tile) or not literal(count):
        return None
    result = types.UniTuple(tile.dtype, tile.count * literal(count))

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        held = parts(builder, values[0], tile)
        return context.make_tuple(builder, result, [held[k] for k in order(tile.count, literal(count))])

    return signature(result, tile, count), lower


@intrinsic(prefer_literal=True)
def across(typingctx: Any, rows: Any, columns: Any) -> Typed | None:
    """The tile whose vectors in row r all equal rows[r], in `columns` (a literal) columns."""
    return spread(rows, columns, lambda r, c: [k for k in range(r) for _ in range(c)])


@intrinsic(prefer_literal=True)
def down(typingctx: Any, columns: Any, rows: Any) -> Typed | None:
    """The tile whose vectors in column c all equal columns[c], in `rows` (a literal) rows."""
    return spread(columns, rows, lambda c, r: list(range(c)) * r)


@intrinsic(prefer_literal=True)
def column_of(typingctx: Any, tile: Any, column: Any, columns: Any) -> Typed | None:
    """The vectors in column number `column` of a tile with `columns` of them (both literals), from row to row."""
    if not is_tile(tile) or not literal(columns) or not isinstance(column, types.IntegerLiteral):
        return None
    first, count = column.literal_value, literal(columns)
    if tile.count % count or first >= count:
        return None
    result = types.UniTuple(tile.dtype, tile.count // count)

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return context.make_tuple(builder, result, parts(builder, values[0], tile)[first::count])

    return signature(result, tile, column, columns), lower


@intrinsic(prefer_literal=True)
def sum_rows(typingctx: Any, tile: Any, rows: Any) -> Typed | None:
    """For each of the `rows` (a literal) rows of a tile, one vector whose first lanes are the sums over the lanes of
    each of the row's vectors; these are as many as lanes, a power of two, or fewer."""
    if not is_tile(tile) or not literal(rows) or tile.count % literal(rows):
        return None
    width, count = tile.dtype.width, tile.count // literal(rows)
    if count > width or width & (width - 1):
        return None
    result = types.UniTuple(tile.dtype, literal(rows))

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        held = parts(builder, values[0], tile)
        sums = [lane_sums(builder, held[k : k + count], width) for k in range(0, tile.count, count)]
        return context.make_tuple(builder, result, sums)

    return signature(result, tile, rows), lower


def lane_sums(builder: Any, held: list[Any], width: int) -> Any:
    """One vector whose first lanes are the sums over the lanes of each vector of `held`.

    Two vectors at a time, lanes are added in pairs: first neighbours, then pairs of neighbours and so on, so that one
    of the two operands is a cheap blend.
    """
    missing = (1 << (len(held) - 1).bit_length()) - len(held)
    held = [*held, *[zeros(held[0].type)] * missing]
    lanes, count = width, len(held)
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


def zeros(ty: llvm_ir.VectorType) -> llvm_ir.Constant:
    return llvm_ir.Constant(ty, [0.0] * ty.count)
