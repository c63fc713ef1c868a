"""Statements that are expressions: calls for their effect, and values that nobody uses."""

from __future__ import annotations

import ast

from loopdiff.frontend.arrays.effects import array_statement, stored_call
from loopdiff.frontend.functions import scalar_function
from loopdiff.frontend.parsing.assignments import parse_assign
from loopdiff.frontend.parsing.bindings import Value
from loopdiff.frontend.parsing.lists.growing import append
from loopdiff.frontend.parsing.lists.shrinking import shortened
from loopdiff.frontend.parsing.order import frozen
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.printing import is_print, parse_print
from loopdiff.frontend.refused import REFUSED_METHODS
from loopdiff.ir import nodes as ir
from loopdiff.source.functions import MISSING


def parse_bare_expression(state: State, node: ast.Expr, value: ast.expr) -> None:
    if isinstance(value, ast.Constant) or append(state, node):
        return
    text = ast.unparse(value)
    if isinstance(value, ast.Call) and is_print(state, value):
        parse_print(state, value)
        return
    if isinstance(value, ast.Call) and (shortened(state, value) or stored_call(state, value) is not None):
        return
    if isinstance(value, ast.Call) and (found := state.whole.call(state, value)) is not MISSING:
        drop(state, found)
        return
    if isinstance(value, ast.Call) and array_statement(state, value):
        return
    called = state.outside(value.func) if isinstance(value, ast.Call) else None
    if isinstance(value, ast.Call) and called is not len and scalar_function(called) is None:
        name = ast.unparse(value.func).split(".")[-1]
        state.reject("LD109", f"`{text}` is called for its effect", node, REFUSED_METHODS.get(name))
    else:
        parse_unused(state, value)


def parse_unused(state: State, value: ast.expr) -> None:
    """An expression that Python evaluates, and raises where it can't, and nobody uses."""
    match value:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            for part in elts:
                parse_unused(state, part)
        case ast.Attribute(value=base, attr="shape" | "dtype" | "T"):
            parse_unused(state, base)
        case ast.Constant():
            pass
        case _:
            (name,) = state.fresh_names("unused")
            target = ast.copy_location(ast.Name(name, ast.Store()), value)
            parse_assign(state, [target], value, state.source.span(value))


def drop(state: State, value: Value | None) -> None:
    """A result that nothing uses: Python evaluates it, and raises where it touches what is not there."""
    match value:
        case tuple():
            for one in value:
                drop(state, one)
        case _ if isinstance(value, ir.Expr):
            frozen(state, value, "unused")
        case _:
            pass
