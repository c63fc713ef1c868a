"""A function's source to a surface LoopSet: scalars are rank-0 arrays, types are still unknown.

All rejections of a function come in one UnsupportedLoopError.
"""

from __future__ import annotations

import ast
import inspect
from itertools import repeat

from loopdiff.codes import reject
from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.parse_expr import array_of, parse_expr
from loopdiff.frontend.parse_state import ArrayName, State
from loopdiff.frontend.parse_stmt import parse_block
from loopdiff.frontend.survey import survey
from loopdiff.ir.nodes import ArrayDecl, ArrayResult, Assign, LoopSet, Param, Result, ScalarDecl, ScalarResult
from loopdiff.names import NameSupply
from loopdiff.source import SourceFunction

NAMED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


def parse_function(source: SourceFunction) -> LoopSet:
    """The surface LoopSet of `source`. Raises UnsupportedLoopError with every rejection of the function."""
    check_parameters(source)
    parameters = tuple(source.signature.parameters)
    found = survey(source.node, parameters)
    # Indices keep clear of arguments and arrays; they share their names with the cells of loop variables.
    state = State(source, found, NameSupply(found.all_names), NameSupply({*parameters, *found.array_names}))
    declare_parameters(state)
    body, last = split_return(source.node.body)
    parse_block(state, body)
    results, returns_tuple = parse_return(state, last)
    if state.diagnostics:
        raise UnsupportedLoopError(*sorted(state.diagnostics, key=lambda d: (d.span.line, d.span.column, d.code)))
    scalars = tuple(ScalarDecl(p, None, loc=source.span(source.node)) for p in parameters if p not in found.array_names)
    arrays, span = tuple(state.arrays.values()), source.span(source.node)
    return LoopSet(source.name, parameters, arrays, scalars, tuple(state.out), results, returns_tuple, loc=span)


def check_parameters(source: SourceFunction) -> None:
    arguments = {a.arg: a for a in ast.walk(source.node.args) if isinstance(a, ast.arg)}
    refused = [p for p in source.signature.parameters.values() if p.kind not in NAMED]
    if refused:
        stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
        messages = (f"`{stars[p.kind]}{p.name}` takes any number of arguments" for p in refused)
        spans = (source.span(arguments[p.name]) for p in refused)
        raise UnsupportedLoopError(*map(reject, repeat("LD117"), messages, spans))


def declare_parameters(state: State) -> None:
    """Arguments used as arrays are arrays; scalar arguments that are assigned are copied to a cell."""
    arguments = {a.arg: a for a in ast.walk(state.source.node.args) if isinstance(a, ast.arg)}
    for name in state.survey.parameters:
        span = state.source.span(arguments[name])
        if name in state.survey.array_names:
            state.arrays[name] = ArrayDecl(name, None, "argument", loc=span)
            state.bindings[name] = ArrayName(name)
        elif name in state.survey.assigned:
            cell = state.define(name, span)
            use = state.source.span(state.survey.first_uses[name])
            state.out.append(Assign(cell, Param(name, loc=use), loc=span))


def split_return(body: list[ast.stmt]) -> tuple[list[ast.stmt], ast.Return | None]:
    match body:
        case [*before, ast.Return() as last]:
            return before, last
        case _:
            return body, None


def parse_return(state: State, node: ast.Return | None) -> tuple[tuple[Result, ...], bool]:
    """The results, and whether they were written as a tuple."""
    match node:
        case None | ast.Return(value=None | ast.Constant(value=None)):
            return (), False
        case ast.Return(value=ast.Tuple(elts=elts)):
            results = (parse_result(state, e) for e in elts)
            return tuple(r for r in results if r is not None), True
        case ast.Return(value=value):
            result = parse_result(state, value) if value is not None else None
            return (() if result is None else (result,)), False


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
