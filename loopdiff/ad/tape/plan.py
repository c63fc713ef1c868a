"""The tape: which arrays carry values from the forward to the reverse sweep, how they are indexed and filled.

A tape array has one axis per loop that distinguishes the values it carries, indexed by trip number, so the map from
instances to elements is injective. Below a loop whose trip count depends on data the outer axes collapse into one
running position, whose total is found by a counting run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from math import log
from typing import Literal, TypeVar

import numpy as np

from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.parts import Parts
from loopdiff.errors import NOWHERE, Span
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, floordiv, integer, mul, natural, sub
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT, ArrayType, ScalarType
from loopdiff.ir.walk import Path, subexprs
from loopdiff.model import tuning

T = TypeVar("T")
NUMBER = 8  # bytes of a float64
Decision = Literal["store", "recompute"]
Scope = Path | None
When = Literal["before", "after", "start", "end"]
Guards = tuple[tuple[ir.Expr, bool], ...]
Loops = tuple[tuple[Path, ir.Loop], ...]


@immutable
class KeptValue:
    """One array between the sweeps, as reported by `CompiledGradient.temporaries`.

    `extents` are expressions over dimensions and integer arguments (and counts); `dtype` is a NumPy name.
    """

    name: str
    loc: Span
    extents: tuple[ir.Expr, ...]
    dtype: str
    decision: Decision
    reason: str


@immutable
class TapeStore:
    """`target = value`, to be inserted in the forward sweep of `scope` around the statement at `path`.

    `start` is the start of each segment of the loop at `path`, `end` the end of each of its iterations (of the function
    when `path` is empty). `guards` are the conditions under which the statement evaluates `value`. `whole`: copy the
    complete array that `value` loads, or its first elements, `sizes` along its axes, in the order of `short_first`, and
    of these the `parts`.
    """

    scope: Scope
    path: Path
    when: When
    target: ir.Access
    value: ir.Expr
    guards: Guards = ()
    whole: bool = False
    sizes: tuple[ir.Expr, ...] | None = None
    parts: Parts = ()


@immutable
class TapeCounter:
    """Running position of a loop with data-dependent trip count: `base` before the loop, `at` inside it.

    `total` names the number of trips over the whole scope, or in one iteration at most of a loop that runs again;
    `count` is the tape element that carries it over.
    """

    scope: Scope
    path: Path
    base: str
    at: str
    total: str
    count: str


@immutable
class Segment:
    """A loop that the reverse sweep runs again in segments, these in segments again, and so on, in so many `levels`.

    Names of Lets: how many iterations an outermost segment has, and the trip number at which the current innermost one
    starts.
    """

    length: str
    first: str
    levels: int


@dataclass(slots=True)
class Tape:
    """Collects what is recorded while the reverse sweep is built.

    The tapes whose scope is a loop of `segments` hold one innermost segment of it, or the states at the starts
    of segments in one: their first axis is that loop's. `kept` are
    the tapes of rules, by the call that fills them. `strict` are expressions of statements that both sweeps evaluate,
    with the form in which they come out the same.
    """

    facts: Facts
    names: NameSupply
    segments: Mapping[Path, Segment] = field(default_factory=dict)
    arrays: list[ir.ArrayDecl] = field(default_factory=list)
    scopes: dict[str, Scope] = field(default_factory=dict)
    temporaries: list[KeptValue] = field(default_factory=list)
    stores: list[TapeStore] = field(default_factory=list)
    counters: dict[tuple[Scope, Path], TapeCounter] = field(default_factory=dict)
    kept: dict[Path, ir.Access] = field(default_factory=dict)
    strict: dict[Path, dict[ir.Expr, ir.Expr]] = field(default_factory=dict)

    def declare(self, stem: str, kind: ScalarType | str, extents: tuple[ir.Expr, ...], scope: Scope, why: Why) -> str:
        """A new tape array; at least one axis, so that it can be a parameter."""
        name = self.names.fresh(stem)
        dtype = kind if isinstance(kind, str) else kind.value
        shape = extents or (integer(1),)
        self.arrays.append(ir.ArrayDecl(name, ArrayType(dtype, len(shape)), "tape", shape, loc=why.loc))
        self.scopes[name] = scope
        decision: Decision = "store" if scope is None else "recompute"
        self.temporaries.append(KeptValue(name, why.loc, shape, dtype, decision, why.reason))
        return name

    def array(self, name: str) -> ir.ArrayDecl:
        return next(a for a in self.arrays if a.name == name)

    def rank(self, name: str) -> int:
        return len(self.array(name).extents or ())

    def has_room(self, name: str, dtype: str, shape: tuple[ir.Expr, ...]) -> bool:
        """Whether the tape array `name` is as large as one of this dtype and `shape`."""
        array = self.array(name)
        return array.type is not None and array.type.dtype == dtype and array.extents == shape

    def is_counted(self, name: str) -> bool:
        """Whether the first axis of the tape array `name` is a running position, or has a segment for some of them."""
        extents = self.array(name).extents or ()
        totals = {ir.Param(c.total) for c in self.counters.values()}
        return any(e in totals for extent in extents[:1] for e in subexprs(extent))

    def loops(self, path: Path, scope: Scope) -> Loops:
        """Loops around `path` that lie inside `scope`."""
        depth = -1 if scope is None else len(scope) - (scope in self.segments)
        return tuple((p, s) for p, s in self.facts.loops_around(path) if len(p) > depth)

    def extents(self, loops: Iterable[tuple[Path, ir.Loop]], scope: Scope) -> tuple[ir.Expr, ...]:
        """Shape that holds one value per iteration of `loops`."""
        counted, plain = self.split(loops, scope)
        head = () if counted is None else (self.room(self.counter(scope, counted)),)
        return (*head, *(self.segment_length(p) if p == scope else self.hull(p) for p, _ in plain))

    def room(self, counter: TapeCounter) -> ir.Expr:
        """Room for all iterations of the loop of `counter`: in a segment, for as many as there are in one iteration of
        that loop at most, times its length."""
        total, scope = ir.Param(counter.total), counter.scope
        return mul(self.segment_length(scope), total) if scope is not None and scope in self.segments else total

    def segment_counters(self, scope: Scope = None) -> list[TapeCounter]:
        """The counters of loops inside of those that run again in segments, or of those inside of one of these."""
        return [c for c in self.counters.values() if c.scope in self.segments and scope in (None, c.scope)]

    def coordinates(
        self, loops: Iterable[tuple[Path, ir.Loop]], scope: Scope, bound: Callable[[ir.Expr, Path], ir.Expr]
    ) -> tuple[ir.Expr, ...]:
        """Element that belongs to the current iteration; `bound` gives a loop bound's value where it is needed."""
        counted, plain = self.split(loops, scope)
        out = [trip_number(s, p, bound) for p, s in plain]
        if counted is None and scope is not None and scope in self.segments:
            out[0] = sub(out[0], ir.Var(self.segments[scope].first))
        if counted is not None:
            loop = self.facts.sites[counted].stmt
            assert isinstance(loop, ir.Loop)
            at = ir.Var(self.counter(scope, counted).at)
            out.insert(0, add(at, trip_number(loop, counted, bound)))
        return tuple(out)

    def split(
        self, loops: Iterable[tuple[Path, ir.Loop]], scope: Scope
    ) -> tuple[Path | None, list[tuple[Path, ir.Loop]]]:  # fmt: skip
        """The innermost loop with data-dependent trip count, and the loops inside it; of a scope's own loop there are
        segments, which are as long as its tapes."""
        plain: list[tuple[Path, ir.Loop]] = []
        counted: Path | None = None
        for path, loop in loops:
            if self.facts.trip_hull(path) is None and path != scope:
                counted, plain = path, []
            else:
                plain.append((path, loop))
        return counted, plain

    def hull(self, path: Path) -> ir.Expr:
        """The largest trip count of the loop at `path`, never negative; what was counted, where data decide."""
        extent = self.facts.trip_hull(path)
        return natural(ir.Param(self.counter(None, path).total) if extent is None else extent)

    def segment_length(self, path: Path) -> ir.Expr:
        """Most iterations in an innermost segment of the loop at `path`, and most segments in another one: about a root
        of the number of all iterations, the square root for one level."""
        levels, trips = self.segments[path].levels, ir.Cast(ScalarType.F64, self.hull(path))
        if levels == 1:
            root = ir.Apply(Op.SQRT, (trips,))
        else:
            root = ir.Apply(Op.POW, (trips, ir.Const(1.0 / (levels + 1), ScalarType.F64)))
        return add(ir.Cast(INT, root), integer(1))

    def measure_segments(self, path: Path) -> None:
        """Have an array whose first axis is as long as an innermost segment of the loop at `path`: see
        `record.segment_length`."""
        room = self.segment_length(path)
        if not any(self.scopes[a.name] == path and (a.extents or ())[:1] == (room,) for a in self.arrays):
            self.declare("length", "int8", (room,), path, Why(NOWHERE, "as long as a segment of the loop"))

    def segment_number(self, path: Path) -> ir.Expr:
        """Room for so many outermost segments."""
        whole = reduce(mul, [self.segment_length(path)] * self.segments[path].levels)
        return add(floordiv(self.hull(path), whole), integer(1))

    @property
    def kept_counters(self) -> list[TapeCounter]:
        """The counters that the forward sweep keeps."""
        return [c for c in self.counters.values() if c.scope is None or c.scope in self.segments]

    @property
    def weight(self) -> float:
        """How much it keeps: one axis more outweighs everything below it."""
        weight = self.weights()
        return sum(weight(a.extents or (), a.type) for a in self.arrays)

    def weights(self) -> Callable[[tuple[ir.Expr, ...], ArrayType | None], float]:
        """What tells how much arrays of some extents keep, in numbers of eight bytes, as the tape is now. Half an axis
        is one that grows with a square root, a third one with a cube root; others are as many as make their length, of
        `AXIS_LENGTH` elements each, or of `SHORT_LENGTH` in all. A running position has the axes of all loops that it
        goes on over."""
        known = {
            f(p): 1.0 / (s.levels + 1)
            for p, s in self.segments.items()
            for f in (self.segment_length, self.segment_number)
        }
        rooms = {self.room(c): c for c in self.counters.values()}

        def axes(extent: ir.Expr) -> float:
            match extent:
                case ir.Const():
                    return axes_of_constant(extent)
                case ir.Dim(array=array, axis=axis) if self.facts.is_short(array, axis):
                    return axes_of_constant(integer(tuning.SHORT_LENGTH))
                case _ if extent in rooms:
                    return axes_of_position(rooms[extent])
                case _:
                    return known.get(extent, 1.0)

        def axes_of_position(counter: TapeCounter) -> float:
            around = [p for p, _ in self.loops(counter.path, counter.scope) if p != counter.scope]
            hulls = [self.facts.trip_hull(p) for p in around]
            own = 0.0 if counter.scope not in self.segments else axes(self.segment_length(counter.scope or ()))
            return own + 1.0 + sum(1.0 if hull is None else axes(natural(hull)) for hull in hulls)

        return lambda extents, kind: tuning.AXIS_LENGTH ** sum(map(axes, extents)) * bytes_of(kind) / NUMBER

    def counter(self, scope: Scope, path: Path) -> TapeCounter:
        key = (scope, path)
        if key not in self.counters:
            loop = self.facts.sites[path].stmt
            assert isinstance(loop, ir.Loop)
            stem = loop.index
            self.counters[key] = TapeCounter(
                scope, path, self.names.fresh(f"{stem}_base"), self.names.fresh(f"{stem}_at"),
                self.names.fresh(f"{stem}_total"), self.names.fresh(f"{stem}_count"),
            )  # fmt: skip
        return self.counters[key]


