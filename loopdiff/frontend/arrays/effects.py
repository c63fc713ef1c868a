"""Calls that change arrays: `x.fill(v)`, `np.add.at(x, idx, v)`, and what is stored in `out`."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from loopdiff.frontend.arrays.element_types import dtype_of, is_truth_value, is_widened
from loopdiff.frontend.arrays.elementwise import combined
from loopdiff.frontend.arrays.functions import method_of_ufunc
from loopdiff.frontend.arrays.indexing import scattered
from loopdiff.frontend.arrays.nests import store_array
from loopdiff.frontend.arrays.shapes import may_be_array
from loopdiff.frontend.arrays.subscripts import subscripted, target_part
from loopdiff.frontend.arrays.values import ArrayValue, Quantity, View, as_array, is_array
from loopdiff.frontend.parsing.accumulations import negated_term
from loopdiff.frontend.parsing.bindings import AnyList
from loopdiff.frontend.parsing.order import in_order
from loopdiff.frontend.parsing.outside import is_none, root_is_local
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.snapshots import tried
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads
from loopdiff.numpy_functions import placing
from loopdiff.numpy_functions.building import reverse_in_place
from loopdiff.source.functions import MISSING
from loopdiff.source.nodes import direct_call, syntax_nodes

PUTTING: tuple[tuple[Any, Any], ...] = (
    (np.put, placing.put), (np.put_along_axis, placing.put_along_axis), (np.putmask, placing.putmask),
    (np.place, placing.place_masked),
)  # fmt: skip
STORING = (np.sum, np.prod, np.mean, np.max, np.min, np.cumsum, np.cumprod)


def stored_call(state: State, node: ast.Call) -> Quantity | None:
    """The array that `np.add(x, y, out=z)` and the like store their result in; None for calls without such."""
    callee = state.outside(node.func)
    is_clip = callee is np.clip
    is_ufunc = isinstance(callee, np.ufunc) or is_clip
    if not is_ufunc and not any(callee is f for f in STORING):
        return None
    out, args = next((k.value for k in node.keywords if k.arg == "out"), None), node.args
    if is_ufunc and out is None and len(args) == (3 if is_clip else callee.nin) + 1:
        out, args = args[-1], args[:-1]
    if out is None or is_none(state, out):
        return None
    state.need_types()
    where = [k.value for k in node.keywords if k.arg == "where" and isinstance(callee, np.ufunc)]
    rest = ast.Call(node.func, args, [k for k in node.keywords if k.arg != "out" and k.value not in where])
    value, target, *masks = in_order(state, [ast.copy_location(rest, node), out, *where], State.quantity)
    if not isinstance(target, View) or not (is_ufunc or as_array(value).rank == target.rank):
        return state.reject("LD110", f"`{ast.unparse(node)}` needs an array of the shape of its result as `out`", node)
    if is_widened(state, target.array, as_array(value).element):
        message = f"`{ast.unparse(node)}` stores wider numbers in an array of {dtype_of(state, target.array)}"
        state.reject("LD213", message, node)
    for mask, given in zip(masks, where, strict=True):
        value = where_true(state, mask, value, target, given)
    store_array(state, target, value, node)
    return target


def where_true(state: State, mask: Quantity, value: Quantity, target: View, node: ast.expr) -> Quantity:
    """`value` where the `mask` is true, and what is in `target` where it is not."""
    element = as_array(mask).element if is_array(mask) else mask
    if not is_truth_value(state, element):  # type: ignore[arg-type]
        state.reject("LD110", f"`where={ast.unparse(node)}` is no array of booleans", node, "write the comparison")
    span = state.source.span(node)
    return combined(state, lambda m, v, old: ir.Select(m, v, old, loc=span), [mask, value, target], node)


def array_statement(state: State, node: ast.Call) -> bool:
    """Calls for their effect: `np.add.at(x, idx, v)`, `x.fill(v)`, `x.sort()`, `v.reverse()`. False if `node` is
    none."""
    match node.func:
        case ast.Attribute(value=owner, attr="at") if any(state.outside(owner) is f for f in (np.add, np.subtract)):
            add_at(state, node, state.outside(owner) is np.subtract)
            return True
        case ast.Attribute(value=owner, attr="at") if method_of_ufunc(state, node.func) and len(node.args) == 3:
            array, places, values = node.args
            parts = places.elts if isinstance(places, ast.Tuple) else [places]
            args = apart_from_first(state, [array, *parts, values])
            return called_instead(
                state, placing.apply_at_places if len(parts) == 2 else placing.apply_at, [owner, *args], node
            )
        case func if (callee := state.outside(func)) is np.copyto:
            return copied_to(state, node)
        case _ if (writing := next((w for f, w in PUTTING if f is callee), None)) is not None and node.args:
            return called_instead(state, writing, apart_from_first(state, node.args), node)
        case ast.Attribute(value=base, attr="fill") if root_is_local(state, base) and may_be_array(state, base):
            state.need_types()
            view = state.quantity(base)
            if not isinstance(view, View) or len(node.args) != 1 or node.keywords:
                return False
            store_array(state, view, state.number(node.args[0]), node)
            return True
        case ast.Attribute(value=base, attr="sort") if root_is_local(state, base) and may_be_array(state, base):
            return sort_in_place(state, base, node)
        case ast.Attribute(value=ast.Name(id=name) as owner, attr="reverse") if not (node.args or node.keywords):
            if not isinstance(state.binding(name), AnyList):
                return False
            return called_instead(state, reverse_in_place, [owner], node)
        case _:
            return False


def called_instead(state: State, function: Any, args: list[ast.expr], node: ast.Call) -> bool:
    """A call of a function of this package in place of `node`."""
    return state.whole.call(state, direct_call(function, args, node, node.keywords)) is not MISSING


def copied_to(state: State, node: ast.Call) -> bool:
    """`np.copyto(x, y, where=mask)`, as `x[...] = y`."""
    state.need_types()
    named = {k.arg: k.value for k in node.keywords}
    if len(node.args) != 2 or not named.keys() <= {"where"}:
        state.reject("LD110", "`np.copyto` takes an array, values, and `where`", node, "leave out what else there is")
        return True
    target, value, *masks = in_order(state, [*node.args, *named.values()], State.quantity)
    if not isinstance(target, View):
        return False
    if is_widened(state, target.array, as_array(value).element):
        message = f"`{ast.unparse(node)}` stores wider numbers in an array of {dtype_of(state, target.array)}"
        state.reject("LD213", message, node)
    for mask, given in zip(masks, named.values(), strict=True):
        value = where_true(state, mask, value, target, given)
    store_array(state, target, value, node)
    return True


def apart_from_first(state: State, nodes: list[ast.expr]) -> list[ast.expr]:
    """Arguments of which the first is written, with copies of others that are made of the same array."""
    state.need_types()
    target, *others = (tried(state, n) for n in nodes)
    array = target.array if isinstance(target, View) else None
    found = [nodes[0]]
    for value, node in zip(others, nodes[1:], strict=True):
        is_same = is_array(value) and any(e.access.array == array for e in loads(as_array(value).element))
        found.append(direct_call(np.copy, [node], node) if is_same else node)
    return found


def sort_in_place(state: State, base: ast.expr, node: ast.Call) -> bool:
    """`x.sort()`, as `x[:] = np.sort(x)`; whether `base` is an array, a name or a part of one, not a list."""
    state.need_types()
    is_list = isinstance(base, ast.Name) and isinstance(state.binding(base.id), AnyList)
    if is_list or any(isinstance(n, ast.Call) for n in syntax_nodes(base)):
        return False
    view = state.quantity(base)
    if not isinstance(view, View):
        return False
    store_array(state, view, state.quantity(direct_call(np.sort, [base, *node.args], node, node.keywords)), node)
    return True


def add_at(state: State, node: ast.Call, is_negative: bool) -> None:
    """`np.add.at(x, idx, v)`: duplicates all count."""
    if len(node.args) != 3 or node.keywords:
        state.reject("LD110", f"`{ast.unparse(node.func)}` takes an array, subscripts and values", node)
        return
    state.need_types()
    array, subscripts, values = node.args
    place = ast.copy_location(ast.Subscript(array, subscripts, ast.Store()), node)
    span = state.source.span(node)
    target = subscripted(state, place, target_part)
    value = state.quantity(values)
    if is_negative:
        value = combined(state, negated_term, [value], node)
    match target:
        case ArrayValue(element=ir.Load()):
            scattered(state, target, value, node, accumulate=True)
        case ir.Load(access=access) if not is_array(value):
            state.out.append(ir.Accumulate("add", access, value, loc=span))  # type: ignore[arg-type]
        case View():
            total = combined(state, lambda a, b: ir.Apply(Op.ADD, (a, b), loc=span), [target, value], node)
            store_array(state, target, total, node)
        case _:
            state.reject("LD110", f"`{ast.unparse(node.func)}` takes an array, subscripts and values", node)
