"""Functions of which only the side of a bound counts that they are on: a fast formula says it, and the C library, lane
by lane, where some lane is too close to the bound for that."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types
from numba.extending import intrinsic

from ..simd.build import FLOATS, Typed, call, elementwise, mangled
from . import scalar
from .expr import Lanes
from .functions import own
from .roots import hypot

# By element: how far off a formula may be, many times over, as a share of the bound and for the smallest numbers, and
# up to where it is a number.
MARGINS = {types.float64: (2.0**-44, 2.0**-1000, 2.0**1000), types.float32: (2.0**-16, 2.0**-120, 2.0**120)}


def decided(builder: Any, element: types.Type, x: Any, y: Any, bound: Any) -> Any:
    """A number that compares with `bound` as the C library's hypot of `x` and `y` does."""
    if not isinstance(x.type, llvm_ir.VectorType):
        return scalar.per_lane(builder, element, "hypot", x, y)
    found = Lanes(builder, own(builder, element, hypot, x, y))
    share, least, most = MARGINS[element]
    edge = Lanes(builder, bound)
    is_clear = ((found - edge).magnitude > edge.magnitude * share + least) & (found < most)
    are_clear = call(
        builder, f"llvm.vector.reduce.and.{mangled(is_clear.value.type)}", llvm_ir.IntType(1), [is_clear.value]
    )
    start = builder.block
    with builder.if_then(builder.not_(are_clear), likely=False):
        exact, end = scalar.per_lane(builder, element, "hypot", x, y), builder.block
    chosen = builder.phi(x.type)
    chosen.add_incoming(found.value, start)
    chosen.add_incoming(exact, end)
    return chosen


@intrinsic
def decided_hypot(typingctx: Any, x: Any, y: Any, bound: Any) -> Typed | None:
    """A number that compares with `bound` as the C library's hypot of `x` and `y` does."""
    return elementwise((x, y, bound), decided, FLOATS, least=types.float64)
