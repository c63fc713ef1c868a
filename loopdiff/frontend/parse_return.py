"""`return`: what a function gives back, from one place or from several."""

from __future__ import annotations

import ast

from loopdiff.errors import Span
from loopdiff.frontend.parse_expr import array_of, parse_expr
from loopdiff.frontend.parse_state import Returned, State
from loopdiff.ir.nodes import Access, ArrayResult, Assign, Load, Result, ScalarResult


def parse_return(state: State, node: ast.Return) -> None:
    """Results of one `return`. Where there are several, numbers go through cells that all of them assign."""
    values, is_tuple = returned_values(node)
    span = state.source.span(node)
    found = tuple(parse_result(state, v) for v in values)
    if state.survey.returns == 1:
        state.returned = Returned(tuple(r for r in found if r is not None), is_tuple, span)
        return
    if state.returned is None:
        results = tuple(shared_result(state, k, r, span) for k, r in enumerate(found) if r is not None)
        state.returned = Returned(results, is_tuple, span)
    first = state.returned
    if len(found) != len(first.results) or is_tuple != first.is_tuple:
        refuse(state, "this `return` gives another number of values than the first", node, first)
        return
    for mine, common in zip(found, first.results, strict=True):
        match mine, common:
            case ScalarResult(value=value), ScalarResult(value=Load(access=cell)):
                state.out.append(Assign(Access(cell.array, loc=span), value, loc=span))
            case _ if mine is not None and mine != common:
                refuse(state, "this `return` gives another array than the first, or an array for a number", node, first)
            case _:
                pass


def refuse(state: State, message: str, node: ast.Return, first: Returned) -> None:
    state.reject("LD104", message, node, related=(("the first `return`", first.span),))


def returned_values(node: ast.Return) -> tuple[list[ast.expr], bool]:
    """The returned expressions, and whether they are written as a tuple."""
    match node.value:
        case None | ast.Constant(value=None):
            return [], False
        case ast.Tuple(elts=elts):
            return elts, True
        case value:
            return [value], False


def parse_result(state: State, node: ast.expr) -> Result | None:
    array = array_of(state, node)
    if array is None:
        if isinstance(node, ast.Tuple | ast.List):
            state.reject("LD118", "a tuple inside the returned tuple", node, "return one flat tuple")
            return None
        return ScalarResult(parse_expr(state, node))
    if array in state.survey.parameters:
        state.reject("LD118", f"`{array}` is an argument and cannot be returned", node)
        return None
    return ArrayResult(array)


def shared_result(state: State, number: int, result: Result, span: Span) -> Result:
    """A result that every `return` can give: a cell for a number, the array itself for an array."""
    if isinstance(result, ArrayResult):
        return result
    cell = state.temporary(f"result_{number}", span)
    return ScalarResult(Load(cell, loc=span))


def check_end(state: State) -> None:
    """The end of a function that returns values must not be reached."""
    if state.returned is not None and state.returned.results and not state.is_dead:
        span = state.returned.span
        state.reject("LD104", "the function may come to its end without a `return`", span, "add a `return` at the end")
