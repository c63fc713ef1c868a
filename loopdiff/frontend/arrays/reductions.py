"""Reductions of arrays over some or all axes, as loops: sum, prod, mean, var, std, max, min, any, all, argmax, argmin.

A maximum starts from the first element and runs over the others, so that elements that attain it share the
derivative evenly, each once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from loopdiff.errors import Span
from loopdiff.frontend.arrays.element_types import kind_of
from loopdiff.frontend.arrays.elementwise import combined, is_costly
from loopdiff.frontend.arrays.integers import at_least_zero, is_nonnegative, minus, plus
from loopdiff.frontend.arrays.nests import copied_view, made_of, nest, new_array, note_order
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, as_array, fill, hole
from loopdiff.frontend.arrays.views import product, with_new_axes
from loopdiff.frontend.binding.types import Kind
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import all_statements

Positions = tuple[ir.Expr, ...]
# Statements that bring one element, at positions of the reduced axes, into the target.
Step = Callable[[ir.Access, ir.Expr, Positions], list[ir.Stmt]]
STARTS: dict[str, int | bool] = {"sum": 0, "prod": 1, "any": False, "all": True}
REDUCTIONS = ("sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero")


def reduced(
    state: State, kind: str, array: Array, axes: Sequence[int], keepdims: bool, node: ast.AST, less: int = 0
) -> Quantity:
    """The reduction `kind` of `array` over `axes`; variances are sums over as many elements but for so many `less`."""
    span = state.source.span(node)
    if kind == "std":
        found = reduced(state, "var", array, axes, keepdims, node, less)
        return combined(state, lambda v: ir.Apply(Op.SQRT, (v,), loc=span), [found], node)
    if kind == "var":
        total = reduced(state, "sum", squares(state, array, axes, node), axes, keepdims, node)
        count = product([array.extents[k] for k in axes])
        return divided_by(total, at_least_zero(minus(count, ir.Const(less))) if less else count, span)
    if kind == "mean":
        if kind_of(state, (array.element,), Kind.BOOL) is Kind.INT:  # NumPy adds floats, which do not wrap
            array = ArrayValue(array.extents, ir.Apply(Op.MUL, (ir.Const(1.0, loc=span), array.element), loc=span))
        total = reduced(state, "sum", array, axes, keepdims, node)
        return divided_by(total, product([array.extents[k] for k in axes]), span)
    if kind == "count_nonzero":
        array = ArrayValue(array.extents, ir.Cast(BOOL, array.element))
    work = Reduction(state, array, tuple(axes), span)
    name = "sum" if kind == "count_nonzero" else kind
    found = work.summed(name) if name in STARTS else work.selected(name)
    if keepdims and isinstance(found, View):
        return with_new_axes(found, axes)
    if keepdims:
        return ArrayValue((ir.Const(1),) * array.rank, found)  # type: ignore[arg-type]
    return found


def squares(state: State, array: Array, axes: Sequence[int], node: ast.AST) -> Array:
    """How far elements are from their mean over `axes`, squared."""
    span = state.source.span(node)
    held = copied_view(state, array, "held", span) if is_costly(array.element) else array
    mean = reduced(state, "mean", held, axes, True, node)

    def square(x: ir.Expr, m: ir.Expr) -> ir.Expr:
        far = ir.Apply(Op.SUB, (x, m), loc=span)
        return ir.PartOf("real", ir.Apply(Op.MUL, (far, ir.PartOf("conj", far, loc=span)), loc=span), loc=span)

    return as_array(combined(state, square, [held, mean], node))


def divided_by(total: Quantity, count: ir.Expr, span: Span) -> Quantity:
    if isinstance(total, View | ArrayValue):
        return ArrayValue(total.extents, ir.Apply(Op.DIV, (total.element, count), loc=span))
    return ir.Apply(Op.DIV, (total, count), loc=span)


class Reduction:
    """Loops over the axes of `array` that stay, around loops over those that are reduced."""

    def __init__(self, state: State, array: Array, axes: tuple[int, ...], span: Span) -> None:
        self.state, self.array, self.axes, self.span = state, array, axes, span
        self.kept = tuple(k for k in range(array.rank) if k not in axes)
        self.extents = tuple(array.extents[k] for k in self.kept)
        self.inner = tuple(array.extents[k] for k in axes)

    def element(self, kept: Positions, positions: Positions) -> ir.Expr:
        places = dict(zip((*self.kept, *self.axes), (*kept, *positions), strict=True))
        return fill(self.array.element, [places[k] for k in range(self.array.rank)])

    def summed(self, kind: str) -> Quantity:
        """A reduction that starts from a constant."""
        start = ir.Const(STARTS[kind], loc=self.span)

        def make(target: ir.Access, kept: Positions) -> list[ir.Stmt]:
            def step(positions: Positions) -> list[ir.Stmt]:
                return [one_more(kind, target, self.element(kept, positions), self.span)]

            return [ir.Assign(target, start, loc=self.span), *nest(self.state, self.inner, step, self.span)]

        return self.loops(kind, make, is_truth=kind in ("any", "all"))

    def selected(self, kind: str) -> Quantity:
        """A reduction that starts from the first element: `max`, `min` and where they are."""
        for extent in self.inner:
            if not (is_nonnegative(minus(extent, ir.Const(1)))):
                empty = f"`{kind}` of an array without elements"
                some = ir.Apply(Op.GT, (extent, ir.Const(0)), loc=self.span)
                self.state.out.append(ir.Require(some, "LD321", empty, loc=self.span))
        zeros = (ir.Const(0),) * len(self.inner)
        is_place = kind.startswith("arg")

        def make(target: ir.Access, kept: Positions) -> list[ir.Stmt]:
            first = self.element(kept, zeros)
            if not is_place:
                follow = self.others(lambda p: [ir.Accumulate(kind, target, self.element(kept, p), loc=self.span)])  # type: ignore[arg-type]
                return [ir.Assign(target, first, loc=self.span), *follow]
            best = self.state.temporary("best", self.span)
            here = self.state.temporary("here", self.span)
            start = [ir.Assign(best, first, loc=self.span), ir.Assign(target, ir.Const(0), loc=self.span)]
            return [*start, *self.others(lambda p: self.better(kind, best, here, target, kept, p))]

        return self.loops(kind, make, is_truth=False)

    def better(
        self, kind: str, best: ir.Access, here: ir.Access, target: ir.Access, kept: Positions, positions: Positions
    ) -> list[ir.Stmt]:
        """Go over to the element at `positions` if it is better than the best so far; the first NaN is best."""
        span, number = self.span, ir.Const(0)
        for extent, position in zip(self.inner, positions, strict=True):
            number = position if number == ir.Const(0) else plus(ir.Apply(Op.MUL, (number, extent), loc=span), position)  # type: ignore[assignment]
        new, old = ir.Load(here, loc=span), ir.Load(best, loc=span)
        wins = ir.Apply(Op.GT if kind == "argmax" else Op.LT, (new, old), loc=span)
        unordered = ir.Apply(Op.AND, (ir.Apply(Op.NE, (new, new)), ir.Apply(Op.EQ, (old, old))), loc=span)
        take = (ir.Assign(best, new, loc=span), ir.Assign(target, number, loc=span))
        value = ir.Assign(here, self.element(kept, positions), loc=span)
        return [value, ir.If(ir.Apply(Op.OR, (wins, unordered), loc=span), take, loc=span)]

    def others(self, make: Callable[[Positions], list[ir.Stmt]]) -> list[ir.Stmt]:
        """Loops over all positions but the first: one nest for each axis on which the first is left."""
        out: list[ir.Stmt] = []
        for place in reversed(range(len(self.inner))):
            before = (ir.Const(0),) * place
            extents = (minus(self.inner[place], ir.Const(1)), *self.inner[place + 1 :])
            starts = [ir.Const(1), *[ir.Const(0)] * (len(extents) - 1)]

            def step(positions: Positions, before: Positions = before) -> list[ir.Stmt]:
                return make((*before, plus(positions[0], ir.Const(1)), *positions[1:]))

            out += nest(self.state, extents, step, self.span, starts)
        return out

    def loops(self, stem: str, make: Callable[[ir.Access, Positions], list[ir.Stmt]], is_truth: bool) -> Quantity:
        if not self.kept:
            cell = self.state.temporary(stem, self.span)
            self.state.out += make(cell, ())
            return ir.Load(cell, loc=self.span)
        view = new_array(self.state, stem, self.extents, self.span, is_truth)
        self.state.whole.fresh.add(view.array)
        if self.array.rank > len(self.axes) + 1:
            places = dict(zip(self.axes, [ir.Const(0)] * len(self.axes), strict=True))
            places |= {axis: hole(k) for k, axis in enumerate(self.kept)}
            part = fill(self.array.element, [places[k] for k in range(self.array.rank)])
            note_order(self.state, view.array, ArrayValue(self.extents, part))
        work = nest(self.state, self.extents, lambda kept: make(view.access(kept), kept), self.span)
        made_of(self.state, view.array, *stored_values(work, view.array))
        self.state.out += work
        return view


def stored_values(body: tuple[ir.Stmt, ...], array: str) -> Iterator[ir.Expr]:
    """What the statements `body` make elements of `array` from."""
    for stmt in all_statements(body):
        match stmt:
            case ir.Assign(target=ir.Access(array=name), value=value) if name == array:
                yield value
            case ir.Accumulate(op=op, target=ir.Access(array=name), value=value) if name == array:
                yield ir.Apply(Op.ADD, (ir.Const(0), value)) if op == "add" else value
            case _:
                pass


def one_more(kind: str, target: ir.Access, element: ir.Expr, span: Span) -> ir.Stmt:
    match kind:
        case "sum":
            return ir.Accumulate("add", target, element, loc=span)
        case "prod":
            return ir.Assign(target, ir.Apply(Op.MUL, (ir.Load(target, loc=span), element), loc=span), loc=span)
        case _:
            op = Op.OR if kind == "any" else Op.AND
            return ir.Assign(target, ir.Apply(op, (ir.Load(target, loc=span), element), loc=span), loc=span)
