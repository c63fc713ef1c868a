"""`isinstance`, `callable` and `np.isscalar` of what is no structure, where the types of arguments say what it is."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

import numpy as np

from loopdiff.frontend.arrays.element_types import dtype_of
from loopdiff.frontend.arrays.values import ArrayValue, View
from loopdiff.frontend.capture import ScalarArgument
from loopdiff.frontend.classes import alternatives, are_structures, class_of, is_derived, may_be_row
from loopdiff.frontend.parsing.bindings import (
    ArrayName,
    Cell,
    Given,
    ListName,
    ListRow,
    LocalFunction,
    Outside,
    Value,
    Varying,
    meaning_of,
)
from loopdiff.frontend.parsing.meanings import argument_of
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.source.functions import MISSING

NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def class_answer(state: State, node: ast.Call, callee: object) -> ir.Expr:
    """True or False."""
    classes = tuple(state.outside(n) for n in alternatives(node.args[1])) if callee is isinstance else (np.generic,)
    if not all(isinstance(c, type) for c in classes):
        known = MISSING
    elif is_single(state, node.args[0]) and are_structures(classes):
        known = False
    else:
        state.need_types()
        known = answer_of(state, argument_of(state, node.args[0]), callee, classes)
    if known is MISSING:
        text = ast.unparse(node)
        hint = "ask it of an argument or an array as it is given"
        return state.reject("LD109", f"`{text}` does not follow from the types of arguments", node, hint)
    return ir.Const(known, loc=state.source.span(node))


def is_single(state: State, node: ast.expr) -> bool:
    """Whether `node` is the name of a number or an array."""
    meant = meaning_of(state.binding(node.id)) if isinstance(node, ast.Name) else None
    return isinstance(meant, Cell | Given | ArrayName | View | Varying)


def answer_of(state: State, value: Value | None, callee: object, classes: tuple[type[Any], ...]) -> Any:
    is_asked = callee is isinstance
    if isinstance(value, ir.Expr):
        return False if callee is callable else answer_of_number(state, value, is_asked, classes)
    match value:
        case Outside(value=own):
            return isinstance(own, classes) if is_asked else callable(own) if callee is callable else MISSING
        case LocalFunction():
            return is_derived(FunctionType, classes) if is_asked else callee is callable
        case ArrayName() | View() | ArrayValue():
            return is_asked and is_derived(np.ndarray, classes)
        case ListName() | ListRow() if is_asked and not any(map(may_be_row, classes)):
            return False
        case _:
            return MISSING


def answer_of_number(state: State, value: ir.Expr, is_asked: bool, classes: tuple[type[Any], ...]) -> Any:
    """What `isinstance` says of a number if it `is_asked`, else `np.isscalar`."""
    own = class_of_number(state, value)
    if own is not None:
        return is_derived(own, classes) if is_asked else True
    if state.whole.boxed:  # it may be an array without axes
        return MISSING
    is_other = all(not issubclass(c, NUMBERS) and not issubclass(float, c) for c in classes)
    return (False if is_other else MISSING) if is_asked else True


def class_of_number(state: State, value: ir.Expr) -> type[Any] | None:
    """Of which class a number is: one that is written out, an argument, or an element of an argument."""
    match value:
        case ir.Const(value=own, dtype=None):
            return type(own)
        case ir.Param(name=name) if isinstance(kind := state.need_types().get(name), ScalarArgument):
            return class_of(kind)
        case ir.Load(access=ir.Access(array=name, subscripts=[_, *_])) if state.arrays[name].role == "argument":
            dtype = dtype_of(state, name)
            return None if dtype is None else np.dtype(dtype).type
        case _:
            return None
