"""Arrays put together from numbers and from other arrays: np.arange, np.linspace, np.triu and np.tril, np.concatenate
and its kin, np.array of lists.

`np.triu(x)`, `np.arange(n)` and `np.linspace(a, b, n)` are computed where they are used and take no memory; joined
arrays are new ones.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, cast

import numpy as np

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import require_equal, shape_text
from loopdiff.frontend.arrays.element_types import is_truth_value, kind_so_far, sort_of
from loopdiff.frontend.arrays.elementwise import held_once
from loopdiff.frontend.arrays.evaluated import require_elements
from loopdiff.frontend.arrays.integers import ONE, ZERO, at_least_zero, maximum, minus, plus, times
from loopdiff.frontend.arrays.nests import made_of, nest, new_array, note_order
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, as_array, fill, hole
from loopdiff.frontend.arrays.views import with_new_axes
from loopdiff.frontend.binding.types import Kind
from loopdiff.frontend.functions import scalar_function
from loopdiff.frontend.parsing.folding import binary
from loopdiff.frontend.parsing.lists.reading import array_in
from loopdiff.frontend.parsing.order import in_order
from loopdiff.frontend.parsing.outside import is_none
from loopdiff.frontend.parsing.placing import with_place
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, INT
from loopdiff.source.nodes import direct_call


def linspace(state: State, node: ast.Call) -> Quantity:
    """`np.linspace(start, stop, num)`: the last element is `stop` itself."""
    span = state.source.span(node)
    named = {k.arg: k.value for k in node.keywords}
    is_double = "dtype" not in named or state.outside(named.pop("dtype")) in (float, np.float64)
    end = state.number(named.pop("endpoint", ast.Constant(True)))
    nodes = dict(zip(("start", "stop", "num"), node.args, strict=False)) | named
    nodes.setdefault("num", ast.Constant(50))
    is_known = is_double and set(nodes) == {"start", "stop", "num"} and len(node.args) <= 3
    if not isinstance(end, ir.Const) or not is_known:
        message = f"`{ast.unparse(node.func)}` takes start, stop, num, endpoint and dtype=np.float64 here"
        return state.reject("LD110", message, node, "compute the value from the loop index")
    start, stop, count = in_order(state, [nodes[k] for k in ("start", "stop", "num")], State.number)
    count = state.known(count)
    if isinstance(start, ir.Const) and isinstance(stop, ir.Const):
        start = ir.Const(float(start.value), F64, loc=span)
    first, last = held_once(state, start, span), held_once(state, stop, span)
    steps = maximum(minus(count, ir.Const(1)) if end.value else count, ir.Const(1))
    step = state.temporary("step", span)
    distance = ir.Apply(Op.SUB, (last, first), loc=span)
    state.out.append(
        ir.Require(ir.Apply(Op.GE, (count, ir.Const(0))), "LD324", "no array has a negative extent", loc=span)
    )
    state.out.append(ir.Assign(step, ir.Apply(Op.DIV, (distance, steps), loc=span), loc=span))
    here = ir.Apply(Op.ADD, (ir.Apply(Op.MUL, (hole(0), ir.Load(step, loc=span)), loc=span), first), loc=span)
    if not end.value:
        return ArrayValue((count,), here)
    is_last = ir.Apply(
        Op.AND, (ir.Apply(Op.GT, (hole(0), ir.Const(0))), ir.Apply(Op.EQ, (hole(0), minus(count, ir.Const(1)))))
    )
    return ArrayValue((count,), ir.Select(is_last, last, here, loc=span))


ARANGE = ("start", "stop", "step", "dtype")


def arange(state: State, node: ast.Call) -> Quantity:
    """`np.arange(start, stop, step)`, of integers or of floats."""
    span, given = state.source.span(node), {str(k.arg): k.value for k in node.keywords}
    names = ("stop",) if len(node.args) == 1 and "stop" not in given else ARANGE
    places = dict(zip(names, node.args, strict=False))
    nodes: dict[str, ast.expr] = {"start": ast.Constant(0), "step": ast.Constant(1), **places, **given}
    is_known = len(node.args) <= len(names) and given.keys() <= {*ARANGE} - places.keys() and "stop" in nodes
    if not is_known:
        return state.reject("LD110", f"`{ast.unparse(node.func)}` takes start, stop, step and dtype", node)
    values = in_order(state, [nodes[k] for k in ARANGE[:3]], State.number)
    start, stop, step = (state.known(v) for v in values)
    moves = ir.Apply(Op.NE, (step, ZERO), loc=span)
    if not isinstance(step, ir.Const) or not step.value:
        state.out.append(ir.Require(moves, "LD330", "the step of `np.arange` is zero", loc=span))
    is_float = any(sort_of(kind_so_far(state, v)) is not Kind.INT for v in (start, stop, step))
    count, here = (floats if is_float else integers)(state, start, stop, step, span)
    function = np.float64 if is_float else np.int64
    if "dtype" in nodes and not is_none(state, nodes["dtype"]):
        wanted = state.outside(nodes["dtype"])
        known = (float, np.float64) if is_float else (float, int, np.float64, np.int64, np.float32)
        if not any(wanted is k for k in known):
            message = f"`{ast.unparse(node)}` is of another type than its numbers"
            return state.reject("LD110", message, node, "convert it: `np.arange(...).astype(...)`")
        function = wanted
    convert = scalar_function(function)
    assert convert is not None
    return ArrayValue((count,), with_place(convert.build(here), span))


def integers(state: State, start: ir.Expr, stop: ir.Expr, step: ir.Expr, span: Span) -> tuple[ir.Expr, ir.Expr]:
    """How many integers there are from `start` up to `stop`, and the one at a place."""
    is_upward = ir.Apply(Op.GT, (step, ZERO), loc=span)
    past = ir.Select(is_upward, ONE, ir.Const(-1), loc=span) if not isinstance(step, ir.Const) else sign(step)
    distance = minus(minus(stop, start), past)
    steps = distance if step == ONE else ir.Apply(Op.FLOORDIV, (distance, step), loc=span)
    return at_least_zero(plus(steps, ONE)), plus(start, times(hole(0), step))


def sign(step: ir.Const) -> ir.Const:
    return ir.Const(1 if step.value > 0 else -1)


def floats(state: State, start: ir.Expr, stop: ir.Expr, step: ir.Expr, span: Span) -> tuple[ir.Expr, ir.Expr]:
    """How many floats there are from `start` up to `stop`, and the one at a place, as NumPy computes them."""
    ratio = binary(Op.DIV, binary(Op.SUB, stop, start, span), step, span)
    if isinstance(ratio, ir.Const):
        count: ir.Expr = ir.Const(max(math.ceil(ratio.value), 0), loc=span)
    else:
        count = maximum(ir.Cast(INT, ir.Apply(Op.CEIL, (ratio,), loc=span), loc=span), ZERO)
    first, delta = held_once(state, start, span), state.temporary("step", span)
    once = binary(Op.SUB, binary(Op.ADD, start, step, span), start, span)
    state.out.append(ir.Assign(delta, once, loc=span))
    return count, ir.Apply(Op.ADD, (first, ir.Apply(Op.MUL, (hole(0), ir.Load(delta, loc=span)), loc=span)), loc=span)


def triangle(state: State, array: Array, diagonal: ir.Expr, is_upper: bool, node: ast.AST) -> Quantity:
    """`array` with zeros below the diagonal of that number, or above it."""
    if array.rank < 2:
        return state.reject("LD110", "a triangle is taken of a matrix", node)
    require_elements(state, array, node)
    row, column = hole(array.rank - 2), hole(array.rank - 1)
    place = ir.Apply(Op.SUB, (column, row))
    is_kept = ir.Apply(Op.GE if is_upper else Op.LE, (place, diagonal))
    zero = ir.Const(False) if is_truth_value(state, array.element) else ir.Const(0)
    return ArrayValue(array.extents, ir.Select(is_kept, array.element, zero, loc=state.source.span(node)))


# -- several arrays as one ---------------------------------------------------------------------------------------
def concatenated(state: State, node: ast.Call) -> Quantity:
    arrays, axis = parts_of(state, node, "axis")
    return joined(state, arrays, axis, node)


def side_by_side(state: State, node: ast.Call) -> Quantity:
    """`np.hstack`: along the first axis of vectors, else along the second."""
    arrays, _ = parts_of(state, node, takes_numbers=True)
    return joined(state, arrays, 0 if arrays and arrays[0].rank == 1 else 1, node)


def one_after_the_other(state: State, node: ast.Call, is_in_columns: bool) -> Quantity:
    """`np.r_[...]`, along the first axis, and `np.c_[...]`, in which numbers and vectors are columns; numbers that are
    written out have the type of what is beside them."""
    found = in_order(state, node.args, array_like)
    arrays = [as_vector(as_array(v)) for v in found]
    if is_in_columns:
        arrays = [with_new_axes(a, [1]) if a.rank == 1 else a for a in arrays]
    return joined(state, arrays, -1 if is_in_columns else 0, node)


def stacked(state: State, node: ast.Call) -> Quantity:
    """`np.stack`, along an axis that is new."""
    arrays, axis = parts_of(state, node, "axis", least=0)
    rank = arrays[0].rank + 1 if arrays else 1
    return joined(state, [with_new_axes(a, [axis % rank]) for a in arrays], axis, node)


def in_depth(state: State, node: ast.Call) -> Quantity:
    """`np.dstack`, along the third axis."""
    arrays, _ = parts_of(state, node, takes_numbers=True)
    return joined(state, [with_new_axes(a, {1: [0, 2], 2: [2]}.get(a.rank, [])) for a in arrays], 2, node)


def rows_of(state: State, node: ast.Call, axis: int) -> Quantity:
    """`np.vstack` and `np.column_stack`: vectors are rows, or columns."""
    arrays, _ = parts_of(state, node, takes_numbers=True)
    return joined(state, [with_new_axes(a, [axis]) if a.rank == 1 else a for a in arrays], axis, node)


def blocks(state: State, node: ast.Call) -> Quantity:
    """`np.block` of lists: those inside side by side, and what they make below each other."""
    shape = shape_of(node.args[0]) if len(node.args) == 1 and not node.keywords else ()
    match node.args:
        case [ast.List(elts=[ast.List(), *_] as rows)] if len(shape) == 2 and all(
            isinstance(r, ast.List) for r in rows
        ):
            lists = [row.elts for row in rows if isinstance(row, ast.List)]
        case [ast.List(elts=elts)] if len(shape) == 1:
            lists = [elts]
        case _:
            hint = "join the arrays by `np.concatenate`"
            return state.reject("LD110", "`np.block` takes one list, or lists in a list, written out", node, hint)
    found = [as_array(of_double(v)) for v in in_order(state, [e for elts in lists for e in elts], State.quantity)]
    rank = max(len(shape), *(a.rank for a in found))
    parts = iter(with_new_axes(a, range(rank - a.rank)) for a in found)
    made = [joined(state, [next(parts) for _ in elts], -1, node) for elts in lists]
    return made[0] if len(shape) == 1 else joined(state, [as_array(m) for m in made], -2, node)


def as_vector(array: Array) -> Array:
    """`array`; a number as a vector of one element."""
    return array if array.rank else ArrayValue((ONE,), array.element)


def parts_of(
    state: State, node: ast.Call, *names: str, takes_numbers: bool = False, least: int = 1
) -> tuple[list[Array], int]:
    """The arrays that a call joins, none after a rejection, and the axis that it names. Numbers among them, where it
    `takes_numbers`, are vectors of one element; they are refused if arrays have `least` one axis."""
    given = dict(zip(names, node.args[1:], strict=False)) | {k.arg or "": k.value for k in node.keywords}
    match node.args[:1]:
        case [ast.Tuple(elts=elts) | ast.List(elts=elts)] if (
            elts and set(given) <= {*names} and len(node.args) <= 1 + len(names)
        ):
            arrays = [as_array(of_double(v)) for v in in_order(state, elts, array_like)]
            arrays = [as_vector(a) for a in arrays] if takes_numbers else arrays
            axis = state.number(given["axis"]) if "axis" in given else ir.Const(0)
            if isinstance(axis, ir.Const) and isinstance(axis.value, int) and min(a.rank for a in arrays) >= least:
                return arrays, axis.value
        case _:
            pass
    text = ast.unparse(node.func)
    state.reject("LD110", f"`{text}` takes arrays in a tuple that is written out, and an axis", node)
    return [], 0


def joined(state: State, arrays: Sequence[Array], axis: int, node: ast.Call) -> Quantity:
    """A new array of `arrays`, one after the other along `axis`."""
    span = state.source.span(node)
    if not arrays:
        return ir.Const(0, loc=span)
    rank = arrays[0].rank
    if any(a.rank != rank for a in arrays) or not -rank <= axis < rank:
        return state.reject("LD110", f"`{ast.unparse(node.func)}` joins arrays with as many axes", node)
    axis %= rank
    total = reduce(plus, (a.extents[axis] for a in arrays))
    view = room_for(state, arrays, (*arrays[0].extents[:axis], total, *arrays[0].extents[axis + 1 :]), (axis,), node)
    offset: ir.Expr = ZERO
    for array in arrays:
        put(state, view, array, [ZERO] * axis + [offset] + [ZERO] * (rank - axis - 1), span)
        offset = plus(offset, array.extents[axis])
    return view


# -- lists of lists ----------------------------------------------------------------------------------------------
def is_written_out(node: ast.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], ast.List | ast.Tuple)


def literal(state: State, node: ast.Call) -> Quantity:
    """`np.array` of lists."""
    if len(node.args) > 2 or any(k.arg != "dtype" or len(node.args) > 1 for k in node.keywords):
        return state.reject("LD110", f"`{ast.unparse(node.func)}` takes lists and a dtype here", node)
    return listed(state, node.args[0])


def array_like(state: State, node: ast.expr) -> Quantity:
    """The value of `node`, where a list, a tuple or a `range` is an array of what is in it."""
    if (found := array_in(state, node)) is not None:
        return found
    match node:
        case ast.BinOp() if is_row(node):
            return item_of_list(state, node)
        case ast.List() | ast.Tuple():
            state.need_types()
            return listed(state, node)
        case ast.Call(func=func, args=[_, *_] as args, keywords=[]) if state.outside(func) is range:
            made = ast.Call(ast.Constant(cast(Any, np.arange)), args, [])
            return state.quantity(ast.fix_missing_locations(ast.copy_location(made, node)))
        case _:
            return state.quantity(node)


def listed(state: State, node: ast.expr) -> Quantity:
    """An array of nested lists of numbers, or of arrays that all have the same shape."""
    span, shape = state.source.span(node), shape_of(node)
    if shape == (0,):
        return ArrayValue((ZERO,), ir.Const(0.0, F64, loc=span))
    leaves = leaves_of(node, len(shape))
    if leaves is None or 0 in shape:
        return state.reject("LD110", f"`{ast.unparse(node)}` has lists that differ in length, or are empty", node)
    parts = [as_array(of_double(v)) for v in in_order(state, leaves, item_of_list)]
    first = parts[0]
    if any(p.rank != first.rank for p in parts):
        return state.reject("LD110", f"`{ast.unparse(node)}` joins arrays with as many axes", node)
    view = room_for(state, parts, (*map(ir.Const, shape), *first.extents), (), node)
    for part, place in zip(parts, np.ndindex(*shape), strict=True):
        put(state, view, part, [*map(ir.Const, place), *[ZERO] * first.rank], span)
    return view


def item_of_list(state: State, node: ast.expr) -> Quantity:
    """What stands in a list: a number, an array, or a list, whose length may be known to the run alone."""
    if (found := array_in(state, node)) is not None:
        return found
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if is_row(node):
            return state.quantity(direct_call(np.concatenate, [ast.copy_location(ast.List([left, right]), node)], node))
        case ast.BinOp(left=left, right=right) if is_row(node):
            is_first = is_display(left)
            return repeated_row(state, *((left, right) if is_first else (right, left)), node)
        case ast.List() | ast.Tuple():
            return listed(state, node)
        case ast.ListComp():
            return state.quantity(direct_call(np.array, [node], node))
        case _:
            return state.quantity(node)


def repeated_row(state: State, row: ast.expr, count: ast.expr, node: ast.AST) -> Quantity:
    """`[a, b] * count`; nothing if that is negative."""
    found = as_array(listed(state, row))
    times_all = at_least_zero(state.known(state.number(count)))
    length, *others = found.extents
    place = binary(Op.MOD, hole(0), length, state.source.span(node)) if length != ONE else ZERO
    element = fill(found.element, (place, *map(hole, range(1, found.rank))))
    return ArrayValue((times(length, times_all), *others), element)


def is_display(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple)


def is_row(node: ast.expr) -> bool:
    """Whether `node` is `[v] * n`, or lists one behind the other, `[v] * n + [w]`."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return is_display(left) != is_display(right)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return all(is_display(part) or is_row(part) for part in (left, right))
        case _:
            return False


