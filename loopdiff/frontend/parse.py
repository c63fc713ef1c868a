"""A function's source to a surface LoopSet: scalars are rank-0 arrays, types are still unknown.

All rejections of a function come in one UnsupportedLoopError.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from itertools import repeat

from loopdiff.codes import reject
from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.callees import ArrayParameters, Known, Sources
from loopdiff.frontend.inline import call
from loopdiff.frontend.jumps import remove_jumps
from loopdiff.frontend.parse_return import check_end
from loopdiff.frontend.parse_state import ArrayName, Frame, Returned, State, Whole
from loopdiff.frontend.parse_stmt import parse_block
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
    sources = Sources()
    found = replace(ArrayParameters(sources).survey(Known(source, source.node, {})), parameters=parameters)
    # Indices keep clear of arguments and arrays; they share their names with the cells of loop variables.
    names, indices = NameSupply(found.all_names), NameSupply({*parameters, *found.array_names})
    state = State(source, found, Whole(names, indices, sources, call), (Frame(source.code, source.name),))
    declare_parameters(state)
    parse_block(state, source.node.body)
    check_end(state)
    if state.diagnostics:
        raise UnsupportedLoopError(*sorted(state.diagnostics, key=lambda d: (d.span.line, d.span.column, d.code)))
    scalars = tuple(ScalarDecl(p, None, loc=source.span(source.node)) for p in parameters if p not in found.array_names)
    body, flags = remove_jumps(tuple(state.out), state.names, source.span(source.node))
    results, is_tuple = ((), False) if state.returned is None else (results_of(state.returned), state.returned.is_tuple)
    arrays, span = (*state.arrays.values(), *flags), source.span(source.node)
    return LoopSet(source.name, parameters, arrays, scalars, body, results, is_tuple, loc=span)


def results_of(returned: Returned) -> tuple[Result, ...]:
    """What the function returns, in the IR."""
    return tuple(ArrayResult(v.array) if isinstance(v, ArrayName) else ScalarResult(v) for v in returned.values)  # type: ignore[arg-type]


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
