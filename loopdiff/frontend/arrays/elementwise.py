"""Operators and scalar functions on whole arrays: one element's formula, computed where it is used."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import aligned, broadcast
from loopdiff.frontend.arrays.element_types import dtype_of
from loopdiff.frontend.arrays.evaluated import require_elements
from loopdiff.frontend.arrays.integers import distance
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, as_array, is_array, of_each
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import subexprs

CHEAP = (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.MIN, Op.MAX)


def combined(state: State, build: Callable[..., ir.Expr], values: Sequence[Quantity], node: ast.AST) -> Quantity:
    """`build` of numbers, or of arrays element by element."""
    if not any(map(is_array, values)):
        return build(*values)
    span = state.source.span(node)
    for value in values:
        require_elements(state, value, node)
    held = [v if is_array(v) else held_once(state, v, span) for v in values]  # type: ignore[arg-type]
    extents, elements = broadcast(state, [as_array(v) for v in held], span)
    for place, value in enumerate(held):
        if isinstance(value, ArrayValue | View) and is_costly(value.element) and is_repeated(value, extents):
            elements[place] = aligned(state, copied_view(state, value, "repeated", span), extents)
    return ArrayValue(extents, build(*elements))


def held_once(state: State, number: ir.Expr, span: Span) -> ir.Expr:
    """`number`, in a cell if every element would compute it again."""
    if not is_costly(number):
        return number
    cell = state.temporary("factor", span)
    state.out.append(ir.Assign(cell, number, loc=span))
    return ir.Load(cell, loc=span)


def is_costly(formula: ir.Expr) -> bool:
    """Whether `formula` is better computed once than at every use."""
    return any(isinstance(e, ir.Apply) and e.op not in CHEAP for e in subexprs(formula))


def is_repeated(value: Array, extents: Sequence[ir.Expr]) -> bool:
    """Whether an element of `value` is used more than once in an array of the `extents`."""
    if value.rank < len(extents):
        return True
    return any(distance(a, b) != 0 for a, b in zip(value.extents, extents, strict=True))


def complex_part(state: State, part: ir.Part, value: Quantity, node: ast.AST) -> Quantity:
    """A part of complex numbers; the real part, or the conjugate, of an array of real ones is that array itself.

    A name for the real or the imaginary part of an array would stand for a view of it, which no copy may be told from.
    """
    span = state.source.span(node)

    def of(value: Quantity) -> Quantity:
        return combined(state, lambda z: ir.PartOf(part, z, loc=span), [value], node)

    def taken(array: Array) -> Array:
        if isinstance(array, View) and part != "imag":
            dtype = dtype_of(state, array.array)
            if dtype is not None and not dtype.startswith("complex"):
                return array
        if isinstance(array, ArrayValue) and array.memory is not None and part != "imag":
            return array  # a part of numbers already, which has the same memory as its own real part
        found = as_array(of(array))
        is_memory = isinstance(array, View) and part != "conj" and isinstance(found, ArrayValue)
        return replace(found, memory=array) if is_memory else found

    return of_each(value, taken) if isinstance(value, View | ArrayValue) else of(value)
