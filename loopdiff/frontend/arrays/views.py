"""Views: basic subscripts, transposes and reshapes of arrays, as other subscripts of the same memory."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import is_unit
from loopdiff.frontend.arrays.evaluated import require_in_axis
from loopdiff.frontend.arrays.integers import (
    ONE,
    ZERO,
    at_least_zero,
    distance,
    folded,
    maximum,
    minimum,
    minus,
    plus,
    times,
)
from loopdiff.frontend.arrays.ranges import is_nonnegative_here, keep_range, tests_of_slices
from loopdiff.frontend.arrays.slicing import Slice, slice_part
from loopdiff.frontend.arrays.values import (
    Array,
    ArrayValue,
    Choice,
    Quantity,
    View,
    as_array,
    fill,
    has_holes,
    hole,
    is_hole,
    of_each,
)
from loopdiff.frontend.parsing.bindings import ArrayName, Cell, Given
from loopdiff.frontend.parsing.outside import array_of, is_none, root_is_local
from loopdiff.frontend.parsing.sites import Copy
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import map_expr
from loopdiff.numpy_functions import is_of_numpy

Nodes = dict[str, ast.expr]


class NewAxis:
    """`None` among subscripts."""


class Rest:
    """`...` among subscripts."""


Subscript = ir.Expr | Slice | View | ArrayValue | NewAxis | Rest


def taken(array: Array, positions: Sequence[ir.Expr], extents: Sequence[ir.Expr]) -> Array:
    """The array of the `extents` whose element is that of `array` at `positions`."""

    def part(view: View) -> View:
        return replace(view, subscripts=view.access(positions).subscripts, extents=tuple(extents), is_piece=False)

    match array:
        case View():
            return part(array)
        case ArrayValue(memory=Choice()):
            return of_each(array, lambda one: taken(one, positions, extents))
        case ArrayValue(memory=memory):
            whose = part(memory) if isinstance(memory, View) else None
            return ArrayValue(tuple(extents), fill(array.element, positions), whose)


def basic(state: State, array: Array, subscripts: Sequence[Subscript], node: ast.AST) -> Quantity:
    """`array` at integers, slices and new axes, one for each axis of it."""
    positions: list[ir.Expr] = []
    extents: list[ir.Expr] = []
    for subscript in subscripts:
        axis = len(positions)
        match subscript:
            case NewAxis():
                extents.append(ir.Const(1))
            case Slice():
                part = slice_part(array.extents[axis], subscript, *tests_of_slices(state))
                positions.append(part.subscript(hole(len(extents))))
                extents.append(part.count)
            case _:
                assert not isinstance(subscript, View | ArrayValue | Rest)
                positions.append(inside(state, array, axis, subscript, node))
    found = taken(array, positions, extents)
    if isinstance(found, View) and isinstance(array, View) and array.is_piece and are_rows(array, subscripts):
        found = replace(found, is_piece=True)
    if extents:
        for axis, subscript in enumerate(s for s in subscripts if not isinstance(s, NewAxis)):
            if not isinstance(subscript, Slice):
                require_evaluated(state, array, axis, subscript, node)  # type: ignore[arg-type]
        return found
    span = state.source.span(node)
    if isinstance(found, View):
        return ir.Load(replace(found.access(()), loc=span), loc=span)
    return found.element


def are_rows(array: Array, subscripts: Sequence[Subscript]) -> bool:
    """Whether the elements at `subscripts` follow one another where those of all of `array` do: integers come first,
    then a part of one axis, and then all of the others."""
    kept = [(s, e) for s, e in zip((s for s in subscripts if not isinstance(s, NewAxis)), array.extents, strict=True)]
    while kept and not isinstance(kept[0][0], Slice):
        del kept[0]
    is_next = not kept or (isinstance(kept[0][0], Slice) and kept[0][0].step == 1)
    return is_next and all(is_all_along(s, extent) for s, extent in kept[1:])


def is_all_along(subscript: Subscript, extent: ir.Expr) -> bool:
    """Whether `subscript` is a slice that takes all of an axis of so many elements."""
    if not isinstance(subscript, Slice) or subscript.step != 1:
        return False
    lower, upper = (
        b is None or distance(b, end) == 0 for b, end in ((subscript.lower, ZERO), (subscript.upper, extent))
    )
    return lower and upper


def inside(state: State, array: Array, axis: int, subscript: ir.Expr, node: ast.AST) -> ir.Expr:
    """The integer `subscript` of one axis, required to be in range where the axis is not one of the memory itself."""
    size = array.extents[axis]
    if isinstance(array, View) and is_full_axis(state, array, axis):
        return subscript
    span = state.source.span(node)
    if isinstance(subscript, ir.Const) and subscript.value < 0:
        subscript = plus(size, subscript)
    low = ir.Apply(Op.GE, (subscript, ZERO), loc=span)
    high = ir.Apply(Op.LT, (subscript, size), loc=span)
    room = minus(minus(size, subscript), ONE)
    tests = [test for least, test in ((subscript, low), (room, high)) if not is_nonnegative_here(state, least)]
    if tests:
        message = f"`{ast.unparse(node)}`: the subscript is outside axis {axis} of the view"
        cond = tests[0] if len(tests) == 1 else ir.Apply(Op.AND, tuple(tests), loc=span)
        if not is_required(state, cond):
            state.out.append(ir.Require(cond, "LD310", message, loc=span))
    return subscript


def require_evaluated(state: State, array: Array, axis: int, subscript: ir.Expr, node: ast.AST) -> None:
    """Require that an integer among the subscripts of a part of `array` is in range, be that empty or never read."""
    if isinstance(array, View) and is_full_axis(state, array, axis):
        place = next(k for k, s in enumerate(array.subscripts) if s == hole(axis))
        require_in_axis(state, array.array, place, subscript, state.source.span(node), ast.unparse(node))


def is_required(state: State, cond: ir.Expr) -> bool:
    """Whether the statements just before require the same."""
    for stmt in reversed(state.out):
        if not isinstance(stmt, ir.Require):
            return False
        if stmt.cond == cond:
            return True
    return False


def is_full_axis(state: State, view: View, axis: int) -> bool:
    """Whether `axis` of the view is an axis of its array, all of it."""
    found = [k for k, s in enumerate(view.subscripts) if s == hole(axis)]
    if len(found) != 1:
        return False
    whole = state.all_of(view.array, view.extents[axis].loc)
    return distance(whole.extents[found[0]], view.extents[axis]) == 0


# -- axes ----------------------------------------------------------------------------------------------------
def transposed(array: Array, order: Sequence[int]) -> Array:
    """`array` with its axes in another order: axis k of the result is axis `order[k]`."""
    if array.rank < 2:
        return array
    positions = [hole(list(order).index(axis)) for axis in range(array.rank)]
    return taken(array, positions, [array.extents[axis] for axis in order])


def with_new_axes(array: Array, axes: Sequence[int]) -> Array:
    """`array` with an axis of one element at each of `axes` of the result."""
    rank = array.rank + len(axes)
    kept = [k for k in range(rank) if k not in axes]
    extents: list[ir.Expr] = [ir.Const(1)] * rank
    for axis, place in enumerate(kept):
        extents[place] = array.extents[axis]
    return taken(array, [hole(k) for k in kept], extents)


def is_numpys_number(state: State, node: ast.expr) -> bool:
    """Whether `node`, if it is a number, is one of NumPy's, which have the methods of arrays: an element of an array,
    or what a function of NumPy was given. Python's have none."""
    if state.types is None or not root_is_local(state, node):
        return False
    if not is_of_numpy(state.source.home.file):
        return is_made_of_elements(state, node)
    return not isinstance(node, ast.Name) or isinstance(state.binding(node.id), Cell | Given)


