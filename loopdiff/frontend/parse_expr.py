"""Python expressions to IR expressions.

A rejected expression becomes a constant, so that the rest of the function is looked at too.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from loopdiff.errors import Span
from loopdiff.frontend.functions import scalar_function
from loopdiff.frontend.language import REFUSED_EXPRESSIONS, REFUSED_METHODS
from loopdiff.frontend.order import boolean, chain, either, in_order, lazily, truth_value
from loopdiff.frontend.parse_state import (
    MISSING,
    ArrayName,
    Cell,
    Given,
    LocalFunction,
    Outside,
    State,
    Unsure,
    Value,
)
from loopdiff.ir.nodes import Access, Apply, Const, Dim, Expr, Load, RankOf, Select, SizeOf
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F32, F64
from loopdiff.ir.walk import map_expr
from loopdiff.source import LIBRARIES

BINARY: dict[type[ast.operator], Op] = {
    ast.Add: Op.ADD, ast.Sub: Op.SUB, ast.Mult: Op.MUL, ast.Div: Op.DIV, ast.FloorDiv: Op.FLOORDIV,
    ast.Mod: Op.MOD, ast.Pow: Op.POW, ast.BitAnd: Op.BITAND, ast.BitOr: Op.BITOR, ast.BitXor: Op.BITXOR,
    ast.LShift: Op.SHL, ast.RShift: Op.SHR,
}  # fmt: skip
UNARY: dict[type[ast.unaryop], Op] = {ast.USub: Op.NEG, ast.Not: Op.NOT, ast.Invert: Op.INVERT}
COMPARE: dict[type[ast.cmpop], Op] = {
    ast.Lt: Op.LT, ast.LtE: Op.LE, ast.Gt: Op.GT, ast.GtE: Op.GE, ast.Eq: Op.EQ, ast.NotEq: Op.NE,
}  # fmt: skip
FOLD: dict[Op, Callable[[Any, Any], Any]] = {
    Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul, Op.DIV: operator.truediv,
    Op.FLOORDIV: operator.floordiv, Op.MOD: operator.mod, Op.POW: operator.pow, Op.BITAND: operator.and_,
    Op.BITOR: operator.or_, Op.BITXOR: operator.xor, Op.SHL: operator.lshift, Op.SHR: operator.rshift,
    Op.LT: operator.lt, Op.LE: operator.le, Op.GT: operator.gt, Op.GE: operator.ge, Op.EQ: operator.eq,
    Op.NE: operator.ne,
}  # fmt: skip
LARGEST_SHIFT = 64
FLOAT_CONSTANTS = {4: F32, 8: F64}


def parse_expr(state: State, node: ast.expr) -> Expr:
    """The value of `node`, a number."""
    match node:
        case ast.Constant(value=value):
            return constant(state, value, node)
        case ast.Name():
            return name_value(state, node)
        case ast.Attribute():
            return attribute(state, node)
        case ast.Subscript():
            return subscript(state, node)
        case ast.UnaryOp() | ast.BinOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
            return operation(state, node)
        case ast.Call():
            return call(state, node)
        case _:
            message, hint = REFUSED_EXPRESSIONS.get(type(node), (f"`{ast.unparse(node)}` is not a number", None))
            return state.reject("LD111", message, node, hint)


def constant(state: State, value: Any, node: ast.expr) -> Expr:
    """A literal, or the value of a name from outside the function."""
    span = state.source.span(node)
    match value:
        case bool() | np.bool_():
            return Const(bool(value), loc=span)
        case np.floating() if value.dtype.itemsize in FLOAT_CONSTANTS:
            return Const(float(value), FLOAT_CONSTANTS[value.dtype.itemsize], loc=span)
        case int() | np.integer():
            if not -(1 << 63) <= int(value) < 1 << 63:
                return state.reject("LD112", f"{value} does not fit in 64 bits", node, "use an integer below 2**63")
            return Const(int(value), loc=span)
        case float():
            return Const(value, loc=span)
        case complex() | np.complexfloating():
            return state.reject("LD112", "complex numbers are not supported", node, "compute the two parts separately")
        case None:
            return state.reject("LD112", "None is not a number", node)
        case _:
            kind = {str: "a string", bytes: "bytes"}.get(type(value), f"of type {type(value).__name__}")
            return state.reject("LD112", f"{value!r} is {kind}, not a number", node)


def name_value(state: State, node: ast.Name) -> Expr:
    name, span = node.id, state.source.span(node)
    if not state.is_local(name):
        return outside_value(state, node)
    match state.settle(name, node):
        case Cell() as cell:
            return state.load(cell, span)
        case Given(value=value):
            return replace(value, loc=span)
        case ArrayName():
            return state.reject("LD108", f"`{name}` is an array, used here as a number", node)
        case LocalFunction():
            return state.reject("LD111", f"`{name}` is a function, used here as a number", node, "call it")
        case Outside() | None:
            return Const(0, loc=span)


def outside_value(state: State, node: ast.expr) -> Expr:
    """A global or closure constant."""
    text = ast.unparse(node)
    value = state.outside(node)
    if value is MISSING:
        return reject_outside(state, node, node)
    if isinstance(value, bool | int | float | complex | np.generic):
        return constant(state, value, node)
    return state.reject("LD113", f"`{text}` is {kind_of(value)}, not a number", node)


def reject_outside(state: State, node: ast.AST, name: ast.expr) -> Const:
    """`name` leads to no value: say how far it leads."""
    owner = name.value if isinstance(name, ast.Attribute) else None
    value = MISSING if owner is None else state.outside(owner)
    if owner is None or value is MISSING or isinstance(value, ModuleType):
        message, hint = f"`{ast.unparse(name)}` is not defined", "define it before the decorated function"
        return state.reject("LD113", message, node, hint)
    return state.reject("LD113", f"`{ast.unparse(owner)}` is {kind_of(value)} from outside the function", node)


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


def attribute(state: State, node: ast.Attribute) -> Expr:
    span = state.source.span(node)
    array = array_of(state, node.value)
    if array is None:
        if root_is_local(state, node):
            text = ast.unparse(node)
            hint = f"pass `{text}` as an argument" if isinstance(node.value, ast.Name) else None
            return state.reject("LD119", f"`{text}` reads an attribute of a local value", node, hint)
        return outside_value(state, node)
    match node.attr:
        case "size":
            return SizeOf(array, loc=span)
        case "ndim":
            return RankOf(array, loc=span)
        case "shape":
            message = f"`{ast.unparse(node)}` is a tuple, used here as a number"
            return state.reject("LD119", message, node, "take one extent: `.shape[0]`")
        case attr:
            return state.reject("LD119", f"`.{attr}` of an array is not supported here", node)


def root_is_local(state: State, node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return not isinstance(node, ast.Name) or state.is_local(node.id)


def array_of(state: State, node: ast.expr) -> str | None:
    """The array that the local name `node` stands for; None if `node` is something else."""
    if not isinstance(node, ast.Name):
        return None
    binding = state.binding(node.id)
    meant = binding.meant if isinstance(binding, Unsure) else binding
    if not isinstance(meant, ArrayName):
        return None
    state.settle(node.id, node)
    return meant.array


# -- subscripts ----------------------------------------------------------------------------------------------
def subscript(state: State, node: ast.Subscript) -> Expr:
    """An array element, one extent of a shape, or an element of a constant tuple."""
    match node.value:
        case ast.Attribute(value=base, attr="shape") if (array := array_of(state, base)) is not None:
            return extent(state, array, node)
        case _:
            pass
    if not root_is_local(state, node):
        return constant_element(state, node)
    access = element(state, node)
    return Const(0, loc=state.source.span(node)) if access is None else Load(access, loc=access.loc)


def extent(state: State, array: str, node: ast.Subscript) -> Expr:
    axis = parse_expr(state, node.slice) if not isinstance(node.slice, ast.Slice) else None
    if isinstance(axis, Const) and isinstance(axis.value, int):
        return Dim(array, axis.value, loc=state.source.span(node))
    return state.reject("LD119", "the axis of `.shape[...]` must be a constant integer", node, "write `.shape[0]`")


def constant_element(state: State, node: ast.Subscript) -> Expr:
    """`WEIGHTS[2]` for a tuple from outside the function and a constant subscript."""
    owner = state.outside(node.value)
    text = ast.unparse(node.value)
    if owner is MISSING:
        return reject_outside(state, node, node.value)
    if not isinstance(owner, tuple | list) or isinstance(node.slice, ast.Slice):
        return state.reject("LD113", f"`{text}` is {kind_of(owner)} from outside the function", node)
    position = parse_expr(state, node.slice)
    if not isinstance(owner, tuple) or not isinstance(position, Const) or not isinstance(position.value, int):
        hint = "pass the values as an array argument"
        return state.reject("LD113", f"`{text}` needs to be a tuple with a constant subscript here", node, hint)
    if not -len(owner) <= position.value < len(owner):
        return state.reject("LD113", f"`{text}` has {len(owner)} elements", node, "use a subscript in range")
    return constant(state, owner[position.value], node)


def element(state: State, node: ast.Subscript) -> Access | None:
    """The element `A[i, j]`, also spelt `A[i][j]`; None after a rejection."""
    span = state.source.span(node)
    base, subscripts = flat_subscripts(node)
    slices = [s for s in subscripts if isinstance(s, ast.Slice)]
    if slices or any(is_ellipsis_or_none(s) for s in subscripts):
        what = "a slice" if slices else "a view"
        state.reject("LD108", f"`{ast.unparse(node)}` is {what}, not an element", node)
        return None
    if not isinstance(base, ast.Name):
        state.reject("LD111", f"`{ast.unparse(base)}` cannot be subscripted", base)
        return None
    binding = state.settle(base.id, base)
    parsed = tuple(in_order(state, subscripts, parse_expr))
    if isinstance(binding, Cell):
        hint = (
            "subscript an array, once for each axis: rows such as `A[i]` and results of whole-array work have no name"
        )
        state.reject("LD111", f"`{base.id}` is a number here, not an array", node, hint)
    return Access(binding.array, parsed, loc=span) if isinstance(binding, ArrayName) else None


def flat_subscripts(node: ast.Subscript) -> tuple[ast.expr, list[ast.expr]]:
    """What is subscripted, and all subscripts: `A[i][j]` is `A[i, j]`."""
    subscripts: list[ast.expr] = []
    base: ast.expr = node
    while isinstance(base, ast.Subscript):
        here = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
        subscripts = [*here, *subscripts]
        base = base.value
    return base, subscripts


def is_ellipsis_or_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is Ellipsis or node.value is None)


# -- operators -----------------------------------------------------------------------------------------------
def operation(state: State, node: ast.UnaryOp | ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp) -> Expr:
    match node:
        case ast.UnaryOp():
            return unary(state, node)
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) not in BINARY:
                return state.reject("LD108", "`@` multiplies whole arrays", node, "write the sum as a loop")
            first, second = in_order(state, (left, right), parse_expr)
            return binary(state, BINARY[type(op)], first, second, node)
        case ast.BoolOp(op=op, values=values):
            kind = Op.AND if isinstance(op, ast.And) else Op.OR
            return boolean(kind, lazily(state, kind, values, parse_expr, boolean), state.source.span(node))
        case ast.Compare():
            return comparison(state, node)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            cond = condition(state, test)
            if isinstance(cond, Const):
                return parse_expr(state, body if cond.value else orelse)
            return either(state, cond, body, orelse, parse_expr, state.source.span(node))


def unary(state: State, node: ast.UnaryOp) -> Expr:
    value, span = parse_expr(state, node.operand), state.source.span(node)
    match node.op, value:
        case ast.UAdd(), _:
            return value
        case ast.USub(), Const(value=number, dtype=None):
            return Const(-number, loc=span)
        case ast.Not(), Const(value=number):
            return Const(not number, loc=span)
        case op, _:
            return Apply(UNARY[type(op)], (value,), loc=span)


def binary(state: State, op: Op, left: Expr, right: Expr, node: ast.AST) -> Expr:
    """`left op right`, computed now if both are weak constants (exactly as Python would)."""
    span = state.source.span(node)
    if isinstance(left, Const) and isinstance(right, Const) and left.dtype is None and right.dtype is None:
        too_large = op in (Op.SHL, Op.POW) and abs(right.value) > LARGEST_SHIFT
        try:
            value = None if too_large else FOLD[op](left.value, right.value)
        except (ArithmeticError, TypeError, ValueError):
            value = None
        if isinstance(value, float) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63):
            return Const(value, loc=span)
    return Apply(op, (left, right), loc=span)


def comparison(state: State, node: ast.Compare) -> Expr:
    """`a < b <= c` is `a < b and b <= c`."""
    match node:
        case ast.Compare(left=ast.Name() as name, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]):
            return Const(is_none(state, name) == isinstance(op, ast.Is), loc=state.source.span(node))
        case _:
            pass
    for op in node.ops:
        if type(op) not in COMPARE:
            word = {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}[type(op)]
            is_identity = isinstance(op, ast.Is | ast.IsNot)
            hint = "compare with `==`" if is_identity else "compare with each value: `x == a or x == b`"
            return state.reject("LD111", f"`{word}` is not supported", node, hint)

    def test(op: ast.cmpop, a: Expr, b: Expr) -> Expr:
        return binary(state, COMPARE[type(op)], a, b, node)

    return chain(state, parse_expr(state, node.left), node.ops, node.comparators, parse_expr, test)


def is_none(state: State, node: ast.Name) -> bool:
    """Whether `node` is None, which only a name from outside or a parameter of a helper can be."""
    if not state.is_local(node.id):
        return state.outside(node) is None
    state.settle(node.id, node)
    return False


def condition(state: State, node: ast.expr) -> Expr:
    """`node` where only its truth matters: `and` and `or` of numbers are truth values too."""
    match node:
        case ast.BoolOp(op=op, values=values):
            kind = Op.AND if isinstance(op, ast.And) else Op.OR
            return truth_value(kind, lazily(state, kind, values, condition, truth_value), state.source.span(node))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = condition(state, operand)
            span = state.source.span(node)
            return Const(not value.value, loc=span) if isinstance(value, Const) else Apply(Op.NOT, (value,), loc=span)
        case _:
            return parse_expr(state, node)


# -- calls ---------------------------------------------------------------------------------------------------
def call(state: State, node: ast.Call) -> Expr:
    span = state.source.span(node)
    found = state.whole.call(state, node)
    if found is not MISSING:
        return number(state, found, node)
    callee, text = state.outside(node.func), ast.unparse(node.func)
    if callee is MISSING:
        return unknown_call(state, node, text)
    if callee is len:
        return length(state, node)
    function = scalar_function(callee)
    if function is None:
        return unknown_call(state, node, text)
    if node.keywords:
        named = ", ".join(f"`{k.arg}=`" if k.arg else "`**`" for k in node.keywords)
        return state.reject("LD110", f"`{text}` is called with {named}", node)
    if callee is float and (special := special_float(node)) is not None:
        return Const(special, loc=span)
    nodes = unpacked(node, callee in (min, max))
    if any(isinstance(a, ast.Starred) for a in nodes):
        return state.reject("LD110", f"`{text}` is called with `*`", node, "write the arguments one by one")
    if not function.takes(len(nodes)):
        return state.reject("LD110", f"`{text}` takes {function.arity_text}, here {len(nodes)}", node)
    args = in_order(state, nodes, parse_expr)
    return map_expr(lambda e: located(e, span), function.build(*args))


def number(state: State, value: Value | None, node: ast.Call) -> Expr:
    """`value`, the result of a helper called by `node`, as a number."""
    text = ast.unparse(node.func)
    match value:
        case None:
            return Const(0, loc=state.source.span(node))
        case ArrayName():
            hint = "give the array a name first"
            return state.reject("LD108", f"`{text}` returns an array, used here as a number", node, hint)
        case Outside() | LocalFunction():
            hint = "give the function a name first"
            return state.reject("LD111", f"`{text}` returns a function, used here as a number", node, hint)
        case tuple():
            what = f"{len(value)} values" if value else "nothing"
            return state.reject("LD111", f"`{text}` returns {what}, used here as a number", node)
        case expr:
            return expr


def located(expr: Expr, span: Span) -> Expr:
    """`expr` at `span` if it was made without a place."""
    if expr.loc.line:
        return expr
    match expr:
        case Apply(op=op, args=args):
            return Apply(op, args, loc=span)
        case Select(cond=cond, then=then, orelse=orelse):
            return Select(cond, then, orelse, loc=span)
        case _:
            return type(expr)(*(getattr(expr, f) for f in expr.__match_args__ if f != "loc"), loc=span)


def special_float(node: ast.Call) -> float | None:
    """`float("inf")`, `float("-inf")`, `float("nan")` and other numbers in strings."""
    match node.args:
        case [ast.Constant(value=str() as text)]:
            try:
                return float(text)
            except ValueError:
                return None
        case _:
            return None


def unpacked(node: ast.Call, takes_sequence: bool) -> list[ast.expr]:
    """Arguments; `max((a, b))` is `max(a, b)`."""
    match node.args:
        case [ast.Tuple(elts=elts) | ast.List(elts=elts)] if takes_sequence:
            return elts
        case args:
            return args


def length(state: State, node: ast.Call) -> Expr:
    match node.args:
        case [ast.Name() as name] if (array := array_of(state, name)) is not None:
            return Dim(array, 0, loc=state.source.span(node))
        case [ast.Attribute(value=base, attr="shape")] if (array := array_of(state, base)) is not None:
            return RankOf(array, loc=state.source.span(node))
        case [argument] if not root_is_local(state, argument):
            value = state.outside(argument)
            if isinstance(value, tuple | list):
                return Const(len(value), loc=state.source.span(node))
        case _:
            pass
    return state.reject("LD110", "`len` takes the name of an array", node, "use `A.shape[axis]`")


def is_users_class(value: type) -> bool:
    return getattr(builtins, value.__name__, None) is not value and value.__module__.split(".")[0] not in LIBRARIES


def unknown_call(state: State, node: ast.Call, text: str) -> Expr:
    """The precise reason why `node` cannot be called."""
    match node.func:
        case ast.Attribute(value=base, attr=attr) if root_is_local(state, base):
            hint = REFUSED_METHODS.get(attr)
            return state.reject("LD109", f"`{text}()` calls a method of a local value", node, hint)
        case ast.Name(id=name) if state.is_local(name):
            return state.reject("LD109", f"`{name}` is a local variable, called as a function", node)
        case _:
            pass
    if not isinstance(node.func, ast.Name | ast.Attribute):
        return state.reject("LD109", f"`{text}` cannot be called", node)
    value = state.outside(node.func)
    owner = state.outside(node.func.value) if isinstance(node.func, ast.Attribute) else MISSING
    if value is MISSING and callable(getattr(owner, text.split(".")[-1], None)):
        hint = "write it as a function, and pass what it reads of the object as arguments"
        return state.reject("LD109", f"`{text}` is a method", node, hint)
    if isinstance(value, type) and is_users_class(value):
        hint = "use one variable for each of its fields"
        return state.reject("LD109", f"`{text}` is a class, and makes an object", node, hint)
    if value is MISSING:
        return reject_outside(state, node, node.func)
    if any(value is f for f in (range, enumerate, zip, reversed)):
        return state.reject("LD111", f"`{text}(...)` is only accepted as what a `for` loop goes over", node)
    name = getattr(value, "__name__", text)
    return state.reject("LD109", f"`{text}` is not a function loopdiff knows", node, REFUSED_METHODS.get(name))
