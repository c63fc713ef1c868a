"""The C library's scalar functions, called lane by lane."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from ..simd.build import INT32, call

C_NAMES = {"gamma": "tgamma"}


def per_lane(builder: Any, element: types.Type, name: str, *values: Any) -> Any:
    """Call libm's `name` (with the suffix `f` for float32) on each lane of `values`."""
    symbol = C_NAMES.get(name, name) + ("f" if element == types.float32 else "")
    ty = values[0].type
    if not isinstance(ty, llvm_ir.VectorType):
        return call(builder, symbol, ty, values)
    result = llvm_ir.Constant(ty, llvm_ir.Undefined)
    for lane in range(ty.count):
        one = call(builder, symbol, ty.element, [builder.extract_element(v, INT32(lane)) for v in values])
        result = builder.insert_element(result, one, INT32(lane))
    return result
