"""What an expression stands for where it need not be a number: an array, a function, several values."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np

from loopdiff.frontend.arrays.allocation import ElementType
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import ArrayValue, View
from loopdiff.frontend.arrays.views import steady
from loopdiff.frontend.parsing.bindings import AnyList, ArrayName, LocalFunction, Outside, Value, meaning_of
from loopdiff.frontend.parsing.lists.read_at_once import list_behind, may_make, under_name
from loopdiff.frontend.parsing.lists.reading import is_row, row_in
from loopdiff.frontend.parsing.order import frozen, in_order
from loopdiff.frontend.parsing.outside import root_is_local
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.source.functions import MISSING, as_definition, python_function
from loopdiff.source.nodes import GrownList
from loopdiff.source.scopes import of_scope

ASKING = (callable, np.isscalar)
NUMBERS = (bool, int, float, complex, np.generic)


def value_of(state: State, node: ast.expr) -> Value | None:
    """The value of `node`; None after a rejection."""
    match node:
        case ast.Call():
            found = state.whole.call(state, node)
            made = state.whole.make_list(state, node) if found is MISSING else found
            return state.quantity(node) if made is MISSING else made
        case ast.Subscript() if may_make(state, list_behind(node)):
            with under_name(state, node) as named:
                return None if named is None else part_of(state, named)
        case ast.Subscript() if is_row(state, node):
            return row_in(state, node)
        case ast.ListComp() | ast.BinOp() | ast.Subscript() | GrownList() if (
            made := state.whole.make_list(state, node)
        ) is not MISSING:
            return made
        case ast.Lambda():
            return local_function(state, as_definition(node))
        case ast.IfExp(test=ast.Call() as test, body=body, orelse=orelse) if is_class_asked(state, test):
            known = state.number(test)
            return value_of(state, body if isinstance(known, ir.Const) and known.value else orelse)
        case ast.Attribute(value=base, attr="dtype") if root_is_local(state, base):
            array = state.quantity(base)
            return Outside(ElementType(of_array=array.array)) if isinstance(array, View) else state.quantity(node)
        case ast.Name(id=name) if state.owner(name) is not None:
            meant = meaning_of(state.binding(name))
            if isinstance(meant, ArrayName | AnyList | Outside | LocalFunction):
                state.settle(name, node)
                return meant
        case ast.Name() | ast.Attribute() if not root_is_local(state, node):
            value = state.outside(node)
            if python_function(value) is not None:
                return Outside(value)
        case _:
            pass
    return state.quantity(node)


def part_of(state: State, node: ast.expr) -> Value | None:
    """A part of a list that was made here."""
    if is_row(state, node):
        return row_in(state, node)
    made = state.whole.make_list(state, node)
    return state.quantity(node) if made is MISSING else made


def is_class_asked(state: State, node: ast.Call) -> bool:
    """Whether `node` asks of which class something is, which is known while the program is read."""
    callee, count = state.outside(node.func), len(node.args)
    return not node.keywords and (count == 2 if callee is isinstance else count == 1 and callee in ASKING)


def argument_of(state: State, node: ast.expr) -> Value | None:
    """The value of `node`, an argument of a helper: any Python value from outside can be passed on."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, NUMBERS):
        return Outside(node.value)
    if isinstance(node, ast.Name | ast.Attribute) and not root_is_local(state, node):
        value = state.outside(node)
        if value is not MISSING and not isinstance(value, NUMBERS):
            return Outside(value)
    return value_of(state, node)


# -- functions inside functions ------------------------------------------------------------------------------
def local_function(state: State, node: ast.FunctionDef) -> LocalFunction:
    """The function that `node` defines here; its body is parsed where it is called."""
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for stmt in node.body for n in of_scope(stmt)):
        state.reject("LD117", f"`{node.name}` is a generator", node, "store the values in an array")
    if node.decorator_list:
        message = f"`{node.name}` is decorated inside the function"
        state.reject("LD103", message, node.decorator_list[0], "leave the decorator out, or define it outside")
    return LocalFunction(replace(state.source, name=node.name, node=node, signature=signature_of(state, node)), state)


def signature_of(state: State, node: ast.FunctionDef) -> inspect.Signature:
    """The signature of `node`, with the values that its defaults have where it is defined."""
    arguments = node.args
    written = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
    found = in_order(state, written, argument_of)
    values = {id(d): default(state, value, d) for d, value in zip(written, found, strict=True)}
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    kinds = [inspect.Parameter.POSITIONAL_ONLY] * len(arguments.posonlyargs)
    kinds += [inspect.Parameter.POSITIONAL_OR_KEYWORD] * len(arguments.args)

    def parameter(argument: ast.arg, kind: Any, given: ast.expr | None = None) -> inspect.Parameter:
        value = inspect.Parameter.empty if given is None else values[id(given)]
        return inspect.Parameter(argument.arg, kind, default=value)

    parameters = [parameter(a, k, d) for a, k, d in zip(positional, kinds, defaults, strict=True)]
    if arguments.vararg is not None:
        parameters.append(parameter(arguments.vararg, inspect.Parameter.VAR_POSITIONAL))
    for argument, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(parameter(argument, inspect.Parameter.KEYWORD_ONLY, given))
    if arguments.kwarg is not None:
        parameters.append(parameter(arguments.kwarg, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def default(state: State, value: Value | None, node: ast.expr) -> Value:
    if isinstance(value, tuple):
        state.reject("LD110", f"`{ast.unparse(node)}` is no single value", node, "unpack it first")
    if value is None or isinstance(value, tuple):
        return ir.Const(0, loc=state.source.span(node))
    match value:
        case View():
            return steady(state, value)
        case ArrayValue():
            state.owned(value, node)
            return copied_view(state, value, "default", state.source.span(node))
        case _:
            return frozen(state, value, "default") if isinstance(value, ir.Expr) else value
