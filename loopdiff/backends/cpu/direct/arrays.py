"""Arrays that generated code makes and fills: little code where they stand, since long programs have dozens of them.

Numba writes a hundred instructions for each. Here the memory comes from one function for each rank, which no caller has
inline and which raises what Numba raises, and what a C-ordered array is filled with goes there as to one long row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign
from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, types
from numba.core.typing.templates import signature

Lower = Callable[[Any, Any, Any, Any], Any]
INT64 = llvm.IntType(64)
MEMORY = types.MemInfoPointer(types.voidptr)
TOO_BIG = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."


def allocation(args: tuple[types.Type, ...]) -> tuple[Any, Lower] | None:
    """Signature and lowering of `np.empty` of a shape of integers and a type."""
    match args:
        case (types.UniTuple() | types.Tuple() as shape, types.NumberClass() | types.DType() as kind):
            parts = tuple(types.unliteral(t) for t in shape)
        case _:
            return None
    if not parts or any(t != types.int64 for t in parts):
        return None
    array = types.Array(kind.dtype, len(parts), "C")

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        extents = [
            context.cast(builder, builder.extract_value(values[0], k), ty, types.int64)
            for k, ty in enumerate(sig.args[0])
        ]
        return new_array(context, builder, array, extents)

    return signature(array, *args), lower


def new_array(context: Any, builder: Any, array: types.Array, extents: Sequence[Any]) -> Any:
    """An array of `extents`, which its shape and strides are made of, so that LLVM knows which are equal."""
    itemsize = INT64(context.get_abi_sizeof(context.get_data_type(array.dtype)))
    where = cgutils.alloca_once(builder, context.get_value_type(MEMORY))
    conventions = context.call_conv
    raised = conventions._get_excinfo_argument(builder.function)
    code = builder.call(allocator(context, builder.module, array.ndim), [where, raised, *extents, itemsize])
    with builder.if_then(builder.icmp_signed("!=", code, code.type(0)), likely=False):
        conventions._return_errcode_raw(builder, code)
    memory = builder.load(where)
    strides = [itemsize]
    for extent in reversed(extents[1:]):
        strides.insert(0, builder.mul(strides[0], extent, flags=("nsw",)))
    count = extents[0]
    for extent in extents[1:]:
        count = builder.mul(count, extent, flags=("nsw",))
    data = builder.bitcast(context.nrt.meminfo_data(builder, memory), context.get_data_type(array.dtype).as_pointer())
    model = context.data_model_manager[array]
    made = llvm.Constant(model.get_value_type(), None)
    for name, value in (("meminfo", memory), ("nitems", count), ("itemsize", itemsize), ("data", data)):
        made = builder.insert_value(made, value, model.get_field_position(name))
    for name, numbers in (("shape", extents), ("strides", strides)):
        for axis, number in enumerate(numbers):
            made = builder.insert_value(made, number, [model.get_field_position(name), axis])
    return made


def allocator(context: Any, module: Any, rank: int) -> Any:
    """The function of `module` that takes extents and the bytes of an element, and gives memory for so many."""
    name = f"loopdiff.allocate.{rank}"
    found = module.globals.get(name)
    if found is not None:
        return found
    conventions = context.call_conv
    function = llvm.Function(module, conventions.get_function_type(MEMORY, [types.int64] * (rank + 1)), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = llvm.IRBuilder(function.append_basic_block("entry"))
    *extents, itemsize = conventions.get_arguments(function)
    negative = overflow = llvm.IntType(1)(0)
    size = itemsize
    for extent in extents:
        negative = builder.or_(negative, builder.icmp_signed("<", extent, INT64(0)))
    with builder.if_then(negative, likely=False):
        conventions.return_user_exc(builder, ValueError, ("negative dimensions not allowed",))
    for extent in extents:
        product = builder.smul_with_overflow(size, extent)
        size, over = builder.extract_value(product, 0), builder.extract_value(product, 1)
        overflow = builder.or_(overflow, over)
    with builder.if_then(overflow, likely=False):
        conventions.return_user_exc(builder, ValueError, (TOO_BIG,))
    align = context.get_preferred_array_alignment(types.float64)
    conventions.return_value(builder, context.nrt.meminfo_alloc_aligned(builder, size, align))
    return function


def filling(args: tuple[types.Type, ...]) -> tuple[Any, Lower] | None:
    """Signature and lowering of `array[...] = number`, where the elements lie one after the other."""
    match args:
        case (types.Array(layout="C" | "F", dtype=types.Number() | types.Boolean() as kind) as array, index, value):
            pass
        case _:
            return None
    if index != types.ellipsis or not isinstance(value, types.Number | types.Boolean):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        model = context.data_model_manager[array]
        data, count = (model.get(builder, values[0], name) for name in ("data", "nitems"))
        if is_nothing(values[2]):
            size = builder.mul(count, INT64(context.get_abi_sizeof(context.get_data_type(kind))), flags=("nsw",))
            cgutils.memset(builder, data, size, 0)
        else:
            stored = context.data_model_manager[kind].as_data(builder, values[2])
            with cgutils.for_range(builder, count) as loop:
                builder.store(stored, builder.gep(data, [loop.index]))
        return context.get_dummy_value()

    return signature(types.none, array, index, kind), lower


def is_nothing(value: Any) -> bool:
    """Whether LLVM's `value` is a constant of bits that are all zero."""
    number = value.constant if isinstance(value, llvm.Constant) else None
    return isinstance(number, int | float) and number == 0 and copysign(1.0, number) > 0
