"""`return`: what a function gives back, from one place or from several."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import require_equal
from loopdiff.frontend.arrays.element_types import dtype_of
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import ArrayValue, View
from loopdiff.frontend.arrays.views import steady
from loopdiff.frontend.parsing.bindings import (
    AnyList,
    ArrayName,
    Bindings,
    LocalFunction,
    Outside,
    Value,
    Values,
    Varying,
)
from loopdiff.frontend.parsing.calling.calls import one_of
from loopdiff.frontend.parsing.frames import Returned
from loopdiff.frontend.parsing.lists.lengths import spoken
from loopdiff.frontend.parsing.meanings import value_of
from loopdiff.frontend.parsing.order import in_order
from loopdiff.frontend.parsing.sites import JoinSite, ParseAgain
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.joins import copy_to, make_memory, memory_like, view_of
from loopdiff.frontend.parsing.ways.varying import MOST_COMBINATIONS
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir

OF_ANOTHER_KIND = "this `return` gives an array of another shape or type than the first"


def parse_return(state: State, node: ast.Return) -> None:
    """Results of one `return`. Where there are several, numbers go through cells that all of them assign, and arrays
    that are not the same everywhere through one to which all of them copy."""
    found, is_tuple = returned_values(state, node)
    span = state.source.span(node)
    if state.survey.returns == 1 and not state.whole.versions:
        state.returned = Returned(found, is_tuple, span)
        return
    if state.returned is None:
        shared = tuple(shared_result(state, k, r, span) for k, r in enumerate(found))
        state.returned = Returned(shared, is_tuple, span)
    first = state.returned
    if len(found) != len(first.values) or is_tuple != first.is_tuple:
        refuse(state, "this `return` gives another number of values than the first", node)
        return
    together: Bindings = {result_site(state, k).name: v for k, v in enumerate(found) if isinstance(v, ArrayName | View)}
    for number, (mine, common) in enumerate(zip(found, first.values, strict=True)):
        if isinstance(mine, ir.Expr) and isinstance(common, ir.Load):
            state.out.append(ir.Assign(ir.Access(common.access.array, loc=span), mine, loc=span))
        elif isinstance(mine, ArrayName | View) and isinstance(common, Varying):
            give_one_of(state, number, mine, common, node)
        elif isinstance(mine, ArrayName | View) and isinstance(common, ArrayName | View):
            give_back(state, number, mine, common, node, together)
        elif mine != common:
            state.need_types()
            refuse(state, "this `return` gives an array for a number, or a number for an array", node)


def give_back(
    state: State, number: int, mine: ArrayName | View, common: ArrayName | View, node: ast.Return, together: Bindings
) -> None:  # fmt: skip
    """`mine` as what every `return` gives at the place `number`: it is the array `common`, or copied to it."""
    site = result_site(state, number)
    decisions, span = state.whole.decisions, state.source.span(node)
    is_joined = site in decisions.joined - decisions.shared
    if mine == common and not is_joined:
        return
    views = [view_of(state, b, span) for b in (common, mine)]
    if memory_like(state, views, span, is_checked=True) is None or loses_fractions(state, views):
        refuse(state, OF_ANOTHER_KIND, node)
        return
    if site not in decisions.joined:
        decisions.joined |= {site}
        raise ParseAgain
    assert isinstance(common, ArrayName)
    require_one_shape(state, views, span)
    if not state.whole.heads:
        state.out.append(ir.Allocate(common.array, None, loc=span))
    copy_to(state, {site.name: mine}, site, common.array, span, together)


def loses_fractions(state: State, views: Sequence[View | None]) -> bool:
    """Whether the first array, to which the second would be copied, is of integers, and that of floats."""
    first, second = (None if view is None else dtype_of(state, view.array) for view in views)
    return first != second and first == "int64"


def require_one_shape(state: State, views: Sequence[View | None], span: Span) -> None:
    first, extents = (v.extents for v in views if v is not None)
    for size, wanted in zip(extents, first, strict=True):
        require_equal(state, size, wanted, "the shapes of two arrays differ that are returned in the same place", span)


def give_one_of(state: State, number: int, mine: ArrayName | View, common: Varying, node: ast.Return) -> None:
    """`mine` as what a helper gives at the place `number`: one of several arrays, which a cell tells apart."""
    first, span = state.returned, state.source.span(node)
    assert first is not None
    views = [view_of(state, b, span) for b in (common.options[0], mine)]
    if memory_like(state, views, span, is_checked=True) is None:
        refuse(state, OF_ANOTHER_KIND, node)
        return
    require_one_shape(state, views, span)
    options = common.options if mine in common.options else (*common.options, mine)
    if len(options) > MOST_COMBINATIONS:
        refuse(state, f"helpers give one of at most {MOST_COMBINATIONS} arrays, one of which is altered", node)
        return
    state.out.append(ir.Assign(ir.Access(common.which, loc=span), ir.Const(options.index(mine), loc=span), loc=span))
    values = (*first.values[:number], Varying(common.which, options), *first.values[number + 1 :])
    state.returned = replace(first, values=values)


def refuse(state: State, message: str, node: ast.Return) -> None:
    assert state.returned is not None
    state.reject("LD104", message, node, related=(("the first `return`", state.returned.span),))


def returned_values(state: State, node: ast.Return) -> tuple[Values, bool]:
    """The values of a `return`, and whether it gives a tuple."""
    match node.value:
        case None | ast.Constant(value=None):
            return (), False
        case ast.Tuple(elts=elts):
            return tuple(in_order(state, elts, parse_result)), True
        case value:
            found = value_of(state, value)
            if isinstance(found, tuple):
                return tuple(checked_result(state, v, value) for v in found), bool(found)
            return (checked_result(state, found, value),), False


def parse_result(state: State, node: ast.expr) -> Value:
    return checked_result(state, None if isinstance(node, ast.Tuple | ast.List) else value_of(state, node), node)


def checked_result(state: State, value: Value | None, node: ast.expr) -> Value:
    """`value`, of `node`, as one value that is returned."""
    if isinstance(node, ast.Tuple | ast.List) or isinstance(value, tuple):
        return state.reject("LD118", "a tuple inside the returned tuple", node, "return one flat tuple")
    if state.is_helper:
        return helper_result(state, value, node)
    if isinstance(value, Varying):
        value = one_of(state, value, state.source.span(node))
    if isinstance(value, ArrayName) and state.arrays[value.array].role == "argument":
        value = state.all_of(value.array, state.source.span(node))
    if isinstance(value, View | ArrayValue):
        value = whole_array(state, value, node)
    if isinstance(value, AnyList):
        text = spoken(state, node.id) if isinstance(node, ast.Name) else ast.unparse(node)
        hint = f"return an array of it: `np.array({text})`"
        return state.reject("LD118", f"`{text}` is a list, and cannot be returned", node, hint)
    if isinstance(value, Outside | LocalFunction):
        return state.reject("LD118", f"`{ast.unparse(node)}` is a function and cannot be returned", node, "call it")
    return ir.Const(0, loc=state.source.span(node)) if value is None else value


def helper_result(state: State, value: Value | None, node: ast.expr) -> Value:
    """A value that a helper gives back: a computed array gets its memory here."""
    match value:
        case None:
            return ir.Const(0, loc=state.source.span(node))
        case ArrayValue() if state.owned(value, node):
            return copied_view(state, value, "result", state.source.span(node))
        case View():
            return steady(state, value)
        case _:
            return value


def whole_array(state: State, value: View | ArrayValue, node: ast.expr) -> ArrayName | None:
    """The array that holds `value` and nothing else: of an argument, or of a part of one, a copy. None after a
    rejection."""
    span = state.source.span(node)
    view = value if isinstance(value, View) else copied_view(state, value, "result", span)
    if state.arrays[view.array].role == "argument" or view != state.all_of(view.array, span):
        view = copied_view(state, view, "result", span)
    if view != state.all_of(view.array, span):
        hint = "write it into an array argument, and return how many elements it has"
        state.reject("LD208", f"the shape of `{ast.unparse(node)}` is not known at entry", node, hint)
        return None
    return ArrayName(view.array)


def shared_result(state: State, number: int, value: Value, span: Span) -> Value:
    """A value that every `return` can give: a cell for a number, for an array itself, or one like it."""
    if isinstance(value, ir.Expr):
        return ir.Load(state.temporary(f"result_{number}", span), loc=span)
    decisions, site = state.whole.decisions, result_site(state, number)
    if not isinstance(value, ArrayName | View) or site not in decisions.joined:
        return value
    if site in decisions.shared:
        return Varying(state.temporary("which", span).array, (value,))
    decl = memory_like(state, (view_of(state, value, span),), span)
    if decl is None:
        return value
    with state.block():  # each `return` makes it
        return ArrayName(make_memory(state, decl, "result", (state.bindings,), span))


def result_site(state: State, number: int) -> JoinSite:
    """The place `number` of what the function, or this call of it, gives back."""
    called_from = state.source.called_from or state.source.span(state.source.node)
    return state.site(f"result {number}", called_from)


def check_end(state: State) -> None:
    """The end of a function that returns values must not be reached."""
    if state.returned is not None and state.returned.values and not state.is_dead:
        span = state.returned.span
        state.reject("LD104", "the function may come to its end without a `return`", span, "add a `return` at the end")
