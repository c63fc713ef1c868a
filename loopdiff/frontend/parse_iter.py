"""What a `for` loop goes over: ranges, arrays and slices, and enumerate, zip and reversed of these.

Every iterable becomes an `Iteration`: a range of integers and the value (or tuple of values) at each of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

from loopdiff.errors import Span
from loopdiff.frontend.order import frozen, held, in_order
from loopdiff.frontend.parse_expr import (
    array_of,
    flat_subscripts,
    is_ellipsis_or_none,
    located,
    parse_expr,
    root_is_local,
)
from loopdiff.frontend.parse_state import MISSING, ArrayName, State, Value
from loopdiff.ir.nodes import Access, Apply, Const, Dim, Expr, Load, Select
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import map_expr

ZERO, ONE = Const(0), Const(1)


@dataclass(frozen=True, slots=True)
class Iteration:
    """`value` of each integer in range(lower, upper, step). `is_range`: the values are those integers."""

    lower: Expr
    upper: Expr
    step: Expr
    value: Callable[[Expr], Value]
    is_range: bool = False

    def placed(self, span: Span) -> Iteration:
        """The same, with expressions that stand nowhere in the text (the 0 of `range(n)`) placed there."""
        return Iteration(
            with_place(self.lower, span), with_place(self.upper, span), with_place(self.step, span),
            lambda index: value_with_place(self.value(index), span), self.is_range,
        )  # fmt: skip


def with_place(expr: Expr, span: Span) -> Expr:
    return map_expr(lambda e: located(e, span), expr)


def value_with_place(value: Value, span: Span) -> Value:
    match value:
        case tuple():
            return tuple(value_with_place(v, span) for v in value)
        case _ if isinstance(value, Expr):
            return with_place(value, span)
        case _:
            return value


def parse_iterable(state: State, node: ast.expr) -> Iteration | None:
    """What `node` goes over; None after a rejection."""
    match node:
        case ast.Call(func=func):
            return iterable_call(state, node, state.outside(func))
        case ast.Name() if (array := array_of(state, node)) is not None:
            return elements(state, array, [], ast.Slice(), [], state.source.span(node))
        case ast.Subscript() if root_is_local(state, node):
            return part_of_array(state, node)
        case ast.Name(id=name) if state.is_local(name):
            what = "a number" if name not in state.survey.parameters else "used as a number"
            state.reject("LD105", f"`{name}` is {what} and cannot be iterated", node, f"use `range({name})`")
        case ast.Tuple() | ast.List() | ast.Set():
            state.reject("LD105", "a loop over values written out", node, "loop over an array, or over `range`")
        case _:
            state.reject("LD105", f"cannot loop over `{ast.unparse(node)}`", node)
    return None


def iterable_call(state: State, node: ast.Call, callee: object) -> Iteration | None:
    name = ast.unparse(node.func)
    found = state.whole.call(state, node)
    if isinstance(found, ArrayName):
        return elements(state, found.array, [], ast.Slice(), [], state.source.span(node))
    if found is None:
        return None
    if found is not MISSING:
        state.reject("LD105", f"cannot loop over `{ast.unparse(node)}`", node)
        return None
    if callee is MISSING and not root_is_local(state, node.func):
        state.reject("LD113", f"`{name}` is not defined", node, "define it before the decorated function")
        return None
    known = next((f for f in (range, enumerate, zip, reversed) if callee is f), None)
    if known is None:
        hint = f"use `range({ast.unparse(node)})`" if callee is len or callee is int else None
        state.reject("LD105", f"cannot loop over `{ast.unparse(node)}`", node, hint)
        return None
    allowed = ("start",) if known is enumerate else ("strict",) if known is zip else ()
    if any(k.arg not in allowed for k in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
        state.reject("LD110", f"`{name}` is called with arguments it does not take here", node)
        return None
    if known is range:
        return parse_range(state, node)
    if known is enumerate:
        return parse_enumerate(state, node)
    return parse_zip(state, node) if known is zip else parse_reversed(state, node)


def parse_range(state: State, node: ast.Call) -> Iteration | None:
    if not 1 <= len(node.args) <= 3:
        state.reject("LD110", f"`range` takes 1 to 3 arguments, here {len(node.args)}", node)
        return None
    args = in_order(state, node.args, parse_expr)
    lower, upper, step = {1: (ZERO, *args, ONE), 2: (*args, ONE), 3: tuple(args)}[len(args)]
    if isinstance(step, Const) and step.value == 0:
        state.reject("LD110", "the step of `range` is zero", node, "use a step other than zero")
        return None
    return Iteration(lower, upper, step, lambda index: index, is_range=True)


def parse_enumerate(state: State, node: ast.Call) -> Iteration | None:
    start = next((k.value for k in node.keywords), node.args[1] if len(node.args) == 2 else None)
    if not 1 <= len(node.args) <= 2:
        state.reject("LD110", f"`enumerate` takes 1 or 2 arguments, here {len(node.args)}", node)
        return None
    inner, place = parse_iterable(state, node.args[0]), len(state.out)
    first = ZERO if start is None else frozen(state, parse_expr(state, start), "start")
    if inner is None:
        return None
    counted = from_zero(state, as_of(state, inner, place))
    return replace(counted, value=lambda index: (plus(index, first), counted.value(index)), is_range=False)


def parse_zip(state: State, node: ast.Call) -> Iteration | None:
    found = [(parse_iterable(state, a), len(state.out)) for a in node.args]
    settled = [as_of(state, i, place) for i, place in reversed(found) if i is not None]
    parts = [from_zero(state, i) for i in reversed(settled)]
    if len(parts) < len(found):
        return None
    if not parts:
        state.reject("LD110", "`zip` without arguments", node)
        return None
    counts = list(dict.fromkeys(p.upper for p in parts))
    shortest = counts[0] if len(counts) == 1 else Apply(Op.MIN, tuple(counts), loc=state.source.span(node))
    return Iteration(ZERO, shortest, ONE, lambda index: tuple(p.value(index) for p in parts))


def as_of(state: State, iteration: Iteration, place: int) -> Iteration:
    """`iteration` with the bounds that it had at `place` in the block being written."""
    lower, upper, step = (held(state, e, place) for e in (iteration.lower, iteration.upper, iteration.step))
    return replace(iteration, lower=lower, upper=upper, step=step)


def parse_reversed(state: State, node: ast.Call) -> Iteration | None:
    if len(node.args) != 1:
        state.reject("LD110", f"`reversed` takes 1 argument, here {len(node.args)}", node)
        return None
    inner = parse_iterable(state, node.args[0])
    if inner is None:
        return None
    lower, step = frozen(state, inner.lower, "start"), frozen(state, inner.step, "step")
    last = plus(lower, times(step, minus(trip_count(replace(inner, lower=lower, step=step)), ONE)))
    return Iteration(last, minus(lower, step), minus(ZERO, step), inner.value, inner.is_range)


# -- arrays and slices ---------------------------------------------------------------------------------------
def part_of_array(state: State, node: ast.Subscript) -> Iteration | None:
    """`x[a:b]`, a row `A[i]`, a column `A[:, j]`: one axis runs, the others stand."""
    base, subscripts = flat_subscripts(node)
    array = array_of(state, base)
    slices = [k for k, s in enumerate(subscripts) if isinstance(s, ast.Slice)]
    if array is None or len(slices) > 1 or any(is_ellipsis_or_none(s) for s in subscripts):
        state.reject("LD105", f"cannot loop over `{ast.unparse(node)}`", node, "loop over one axis of an array")
        return None
    position = slices[0] if slices else len(subscripts)
    running = subscripts[position] if slices else ast.Slice()
    before = [frozen(state, parse_expr(state, s), "at") for s in subscripts[:position]]
    after = [frozen(state, parse_expr(state, s), "at") for s in subscripts[position + 1 :]]
    return elements(state, array, before, running, after, state.source.span(node))


def elements(
    state: State, array: str, before: list[Expr], running: ast.expr, after: list[Expr], span: Span
) -> Iteration | None:
    """Elements of `array` along the axis after `before`, those of the slice `running`."""
    length = Dim(array, len(before), loc=span)
    if not isinstance(running, ast.Slice):
        return None
    step = ONE if running.step is None else parse_expr(state, running.step)
    if not isinstance(step, Const) or not isinstance(step.value, int) or step.value == 0:
        state.reject("LD105", "the step of a slice must be a constant integer other than zero", running)
        return None
    given_lower = None if running.lower is None else frozen(state, parse_expr(state, running.lower), "start")
    given_upper = None if running.upper is None else frozen(state, parse_expr(state, running.upper), "stop")
    lower, upper = slice_bounds(given_lower, given_upper, length, step.value > 0)

    def value(index: Expr) -> Expr:
        return Load(Access(array, (*before, index, *after), loc=span), loc=span)

    return Iteration(lower, upper, step, value)


def slice_bounds(lower: Expr | None, upper: Expr | None, length: Expr, forward: bool) -> tuple[Expr, Expr]:
    """Python's slice bounds as range bounds: negative ones count from the end, all are clamped."""
    last = minus(length, ONE)
    if forward:
        start = ZERO if lower is None else clamped(lower, length, ZERO, length)
        stop = length if upper is None else clamped(upper, length, ZERO, length)
    else:
        start = last if lower is None else clamped(lower, length, Const(-1), last)
        stop = Const(-1) if upper is None else clamped(upper, length, Const(-1), last)
    return start, stop