def of_double(value: Quantity) -> Quantity:
    """`value`; a number written out is no weak one in a list, but one of double precision."""
    is_weak = isinstance(value, ir.Const) and isinstance(value.value, float) and value.dtype is None
    return replace(value, dtype=F64) if is_weak and isinstance(value, ir.Const) else value


def room_for(
    state: State, parts: Sequence[Array], extents: Sequence[ir.Expr], but: Sequence[int], node: ast.AST
) -> View:  # fmt: skip
    """A new array of the `extents` for elements of all `parts`, which must have one shape, `but` along some axes."""
    span, first = state.source.span(node), parts[0]
    for part in parts:
        require_elements(state, part, node)
        message = f"the shapes {shape_text(part.extents)} and {shape_text(first.extents)} do not fit together"
        for k, (size, wanted) in enumerate(zip(part.extents, first.extents, strict=True)):
            if k not in but:
                require_equal(state, size, wanted, message, span)
    view = new_array(state, "joined", extents, span, all(is_truth_value(state, p.element) for p in parts))
    made_of(state, view.array, *(p.element for p in parts))
    if all(p.rank == view.rank for p in parts):  # of arrays in lists, rows follow one another
        note_order(state, view.array, *parts)
    return view


def put(state: State, view: View, part: Array, offsets: Sequence[ir.Expr], span: Span) -> None:
    """Store `part` into `view`, from `offsets` on; where it has fewer axes, into one place along the others."""
    missing = len(offsets) - part.rank

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        places = map(plus, (*[ZERO] * missing, *subscripts), offsets)
        return [ir.Assign(view.access(tuple(places)), fill(part.element, subscripts), loc=span)]

    state.out += nest(state, part.extents, make, span)


