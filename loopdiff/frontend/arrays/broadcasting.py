"""Elementwise work on arrays: NumPy's broadcasting, with what must agree required equal before it is relied on.

An axis with one element repeats. That it has one is known where the extent is the constant 1, and for axes of
arguments, where the types of the call say so; anywhere else extents that meet must be equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import distance, upper_limit
from loopdiff.frontend.arrays.values import Array, fill, hole
from loopdiff.frontend.extents import SMALL, Question, is_so
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr


def broadcast(state: State, arrays: Sequence[Array], span: Span) -> tuple[tuple[ir.Expr, ...], list[ir.Expr]]:
    """The common extents of `arrays`, and their elements as formulas of its subscripts."""
    rank = max(a.rank for a in arrays)
    extents = []
    for axis in range(rank):
        sizes = [a.extents[axis - rank + a.rank] for a in arrays if axis - rank + a.rank >= 0]
        extents.append(common_extent(state, sizes))
    for array in arrays:
        require_fit(state, array, extents, span)
    return tuple(extents), [aligned(state, a, extents) for a in arrays]


def common_extent(state: State, sizes: Sequence[ir.Expr]) -> ir.Expr:
    """The extent of an axis along which `sizes` meet: the first that is not 1."""
    distinct = [s for k, s in enumerate(sizes) if not any(distance(s, t) == 0 for t in sizes[:k])]
    if len(distinct) == 1:
        return distinct[0]
    return next((s for s in distinct if not is_unit(state, s)), distinct[0])


def is_unit(state: State, size: ir.Expr) -> bool:
    """Whether the extent is known to be 1, or at most 1."""
    match size:
        case ir.Dim(array=array, axis=axis) if state.arrays[array].role == "argument":
            return answered(state, (array, axis, 1))
        case _:
            return upper_limit(size) == 1


def are_equal_here(state: State, size: ir.Expr, other: ir.Expr) -> bool:
    """Whether two extents, one of them that of an argument, are equal in the call at hand: other calls have code of
    their own."""
    match size, other:
        case (ir.Const(), ir.Dim()) | (ir.Const() | ir.Dim(), ir.Apply()):
            return are_equal_here(state, other, size)
        case (ir.Apply(op=Op.MIN | Op.MAX, args=ends), _):
            found = all(e == other or are_equal_here(state, e, other) for e in ends)
        case (ir.Dim(array=array, axis=axis), ir.Const(value=int(number))) if state.arrays[array].role == "argument":
            found = number <= SMALL and answered(state, (array, axis, number))
        case (ir.Dim(array=array, axis=axis), ir.Dim(array=second, axis=place)) if all(
            state.arrays[name].role == "argument" for name in (array, second)
        ):
            found = answered(state, (array, axis, (second, place)))
        case _:
            return False
    return found


def answered(state: State, question: Question) -> bool:
    state.whole.asked.add(question)
    return is_so(question, state.need_types())


def require_fit(state: State, array: Array, extents: Sequence[ir.Expr], span: Span) -> None:
    """Axes of `array` must have the `extents`, or one element."""
    for size, extent in zip(reversed(array.extents), reversed(extents), strict=False):
        if distance(size, extent) == 0 or (isinstance(size, ir.Const) and size.value == 1):
            continue
        message = f"the shapes {shape_text(array.extents)} and {shape_text(extents)} do not fit together"
        if not is_unit(state, size):
            require_equal(state, size, extent, message, span)
            continue
        cond: ir.Expr = ir.Apply(Op.EQ, (size, ir.Const(1)))
        if not isinstance(size, ir.Dim):  # it may be empty: then so is the other
            cond = ir.Apply(Op.OR, (cond, ir.Apply(Op.EQ, (size, extent))))
        state.out.append(ir.Require(cond, "LD320", message, loc=span))


def require_equal(state: State, size: ir.Expr, wanted: ir.Expr, message: str, span: Span) -> None:
    if distance(size, wanted) != 0:
        state.out.append(ir.Require(ir.Apply(Op.EQ, (size, wanted), loc=span), "LD320", message, loc=span))


def aligned(state: State, array: Array, extents: Sequence[ir.Expr]) -> ir.Expr:
    """The element of `array` by the subscripts of an array of the `extents`, to which it is repeated."""
    return fill(array.element, positions_in(state, array, extents))


def positions_in(state: State, array: Array, extents: Sequence[ir.Expr]) -> list[ir.Expr]:
    """Where in `array`, which is repeated to an array of the `extents`, the element at given subscripts of that is."""
    offset = len(extents) - array.rank
    positions: list[ir.Expr] = []
    for axis, size in enumerate(array.extents):
        extent = extents[axis + offset]
        repeats = distance(size, extent) != 0 and is_unit(state, size)
        positions.append(ir.Const(0) if repeats else hole(axis + offset))
    return positions


def shape_text(extents: Sequence[ir.Expr]) -> str:
    """The extents as a tuple, in the user's words."""
    inner = ", ".join(print_expr(e).replace("[]", "") for e in extents)
    return f"({inner},)" if len(extents) == 1 else f"({inner})"
