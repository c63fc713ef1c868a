"""Arrays as values: their extents, and their element as a formula of its subscripts.

In a formula the subscripts are holes, Vars named `#0`, `#1`, ... A `View` is memory of a named array under other
subscripts; it can be written and given a name. An `ArrayValue` is computed where it is used: `2.0 * x[1:]` is its
extents and the element `2.0 * x[#0 + 1]`, and no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import folded
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import operands, rebuild, subexprs

HOLE = "#"


@immutable
class View:
    """Elements of `array` at `subscripts`, formulas of the holes. `is_read_only`: NumPy forbids to write to it.
    `is_piece`: its elements follow one another in NumPy, whatever is between them in `array`, which may have more room.
    """

    array: str
    subscripts: tuple[ir.Expr, ...]
    extents: tuple[ir.Expr, ...]
    is_read_only: bool = False
    is_piece: bool = False

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def element(self) -> ir.Expr:
        return ir.Load(ir.Access(self.array, self.subscripts))

    def access(self, subscripts: Sequence[ir.Expr]) -> ir.Access:
        return ir.Access(self.array, tuple(fill_subscript(s, subscripts) for s in self.subscripts))


@immutable
class ArrayValue:
    """A computed array: `element` is a formula of the holes. A number is one without extents.

    `memory`: that of others, with which it changes and a name for it would stand for: of one of two arrays, or, for a
    part of complex numbers, of these.
    """

    extents: tuple[ir.Expr, ...]
    element: ir.Expr
    memory: Choice | View | None = None

    @property
    def rank(self) -> int:
        return len(self.extents)


@immutable
class Choice:
    """One of two arrays, of which at least one is memory of others; `cond` does not change any more."""

    cond: ir.Expr
    then: View | ArrayValue
    orelse: View | ArrayValue


Array = View | ArrayValue
Quantity = ir.Expr | View | ArrayValue


def is_of_others(array: Array) -> bool:
    """Whether `array` is memory that other names may stand for, too."""
    return isinstance(array, View) or array.memory is not None


def one_of_two(cond: ir.Expr, then: Array, orelse: Array, loc: Span) -> ArrayValue:
    """`then if cond else orelse`, of the same extents."""
    memory = Choice(cond, then, orelse) if is_of_others(then) or is_of_others(orelse) else None
    return ArrayValue(then.extents, ir.Select(cond, then.element, orelse.element, loc=loc), memory)


def of_each(value: Array, make: Callable[[Array], Array]) -> Array:
    """`make` of `value`, or of both arrays that it is one of."""
    match value:
        case ArrayValue(memory=Choice(cond=cond, then=then, orelse=orelse)):
            return one_of_two(cond, of_each(then, make), of_each(orelse, make), value.element.loc)
        case _:
            return make(value)


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
