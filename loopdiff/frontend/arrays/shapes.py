"""Questions about shapes: `.shape`, `.ndim`, `.size` and `len` of anything that is an array."""

from __future__ import annotations

import ast

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import ONE, times
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View
from loopdiff.frontend.arrays.views import transposed
from loopdiff.frontend.parsing.bindings import Cell, Given, LocalFunction, Outside, Rejected
from loopdiff.frontend.parsing.outside import array_of, root_is_local
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.refused import REFUSED_ATTRIBUTES
from loopdiff.ir import nodes as ir


def shaped(state: State, node: ast.expr) -> str | Array | None:
    """The array that `node` is: the name of a whole one, or its value; None if it is no array."""
    if (array := array_of(state, node)) is not None:
        return array
    if not root_is_local(state, node) or not may_be_array(state, node):
        return None
    state.need_types()
    value = state.quantity(node)
    return value if isinstance(value, View | ArrayValue) else None


def may_be_array(state: State, node: ast.expr) -> bool:
    """Whether `node` may be an array, as far as can be said without types."""
    match node:
        case ast.Name(id=name):
            match state.binding(name):
                case Cell(cell=cell):
                    return state.types is None and cell in state.whole.undecided
                case Given(value=value):
                    return state.types is None and isinstance(value, ir.Param)
                case None:
                    return state.types is None and name in state.survey.parameters
                case Outside() | LocalFunction() | Rejected():
                    return False
                case _:
                    return True
        case ast.Constant() | ast.Tuple() | ast.List() | ast.Dict() | ast.Set() | ast.JoinedStr() | ast.Lambda():
            return False
        case ast.Attribute(value=ast.Call() | ast.Subscript(value=ast.Call()), attr=attr):
            return attr not in ("shape", "ndim", "size", "dtype")  # a field of what `f.grad(x)` gives
        case ast.Attribute(attr=attr):
            return attr in ("T", "real", "imag")
        case _:
            return True


def extent_at(state: State, array: str | Array, axis: int, span: Span) -> ir.Expr | None:
    """The extent along `axis`; None if there is no such axis."""
    if isinstance(array, str):
        return ir.Dim(array, axis, loc=span)
    return array.extents[axis] if -array.rank <= axis < array.rank else None


def rank_of(array: str | Array, span: Span) -> ir.Expr:
    return ir.RankOf(array, loc=span) if isinstance(array, str) else ir.Const(array.rank, loc=span)


def size_of(array: str | Array, span: Span) -> ir.Expr:
    if isinstance(array, str):
        return ir.SizeOf(array, loc=span)
    total: ir.Expr = ONE
    for extent in array.extents:
        total = times(total, extent)
    return total


def array_extents(state: State, array: str | Array, span: Span) -> tuple[ir.Expr, ...]:
    return state.all_of(array, span).extents if isinstance(array, str) else array.extents


def shape_attribute(state: State, node: ast.Attribute) -> Quantity:
    span, text = state.source.span(node), ast.unparse(node)
    array = shaped(state, node.value)
    if array is None:
        hint = f"pass `{text}` as an argument" if isinstance(node.value, ast.Name) else None
        return state.reject("LD119", f"`{text}` reads an attribute of a local value", node, hint)
    match node.attr:
        case "size":
            return size_of(array, span)
        case "ndim":
            if isinstance(array, str) and state.types is not None:
                return ir.Const(state.rank(array), loc=span)
            return rank_of(array, span)
        case "shape":
            return state.reject(
                "LD119", f"`{text}` is a tuple, used here as a number", node, "take one extent: `.shape[0]`"
            )
        case "T":
            whole = as_view(state, array, span)
            return transposed(whole, range(whole.rank)[::-1])
        case attr:
            hint = REFUSED_ATTRIBUTES.get(attr)
            return state.reject("LD119", f"`.{attr}` of an array is not supported here", node, hint)


def as_view(state: State, array: str | Array, span: Span) -> Array:
    state.need_types()
    return state.all_of(array, span) if isinstance(array, str) else array
