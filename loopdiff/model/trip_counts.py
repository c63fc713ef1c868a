"""How often loops run: exactly for given arguments, else as if every extent were 64, and those of windows 8."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import all_statements, subexprs

NOMINAL = 64.0
WINDOW = 8.0
UNBOUNDED = 1e9
# Where, between the first and the last iteration of the loops around it, the bounds of a loop are looked at.
SAMPLES = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)
MOVING = (ir.Index, ir.Load, ir.Var)
OPERATIONS: dict[Op, Callable[..., Any]] = {
    Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul, Op.NEG: operator.neg,
    Op.FLOORDIV: operator.floordiv, Op.MOD: operator.mod, Op.MIN: min, Op.MAX: max,
    Op.AND: min, Op.LT: operator.lt, Op.LE: operator.le, Op.GT: operator.gt, Op.GE: operator.ge,
}  # fmt: skip
Axis = tuple[str, int]
Range = tuple[float, float]
Ranges = Mapping[str, Range]


@immutable
class Extents:
    """What is known of the arguments: shapes and contents by name, nothing of those left out."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Sequence[str], values: Sequence[Any]) -> Extents:
        """Of the arguments `values` of the parameters `names`."""
        found = dict(zip(names, values, strict=False))
        return cls({n: v.shape for n, v in found.items() if hasattr(v, "shape")}, found)