def shape_of(node: ast.expr) -> tuple[int, ...]:
    """How many lists there are in lists, as the first of each says."""
    match node:
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return (len(elts), *(shape_of(elts[0]) if elts and not any(map(is_row, elts)) else ()))
        case _:
            return ()


def leaves_of(node: ast.expr, depth: int) -> list[ast.expr] | None:
    """What lists in lists hold, in order; None where they are not alike."""
    if depth == 0:
        return [node]
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    found: list[ast.expr] = []
    for inner in node.elts:
        leaves = leaves_of(inner, depth - 1)
        is_alike = shape_of(inner) == shape_of(node.elts[0]) or any(map(is_row, node.elts))
        if leaves is None or not is_alike:
            return None
        found += leaves
    return found


MAKERS: dict[object, Callable[[State, ast.Call], Quantity]] = {
    np.linspace: linspace, np.concatenate: concatenated, np.hstack: side_by_side, np.stack: stacked,
    np.vstack: partial(rows_of, axis=0), np.column_stack: partial(rows_of, axis=1), np.dstack: in_depth,
    np.arange: arange, np.block: blocks,
}  # fmt: skip
JOINING: dict[object, Any] = {
    np.r_: partial(one_after_the_other, is_in_columns=False), np.c_: partial(one_after_the_other, is_in_columns=True),
}  # fmt: skip
MAKERS |= {made: made for made in JOINING.values()}
