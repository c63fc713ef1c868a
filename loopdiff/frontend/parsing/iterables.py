"""What a `for` loop goes over: ranges, arrays and slices, and enumerate, zip and reversed of these.

Every iterable becomes an `Iteration`: a range of integers and the value (or tuple of values) at each of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from loopdiff.errors import Span
from loopdiff.frontend.arrays.functions import is_array_call
from loopdiff.frontend.arrays.integers import ONE, ZERO, count_of, minus, plus, times
from loopdiff.frontend.arrays.nests import copied_view, starts_of
from loopdiff.frontend.arrays.shapes import may_be_array
from loopdiff.frontend.arrays.values import ArrayValue, View, holes, is_array
from loopdiff.frontend.arrays.views import steady
from loopdiff.frontend.parsing.bindings import AnyList, ArrayName, ListName, ListRow, Value
from loopdiff.frontend.parsing.lists.lengths import Kinds, kinds_of
from loopdiff.frontend.parsing.lists.read_at_once import list_behind, may_make, under_name
from loopdiff.frontend.parsing.lists.reading import elements_of, elements_over_loop, kinds_in
from loopdiff.frontend.parsing.order import frozen, held, in_order
from loopdiff.frontend.parsing.outside import array_of, root_is_local
from loopdiff.frontend.parsing.placing import with_place
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.source.functions import MISSING

ONE_WAY = (zip, enumerate, reversed, map, filter, iter)


@immutable
class Iteration:
    """`value` of each integer in range(lower, upper, step). `is_range`: the values are those integers."""

    lower: ir.Expr
    upper: ir.Expr
    step: ir.Expr
    value: Callable[[ir.Expr], Value]
    is_range: bool = False

    def placed(self, span: Span) -> Iteration:
        """The same, with expressions that stand nowhere in the text (the 0 of `range(n)`) placed there."""
        return Iteration(
            with_place(self.lower, span), with_place(self.upper, span), with_place(self.step, span),
            lambda index: value_with_place(self.value(index), span), self.is_range,
        )  # fmt: skip


def value_with_place(value: Value, span: Span) -> Value:
    match value:
        case tuple():
            return tuple(value_with_place(v, span) for v in value)
        case _ if isinstance(value, ir.Expr):
            return with_place(value, span)
        case _:
            return value


def parse_iterable(state: State, node: ast.expr) -> Iteration | None:
    """What `node` goes over; None after a rejection."""
    if isinstance(node, ast.Subscript) and may_make(state, list_behind(node)):
        with under_name(state, node) as named:
            return None if named is None else items_at(state, named)
    return items_at(state, node)


def items_at(state: State, node: ast.expr) -> Iteration | None:
    """The same, of what is no part of a list that is made there."""
    if kinds := kinds_in(state, node):
        return items_of(state, elements_over_loop(state, node), node, kinds)
    if isinstance(numbers := state.outside(node), range):
        lower, upper, step = (ir.Const(n) for n in (numbers.start, numbers.stop, numbers.step))
        return Iteration(lower, upper, step, lambda index: index, is_range=True)
    made = state.whole.make_list(state, node)
    if made is None or isinstance(made, ListName):
        return None if made is None else items_of(state, made, node)
    match node:
        case ast.Subscript(ast.Call(func) as numbers, part) if state.outside(func) is range and is_backwards(part):
            return parse_reversed(state, ast.copy_location(ast.Call(func, [numbers], []), node))
        case ast.Call() if not is_array_call(state, node):
            return iterable_call(state, node, state.outside(node.func))
        case ast.Name(id=name) if (
            state.is_local(name) and array_of(state, node) is None and not may_be_array(state, node)
        ):
            what = "a number" if name not in state.survey.parameters else "used as a number"
            state.reject("LD105", f"`{name}` is {what} and cannot be iterated", node, f"use `range({name})`")
        case ast.Tuple() | ast.List() | ast.Set():
            state.reject("LD105", "a loop over values written out", node, "loop over an array, or over `range`")
        case _ if root_is_local(state, node):
            return array_elements(state, node)
        case _:
            state.reject("LD105", f"cannot loop over `{ast.unparse(node)}`", node)
    return None


def iterable_call(state: State, node: ast.Call, callee: object) -> Iteration | None:
    name = ast.unparse(node.func)
    found = state.whole.call(state, node)
    if found is not MISSING:
        return items_of(state, found, node)
    callee = range if is_prange(callee) else callee
    known = next((f for f in (range, enumerate, zip, reversed) if callee is f), None)
    if known is None:
        value = state.quantity(node)
        if is_array(value):
            return items_of(state, value, node)
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


def is_backwards(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and ast.unparse(part) == "::-1"


def is_prange(value: object) -> bool:
    """Whether `value` is `numba.prange`, which means `range`."""
    return isinstance(value, type) and value.__name__ == "prange" and value.__module__.startswith("numba.")


def parse_range(state: State, node: ast.Call) -> Iteration | None:
    if not 1 <= len(node.args) <= 3:
        state.reject("LD110", f"`range` takes 1 to 3 arguments, here {len(node.args)}", node)
        return None
    args = in_order(state, node.args, State.number)
    lower, upper, step = {1: (ZERO, *args, ONE), 2: (*args, ONE), 3: tuple(args)}[len(args)]
    if isinstance(step, ir.Const) and step.value == 0:
        state.reject("LD110", "the step of `range` is zero", node, "use a step other than zero")
        return None
    return Iteration(lower, upper, step, lambda index: index, is_range=True)


def parse_enumerate(state: State, node: ast.Call) -> Iteration | None:
    start = next((k.value for k in node.keywords), node.args[1] if len(node.args) == 2 else None)
    if not 1 <= len(node.args) <= 2:
        state.reject("LD110", f"`enumerate` takes 1 or 2 arguments, here {len(node.args)}", node)
        return None
    inner, place = parse_iterable(state, node.args[0]), len(state.out)
    first = ZERO if start is None else frozen(state, state.number(start), "start")
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
    shortest = counts[0] if len(counts) == 1 else ir.Apply(Op.MIN, tuple(counts), loc=state.source.span(node))
    return Iteration(ZERO, shortest, ONE, lambda index: tuple(p.value(index) for p in parts))


def as_of(state: State, iteration: Iteration, place: int) -> Iteration:
    """`iteration` with the bounds that it had at `place` in the block being written."""
    lower, upper, step = (held(state, e, place) for e in (iteration.lower, iteration.upper, iteration.step))
    return replace(iteration, lower=lower, upper=upper, step=step)


def parse_reversed(state: State, node: ast.Call) -> Iteration | None:
    if len(node.args) != 1:
        state.reject("LD110", f"`reversed` takes 1 argument, here {len(node.args)}", node)
        return None
    if isinstance(node.args[0], ast.Call) and any(state.outside(node.args[0].func) is f for f in ONE_WAY):
        text = ast.unparse(node.args[0])
        state.reject("LD105", f"`{text}` is not reversible", node, f"make a list of it first: `list({text})`")
        return None
    inner = parse_iterable(state, node.args[0])
    if inner is None:
        return None
    lower, step = frozen(state, inner.lower, "start"), frozen(state, inner.step, "step")
    last = plus(lower, times(step, minus(trips_of(replace(inner, lower=lower, step=step)), ONE)))
    return Iteration(last, minus(lower, step), minus(ZERO, step), inner.value, inner.is_range)


# -- arrays --------------------------------------------------------------------------------------------------
def array_elements(state: State, node: ast.expr) -> Iteration | None:
    """Elements of an array with one axis, rows of one with more; None after a rejection."""
    span = state.source.span(node)
    array = array_of(state, node)
    if array is not None and (state.types is None or state.rank(array) == 1):
        return Iteration(
            ZERO, ir.Dim(array, 0, loc=span), ONE, lambda index: ir.Load(ir.Access(array, (index,), loc=span))
        )
    state.need_types()
    before = len(state.diagnostics)
    value = state.quantity(node)
    return items_of(state, value, node) if len(state.diagnostics) == before else None


def items_of(state: State, value: Value | None, node: ast.expr, kinds: Kinds = ()) -> Iteration | None:
    """Elements or rows of the array `value`, or of the list of these `kinds` that it is kept in; None after a
    rejection."""
    span = state.source.span(node)
    if isinstance(value, AnyList):
        kinds, value = kinds_of(state, value), elements_of(state, value, span)
    if isinstance(value, ArrayName):
        state.need_types()
        value = state.all_of(value.array, span)
    if isinstance(value, ArrayValue) and state.owned(value, node):
        value = copied_view(state, value, "items", span)
    if value is None or isinstance(value, ArrayValue):
        return None
    if not isinstance(value, View):
        state.reject("LD105", f"cannot loop over `{ast.unparse(node)}`", node)
        return None
    view = steady(state, value)
    start, rest = starts_of(view)[0], holes(view.rank - 1)

    def item(index: ir.Expr) -> Value:
        access = replace(view.access((minus(index, start), *rest)), loc=span)
        row = replace(view, subscripts=access.subscripts, extents=view.extents[1:])
        if not rest:
            return ir.Load(access, loc=span)
        return ListRow(row) if len(kinds) > 1 else row

    return Iteration(start, plus(start, count_of(view.extents[0])), ONE, item)


# -- integer expressions -------------------------------------------------------------------------------------
def from_zero(state: State, iteration: Iteration) -> Iteration:
    """`iteration` over 0, 1, 2, ... instead."""
    if iteration.lower == ZERO and iteration.step == ONE:
        return iteration
    lower, step = frozen(state, iteration.lower, "start"), frozen(state, iteration.step, "step")
    count = trips_of(replace(iteration, lower=lower, step=step))
    return Iteration(ZERO, count, ONE, lambda index: iteration.value(plus(lower, times(step, index))))


def trips_of(iteration: Iteration) -> ir.Expr:
    """Number of iterations, or something negative if there are none."""
    lower, upper, step = iteration.lower, iteration.upper, iteration.step
    if not isinstance(step, ir.Const):
        upward = ir.Apply(Op.GT, (step, ZERO))
        return ir.Select(upward, count_up(lower, upper, step), count_up(upper, lower, minus(ZERO, step)))
    return count_up(lower, upper, step) if step.value > 0 else count_up(upper, lower, ir.Const(-step.value))


def count_up(lower: ir.Expr, upper: ir.Expr, step: ir.Expr) -> ir.Expr:
    span = minus(upper, lower)
    if step == ONE:
        return span
    return ir.Apply(Op.FLOORDIV, (plus(span, minus(step, ONE)), step))
