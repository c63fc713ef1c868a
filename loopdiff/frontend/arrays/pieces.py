"""Arrays in one piece, whose elements follow one another in memory: `x.ravel()`, `np.ascontiguousarray` and
`np.asfortranarray`, which are their array where it is one, and a new array where it is not; and copies."""

from __future__ import annotations

import ast

from loopdiff.frontend.arrays.integers import ONE, times
from loopdiff.frontend.arrays.nests import copied_view, orders_of
from loopdiff.frontend.arrays.shapes import flat, refuse_strided, whole_piece
from loopdiff.frontend.arrays.values import (
    Array,
    ArrayValue,
    Quantity,
    View,
    as_array,
    has_holes,
    is_array,
    is_hole,
    of_each,
)
from loopdiff.frontend.arrays.views import Call, is_contiguous, product, transposed
from loopdiff.frontend.parsing.number_like import in_a_box
from loopdiff.frontend.parsing.sites import Copy
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType
from loopdiff.numpy_functions import is_of_numpy


def ravel(state: State, call: Call) -> Quantity:
    """A view of contiguous arrays, a new array of others."""
    array = whole_piece(state, as_array(call.array))
    match array:
        case View() if not is_contiguous(state, array):
            return separate_copy(state, array, flat(state, array, call.node), "flatten", call.node)
        case ArrayValue(memory=View()):
            return flat(state, replace(array, memory=None), call.node)
        case _ if not is_contiguous(state, array):
            return refuse_strided(state, call.node)
        case _:
            found = flat(state, array, call.node)
            if isinstance(found, View) and isinstance(array, View) and found != array:
                state.whole.pieces[found] = array
            return found


def in_one_piece(state: State, value: Quantity, node: ast.Call, is_turned: bool = False) -> Quantity:
    """`value`, or a copy of it if its elements do not follow one another row by row, or column by column where that
    `is_turned`. A number is an array of one element, but for columns."""
    if not is_array(value):
        return value if is_turned else ArrayValue((ONE,), value)  # type: ignore[arg-type]

    def piece(array: Array) -> Array:
        ordered = transposed(array, range(array.rank)[::-1]) if is_turned else array
        if isinstance(array, View) and is_contiguous(state, ordered):
            return array
        if isinstance(array, View) and isinstance(ordered, View):
            made = separate_copy(state, ordered, array, "copy", node)
        elif is_turned or True in orders_of(state, array.element, array.rank):
            made = copied_view(state, array, "copy", state.source.span(node))
        else:
            return ArrayValue(array.extents, array.element)
        turned = state.whole.turned
        (turned.add if is_turned and array.rank > 1 else turned.discard)(made.array)
        return made

    return of_each(as_array(value), piece)


def separate_copy(state: State, array: View, made: Array, method: str, node: ast.Call) -> View:
    """What is `made` of `array`, which is not seen to be in one piece, as a new array. Where somebody can tell that
    from a view, it is required that NumPy makes one as well: the `method` always does."""
    span = state.source.span(node)
    site = state.site("ravel", span)
    if site in state.whole.decisions.shared and not is_of_numpy(state.source.home.file):
        is_strided = strided(state, array)
        if is_strided is None:
            hint = f"write `.{method}()` for a copy of it"
            state.reject("LD122", f"`{ast.unparse(node)}` may be a copy or a view of its array", node, hint)
        else:
            message = f"`{ast.unparse(node)}` is a view here, not a copy: write `.{method}()` if that is meant"
            state.out.append(ir.Require(is_strided, "LD322", message, loc=span))
    found = copied_view(state, made, "flat" if method == "flatten" else method, span)
    if not is_of_numpy(state.source.home.file):
        state.whole.copies.append(Copy(site, state.whole.event(found.array), array.array))
    return found


def strided(state: State, view: View) -> ir.Expr | None:
    """Whether the elements of `view` do not follow one another in memory row by row; None where that is not seen."""
    decl = state.arrays[view.array]
    kind = state.need_types().get(view.array) if decl.role == "argument" else None
    order = kind.layout if isinstance(kind, ArrayType) else "C"
    if order == "A" or view.array in (*state.whole.turned, *state.whole.roomy, *state.whole.resized):
        return None
    memory = state.all_of(view.array, view.extents[0].loc).extents
    steps: dict[int, ir.Expr] = {}
    for axis, subscript in enumerate(view.subscripts):
        found = {t: n for t, n in linear(subscript)[0].items() if has_holes(t)}
        if not all(map(is_hole, found)) or len(found) > 1:
            return None
        after = memory[axis + 1 :] if order == "C" else memory[:axis]
        steps |= {int(t.name[1:]): times(product(after), ir.Const(n)) for t, n in found.items()}  # type: ignore[union-attr]
    wanted: ir.Expr = ONE
    tests: list[ir.Expr] = []
    for axis in reversed(range(view.rank)):
        extent = view.extents[axis]
        if axis not in steps:
            return None
        is_apart = ir.Apply(Op.NE, (steps[axis], wanted))
        tests.append(ir.Apply(Op.AND, (ir.Apply(Op.NE, (extent, ONE)), is_apart)))
        wanted = product([wanted, extent])
    return tests[0] if len(tests) == 1 else ir.Apply(Op.OR, tuple(tests))


def flatten(state: State, call: Call) -> Quantity:
    return copied_view(state, flat(state, as_array(call.array), call.node), "flat", state.source.span(call.node))


def copy(state: State, call: Call) -> Quantity:
    """A computed value: what takes it gives it memory of its own."""
    array = as_array(call.array)
    if not array.rank:
        return in_a_box(state, array.element, call.node)
    return ArrayValue(array.extents, array.element)


def copy_in_order(state: State, call: Call) -> Quantity:
    """`x.copy()`, row by row whatever the order of `x` in memory is; `np.copy(x)` keeps it."""
    found = copy(state, call)
    if not isinstance(found, ArrayValue) or True not in orders_of(state, found.element, found.rank):
        return found
    view = copied_view(state, found, "copy", state.source.span(call.node))
    state.whole.turned.discard(view.array)
    return view
