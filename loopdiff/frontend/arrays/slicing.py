"""Slices by Python's rules: where they start and how many elements they have, for any bounds.

Negative bounds count from the end and all are clamped to the axis. What shapes and constants decide is decided here,
so that `x[1:-1]` starts at 1 and has `max(N - 2, 0)` elements. A start is exact only where there are elements.
"""

from __future__ import annotations

from loopdiff.frontend.arrays.integers import (
    ONE,
    ZERO,
    Test,
    at_least_zero,
    distance,
    divided,
    is_nonnegative,
    maximum,
    minimum,
    minus,
    plus,
    times,
)
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op


@immutable
class Slice:
    """`lower:upper:step`; None: not given. A step that is no constant is an expression above zero."""

    lower: ir.Expr | None = None
    upper: ir.Expr | None = None
    step: int | ir.Expr = 1


@immutable
class Part:
    """Elements `start`, `start + step`, ..., `count` of them."""

    start: ir.Expr
    step: int | ir.Expr
    count: ir.Expr

    def subscript(self, position: ir.Expr) -> ir.Expr:
        step = ir.Const(self.step) if isinstance(self.step, int) else self.step
        return plus(self.start, times(step, position))


def slice_part(
    size: ir.Expr, bounds: Slice, is_certain: Test = is_nonnegative, is_from_start: Test | None = None
) -> Part:
    """What `bounds` take from an axis of `size` elements. `is_certain` tells what is not negative where they stand,
    `is_from_start` of bounds, where these are evaluated.
    """
    is_from_start = is_from_start or is_certain
    step = bounds.step
    if not isinstance(step, int) or step > 0:
        start = ZERO if bounds.lower is None else at_least_zero(from_end(bounds.lower, size, is_from_start), is_certain)
        stop = size if bounds.upper is None else least_of(from_end(bounds.upper, size, is_from_start), size, is_certain)
        length = length_from(start, stop)
    else:
        last = minus(size, ONE)
        ends = (bounds.lower, bounds.upper)
        lower, upper = (None if b is None else from_end(b, size, is_from_start, -1) for b in ends)
        start = last if lower is None else least_of(lower, last, is_certain)
        stop = ir.Const(-1) if upper is None else maximum(upper, ir.Const(-1))
        length = minus(start, stop)
    if isinstance(step, int):
        count = divided(plus(length, ir.Const(abs(step) - 1)), abs(step))
    else:
        count = ir.Apply(Op.FLOORDIV, (plus(length, minus(step, ONE)), step), loc=step.loc)
    return Part(start, step, at_least_zero(count, is_certain))


def least_of(bound: ir.Expr, limit: ir.Expr, is_certain: Test) -> ir.Expr:
    return bound if is_certain(minus(limit, bound)) else minimum(bound, limit)


def length_from(start: ir.Expr, stop: ir.Expr) -> ir.Expr:
    """`stop - start`; after `max(a, 0)` it is the smaller of two, so that `x[-1:]` has `min(1, N)` elements."""
    match start:
        case ir.Apply(op=Op.MAX, args=(a, ir.Const(value=0))):
            return minimum(minus(stop, a), stop)
        case _:
            return minus(stop, start)


def from_end(bound: ir.Expr, size: ir.Expr, is_certain: Test, safe: int = -2) -> ir.Expr:
    """`bound`, from the end if it is negative; below zero for one before the start.

    `size - 1` is negative only where it is as good counted from the end; forwards, `size - 2` as well: `safe`.
    """
    if isinstance(bound, ir.Const):
        return bound if bound.value >= 0 else plus(size, bound)
    gap = distance(bound, size)
    if is_certain(bound) or (gap is not None and gap >= safe):
        return bound
    return ir.Select(ir.Apply(Op.LT, (bound, ZERO)), plus(bound, size), bound)