def clamped(bound: Expr, length: Expr, least: Expr, most: Expr) -> Expr:
    """`bound` of a slice, from the end if negative, within [least, most]."""
    if isinstance(bound, Const):
        if bound.value < 0:
            return Apply(Op.MAX, (plus(length, bound), least), loc=length.loc)
        return least if bound == least else Apply(Op.MIN, (bound, most), loc=length.loc)
    from_start = Select(Apply(Op.LT, (bound, ZERO)), plus(bound, length), bound, loc=bound.loc)
    return Apply(Op.MIN, (Apply(Op.MAX, (from_start, least)), most), loc=bound.loc)


# -- integer expressions -------------------------------------------------------------------------------------
def from_zero(state: State, iteration: Iteration) -> Iteration:
    """`iteration` over 0, 1, 2, ... instead."""
    if iteration.lower == ZERO and iteration.step == ONE:
        return iteration
    lower, step = frozen(state, iteration.lower, "start"), frozen(state, iteration.step, "step")
    count = trip_count(replace(iteration, lower=lower, step=step))
    return Iteration(ZERO, count, ONE, lambda index: iteration.value(plus(lower, times(step, index))))


def trip_count(iteration: Iteration) -> Expr:
    """Number of iterations, or something negative if there are none."""
    lower, upper, step = iteration.lower, iteration.upper, iteration.step
    if not isinstance(step, Const):
        upward = Apply(Op.GT, (step, ZERO))
        return Select(upward, count_up(lower, upper, step), count_up(upper, lower, minus(ZERO, step)))
    return count_up(lower, upper, step) if step.value > 0 else count_up(upper, lower, Const(-step.value))


def count_up(lower: Expr, upper: Expr, step: Expr) -> Expr:
    span = minus(upper, lower)
    if step == ONE:
        return span
    return Apply(Op.FLOORDIV, (plus(span, minus(step, ONE)), step))


def plus(a: Expr, b: Expr) -> Expr:
    match a, b:
        case Const(value=int(x)), Const(value=int(y)):
            return Const(x + y)
        case _, Const(value=0):
            return a
        case Const(value=0), _:
            return b
        case _:
            return Apply(Op.ADD, (a, b), loc=a.loc)


def minus(a: Expr, b: Expr) -> Expr:
    match a, b:
        case Const(value=int(x)), Const(value=int(y)):
            return Const(x - y)
        case _, Const(value=0):
            return a
        case Const(value=0), _:
            return Apply(Op.NEG, (b,), loc=b.loc)
        case _:
            return Apply(Op.SUB, (a, b), loc=a.loc)


def times(a: Expr, b: Expr) -> Expr:
    match a, b:
        case Const(value=int(x)), Const(value=int(y)):
            return Const(x * y)
        case Const(value=1), _:
            return b
        case Const(value=-1), _:
            return minus(ZERO, b)
        case _:
            return Apply(Op.MUL, (a, b), loc=a.loc)