@immutable
class Why:
    """Source position and reason of a tape array."""

    loc: Span = NOWHERE
    reason: str = ""


def trip_number(loop: ir.Loop, path: Path, bound: Callable[[ir.Expr, Path], ir.Expr]) -> ir.Expr:
    """How many iterations of `loop` came before the current one."""
    lower, step = bound(loop.lower, path), bound(loop.step, path)
    if isinstance(step, ir.Const) and step.value < 0:
        return floordiv(sub(lower, ir.Index(loop.index)), integer(-int(step.value)))
    return floordiv(sub(ir.Index(loop.index), lower), step)


def trips(lower: ir.Expr, upper: ir.Expr, step: ir.Expr) -> ir.Expr:
    """Number of iterations of range(lower, upper, step)."""
    if isinstance(step, ir.Const):
        size = int(step.value)
        distance = sub(upper, lower) if size > 0 else sub(lower, upper)
        count = floordiv(add(distance, integer(abs(size) - 1)), integer(abs(size)))
        return ir.Apply(Op.MAX, (integer(0), count))
    up = floordiv(sub(add(sub(upper, lower), step), integer(1)), step)
    down = floordiv(sub(sub(sub(lower, upper), step), integer(1)), ir.Apply(Op.NEG, (step,)))
    return ir.Apply(Op.MAX, (integer(0), ir.Select(ir.Apply(Op.GT, (step, integer(0))), up, down)))


def tape_stem(expr: ir.Expr) -> str:
    """A name for the tape array of `expr` that the user recognises."""
    match expr:
        case ir.Var(name=name):
            return name
        case ir.Load(access=access):
            return access.array
        case ir.Apply(op=op):
            return op.stem
        case ir.Select():
            return "choice"
        case _:
            return "value"


def short_first(sizes: tuple[ir.Expr, ...], of_axes: tuple[T, ...]) -> tuple[T, ...]:
    """What there is for each axis of a copy with these sizes, in the order in which its tape has the axes: constant
    ones before others, so that the components of points lie in rows of their own, as lanes want them."""
    order = sorted(range(len(sizes)), key=lambda axis: not isinstance(sizes[axis], ir.Const))
    return tuple(of_axes[axis] for axis in order)


def axes_of_constant(extent: ir.Const) -> float:
    axes = log(max(extent.value, 1), tuning.AXIS_LENGTH)
    return axes if extent.value >= tuning.SEGMENTED_TRIPS else tuning.SHORT_AXES * axes


def bytes_of(kind: ArrayType | None) -> int:
    """Those of an element."""
    return NUMBER if kind is None else np.dtype(kind.dtype).itemsize
