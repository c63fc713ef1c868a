"""Arrays as values: their extents, and their element as a formula of its subscripts.

In a formula the subscripts are holes, Vars named `#0`, `#1`, ... A `View` is memory of a named array under other
subscripts; it can be written and given a name. An `ArrayValue` is computed where it is used: `2.0 * x[1:]` is its
extents and the element `2.0 * x[#0 + 1]`, and no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loopdiff.frontend.arrays.integers import folded
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import operands, rebuild, subexprs

HOLE = "#"


@dataclass(frozen=True, slots=True)
class View:
    """Elements of `array` at `subscripts`, formulas of the holes. `is_read_only`: NumPy forbids to write to it."""

    array: str
    subscripts: tuple[ir.Expr, ...]
    extents: tuple[ir.Expr, ...]
    is_read_only: bool = False

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def element(self) -> ir.Expr:
        return ir.Load(ir.Access(self.array, self.subscripts))

    def access(self, subscripts: Sequence[ir.Expr]) -> ir.Access:
        return ir.Access(self.array, tuple(fill_subscript(s, subscripts) for s in self.subscripts))


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """A computed array: `element` is a formula of the holes. A number is one without extents.

    `is_choice`: it is one of two arrays, depending on a condition, so a name for it would stand for either; or a part
    of complex numbers in an array.
    """

    extents: tuple[ir.Expr, ...]
    element: ir.Expr
    is_choice: bool = False

    @property
    def rank(self) -> int:
        return len(self.extents)


Array = View | ArrayValue
Quantity = ir.Expr | View | ArrayValue


def hole(axis: int) -> ir.Var:
    return ir.Var(f"{HOLE}{axis}")


def holes(count: int) -> tuple[ir.Expr, ...]:
    return tuple(map(hole, range(count)))


def is_hole(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Var) and expr.name.startswith(HOLE)


def has_holes(expr: ir.Expr) -> bool:
    return any(map(is_hole, subexprs(expr)))


def fill(formula: ir.Expr, subscripts: Sequence[ir.Expr]) -> ir.Expr:
    """`formula` at `subscripts`."""
    match formula:
        case ir.Var() if is_hole(formula):
            return subscripts[int(formula.name[len(HOLE) :])]
        case ir.Load(access=access):
            filled = tuple(fill_subscript(s, subscripts) for s in access.subscripts)
            return ir.Load(ir.Access(access.array, filled, loc=access.loc), loc=formula.loc)
        case _:
            parts = operands(formula)
            return rebuild(formula, tuple(fill(p, subscripts) for p in parts)) if parts else formula


def fill_subscript(formula: ir.Expr, subscripts: Sequence[ir.Expr]) -> ir.Expr:
    return folded(fill(formula, subscripts)) if has_holes(formula) else formula


def as_array(value: Quantity) -> Array:
    return value if isinstance(value, View | ArrayValue) else ArrayValue((), value)


def is_array(value: object) -> bool:
    return isinstance(value, View | ArrayValue)
