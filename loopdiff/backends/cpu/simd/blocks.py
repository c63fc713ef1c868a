"""Memory access of register tiles: the vectors of all rows (or columns) of a block in one operation.

Row r of a block is where `axis` of the index is advanced by r * step. Blocks at the edge of an array keep their shape:
rows beyond the last, which is the first but for `left` others, repeat the last one on loading, and are not stored.

The lanes of a vector are consecutive elements; with an int64 vector in the index, they are where its lanes say.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.immutable import immutable

from .build import FLOATS, INT8, INT64, Typed, broadcast, call
from .memory import (
    Apart,
    Place,
    accepts,
    address,
    index_width,
    is_mask,
    lane_type,
    literal,
    offsets_of_lanes,
    place,
    writable,
)
from .places import is_integer, whole_load, whole_store
from .tiles import is_tile, parts
from .types import Vector


def is_block(a: Any, idx: Any, axis: Any, step: Any, left: Any, rows: Any) -> bool:
    """Whether these arguments name the rows of a block of a floating array."""
    if not accepts(a, idx, True) or lane_type(a) not in FLOATS or not all(map(is_integer, (step, left))):
        return False
    return isinstance(axis, types.IntegerLiteral) and axis.literal_value < a.ndim and literal(rows) > 0


def row_offsets(context: Any, builder: Any, sig: Any, values: Any, at: Place, count: int) -> Iterator[Any]:
    """Bytes from the first row to each of `count` rows, none beyond the last."""
    step, left = (context.cast(builder, values[k], sig.args[k], types.int64) for k in (3, 4))
    stride = builder.mul(step, at.strides[literal(sig.args[2])], flags=("nsw",))
    for row in range(count):
        number = call(builder, "llvm.smin.i64", INT64, [INT64(row), left]) if row else INT64(0)
        yield builder.mul(number, stride, flags=("nsw",))


def advanced(builder: Any, pointer: Any, offset: Any) -> Any:
    return builder.gep(pointer, [offset], source_etype=INT8)


@immutable
class Lanes:
    """Where the lanes of a vector are, relative to the first: `offsets` in bytes (None: consecutive elements)."""

    at: Place
    width: int
    offsets: Any
    mask: Any = None

    def load(self, builder: Any, first: Any) -> Any:
        if self.offsets is None:
            return whole_load(builder, self.at, first, self.width, self.mask)
        return Apart(first, self.offsets, self.width).load(builder, self.at, self.mask)

    def store(self, builder: Any, first: Any, vector: Any) -> None:
        if self.offsets is None:
            whole_store(builder, self.at, first, vector, self.mask)
        else:
            Apart(first, self.offsets, self.width).store(builder, self.at, vector, self.mask)


def lane_offsets(builder: Any, at: Place, idx: Any) -> Any:
    return offsets_of_lanes(builder, at, index_width(idx)) if index_width(idx) else None


@intrinsic(prefer_literal=True)
def load_rows(typingctx: Any, a: Any, idx: Any, axis: Any, step: Any, left: Any, rows: Any, lanes: Any) -> Typed | None:
    """A vector of consecutive elements for each of `rows` (a literal) rows from a[idx] on; `lanes` is their number (a
    literal), or a mask: lanes that it leaves out are not read and load as zero."""
    width = lanes.width if is_mask(lanes) else literal(lanes)
    if not width or not is_block(a, idx, axis, step, left, rows) or index_width(idx) not in (0, width):
        return None
    result = types.UniTuple(Vector(lane_type(a), width), literal(rows))

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, a, values[0], idx, values[1])
        first = address(context, builder, at)
        where = Lanes(at, width, lane_offsets(builder, at, idx), values[6] if is_mask(lanes) else None)
        offsets = row_offsets(context, builder, sig, values, at, result.count)
        held = [where.load(builder, advanced(builder, first, o)) for o in offsets]
        return context.make_tuple(builder, result, held)

    return signature(result, a, idx, axis, step, left, rows, lanes), lower


@intrinsic(prefer_literal=True)
def splat_rows(
    typingctx: Any, a: Any, idx: Any, axis: Any, step: Any, left: Any, rows: Any, width: Any
) -> Typed | None:
    """One element for each of `rows` (a literal) rows from a[idx] on, each in all of `width` (a literal) lanes."""
    if not literal(width) or index_width(idx) or not is_block(a, idx, axis, step, left, rows):
        return None
    result = types.UniTuple(Vector(lane_type(a), literal(width)), literal(rows))

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, a, values[0], idx, values[1])
        first = address(context, builder, at)
        held = []
        for offset in row_offsets(context, builder, sig, values, at, result.count):
            pointer = builder.bitcast(advanced(builder, first, offset), at.memory.as_pointer())
            element = builder.load(pointer, align=at.align, typ=at.memory)
            held.append(broadcast(builder, element, literal(width)))
        return context.make_tuple(builder, result, held)

    return signature(result, a, idx, axis, step, left, rows, width), lower


def updating(args: tuple[Any, ...], is_sum: bool) -> Typed | None:
    """Typing and lowering of an update of consecutive memory with the rows of a tile."""
    a, idx, axis, step, left, rows, tile, masks = args
    if not is_block(a, idx, axis, step, left, rows) or not writable(a, idx, True) or not is_tile(tile):
        return None
    columns, rest = divmod(tile.count, literal(rows))
    if index_width(idx) not in (0, tile.dtype.width) or (index_width(idx) and columns > 1):
        return None
    is_masked = isinstance(masks, types.UniTuple) and is_mask(masks.dtype) and masks.count == columns
    if rest or tile.dtype.element != lane_type(a) or not (is_masked or masks == types.Tuple(())):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, a, values[0], idx, values[1])
        first = address(context, builder, at)
        apart = lane_offsets(builder, at, idx)
        live = parts(builder, values[7], masks) if is_masked else [None] * columns
        held = parts(builder, values[6], tile)
        last = context.cast(builder, values[4], left, types.int64)
        for row, offset in enumerate(row_offsets(context, builder, sig, values, at, literal(rows))):
            is_there = builder.icmp_signed("<=", INT64(row), last)
            with builder.if_then(is_there) if row else nullcontext():
                start = advanced(builder, first, offset)
                for column, mask in enumerate(live):
                    where = advanced(builder, start, INT64(column * tile.dtype.width * at.itemsize))
                    lanes = Lanes(at, tile.dtype.width, apart, mask)
                    vector = held[row * columns + column]
                    if is_sum:
                        vector = builder.fadd(lanes.load(builder, where), vector)
                    lanes.store(builder, where, vector)
        return context.get_dummy_value()

    return signature(types.void, *args), lower


@intrinsic(prefer_literal=True)
def add_rows(
    typingctx: Any, a: Any, idx: Any, axis: Any, step: Any, left: Any, rows: Any, tile: Any, masks: Any
) -> Typed | None:
    """Add each row of `tile`, which has `rows` (a literal), to consecutive elements; in lanes of `masks` only, one for
    each vector of a row, unless that is the empty tuple."""
    return updating((a, idx, axis, step, left, rows, tile, masks), True)


@intrinsic(prefer_literal=True)
def store_rows(
    typingctx: Any, a: Any, idx: Any, axis: Any, step: Any, left: Any, rows: Any, tile: Any, masks: Any
) -> Typed | None:
    """Store each row of `tile`, which has `rows` (a literal), to consecutive elements; in lanes of `masks` only, one
    for each vector of a row, unless that is the empty tuple."""
    return updating((a, idx, axis, step, left, rows, tile, masks), False)
