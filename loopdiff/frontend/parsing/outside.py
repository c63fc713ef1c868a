"""Values of names from outside the function: numbers, and tuples of numbers with constant subscripts."""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any

import numpy as np

from loopdiff.errors import Span
from loopdiff.frontend.functions import exactly_complex64, exactly_complex128
from loopdiff.frontend.parsing.bindings import ArrayName, meaning_of
from loopdiff.frontend.parsing.placing import with_place
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import F32, F64
from loopdiff.source.functions import MISSING, SourceFunction
from loopdiff.source.scopes import root_of

FLOAT_CONSTANTS = {4: F32, 8: F64}
COMPLEX_BYTES = 16
MAKERS_BY_SUBSCRIPT = (np.r_, np.c_, np.mgrid, np.ogrid)
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor")
CALCULATING = tuple(
    f"__{name}__"
    for name in (
        *OPERATORS, *(f"r{name}" for name in OPERATORS), "divmod", "rdivmod", "neg", "pos", "abs", "invert", "eq", "ne",
        "lt", "le", "gt", "ge", "bool", "int", "float", "index", "trunc", "floor", "ceil", "round",
    )
)  # fmt: skip


def outside_constant(state: State, value: Any, node: ast.expr) -> ir.Expr:
    """A literal, or the value of a name from outside the function."""
    span = state.source.span(node)
    match value:
        case bool() | np.bool_():
            return ir.Const(bool(value), loc=span)
        case np.floating() if value.dtype.itemsize in FLOAT_CONSTANTS:
            return ir.Const(float(value), FLOAT_CONSTANTS[value.dtype.itemsize], loc=span)
        case int() | np.integer():
            if not -(1 << 63) <= int(value) < 1 << 63:
                return state.reject("LD112", f"{value} does not fit in 64 bits", node, "use an integer below 2**63")
            return ir.Const(int(value), loc=span)
        case float():
            return ir.Const(float(value), loc=span)
        case complex() | np.complexfloating() if np.asarray(value).itemsize <= COMPLEX_BYTES:
            return complex_constant(value, span)
        case None:
            hint = "use a number; where there may be none, a truth value beside it: `return found, t`"
            return state.reject("LD112", "None is not a number", node, hint)
        case _:
            kind = {str: "a string", bytes: "bytes"}.get(type(value), f"of type {type(value).__name__}")
            return state.reject("LD112", f"{value!r} is {kind}, not a number", node)


def complex_constant(value: Any, span: Span) -> ir.Expr:
    number = ir.Pair(ir.Const(float(value.real)), ir.Const(float(value.imag)))
    if type(value) is complex:
        return with_place(number, span)
    return with_place(exactly_complex64(number) if value.dtype.itemsize == 8 else exactly_complex128(number), span)


def outside_value(state: State, node: ast.expr) -> ir.Expr:
    """A global or closure constant."""
    text = ast.unparse(node)
    value = state.outside(node)
    if value is MISSING:
        return reject_outside(state, node, node)
    if is_number(value):
        return outside_constant(state, value, node)
    return state.reject("LD113", f"`{text}` is {kind_of(value)}, not a number", node)


def is_number(value: Any) -> bool:
    """Whether `value` is a number of Python or NumPy, or of a class derived from these that calculates as they do."""
    if isinstance(value, bool | np.generic):
        return True
    kinds = type(value).__mro__
    base = next((k for k, kind in enumerate(kinds) if kind in (int, float, complex)), None)
    return base is not None and not any(name in vars(kind) for kind in kinds[:base] for name in CALCULATING)


def reject_outside(state: State, node: ast.AST, name: ast.expr) -> ir.Const:
    """`name` leads to no value: say how far it leads."""
    owner = name.value if isinstance(name, ast.Attribute) else None
    value = MISSING if owner is None else state.outside(owner)
    if owner is None or value is MISSING or isinstance(value, ModuleType):
        message, hint = f"`{ast.unparse(name)}` is not defined", "define it before the decorated function"
        if root_of(name) in own_class(state.source):
            hint = f"the class is not there yet: `self.{ast.unparse(name).partition('.')[2]}`, or a function before it"
        return state.reject("LD113", message, node, hint)
    return state.reject("LD113", f"`{ast.unparse(owner)}` is {kind_of(value)} from outside the function", node)


def own_class(source: SourceFunction) -> list[str]:
    """The names of classes around a function."""
    return [] if source.function is None else source.function.__qualname__.split(".")[:-1]


def kind_of(value: Any) -> str:
    match value:
        case np.ndarray():
            return "an array"
        case ModuleType():
            return "a module"
        case str():
            return "a string"
        case _:
            return f"of type {type(value).__name__}"


def constant_element(state: State, node: ast.Subscript) -> ir.Expr:
    """`WEIGHTS[2]` for a tuple from outside the function and a constant subscript."""
    owner = state.outside(node.value)
    text = ast.unparse(node.value)
    if owner is MISSING:
        return reject_outside(state, node, node.value)
    if not isinstance(owner, tuple | list) or isinstance(node.slice, ast.Slice):
        return state.reject("LD113", f"`{text}` is {kind_of(owner)} from outside the function", node)
    position = state.quantity(node.slice)
    if not isinstance(owner, tuple) or not isinstance(position, ir.Const) or not isinstance(position.value, int):
        hint = "pass the values as an array argument"
        return state.reject("LD113", f"`{text}` needs to be a tuple with a constant subscript here", node, hint)
    if not -len(owner) <= position.value < len(owner):
        return state.reject("LD113", f"`{text}` has {len(owner)} elements", node, "use a subscript in range")
    return outside_constant(state, owner[position.value], node)


# -- local names ---------------------------------------------------------------------------------------------
def root_is_local(state: State, node: ast.expr) -> bool:
    """Whether `node` is, or is a part of, what the function makes: `x.T`, and `np.r_[x, y].T`."""
    parts = [node]
    while isinstance(parts[-1], ast.Attribute | ast.Subscript):
        parts.append(parts[-1].value)
    root = parts[-1]
    if not isinstance(root, ast.Name) or state.is_local(root.id):
        return True
    made = (state.outside(part.value) for part in parts if isinstance(part, ast.Subscript))
    return any(found is maker for found in made for maker in MAKERS_BY_SUBSCRIPT)


def is_none(state: State, node: ast.expr) -> bool:
    """Whether `node` is None: written out, a name from outside, or a parameter of a helper."""
    match node:
        case ast.Constant(value=value):
            return value is None
        case ast.Name(id=name):
            return not state.is_local(name) and state.outside(node) is None
        case _:
            return False


def array_of(state: State, node: ast.expr) -> str | None:
    """The array that the local name `node` stands for; None if `node` is something else."""
    if not isinstance(node, ast.Name):
        return None
    binding = state.binding(node.id)
    meant = meaning_of(binding)
    if not isinstance(meant, ArrayName):
        return None
    state.settle(node.id, node)
    return meant.array