@immutable
class TripCounter:
    """Counts iterations of the loops of `ls`; `lets` are values by name, those of cells too that are given one once,
    `windows` axes that are taken to be short."""

    ls: ir.LoopSet
    extents: Extents
    lets: Mapping[str, ir.Expr]
    windows: frozenset[Axis] = frozenset()

    @classmethod
    def of(cls, ls: ir.LoopSet, extents: Extents) -> TripCounter:
        return cls(ls, extents, lets_of(ls), windows_of(ls))

    def trips(self, loop: ir.Loop, ranges: Ranges) -> tuple[float, Range]:
        """How often the loop runs on average, and from where to where, given the `ranges` of the loops around it."""
        samples = SAMPLES if any(isinstance(e, MOVING) for b in bounds(loop) for e in subexprs(b)) else SAMPLES[:1]
        found = [self.span(loop, {i: low + at * (high - low) for i, (low, high) in ranges.items()}) for at in samples]
        counts = [count for count, _, _ in found]
        _, first, last = found[len(found) // 2]
        return sum(counts) / len(counts), (first, last)

    def nest_trips(self, loops: tuple[ir.Loop, ...], ranges: Ranges) -> dict[str, float]:
        """How often each of several nested loops runs."""
        known, found = dict(ranges), dict[str, float]()
        for loop in loops:
            found[loop.index], known[loop.index] = self.trips(loop, known)
        return found

    def span(self, loop: ir.Loop, at: Mapping[str, float]) -> tuple[float, float, float]:
        """Iterations, first and last index of the loop with the indices `at`."""
        lower, upper, step = (self.value(e, at) for e in (loop.lower, loop.upper, loop.step))
        if lower is None or upper is None or not step or abs(upper - lower) > UNBOUNDED:
            return NOMINAL, 0.0, NOMINAL - 1.0
        count = (upper - lower) / step
        count = max(0.0, math.ceil(count) if abs(step) > 1 else count)  # bounds between two iterations have fractions
        return count, lower, lower + step * max(0.0, count - 1.0)

    def extent(self, array: str, axis: int) -> float:
        """The extent of an argument, or of an array whose extents are declared."""
        known = self.extents.shapes.get(array)
        if known is not None:
            return float(known[axis])
        declared = self.ls.array(array).extents
        found = None if declared is None or axis >= len(declared) else self.value(declared[axis], {})
        usual = WINDOW if (array, axis) in self.windows else NOMINAL
        return usual if found is None else found

    def value(self, expr: ir.Expr, at: Mapping[str, float]) -> float | None:
        """The value of an integer expression; None if it depends on what is not known."""
        match expr:
            case ir.Const(value=value):
                return float(value)
            case ir.Index(name=name):
                return at.get(name)
            case ir.Param(name=name):
                value = self.extents.values.get(name)
                return None if value is None else float(value)
            case ir.Var(name=name):
                return self.value(self.lets[name], at) if name in self.lets else None
            case ir.Dim(array=array, axis=axis):
                return self.extent(array, axis)
            case ir.Cast(value=value):
                return self.value(value, at)
            case ir.Load():
                return self.element(expr, at)
            case ir.Select(cond=cond, then=then, orelse=orelse):
                chosen = self.value(cond, at)
                return self.value(then if chosen is None or chosen else orelse, at)
            case ir.Apply(op=op, args=args):
                values = [self.value(a, at) for a in args]
                return None if None in values else combine(op, [v for v in values if v is not None])
            case _:
                return None

    def element(self, load: ir.Load, at: Mapping[str, float]) -> float | None:
        """An element of an argument whose contents are known: bounds of rows of sparse matrices are. Or a cell."""
        if not load.access.subscripts and load.access.array in self.lets:
            return self.value(self.lets[load.access.array], at)
        array = self.extents.values.get(load.access.array)
        places = [self.value(s, at) for s in load.access.subscripts]
        if array is None or not places or None in places:
            return None
        place = tuple(min(max(round(p), 0), n - 1) for p, n in zip(places, array.shape, strict=True) if p is not None)
        return float(array[place]) if array.size and array.dtype.kind in "iu" else None


def lets_of(ls: ir.LoopSet) -> dict[str, ir.Expr]:
    return {s.name: s.value for s in all_statements(ls.body) if isinstance(s, ir.Let)}


def windows_of(ls: ir.LoopSet) -> frozenset[Axis]:
    """Axes whose extents are taken from other extents where loops end, and never the other way round: the filters of
    convolutions. Were they as long as the others, nothing would be left of these."""
    taken, whole = set[Axis](), set[Axis]()
    loops = (s for s in all_statements(ls.body) if isinstance(s, ir.Loop))
    ends = ((e, sign) for loop in loops for b, sign in signed_bounds(loop) for e in subexprs(b))
    for expr, sign in dict.fromkeys(ends):
        if isinstance(expr, ir.Apply) and expr.op in (Op.ADD, Op.SUB):
            terms, _ = linear(expr)
            counts = [((t.array, t.axis), sign * count) for t, count in terms.items() if isinstance(t, ir.Dim)]
            if {count > 0 for _, count in counts} == {True, False}:
                taken |= {axis for axis, count in counts if count < 0}
                whole |= {axis for axis, count in counts if count > 0}
    return frozenset(taken - whole)


def is_row_of_elements(loop: ir.Loop, lets: Mapping[str, ir.Expr]) -> bool:
    """Whether elements of arrays say where `loop` begins or ends: rows of sparse matrices do, and most are short."""
    pending = [loop.lower, loop.upper]
    while pending:
        for node in subexprs(pending.pop()):
            if isinstance(node, ir.Load) and node.access.subscripts:
                return True
            if isinstance(node, ir.Var) and node.name in lets:
                pending.append(lets[node.name])
    return False


def signed_bounds(loop: ir.Loop) -> tuple[tuple[ir.Expr, int], tuple[ir.Expr, int]]:
    """Both bounds, each with the sign with which it makes the loop longer."""
    sign = -1 if isinstance(loop.step, ir.Const) and loop.step.value < 0 else 1
    return (loop.lower, -sign), (loop.upper, sign)


def bounds(loop: ir.Loop) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    return loop.lower, loop.upper, loop.step


def combine(op: Op, values: Sequence[float]) -> float | None:
    """The integer operation; None for operations that bounds do not have, and for division by zero."""
    if op in (Op.FLOORDIV, Op.MOD) and not values[1]:
        return None
    found = OPERATIONS.get(op)
    return None if found is None else float(found(*values))
