"""Vector loads and stores: contiguous, strided and indirect, each with a masked variant.

An index `idx` is a tuple with one component per axis (or a bare integer for one axis). Nothing is checked
and negative indices do not wrap around. Booleans and narrow integers are widened to masks and int64 lanes on
loading and narrowed on storing, halves widened to float32 and rounded. Masked-off lanes are never touched in
memory and load as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.analysis.strides import CLOSE, LEAST_BYTES

from .apart import Apart
from .build import (
    INT8,
    INT32,
    INT64,
    Typed,
    bring,
    broadcast,
    constant,
    llvm_type,
    prefetch,
    shuffle,
)
from .halves import Half, from_single, to_single
from .interleaved import Interleaved
from .lanes import is_index
from .places import Place, is_integer, some_lane, whole_load, whole_store
from .types import Vector, element_of, width_of

POINTER = INT8.as_pointer()


def components(idx: Any) -> tuple[types.Type, ...]:
    return tuple(idx.types) if is_tuple(idx) else (idx,)


def is_tuple(ty: Any) -> bool:
    return isinstance(ty, types.BaseTuple)


def accepts(a: Any, idx: Any, vectors: bool = False) -> bool:
    """Whether `a` is an array of a loadable dtype and `idx` indexes it; `vectors`: int64 vectors may be in
    it."""
    if not isinstance(a, types.Array) or lane_of(a.dtype) is None:
        return False
    parts = components(idx)
    fits = all(element_of(t) == types.int64 and (vectors or not width_of(t)) for t in parts)
    return fits and len(parts) == a.ndim


def writable(a: Any, idx: Any, vectors: bool = False) -> bool:
    """Whether `a` may be stored to at `idx`: what Numba types as read-only is refused."""
    return accepts(a, idx, vectors) and a.mutable


def lane_of(dtype: types.Type) -> types.Type | None:
    """What a lane of elements of `dtype` holds; None if there are no vectors of such."""
    return types.float32 if isinstance(dtype, Half) else element_of(dtype)


def lane_type(a: types.Array) -> types.Type:
    """What a lane loaded from an array that `accepts` admitted holds."""
    element = lane_of(a.dtype)
    if element is None:
        raise TypeError(f"no vector of {a.dtype}")
    return element


def place(context: Any, builder: Any, array: types.Array, value: Any, idx: types.Type, idx_value: Any) -> Place:
    """Take `value[idx]` apart. C and F layouts get strides from the shape, which LLVM sees through best."""
    parts_of = context.data_model_manager[array]
    parts = components(idx)
    if is_tuple(idx):
        values = [builder.extract_value(idx_value, k) for k in range(len(parts))]
    else:
        values = [idx_value]
    base = builder.bitcast(parts_of.get(builder, value, "data"), POINTER)
    if array.layout == "A":
        apart = parts_of.get(builder, value, "strides")
        strides = [builder.extract_value(apart, k) for k in range(array.ndim)]
        return Place(array, base, tuple(strides), tuple(zip(parts, values, strict=True)))
    itemsize = Place(array, base, (), ()).itemsize
    strides = [INT64(itemsize)] * array.ndim
    shape = parts_of.get(builder, value, "shape")
    order = range(array.ndim - 1) if array.layout == "F" else range(array.ndim - 1, 0, -1)
    for k in order:
        after = k + 1 if array.layout == "F" else k - 1
        strides[after] = builder.mul(strides[k], builder.extract_value(shape, k), flags=("nsw",))
    return Place(array, base, tuple(strides), tuple(zip(parts, values, strict=True)))


def address(context: Any, builder: Any, at: Place) -> Any:
    """Byte pointer to the element that the scalar components name (vector components counted as 0)."""
    offset = INT64(0)
    for (ty, value), stride in zip(at.indices, at.strides, strict=True):
        if not width_of(ty):
            index = context.cast(builder, value, ty, types.int64)
            offset = builder.add(offset, builder.mul(index, stride, flags=("nsw",)), flags=("nsw",))
    return builder.gep(at.base, [offset], source_etype=INT8)


def widened(builder: Any, at: Place, value: Any) -> Any:
    """Loaded memory elements as vector lanes."""
    dtype: Any = at.array.dtype
    if isinstance(dtype, types.Boolean):
        return builder.icmp_unsigned("!=", value, constant(value.type, 0))
    if isinstance(dtype, Half):
        return to_single(builder, value, dtype)
    if is_integer(dtype) and dtype.bitwidth < 64:
        out = llvm_type(types.int64, value.type.count if isinstance(value.type, llvm_ir.VectorType) else 0)
        return builder.sext(value, out) if dtype.signed else builder.zext(value, out)
    return value


def narrowed(context: Any, builder: Any, at: Place, value: Any, ty: types.Type, width: int) -> Any:
    """Vector (or scalar, then broadcast) `value` as memory elements of the array."""
    lanes = bring(context, builder, value, ty, lane_type(at.array), width)
    if isinstance(at.array.dtype, Half):
        return from_single(builder, lanes, at.array.dtype)
    if not isinstance(at.memory, llvm_ir.IntType) or at.memory.width == 64:
        return lanes
    out = llvm_ir.VectorType(at.memory, width) if width else at.memory
    return builder.zext(lanes, out) if isinstance(at.array.dtype, types.Boolean) else builder.trunc(lanes, out)


def is_mask(ty: Any) -> bool:
    return isinstance(ty, Vector) and ty.element == types.boolean


def literal(ty: Any) -> int:
    """The value of a literal integer, 0 for anything else."""
    return ty.literal_value if isinstance(ty, types.IntegerLiteral) else 0


Locate = Callable[[Any, Any, Place, Any, Any], tuple[Any, bool]]


def locate_run(context: Any, builder: Any, at: Place, sig: Any, args: Any) -> tuple[Any, bool]:
    """Consecutive elements from the index on."""
    return address(context, builder, at), False


def locate_along(axis: int, width: int) -> Locate:
    """Elements `args[3]` apart along `axis`; neighbours in memory are reached as one run, forward or
    backward."""

    def locate(context: Any, builder: Any, at: Place, sig: Any, args: Any) -> tuple[Any, bool]:
        step = literal(sig.args[3])
        is_dense = {"C": at.array.ndim - 1, "F": 0}.get(at.array.layout) == axis
        first = address(context, builder, at)
        if is_dense and step == 1:
            return first, False
        if is_dense and step == -1:
            return builder.gep(first, [INT64((1 - width) * at.itemsize)], source_etype=INT8), True
        if is_dense and 2 <= step <= CLOSE and at.itemsize >= LEAST_BYTES:
            return Interleaved(first, step, width), False
        stride = context.cast(builder, args[3], sig.args[3], types.int64)
        stride = builder.mul(stride, at.strides[axis], flags=("nsw",))
        return Apart(first, stride, width), False

    return locate


def locate_lanes(width: int) -> Locate:
    """One address per lane from an index that has vectors in it."""

    def locate(context: Any, builder: Any, at: Place, sig: Any, args: Any) -> tuple[Any, bool]:
        vectors = [(v, s) for (ty, v), s in zip(at.indices, at.strides, strict=True) if width_of(ty)]
        if len(vectors) == 1:
            return Apart(address(context, builder, at), vectors[0][0], width, vectors[0][1]), False
        return Apart(address(context, builder, at), offsets_of_lanes(builder, at, width), width), False

    return locate


def offsets_of_lanes(builder: Any, at: Place, width: int) -> Any:
    """Bytes from the element that the scalar components name to that of each lane."""
    offsets = constant(llvm_ir.VectorType(INT64, width), 0)
    for (ty, value), stride in zip(at.indices, at.strides, strict=True):
        if width_of(ty):
            scaled = builder.mul(value, broadcast(builder, stride, width), flags=("nsw",))
            offsets = builder.add(offsets, scaled, flags=("nsw",))
    return offsets


def loading(args: tuple[Any, ...], width: int, locate: Locate, is_masked: bool) -> Typed:
    """Load `width` lanes from where `locate` says; a mask is the last argument."""
    array, idx = args[:2]

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, array, values[0], idx, values[1])
        where, is_reversed = locate(context, builder, at, sig, values)
        mask = values[-1] if is_masked else None
        if isinstance(where, Apart | Interleaved):
            return widened(builder, at, where.load(builder, at, mask))
        mask = flipped(builder, mask) if is_reversed and mask else mask
        value = whole_load(builder, at, where, width, mask)
        return widened(builder, at, flipped(builder, value) if is_reversed else value)

    return signature(Vector(lane_type(array), width), *args), lower


def storing(args: tuple[Any, ...], width: int, locate: Locate, value_at: int) -> Typed:
    """Store argument number `value_at` to where `locate` says; a mask is the argument after it."""
    array, idx = args[:2]

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, array, values[0], idx, values[1])
        where, is_reversed = locate(context, builder, at, sig, values)
        value = narrowed(context, builder, at, values[value_at], sig.args[value_at], width)
        mask = values[value_at + 1] if len(values) > value_at + 1 else None
        if isinstance(where, Apart | Interleaved):
            where.store(builder, at, value, mask)
        elif is_reversed:
            whole_store(builder, at, where, flipped(builder, value), flipped(builder, mask) if mask else None)
        else:
            whole_store(builder, at, where, value, mask)
        return context.get_dummy_value()

    return signature(types.void, *args), lower


def flipped(builder: Any, value: Any) -> Any:
    return shuffle(builder, value, range(value.type.count - 1, -1, -1))


def index_width(idx: types.Type) -> int:
    """Lanes of the vectors in an index; 0 without any, or with different widths."""
    widths = {width_of(t) for t in components(idx)} - {0}
    return widths.pop() if len(widths) == 1 else 0


def common_width(*operands: types.Type) -> int:
    """The one width of the vectors among `operands`; 0 if there is none or several."""
    widths = {width_of(t) for t in operands} - {0}
    return widths.pop() if len(widths) == 1 and all(element_of(t) is not None for t in operands) else 0


def valid_axis(a: Any, axis: Any, step: Any) -> bool:
    return isinstance(axis, types.IntegerLiteral) and 0 <= literal(axis) < a.ndim and is_index(step)


@intrinsic(prefer_literal=True)
def load(typingctx: Any, a: Any, idx: Any, width: Any) -> Typed | None:
    """`width` (a literal) elements from a[idx] on, consecutive in memory (the last axis of a C-ordered
    array)."""
    lanes = literal(width)
    return loading((a, idx, width), lanes, locate_run, False) if lanes and accepts(a, idx) else None


@intrinsic
def load_masked(typingctx: Any, a: Any, idx: Any, mask: Any) -> Typed | None:
    """Like `load` for the lanes of `mask`; the others are 0 and their memory is not touched."""
    return loading((a, idx, mask), mask.width, locate_run, True) if is_mask(mask) and accepts(a, idx) else None


@intrinsic(prefer_literal=True)
def load_strided(typingctx: Any, a: Any, idx: Any, axis: Any, step: Any, width: Any) -> Typed | None:
    """Lane l is a[idx] with the component on `axis` (a literal) advanced by l * step; `width` is a
    literal."""
    lanes = literal(width)
    if not lanes or not accepts(a, idx) or not valid_axis(a, axis, step):
        return None
    return loading((a, idx, axis, step, width), lanes, locate_along(literal(axis), lanes), False)


@intrinsic(prefer_literal=True)
def load_strided_masked(typingctx: Any, a: Any, idx: Any, axis: Any, step: Any, mask: Any) -> Typed | None:
    """Like `load_strided` for the lanes of `mask`; the others are 0."""
    if not is_mask(mask) or not accepts(a, idx) or not valid_axis(a, axis, step):
        return None
    return loading((a, idx, axis, step, mask), mask.width, locate_along(literal(axis), mask.width), True)


@intrinsic
def gather(typingctx: Any, a: Any, idx: Any) -> Typed | None:
    """Lane l is a[idx] with lane l of the int64 vectors in `idx` (scalar components are the same for all)."""
    lanes = index_width(idx)
    return loading((a, idx), lanes, locate_lanes(lanes), False) if lanes and accepts(a, idx, True) else None


@intrinsic
def gather_masked(typingctx: Any, a: Any, idx: Any, mask: Any) -> Typed | None:
    """Like `gather` for the lanes of `mask`; the others are 0."""
    lanes = common_width(mask, *components(idx))
    if not lanes or not is_mask(mask) or not index_width(idx) or not accepts(a, idx, True):
        return None
    return loading((a, idx, mask), lanes, locate_lanes(lanes), True)


@intrinsic(prefer_literal=True)
def load_splat(typingctx: Any, a: Any, idx: Any, width: Any) -> Typed | None:
    """The element a[idx] in each of `width` (a literal) lanes."""
    lanes = literal(width)
    if not lanes or not accepts(a, idx):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return broadcast(builder, one_load(context, builder, a, idx, values), lanes)

    return signature(Vector(lane_type(a), lanes), a, idx, width), lower


@intrinsic
def load_splat_masked(typingctx: Any, a: Any, idx: Any, mask: Any) -> Typed | None:
    """The element a[idx] in the lanes of `mask`, of which there may be none; the others are 0."""
    if not is_mask(mask) or not accepts(a, idx):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, a, values[0], idx, values[1])
        some = some_lane(builder, values[2])
        nothing = cgutils.alloca_once_value(builder, constant(at.memory, 0))
        pointer = builder.select(some, address(context, builder, at), builder.bitcast(nothing, POINTER))
        element = builder.load(builder.bitcast(pointer, at.memory.as_pointer()), align=at.align, typ=at.memory)
        value = broadcast(builder, widened(builder, at, element), mask.width)
        return builder.select(values[2], value, constant(value.type, 0))

    return signature(Vector(lane_type(a), mask.width), a, idx, mask), lower


@intrinsic
def ask_ahead(typingctx: Any, a: Any, idx: Any, distance: Any) -> Typed | None:
    """Ask for the cache line so many bytes behind a[idx], which need not be in the array: nothing else happens."""
    if not accepts(a, idx) or not is_index(distance):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        first = address(context, builder, place(context, builder, a, values[0], idx, values[1]))
        by = context.cast(builder, values[2], distance, types.int64)
        prefetch(builder, builder.gep(first, [by], source_etype=INT8), False)
        return context.get_dummy_value()

    return signature(types.void, a, idx, distance), lower


@intrinsic
def get(typingctx: Any, a: Any, idx: Any) -> Typed | None:
    """The element a[idx] as a scalar (narrow integers widen to int64)."""
    if not accepts(a, idx):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return one_load(context, builder, a, idx, values)

    return signature(lane_type(a), a, idx), lower


def one_load(context: Any, builder: Any, a: types.Array, idx: types.Type, values: Any) -> Any:
    at = place(context, builder, a, values[0], idx, values[1])
    pointer = builder.bitcast(address(context, builder, at), at.memory.as_pointer())
    return widened(builder, at, builder.load(pointer, align=at.align, typ=at.memory))


@intrinsic
def put(typingctx: Any, a: Any, idx: Any, x: Any) -> Typed | None:
    """Store the scalar `x` to a[idx]."""
    if not writable(a, idx) or width_of(x) or element_of(x) is None:
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, a, values[0], idx, values[1])
        value = narrowed(context, builder, at, values[2], x, 0)
        whole_store(builder, at, address(context, builder, at), value, None)
        return context.get_dummy_value()

    return signature(types.void, a, idx, x), lower


@intrinsic
def store(typingctx: Any, a: Any, idx: Any, v: Any) -> Typed | None:
    """Store the lanes of `v` consecutively in memory from a[idx] on."""
    return storing((a, idx, v), v.width, locate_run, 2) if width_of(v) and writable(a, idx) else None


@intrinsic
def store_masked(typingctx: Any, a: Any, idx: Any, v: Any, mask: Any) -> Typed | None:
    """Like `store` for the lanes of `mask`; other memory is not touched."""
    lanes = common_width(v, mask)
    if not lanes or not is_mask(mask) or not writable(a, idx):
        return None
    return storing((a, idx, v, mask), lanes, locate_run, 2)


@intrinsic(prefer_literal=True)
def store_strided(typingctx: Any, a: Any, idx: Any, axis: Any, step: Any, v: Any) -> Typed | None:
    """Store lane l of `v` to a[idx] with the component on `axis` (a literal) advanced by l * step."""
    if not width_of(v) or not writable(a, idx) or not valid_axis(a, axis, step):
        return None
    return storing((a, idx, axis, step, v), v.width, locate_along(literal(axis), v.width), 4)


@intrinsic(prefer_literal=True)
def store_strided_masked(typingctx: Any, a: Any, idx: Any, axis: Any, step: Any, v: Any, mask: Any) -> Typed | None:
    """Like `store_strided` for the lanes of `mask`."""
    lanes = common_width(v, mask)
    if not lanes or not is_mask(mask) or not writable(a, idx) or not valid_axis(a, axis, step):
        return None
    return storing((a, idx, axis, step, v, mask), lanes, locate_along(literal(axis), lanes), 4)


@intrinsic
def scatter(typingctx: Any, a: Any, idx: Any, v: Any) -> Typed | None:
    """Store lane l of `v` to a[idx] with lane l of the int64 vectors in `idx`; no two lanes may meet."""
    lanes = common_width(v, *components(idx))
    if not lanes or not index_width(idx) or not writable(a, idx, True):
        return None
    return storing((a, idx, v), lanes, locate_lanes(lanes), 2)


@intrinsic
def scatter_masked(typingctx: Any, a: Any, idx: Any, v: Any, mask: Any) -> Typed | None:
    """Like `scatter` for the lanes of `mask`."""
    lanes = common_width(v, mask, *components(idx))
    if not lanes or not is_mask(mask) or not index_width(idx) or not writable(a, idx, True):
        return None
    return storing((a, idx, v, mask), lanes, locate_lanes(lanes), 2)


def accumulating(args: tuple[Any, ...], width: int) -> Typed:
    """Lane after lane, add argument 2 to the element that the index names; a mask is the last argument."""
    array, idx, v = args[:3]
    element = lane_type(array)

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, array, values[0], idx, values[1])
        where, _ = locate_lanes(width)(context, builder, at, sig, values)
        increments = bring(context, builder, values[2], v, element, width)
        plain = element == types.int64

        def add(lane: int) -> None:
            pointer = where.pointer(builder, lane)
            cell = builder.bitcast(pointer, at.memory.as_pointer())
            before = widened(builder, at, builder.load(cell, align=at.align, typ=at.memory))
            increment = builder.extract_element(increments, INT32(lane))
            after = builder.add(before, increment) if plain else builder.fadd(before, increment)
            whole_store(builder, at, pointer, narrowed(context, builder, at, after, element, 0), None)

        for lane in range(width):
            if len(values) > 3:
                with builder.if_then(builder.extract_element(values[3], INT32(lane))):
                    add(lane)
            else:
                add(lane)
        return context.get_dummy_value()

    return signature(types.void, *args), lower


@intrinsic
def scatter_add(typingctx: Any, a: Any, idx: Any, v: Any) -> Typed | None:
    """a[idx] += v lane after lane, so lanes may meet and the result is that of the scalar loop."""
    lanes = common_width(v, *components(idx))
    if not lanes or not index_width(idx) or not writable(a, idx, True) or lane_type(a) == types.boolean:
        return None
    return accumulating((a, idx, v), lanes)


@intrinsic
def scatter_add_masked(typingctx: Any, a: Any, idx: Any, v: Any, mask: Any) -> Typed | None:
    """Like `scatter_add` for the lanes of `mask`."""
    lanes = common_width(v, mask, *components(idx))
    if not lanes or not is_mask(mask) or not index_width(idx) or not writable(a, idx, True):
        return None
    return None if lane_type(a) == types.boolean else accumulating((a, idx, v, mask), lanes)