def is_made_of_elements(state: State, node: ast.expr) -> bool:
    """Whether `node` is an element of an array, or arithmetic with one, which makes NumPy's numbers of Python's."""
    match node:
        case ast.Subscript(value=array):
            return array_of(state, array) is not None
        case ast.BinOp(left=left, right=right):
            return is_made_of_elements(state, left) or is_made_of_elements(state, right)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return is_made_of_elements(state, operand)
        case _:
            return False


# -- memory --------------------------------------------------------------------------------------------------
def product(extents: Sequence[ir.Expr]) -> ir.Expr:
    total: ir.Expr = ONE
    for extent in extents:
        total = (
            times(total, extent)
            if isinstance(total, ir.Const) or isinstance(extent, ir.Const)
            else ir.Apply(Op.MUL, (total, extent))
        )
    return total


def is_contiguous(state: State, array: Array) -> bool:
    """Whether the elements of all memory that `array` may be follow one another, so that a reshape of it is a view."""
    match array:
        case View():
            return is_in_one_piece(state, array)
        case ArrayValue(memory=View() as view):
            return is_in_one_piece(state, view)
        case ArrayValue(memory=Choice(then=then, orelse=orelse)):
            return is_contiguous(state, then) and is_contiguous(state, orelse)
        case _:
            return True


