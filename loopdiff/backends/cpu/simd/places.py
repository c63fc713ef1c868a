"""Elements of arrays as LLVM sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from .build import INT8, llvm_type


def is_integer(ty: Any) -> bool:
    return isinstance(ty, types.Integer)


@dataclass(frozen=True, slots=True)
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
