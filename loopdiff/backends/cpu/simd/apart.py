"""Lanes that lie apart in memory."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from loopdiff.immutable import immutable

from .build import INT8, INT32, INT64, broadcast, call, constant, lane_addresses, llvm_type, mangled
from .lanes import lane_numbers
from .places import Place


@immutable
class Apart:
    """Lanes that lie apart: byte `offsets` from the pointer `first`, a vector, or the same scalar distance each.

    A vector may count elements of `scale` bytes. Addressing multiplies then, and lanes that come from memory are loaded
    one by one from there, not taken out of a register.
    """

    first: Any
    offsets: Any
    width: int
    scale: Any = None

    def pointer(self, builder: Any, lane: int) -> Any:
        """Where one lane is."""
        if isinstance(self.offsets.type, llvm_ir.VectorType):
            offset = builder.extract_element(self.offsets, INT32(lane))
            if self.scale is not None:
                offset = builder.mul(offset, self.scale, flags=("nsw",))
        else:
            offset = builder.mul(INT64(lane), self.offsets, flags=("nsw",))
        return builder.gep(self.first, [offset], source_etype=INT8)

    def addresses(self, builder: Any) -> Any:
        """A vector of pointers."""
        offsets = self.offsets
        if not isinstance(offsets.type, llvm_ir.VectorType):
            offsets = builder.mul(lane_numbers(self.width), broadcast(builder, offsets, self.width), flags=("nsw",))
        if self.scale is not None:
            offsets = builder.mul(offsets, broadcast(builder, self.scale, self.width), flags=("nsw",))
        return lane_addresses(builder, self.first, offsets)

    def load(self, builder: Any, at: Place, mask: Any) -> Any:
        """Lane by lane, dead ones from memory of our own: gather instructions take two to four times as long since
        processors got their mitigation of CVE-2022-40982, and no less time than this without it."""
        memory = llvm_ir.VectorType(at.memory, self.width)
        out = constant(memory, 0)
        own = None if mask is None else zero_in_memory(builder.module, at.memory).bitcast(self.first.type)
        for lane in range(self.width):
            where = self.pointer(builder, lane)
            if own is not None:
                where = builder.select(builder.extract_element(mask, INT32(lane)), where, own)
            element = builder.load(where, align=at.align, typ=at.memory)
            out = builder.insert_element(out, element, INT32(lane))
        return out

    def store(self, builder: Any, at: Place, value: Any, mask: Any) -> None:
        mask = constant(llvm_type(types.boolean, self.width), 1) if mask is None else mask
        args = [value, self.addresses(builder), INT32(at.align), mask]
        call(builder, f"llvm.masked.scatter.{mangled(value.type)}.v{self.width}p0", llvm_ir.VoidType(), args)


def zero_in_memory(module: Any, ty: llvm_ir.Type) -> Any:
    """A constant zero that dead lanes may be loaded from."""
    name = f"loopdiff.zero.{ty}"
    found: Any = module.globals.get(name)
    if found is None:
        found = llvm_ir.GlobalVariable(module, ty, name)
        found.linkage, found.global_constant = "internal", True
        found.initializer = constant(ty, 0)
    return found