def is_in_one_piece(state: State, view: View) -> bool:
    if view.is_piece:
        return view.rank == 1 or view.array not in state.whole.turned
    decl = state.arrays[view.array]
    kind = state.need_types().get(view.array) if decl.role == "argument" else None
    if isinstance(kind, ArrayType) and kind.layout != "C":
        return False
    axes = [s for s in view.subscripts if has_holes(s)]
    used = [int(t.name[1:]) for s in axes for t in linear(s)[0] if is_hole(t)]  # type: ignore[union-attr]
    if view.array in state.whole.turned and len(used) > 1:
        return False
    units = [k for k, e in enumerate(view.extents) if isinstance(e, ir.Const) and e.value == 1]
    if used != [k for k in range(view.rank) if k not in units or k in used]:
        return False
    fixed = len(view.subscripts) - len(axes)
    if any(has_holes(s) for s in view.subscripts[:fixed]):
        return False
    return all(is_full_axis(state, view, k) for k in used[1:]) and all(
        linear(axes[0])[0].get(hole(k)) == 1 for k in used[:1]
    )


# -- names ---------------------------------------------------------------------------------------------------
def steady(state: State, view: View) -> View:
    """`view` with what later statements could change held in cells, as a name for it needs."""
    cells: dict[ir.Expr, ir.Expr] = {}
    state.whole.fresh.discard(view.array)

    def hold(expr: ir.Expr) -> ir.Expr:
        if not isinstance(expr, ir.Load | ir.Index) or has_holes(expr):
            return expr
        if expr not in cells:
            cell = state.temporary("at", expr.loc)
            state.out.append(ir.Assign(cell, expr, loc=expr.loc))
            cells[expr] = ir.Load(cell, loc=expr.loc)
            keep_range(state, cell.array, expr)
        return cells[expr]

    def held(expr: ir.Expr) -> ir.Expr:
        known = state.known(expr)
        return known if state.is_fixed(known) else folded(map_expr(hold, known))

    return replace(view, subscripts=tuple(map(held, view.subscripts)), extents=tuple(map(held, view.extents)))


def bind_view(state: State, name: str, view: View, span: Span) -> None:
    """Let `name` stand for a view, or for the array if it is all of one."""
    state.whole.fresh.discard(view.array)
    is_whole = replace(view, is_piece=False) == state.all_of(view.array, span)
    state.bindings[name] = ArrayName(view.array) if is_whole else steady(state, view)


# -- functions that give views ---------------------------------------------------------------------------------
@immutable
class Call:
    """One call: of `array` with the arguments `given` by name; `more` are those of a parameter such as `*axes`."""

    array: Quantity
    given: Nodes
    more: list[ast.expr]
    node: ast.Call


def axes_of(state: State, node: ast.expr | None, array: Array, at: ast.AST) -> tuple[int, ...] | None:
    """The axes that an `axis` argument names, from zero; None after a rejection."""
    if node is None or is_none(state, node):
        return tuple(range(array.rank))
    found: list[int] = []
    for part in node.elts if isinstance(node, ast.Tuple | ast.List) else [node]:
        value = state.number(part)
        if not isinstance(value, ir.Const) or not isinstance(value.value, int):
            state.reject("LD110", "`axis` must be an integer written out, or a tuple of them", part)
            return None
        if not -array.rank <= value.value < array.rank:
            axes = "1 axis" if array.rank == 1 else f"{array.rank} axes"
            state.reject(
                "LD207", f"there is no axis {value.value} in an array with {axes}", part, "name one of its axes"
            )
            return None
        found.append(value.value % array.rank)
    if len(set(found)) < len(found):
        state.reject("LD110", f"`{ast.unparse(at)}` names an axis twice", at)
        return None
    return tuple(found)


def transpose(state: State, call: Call) -> Quantity:
    array = as_array(call.array)
    given = call.given.get("axes")
    nodes = call.more or ([] if given is None else [given])
    if not nodes:
        return transposed(array, range(array.rank)[::-1])
    inner = nodes[0] if len(nodes) == 1 and isinstance(nodes[0], ast.Tuple) else ast.Tuple(list(nodes), ast.Load())
    axes = axes_of(state, inner, array, call.node)
    if axes is None or len(axes) != array.rank:
        return state.reject("LD110", f"`{ast.unparse(call.node)}` does not name every axis", call.node)
    return transposed(array, axes)


def swapaxes(state: State, call: Call) -> Quantity:
    pairs = pairs_of_axes(state, call, "axis1", "axis2")
    if pairs is None:
        return ir.Const(0, loc=state.source.span(call.node))
    if len(pairs) != 1:
        return state.reject("LD110", f"`{ast.unparse(call.node)}` must name two axes", call.node)
    array = as_array(call.array)
    order = list(range(array.rank))
    ((first, second),) = pairs
    order[first], order[second] = second, first
    return transposed(array, order)


def moveaxis(state: State, call: Call) -> Quantity:
    """A view with some axes in other places, and the others in their order around them."""
    pairs = pairs_of_axes(state, call, "source", "destination")
    if pairs is None:
        return ir.Const(0, loc=state.source.span(call.node))
    array = as_array(call.array)
    order = [axis for axis in range(array.rank) if axis not in [source for source, _ in pairs]]
    for source, destination in sorted(pairs, key=lambda pair: pair[1]):
        order.insert(destination, source)
    return transposed(array, order)


