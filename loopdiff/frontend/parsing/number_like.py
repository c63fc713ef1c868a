"""Numbers that NumPy makes like other numbers: `np.zeros_like(v)`, where `v` has no axes, is an array without axes."""

from __future__ import annotations

import ast

import numpy as np

from loopdiff.frontend.arrays.allocation import FILLS, Allocation, allocator, call_arguments, element_type
from loopdiff.frontend.arrays.element_types import arrays_in, dtype_of, kind_so_far, may_widen
from loopdiff.frontend.arrays.values import View, is_array
from loopdiff.frontend.binding.types import CELL_DTYPE
from loopdiff.frontend.functions import ScalarFunction, scalar_function
from loopdiff.frontend.parsing.bindings import ArrayName, meaning_of
from loopdiff.frontend.parsing.placing import with_place
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.snapshots import tried
from loopdiff.ir import nodes as ir


def like_number(state: State, node: ast.expr) -> ir.Expr | None:
    """The number that `node` makes, which is `np.zeros_like(v)` or another of its kind, of a number `v`; None for
    others."""
    function = allocator(state.outside(node.func)) if isinstance(node, ast.Call) else None
    if function is None or not function.endswith("_like") or not isinstance(node, ast.Call):
        return None
    given = {k.arg: k.value for k in node.keywords}
    like = node.args[0] if node.args else given.get("prototype", given.get("a"))
    if like is None or not is_number(state, like):
        return None
    allocation = call_arguments(state, function, node)
    if allocation is None:
        return ir.Const(0, loc=state.source.span(node))
    value = state.number(like)
    fill: ir.Expr = ir.Const(FILLS[allocation.kind] or 0, loc=state.source.span(node))
    fill = fill if allocation.fill is None else state.number(allocation.fill)
    dtype = type_like(state, allocation, value, node)
    return ir.Const(0, loc=state.source.span(node)) if dtype is None else in_a_box(state, of_type(fill, dtype), node)


def is_number(state: State, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, str | bytes | None)
    if isinstance(node, ast.List | ast.Tuple | ast.ListComp) or is_surely_array(state, node):
        return False
    state.need_types()
    rejected = state.whole.rejected
    return not is_array(tried(state, node)) and state.whole.rejected == rejected


def is_surely_array(state: State, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and isinstance(meaning_of(state.binding(node.id)), ArrayName | View)


def type_like(state: State, allocation: Allocation, value: ir.Expr, node: ast.Call) -> str | None:
    """NumPy's name of the type of the number: that which the call gives, or that of `value`. None after a rejection."""
    if allocation.dtype is not None:
        element = element_type(state, allocation.dtype)
        found = None if element is None else element.name
        if element is not None and element.of_array is not None:
            found = dtype_of(state, element.of_array)
        if element is None:
            return None
    else:
        is_known = all(
            dtype_of(state, name) is not None for name in arrays_in((value,)) if state.arrays[name].extents != ()
        )
        found = CELL_DTYPE[kind_so_far(state, value).storage] if is_known and not may_widen(state, value) else None
    if found is None or type_named(found) is None:
        what = "is not known here" if found is None else f"is {found}"
        text = ast.unparse(allocation.like or node)
        state.reject("LD115", f"the type of `{text}`, a number, {what}", node, "give `dtype=np.float64`")
        return None
    return found


def type_named(dtype: str) -> ScalarFunction | None:
    return scalar_function(getattr(np, {"bool": "bool_"}.get(dtype, dtype), None))


def of_type(number: ir.Expr, dtype: str) -> ir.Expr:
    function = type_named(dtype)
    assert function is not None
    return with_place(function.build(number), number.loc)


def in_a_box(state: State, number: ir.Expr, node: ast.AST) -> ir.Expr:
    """A number that is an array without axes in NumPy, which names that are assigned one another share (`boxes`)."""
    cell = state.temporary("box", state.source.span(node))
    state.out.append(ir.Assign(cell, number, loc=state.source.span(node)))
    found = ir.Load(cell, loc=state.source.span(node))
    state.whole.boxed.add(found)
    return found
