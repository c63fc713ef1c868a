"""Arrays made of values written side by side: np.array of lists, and np.concatenate, np.stack and their like."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import require_equal, shape_text
from loopdiff.frontend.arrays.element_types import is_truth_value
from loopdiff.frontend.arrays.evaluated import require_elements
from loopdiff.frontend.arrays.integers import ZERO, distance, plus
from loopdiff.frontend.arrays.nests import made_of, nest, new_array
from loopdiff.frontend.arrays.values import Array, Quantity, View, as_array, fill
from loopdiff.frontend.arrays.views import with_new_axes
from loopdiff.frontend.parsing.order import in_order
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir

Parts = list[Array]


def rows(parts: Parts) -> tuple[Parts, int]:
    """One below the other, vectors as rows."""
    return [with_new_axes(p, [0]) if p.rank == 1 else p for p in parts], 0


def columns(parts: Parts) -> tuple[Parts, int]:
    """One beside the other, vectors as columns."""
    return [with_new_axes(p, [1]) if p.rank == 1 else p for p in parts], 1


def side_by_side(parts: Parts) -> tuple[Parts, int]:
    return parts, 0 if parts[0].rank == 1 else 1


FIXED: dict[Any, Callable[[Parts], tuple[Parts, int]]] = {
    np.vstack: rows, np.hstack: side_by_side, np.column_stack: columns,
}  # fmt: skip
JOINING = (np.array, np.concatenate, np.stack, *FIXED)


def is_joining(node: ast.Call, callee: Any) -> bool:
    """Whether `node` calls a function that makes an array of several values, written out."""
    return any(callee is f for f in JOINING) and (callee is not np.array or is_written_out(node))


def is_written_out(node: ast.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], ast.List | ast.Tuple)


def joining_call(state: State, node: ast.Call, callee: Any) -> Quantity:
    state.need_types()
    text, span = ast.unparse(node.func), state.source.span(node)
    unknown = next((k.arg for k in node.keywords if k.arg != "axis" or callee is np.array or callee in FIXED), None)
    if unknown is not None or len(node.args) > 1 + (callee in (np.concatenate, np.stack)):
        return state.reject("LD110", f"`{text}` is called with arguments it does not take here", node)
    if not is_written_out(node):
        hint = "write the arrays out: `np.stack((x, y))`"
        return state.reject("LD110", f"`{text}` takes several arrays, in a tuple or a list", node, hint)
    before = len(state.diagnostics)
    if callee is np.array:
        found = literal(state, node.args[0], span)
        return ir.Const(0, loc=span) if found is None or len(state.diagnostics) > before else found
    parts = arrays_of(state, node.args[0])
    axis = axis_of(state, node)
    if len(state.diagnostics) > before:
        return ir.Const(0, loc=span)
    if not parts:
        return state.reject("LD110", f"`{text}` of no arrays", node)
    if callee in FIXED:
        parts, axis = FIXED[callee](parts)
    rank = parts[0].rank + (callee is np.stack)
    if any(p.rank != parts[0].rank for p in parts) or not -rank <= axis < rank:
        return state.reject("LD207", f"`{ast.unparse(node)}` joins arrays that do not have the same axes", node)
    if callee is np.stack:
        parts = [with_new_axes(p, [axis % rank]) for p in parts]
    return joined(state, parts, axis % rank, node)


def axis_of(state: State, node: ast.Call) -> int:
    given = next((k.value for k in node.keywords), node.args[1] if len(node.args) > 1 else ast.Constant(0))
    axis = state.number(given)
    if not isinstance(axis, ir.Const) or not isinstance(axis.value, int):
        state.reject("LD110", "`axis` must be an integer written out, or a tuple of them", node)
        return 0
    return axis.value


def arrays_of(state: State, node: ast.expr) -> Parts:
    """The arrays that a tuple or a list names, in order."""
    assert isinstance(node, ast.List | ast.Tuple)
    found = [as_array(v) for v in in_order(state, node.elts, State.quantity)]
    for part, element in zip(found, node.elts, strict=True):
        require_elements(state, part, element)
    return found


def joined(state: State, parts: Parts, axis: int, node: ast.AST) -> View:
    """A new array of `parts`, one after the other along `axis`."""
    span = state.source.span(node)
    first = parts[0]
    for part in parts[1:]:
        message = f"the shapes {shape_text(first.extents)} and {shape_text(part.extents)} do not fit together"
        for k, (size, extent) in enumerate(zip(part.extents, first.extents, strict=True)):
            if k != axis and distance(size, extent) != 0:
                require_equal(state, size, extent, message, span)
    total = reduce(plus, (p.extents[axis] for p in parts))
    view = made(state, (*first.extents[:axis], total, *first.extents[axis + 1 :]), parts, span)
    offset: ir.Expr = ZERO
    for part in parts:
        put(state, view, part, [ZERO] * axis + [offset] + [ZERO] * (first.rank - axis - 1), span)
        offset = plus(offset, part.extents[axis])
    return view


def made(state: State, extents: Sequence[ir.Expr], parts: Parts, span: Span) -> View:
    """A new array of the `extents` that can hold elements of all `parts`."""
    view = new_array(state, "joined", extents, span, all(is_truth_value(state, p.element) for p in parts))
    made_of(state, view.array, *(p.element for p in parts))
    return view


def put(state: State, view: View, part: Array, offsets: Sequence[ir.Expr], span: Span) -> None:
    """Store `part` into `view`, from `offsets` on; where it has fewer axes, into one place along the others."""
    missing = len(offsets) - part.rank

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        places = map(plus, (*[ZERO] * missing, *subscripts), offsets)
        return [ir.Assign(view.access(tuple(places)), fill(part.element, subscripts), loc=span)]

    state.out += nest(state, part.extents, make, span)


# -- lists of lists ----------------------------------------------------------------------------------------------
def literal(state: State, node: ast.expr, span: Span) -> View | None:
    """The array that nested lists of numbers, or of arrays, are; None after a rejection."""
    shape = shape_of(node)
    leaves = leaves_of(node, len(shape))
    if shape and (leaves is None or 0 in shape):
        state.reject("LD110", f"`{ast.unparse(node)}` is no array: its lists differ in length, or are empty", node)
        return None
    parts = [as_array(v) for v in in_order(state, leaves or [], State.quantity)]
    for part, leaf in zip(parts, leaves or [], strict=True):
        require_elements(state, part, leaf)
    first = parts[0]
    if any(p.rank != first.rank for p in parts):
        state.reject("LD207", f"`{ast.unparse(node)}` joins arrays that do not have the same axes", node)
        return None
    for part in parts[1:]:
        message = f"the shapes {shape_text(first.extents)} and {shape_text(part.extents)} do not fit together"
        for size, extent in zip(part.extents, first.extents, strict=True):
            if distance(size, extent) != 0:
                require_equal(state, size, extent, message, span)
    view = made(state, (*map(ir.Const, shape), *first.extents), parts, span)
    for part, place in zip(parts, np.ndindex(*shape), strict=True):
        put(state, view, part, [*map(ir.Const, place), *[ZERO] * first.rank], span)
    return view


def shape_of(node: ast.expr) -> tuple[int, ...]:
    """How many lists there are in lists, as the first of each says."""
    match node:
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return (len(elts), *(shape_of(elts[0]) if elts else ()))
        case _:
            return ()


def leaves_of(node: ast.expr, depth: int) -> list[ast.expr] | None:
    """What lists in lists hold, in order; None where they are not alike."""
    if depth == 0:
        return None if isinstance(node, ast.List | ast.Tuple) else [node]
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    found: list[ast.expr] = []
    for inner in node.elts:
        leaves = leaves_of(inner, depth - 1)
        if leaves is None or shape_of(inner) != shape_of(node.elts[0]):
            return None
        found += leaves
    return found
