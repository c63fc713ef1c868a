"""Updates of floating arrays in place: load, add and store in one operation."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from .build import Typed
from .lanes import emit_sum
from .memory import accepts, address, is_mask, lane_type, locate_run, narrowed, place, writable
from .places import whole_load, whole_store
from .types import Vector


def is_sum_of(a: Any, v: Any) -> bool:
    """Whether the floating array `a` holds elements of the type of the vector `v`'s lanes."""
    return isinstance(v, Vector) and isinstance(v.element, types.Float) and lane_type(a) == v.element


@intrinsic
def add_masked(typingctx: Any, a: Any, idx: Any, v: Any, mask: Any) -> Typed | None:
    """a[idx] += v for the lanes of `mask`, consecutive in memory; lanes and elements have the same type."""
    if not accepts(a, idx) or not writable(a, idx) or not is_sum_of(a, v) or not is_mask(mask):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, a, values[0], idx, values[1])
        where, _ = locate_run(context, builder, at, sig, values)
        total = builder.fadd(whole_load(builder, at, where, v.width, values[3]), values[2])
        whole_store(builder, at, where, narrowed(context, builder, at, total, v, v.width), values[3])
        return context.get_dummy_value()

    return signature(types.void, a, idx, v, mask), lower


@intrinsic
def add_sum(typingctx: Any, a: Any, idx: Any, v: Any) -> Typed | None:
    """a[idx] += the sum of the lanes of `v`, which have the type of the elements."""
    if not accepts(a, idx) or not writable(a, idx) or not is_sum_of(a, v):
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        at = place(context, builder, a, values[0], idx, values[1])
        pointer = builder.bitcast(address(context, builder, at), at.memory.as_pointer())
        old = builder.load(pointer, align=at.align, typ=at.memory)
        total = builder.fadd(old, emit_sum(builder, v.element, values[2]))
        builder.store(total, pointer, align=at.align)
        return context.get_dummy_value()

    return signature(types.void, a, idx, v), lower
