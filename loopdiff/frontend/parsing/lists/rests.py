"""Targets with a star: `first, *rest = x` of an array or of a list, the rest of which is a list."""

from __future__ import annotations

import ast
from typing import Any, cast

from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import ArrayValue, View
from loopdiff.frontend.arrays.views import steady
from loopdiff.frontend.parsing.bindings import AnyList, ArrayName, Value
from loopdiff.frontend.parsing.lists.reading import elements_of
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op


def star_of(target: ast.expr) -> int | None:
    """The place of a name with a star among those that take what is unpacked."""
    elts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    return next((k for k, t in enumerate(elts) if isinstance(t, ast.Starred)), None)


def with_parts(
    state: State, target: ast.Tuple | ast.List, star: int, value: Value | None, node: ast.expr
) -> tuple[ast.expr, ast.expr] | None:
    """`target` without its star, and the parts of the array or list `value` that it takes; None after a rejection."""
    span, before = state.source.span(node), state.whole.rejected
    match value:
        case ArrayName(array=array):
            view: View | None = state.all_of(array, span)
        case View():
            view = steady(state, value)
        case ArrayValue():
            view = copied_view(state, value, "unpacked", span)
        case _:
            view = elements_of(state, value, span) if isinstance(value, AnyList) else None
    if view is None or not view.rank:
        if state.whole.rejected == before and value is not None:
            state.reject("LD107", "`*` in a target", target, "take the part: `first, rest = x[0], x[1:]`")
        return None
    (own,) = state.fresh_names("unpacked")
    state.bindings[own] = view
    behind = len(target.elts) - 1 - star
    are_enough = ir.Apply(Op.GE, (view.extents[0], ir.Const(star + behind, loc=span)), loc=span)
    message = f"{star + behind} names take elements of an array that has fewer"
    state.out.append(ir.Require(are_enough, "LD207", message, loc=span))
    rest = ast.Slice(ast.Constant(star), ast.Constant(-behind) if behind else None)
    places = [*map(ast.Constant, range(star)), rest, *(ast.Constant(k - behind) for k in range(behind))]
    parts: list[ast.expr] = [ast.Subscript(ast.Name(own, ast.Load()), p, ast.Load()) for p in places]
    parts[star] = ast.Call(ast.Constant(cast(Any, list)), [parts[star]], [])
    names = [t.value if isinstance(t, ast.Starred) else t for t in target.elts]
    made = (ast.Tuple(names, ast.Store()), ast.Tuple(parts, ast.Load()))
    return cast(Any, tuple(ast.fix_missing_locations(ast.copy_location(m, node)) for m in made))
