"""Calls of Python functions: the body of the function is written out where it is called.

Parameters that get arrays are other names for them, so a helper that changes an array changes the caller's, and two
parameters may be one array. Parameters that get numbers are cells of their own. The body goes through the parser as
that of any function does, in a state of its own, and what it returns becomes the value of the call.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, cast

import numpy as np

from loopdiff.errors import Span, UnsupportedLoopError
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.shapes import may_be_array
from loopdiff.frontend.arrays.values import ArrayValue, View
from loopdiff.frontend.arrays.views import is_contiguous, steady
from loopdiff.frontend.functions import scalar_function
from loopdiff.frontend.parsing.bindings import Given, LocalFunction, Outside, Value
from loopdiff.frontend.parsing.calling.arguments import Callee, arguments_of
from loopdiff.frontend.parsing.calling.derivatives import derivative_call, derivative_in
from loopdiff.frontend.parsing.calling.given_ranges import with_given_ranges
from loopdiff.frontend.parsing.calling.ruled import ruled_call
from loopdiff.frontend.parsing.frames import CallFrame, Returned
from loopdiff.frontend.parsing.lists.read_at_once import is_made_whole
from loopdiff.frontend.parsing.lists.reading import is_list
from loopdiff.frontend.parsing.meanings import NUMBERS, local_function
from loopdiff.frontend.parsing.outside import outside_constant, root_is_local
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.statements import parse_block
from loopdiff.frontend.parsing.ways.bounded import note_number
from loopdiff.frontend.parsing.ways.jumps import remove_jumps
from loopdiff.frontend.parsing.ways.returns import check_end
from loopdiff.frontend.structures.scope import Apart
from loopdiff.frontend.survey import survey_of_copy
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads, operands, substitute
from loopdiff.numpy_functions import METHODS, ROWS, is_of_numpy, takes_arrays
from loopdiff.numpy_functions.newer import linspace_with_step
from loopdiff.source.functions import MISSING, as_definition, python_function
from loopdiff.source.nodes import direct_call, syntax_nodes

MOST_STATEMENTS = 2000


def inline_call(state: State, node: ast.Call) -> Value | None:
    """Write out what `node` calls, and give its value, () for none.

    None after a rejection; MISSING, and nothing written, if that is no Python function.
    """
    before = state.whole.rejected
    found = called_value(state, node)
    if found is None or state.whole.rejected > before:
        state.whole.unknown.add(state.source.span(node))
    return found


def called_value(state: State, node: ast.Call) -> Value | None:
    """What `inline_call` gives."""
    called = derivative_in(state, node)
    if called is not None:
        return derivative_call(state, called)
    node = by_function(state, node)
    rule = state.whole.sources.rule_of(state.outside(node.func))
    if rule is not None:
        return ruled_call(state, rule, node, write_out)
    callee = callee_of(state, node)
    if not isinstance(callee, Callee):
        return callee
    callee, node = with_given_ranges(state, callee, node)
    name, signature = callee.source.name, callee.source.signature
    if takes_arrays(callee.source.function):
        node = with_arrays(state, node, tuple(signature.parameters))
    given = arguments_of(state, name, signature, partial(default, state, callee), node)
    return None if given is None or state.is_rejected(node) else write_out(state, callee, given, node)


def write_out(state: State, callee: Callee, given: Mapping[str, Value], node: ast.Call) -> Value | None:
    """Write out `callee` with these values of its parameters; None after a rejection."""
    if is_refused(state, callee, node):
        return None
    span, since = state.source.span(node), state.whole.clock
    source = replace(callee.source, called_from=span)
    stack = (*state.stack, CallFrame(callee.key, source.name))
    inner = State(source, survey_of_copy(source.node, tuple(given)), state.whole, stack, callee.around)
    for name, value in given.items():
        bind_parameter(inner, name, value, span)
    before = state.whole.rejected
    state.whole.active.append(inner)
    parse_block(inner, source.node.body)
    state.whole.active.pop()
    check_end(inner)
    body, flags = remove_jumps(tuple(inner.out), state.names, span)
    state.arrays.update((flag.name, flag) for flag in flags)
    returned = inner.returned
    if returned is None and state.whole.rejected > before:
        return None
    expression = None if returned is None else as_expression(inner, returned, body)
    if expression is not None:
        return expression
    state.out += body
    if returned is None or not returned.values:
        return ()
    if is_of_numpy(source.home.file):
        note_turned(state, returned.values, since)
    return returned.values if returned.is_tuple else returned.values[0]


def note_turned(state: State, values: Iterable[Value], since: int) -> None:
    """Of arrays that a function of NumPy has made `since` it was called and gives a part of, NumPy may have the
    elements in another order than they are in here."""
    for value in values:
        if isinstance(value, View) and value.rank > 1 and not is_contiguous(state, value):
            birth = state.whole.births.get(value.array)
            if birth is not None and birth.number > since:
                state.whole.turned.add(value.array)


def as_expression(inner: State, returned: Returned, body: tuple[ir.Stmt, ...]) -> ir.Expr | None:
    """The result of a helper that is one expression of its parameters, with their values put in.

    None if there is more to it, or if a value would be computed several times, or perhaps not at all.
    """
    if len(returned.values) != 1 or returned.is_tuple or not isinstance(value := returned.values[0], ir.Expr):
        return None
    uses = Counter(load.access.array for load in loads(value))
    cells = {cell for name, cell in inner.cells.items() if name not in inner.survey.assigned}
    given: dict[ir.Expr, ir.Expr] = {}
    for stmt in body:
        if not isinstance(stmt, ir.Assign) or stmt.target.array not in cells:
            return None
        if uses[stmt.target.array] > 1 and not isinstance(stmt.value, ir.Load):
            return None
        is_cell = isinstance(stmt.value, ir.Load) and not stmt.value.access.subscripts
        if not is_cell and stmt.target not in (load.access for load in loads_for_certain(value)):
            return None
        given[ir.Load(stmt.target)] = stmt.value
    for cell in cells:
        del inner.arrays[cell]
    return substitute(value, given)


def loads_for_certain(expr: ir.Expr) -> Iterator[ir.Load]:
    """Loads that evaluating `expr` must make."""
    match expr:
        case ir.Load():
            yield expr
        case ir.Select(cond=cond):
            yield from loads_for_certain(cond)
            return
        case ir.Apply(op=Op.AND | Op.OR, args=(first, *_)):
            yield from loads_for_certain(first)
            return
        case _:
            pass
    for part in operands(expr):
        yield from loads_for_certain(part)


def by_function(state: State, node: ast.Call) -> ast.Call:
    """`x.std(axis=0)`, of an array, as `np.std(x, axis=0)`, and `np.linspace` with its step by a name of its own; other
    calls as they are."""
    steps = [k for k in node.keywords if k.arg == "retstep"]
    if steps and state.outside(node.func) is np.linspace and ast.unparse(steps[0].value) == "True":
        stepped = ast.copy_location(ast.Constant(cast(Any, linspace_with_step)), node.func)
        return ast.copy_location(ast.Call(stepped, node.args, [k for k in node.keywords if k is not steps[0]]), node)
    match node.func:
        case ast.Attribute(value=base, attr=attr) if (
            attr in METHODS and root_is_local(state, base) and may_be_array(state, base)
        ):
            function = ast.copy_location(ast.Constant(METHODS[attr]), node.func)
            return ast.copy_location(ast.Call(function, [base, *node.args], node.keywords), node)
        case _:
            return node


def with_arrays(state: State, node: ast.Call, names: tuple[str, ...]) -> ast.Call:
    """The call of a function of NumPy with `np.array` of the lists that it is given for arrays."""

    def made(value: ast.expr, name: str | None) -> ast.expr:
        is_one = isinstance(value, ast.List | ast.Tuple) or is_list(state, value) or is_made_whole(state, value)
        if not is_one or name is None or name in ROWS:
            return value
        return direct_call(np.array, [value], value)

    args = [made(a, name) for a, name in zip(node.args, [*names, *[None] * len(node.args)], strict=False)]
    keywords = [ast.keyword(k.arg, made(k.value, k.arg)) for k in node.keywords]
    return ast.copy_location(ast.Call(node.func, args, keywords), node)


# -- which function ------------------------------------------------------------------------------------------
def callee_of(state: State, node: ast.Call) -> Callee | Any:
    """The function that `node` calls; None after a rejection, MISSING for other things than Python functions."""
    match node.func:
        case ast.Lambda() as function:
            local = local_function(state, as_definition(function))
            return Callee(local.source, local.source.node, state)
        case ast.Name(id=name) if state.is_local(name):
            found = state.settle(name, node.func)
            if found is None:
                return None
            if not isinstance(found, LocalFunction):
                return MISSING
            return Callee(found.source, found.source.node, found.around)
        case ast.Constant(value=Apart(source=source)):
            return Callee(source, (source.code, source.node), None)
        case ast.Constant(value=value):
            pass
        case _:
            value = state.outside(node.func)
    function = python_function(value) if value is not MISSING and scalar_function(value) is None else None
    if function is None:
        return MISSING
    try:
        return Callee(state.whole.sources.of(function), function.__code__, None)
    except UnsupportedLoopError as error:
        hint = "write it as a `def` in a file, or give it a rule: `@loopdiff.rule(f, ...)`"
        for d in error.diagnostics:
            state.reject(d.code, d.message, node, hint if d.code == "LD100" else d.hint)
        return None


def is_refused(state: State, callee: Callee, node: ast.Call) -> bool:
    """Whether the call leads back to a function that is being written out, or to more than can be."""
    keys = [frame.key for frame in state.stack]
    name = callee.source.name
    if callee.key in keys:
        cycle = [frame.name for frame in state.stack[keys.index(callee.key) :]]
        state.reject("LD130", f"`{name}` calls itself: {' -> '.join((*cycle, name))}", node)
        return True
    before = state.whole.inlined
    state.whole.inlined += sum(isinstance(n, ast.stmt) for n in syntax_nodes(callee.source.node))
    if before <= MOST_STATEMENTS < state.whole.inlined:
        message = f"with `{name}`, more than {MOST_STATEMENTS} statements of helpers are written out"
        state.reject("LD131", message, node)
    return state.whole.inlined > MOST_STATEMENTS


# -- parameters ----------------------------------------------------------------------------------------------
def default(state: State, callee: Callee, value: Any, node: ast.Call) -> Value:
    if callee.around is not None:
        return value
    return outside_constant(state, value, node) if isinstance(value, NUMBERS) else Outside(value)


def bind_parameter(inner: State, name: str, value: Value, span: Span) -> None:
    """`name` stands for `value`: a number that may change, or that is computed, is held in a cell."""
    if isinstance(value, View | ArrayValue):
        view = value if isinstance(value, View) else copied_view(inner, value, name, span)
        inner.bindings[name] = steady(inner, view)
    elif not isinstance(value, ir.Expr):
        inner.bindings[name] = value  # type: ignore[assignment]
    elif isinstance(value, ir.Const | ir.Param | ir.Dim) and name not in inner.survey.assigned:
        inner.bindings[name] = Given(value)
    else:
        cell = inner.define(name, span)
        inner.out.append(ir.Assign(cell, value, loc=span))
        note_number(inner, cell, value, name not in inner.survey.assigned)
