"""Reductions of arrays over some or all axes, as loops: sum, prod, mean, max, min, any, all, argmax, argmin.

A maximum starts from the first element and runs over the others, so that elements that attain it share the
derivative evenly, each once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import is_nonnegative, minus, plus
from loopdiff.frontend.arrays.nests import made_of, nest, new_array
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, fill
from loopdiff.frontend.arrays.views import product, with_new_axes
from loopdiff.frontend.parsing.state import State
from loopdiff.ir.nodes import Access, Accumulate, Apply, Assign, Cast, Const, Expr, If, Load, Require, Stmt
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import statements

Positions = tuple[Expr, ...]
# Statements that bring one element, at positions of the reduced axes, into the target.
Step = Callable[[Access, Expr, Positions], list[Stmt]]
STARTS: dict[str, int | bool] = {"sum": 0, "prod": 1, "any": False, "all": True}
REDUCTIONS = ("sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero")


def reduced(state: State, kind: str, array: Array, axes: Sequence[int], keepdims: bool, node: ast.AST) -> Quantity:
    """The reduction `kind` of `array` over `axes`."""
    span = state.source.span(node)
    if kind == "mean":
        total = reduced(state, "sum", array, axes, keepdims, node)
        return divided_by(total, product([array.extents[k] for k in axes]), span)
    if kind == "count_nonzero":
        array = ArrayValue(array.extents, Cast(BOOL, array.element))
    work = Reduction(state, array, tuple(axes), span)
    name = "sum" if kind == "count_nonzero" else kind
    found = work.summed(name) if name in STARTS else work.selected(name)
    if keepdims and isinstance(found, View):
        return with_new_axes(found, axes)
    if keepdims:
        return ArrayValue((Const(1),) * array.rank, found)  # type: ignore[arg-type]
    return found


def divided_by(total: Quantity, count: Expr, span: Span) -> Quantity:
    if isinstance(total, View | ArrayValue):
        return ArrayValue(total.extents, Apply(Op.DIV, (total.element, count), loc=span))
    return Apply(Op.DIV, (total, count), loc=span)


class Reduction:
    """Loops over the axes of `array` that stay, around loops over those that are reduced."""

    def __init__(self, state: State, array: Array, axes: tuple[int, ...], span: Span) -> None:
        self.state, self.array, self.axes, self.span = state, array, axes, span
        self.kept = tuple(k for k in range(array.rank) if k not in axes)
        self.extents = tuple(array.extents[k] for k in self.kept)
        self.inner = tuple(array.extents[k] for k in axes)

    def element(self, kept: Positions, positions: Positions) -> Expr:
        places = dict(zip((*self.kept, *self.axes), (*kept, *positions), strict=True))
        return fill(self.array.element, [places[k] for k in range(self.array.rank)])

    def summed(self, kind: str) -> Quantity:
        """A reduction that starts from a constant."""
        start = Const(STARTS[kind], loc=self.span)

        def make(target: Access, kept: Positions) -> list[Stmt]:
            def step(positions: Positions) -> list[Stmt]:
                return [one_more(kind, target, self.element(kept, positions), self.span)]

            return [Assign(target, start, loc=self.span), *nest(self.state, self.inner, step, self.span)]

        return self.loops(kind, make, is_truth=kind in ("any", "all"))

    def selected(self, kind: str) -> Quantity:
        """A reduction that starts from the first element: `max`, `min` and where they are."""
        for extent in self.inner:
            if not (is_nonnegative(minus(extent, Const(1)))):
                empty = f"`{kind}` of an array without elements"
                some = Apply(Op.GT, (extent, Const(0)), loc=self.span)
                self.state.out.append(Require(some, "LD321", empty, loc=self.span))
        zeros = (Const(0),) * len(self.inner)
        is_place = kind.startswith("arg")

        def make(target: Access, kept: Positions) -> list[Stmt]:
            first = self.element(kept, zeros)
            if not is_place:
                follow = self.others(lambda p: [Accumulate(kind, target, self.element(kept, p), loc=self.span)])  # type: ignore[arg-type]
                return [Assign(target, first, loc=self.span), *follow]
            best = self.state.temporary("best", self.span)
            here = self.state.temporary("here", self.span)
            start = [Assign(best, first, loc=self.span), Assign(target, Const(0), loc=self.span)]
            return [*start, *self.others(lambda p: self.better(kind, best, here, target, kept, p))]

        return self.loops(kind, make, is_truth=False)

    def better(
        self, kind: str, best: Access, here: Access, target: Access, kept: Positions, positions: Positions
    ) -> list[Stmt]:
        """Go over to the element at `positions` if it is better than the best so far; the first NaN is best."""
        span, number = self.span, Const(0)
        for extent, position in zip(self.inner, positions, strict=True):
            number = position if number == Const(0) else plus(Apply(Op.MUL, (number, extent), loc=span), position)  # type: ignore[assignment]
        new, old = Load(here, loc=span), Load(best, loc=span)
        wins = Apply(Op.GT if kind == "argmax" else Op.LT, (new, old), loc=span)
        unordered = Apply(Op.AND, (Apply(Op.NE, (new, new)), Apply(Op.EQ, (old, old))), loc=span)
        take = (Assign(best, new, loc=span), Assign(target, number, loc=span))
        value = Assign(here, self.element(kept, positions), loc=span)
        return [value, If(Apply(Op.OR, (wins, unordered), loc=span), take, loc=span)]

    def others(self, make: Callable[[Positions], list[Stmt]]) -> list[Stmt]:
        """Loops over all positions but the first: one nest for each axis on which the first is left."""
        out: list[Stmt] = []
        for place in reversed(range(len(self.inner))):
            before = (Const(0),) * place
            extents = (minus(self.inner[place], Const(1)), *self.inner[place + 1 :])
            starts = [Const(1), *[Const(0)] * (len(extents) - 1)]

            def step(positions: Positions, before: Positions = before) -> list[Stmt]:
                return make((*before, plus(positions[0], Const(1)), *positions[1:]))

            out += nest(self.state, extents, step, self.span, starts)
        return out

    def loops(self, stem: str, make: Callable[[Access, Positions], list[Stmt]], is_truth: bool) -> Quantity:
        if not self.kept:
            cell = self.state.temporary(stem, self.span)
            self.state.out += make(cell, ())
            return Load(cell, loc=self.span)
        view = new_array(self.state, stem, self.extents, self.span, is_truth)
        self.state.whole.fresh.add(view.array)
        work = nest(self.state, self.extents, lambda kept: make(view.access(kept), kept), self.span)
        made_of(self.state, view.array, *stored_values(work, view.array))
        self.state.out += work
        return view


def stored_values(body: tuple[Stmt, ...], array: str) -> Iterator[Expr]:
    """What the statements `body` make elements of `array` from."""
    for site in statements(body):
        match site.stmt:
            case Assign(target=Access(array=name), value=value) if name == array:
                yield value
            case Accumulate(op=op, target=Access(array=name), value=value) if name == array:
                yield Apply(Op.ADD, (Const(0), value)) if op == "add" else value
            case _:
                pass


def one_more(kind: str, target: Access, element: Expr, span: Span) -> Stmt:
    match kind:
        case "sum":
            return Accumulate("add", target, element, loc=span)
        case "prod":
            return Assign(target, Apply(Op.MUL, (Load(target, loc=span), element), loc=span), loc=span)
        case _:
            op = Op.OR if kind == "any" else Op.AND
            return Assign(target, Apply(op, (Load(target, loc=span), element), loc=span), loc=span)