def pairs_of_axes(state: State, call: Call, *names: str) -> list[tuple[int, int]] | None:
    """The axes that two arguments name, side by side; None after a rejection."""
    nodes = [call.given[name] for name in names]
    first, second = (axes_of(state, node, as_array(call.array), call.node) for node in nodes)
    if first is None or second is None:
        return None
    if len(first) != len(second) or any(is_none(state, node) for node in nodes):
        state.reject("LD110", f"`{ast.unparse(call.node)}` must name as many axes twice", call.node)
        return None
    return list(zip(first, second, strict=True))


def flip(state: State, call: Call) -> Quantity:
    """A view with elements in the opposite order along the axes given, or all."""
    array = as_array(call.array)
    axes = axes_of(state, call.given.get("axis"), array, call.node)
    if axes is None:
        return ir.Const(0, loc=state.source.span(call.node))
    lasts = [minus(e, ir.Const(1)) for e in array.extents]
    positions = [minus(last, hole(k)) if k in axes else hole(k) for k, last in enumerate(lasts)]
    return taken(array, positions, array.extents)


def expand_dims(state: State, call: Call) -> Quantity:
    array, node = as_array(call.array), call.given["axis"]
    count = len(node.elts) if isinstance(node, ast.Tuple | ast.List) else 1
    made = replace(array, extents=(*array.extents, *[ONE] * count))
    axes = None if is_none(state, node) else axes_of(state, node, made, call.node)
    if axes is None:
        return state.reject("LD110", f"`{ast.unparse(call.node)}` must name the new axes", call.node)
    return with_new_axes(array, axes)


def squeeze(state: State, call: Call) -> Quantity:
    """A view without axes of one element: those that are named, or all of which this is known."""
    array, span, node = as_array(call.array), state.source.span(call.node), call.given.get("axis")
    extents, text = [state.known(e) for e in array.extents], ast.unparse(call.node)
    if node is None or is_none(state, node):
        axes: tuple[int, ...] | None = tuple(k for k, e in enumerate(extents) if is_unit(state, e))
        others = [e for k, e in enumerate(extents) if k not in (axes or ()) and not is_told(state, e)]
        message = f"`{text}` leaves out an axis of which it is not known before that it has one element: name it"
        state.out += [ir.Require(ir.Apply(Op.NE, (e, ONE), loc=span), "LD322", message, loc=span) for e in others]
    else:
        axes = axes_of(state, node, array, call.node)
    message = f"`{text}` leaves out an axis that has not one element"
    sizes = [extents[k] for k in axes or () if extents[k] != ONE]
    state.out += [ir.Require(ir.Apply(Op.EQ, (e, ONE), loc=span), "LD322", message, loc=span) for e in sizes]
    kept = [k for k in range(array.rank) if k not in (axes or ())]
    positions = [hole(kept.index(k)) if k in kept else ZERO for k in range(array.rank)]
    found = taken(array, positions, [array.extents[k] for k in kept])
    if kept:
        return found
    element = found.element
    state.whole.boxed.add(element)
    if isinstance(found, View):
        site = state.site("element", span)
        if site in state.whole.decisions.shared:
            message, hint = (
                f"`{text}` is an array without axes, which changes with the other",
                "take its element: `x[0]`",
            )
            return state.reject("LD110", message, call.node, hint)
        state.whole.copies.append(Copy(site, state.whole.event(found.array), found.array))
    return element


def is_told(state: State, extent: ir.Expr) -> bool:
    """Whether it is known, with the types of the call, whether `extent` is one."""
    return isinstance(extent, ir.Const) or (
        isinstance(extent, ir.Dim) and state.arrays[extent.array].role == "argument"
    )


def diagonal(state: State, call: Call) -> Quantity:
    """A view, to which NumPy forbids to write."""
    array = as_array(call.array)
    if array.rank != 2:
        return state.reject("LD110", "`diagonal` takes a matrix", call.node)
    down, right, length = diagonal_at(state, array, call)
    return read_only(taken(array, [plus(hole(0), down), plus(hole(0), right)], (length,)))


def read_only(array: Array) -> Array:
    return replace(array, is_read_only=True) if isinstance(array, View) else array


def diagonal_at(state: State, array: Array, call: Call) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    """The row and the column that the diagonal at the `offset` given begins in, and how long it is."""
    above = state.known(state.number(call.given["offset"])) if "offset" in call.given else ZERO
    down, right = maximum(minus(ZERO, above), ZERO), maximum(above, ZERO)
    return down, right, at_least_zero(minimum(minus(array.extents[0], down), minus(array.extents[1], right)))
