"""Elements of arrays as LLVM sees them, and vectors of neighbouring ones."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from loopdiff.immutable import immutable

from .build import INT1, INT8, INT32, call, llvm_type, mangled, masked_load
from .halves import INT16, Half
from .types import has_mask_registers


def is_integer(ty: Any) -> bool:
    return isinstance(ty, types.Integer)


@immutable
class Place:
    """An array, taken apart for address arithmetic: base pointer, byte stride of each axis, index
    components."""

    array: types.Array
    base: Any
    strides: tuple[Any, ...]
    indices: tuple[tuple[types.Type, Any], ...]

    @property
    def memory(self) -> llvm_ir.Type:
        """The LLVM type of one element in memory."""
        dtype: Any = self.array.dtype
        if isinstance(dtype, types.Boolean):
            return INT8
        if isinstance(dtype, Half):
            return INT16
        return llvm_ir.IntType(dtype.bitwidth) if is_integer(dtype) else llvm_type(dtype, 0)

    @property
    def align(self) -> int:
        return self.itemsize if self.array.aligned else 1

    @property
    def itemsize(self) -> int:
        memory = self.memory
        return (
            memory.width // 8
            if isinstance(memory, llvm_ir.IntType)
            else 8
            if isinstance(memory, llvm_ir.DoubleType)
            else 4
        )


def whole_load(builder: Any, at: Place, pointer: Any, width: int, mask: Any) -> Any:
    memory = llvm_ir.VectorType(at.memory, width)
    if mask is None:
        return builder.load(builder.bitcast(pointer, memory.as_pointer()), align=at.align, typ=memory)
    return masked_load(builder, pointer, memory, at.align, mask)


def whole_store(builder: Any, at: Place, pointer: Any, value: Any, mask: Any) -> None:
    """Where masks have no registers a masked store takes as long as ten others, even one that stores nothing."""
    if mask is None:
        builder.store(value, builder.bitcast(pointer, value.type.as_pointer()), align=at.align)
        return
    args = [value, pointer, INT32(at.align), mask]
    with nullcontext() if has_mask_registers() else builder.if_then(some_lane(builder, mask)):
        call(builder, f"llvm.masked.store.{mangled(value.type)}.p0", llvm_ir.VoidType(), args)


def some_lane(builder: Any, mask: Any) -> Any:
    """Whether any lane of `mask` is set."""
    return call(builder, f"llvm.vector.reduce.or.{mangled(mask.type)}", INT1, [mask])
