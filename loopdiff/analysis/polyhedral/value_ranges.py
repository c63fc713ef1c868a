"""Between which numbers the elements of integer arrays are, whatever the data: places of what was found, permutations.

`best = i` under any condition leaves `best` a value of the loop's range, and an array that begins as 0, 1, ... and
whose elements change places keeps to these numbers. The intervals are those of abstract interpretation (Cousot and
Cousot, POPL 1977) without regard to the order of statements: one for all values that an array ever gets, each value
being within bounds that are known at entry, or an element of an array of which that holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.build import add, integer, sub
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.walk import (
    all_statements,
    into_nest,
    loads,
    loads_in,
    subexprs,
    touched_arrays,
    written_access,
    written_arrays,
)

MOST_BOUNDS = 3  # on one side: each is a piece of all sets that know of it
MOST_ADDED = 1 << 31


@immutable
class ValueRange:
    """Values are no less than one of `lows` and no greater than one of `highs`, which are known at entry; or elements
    of the arrays `others`."""

    lows: tuple[ir.Expr, ...] = ()
    highs: tuple[ir.Expr, ...] = ()
    others: frozenset[str] = frozenset()

    def joined(self, other: ValueRange) -> ValueRange:
        return ValueRange(
            extremes((*self.lows, *other.lows), -1),
            extremes((*self.highs, *other.highs), 1),
            self.others | other.others,
        )


def extremes(bounds: Iterable[ir.Expr], sign: int) -> tuple[ir.Expr, ...]:
    """`bounds` without those that others are known to be beyond: less for the `sign` -1, else greater."""
    found: list[ir.Expr] = []
    for bound in bounds:
        if not any(is_beyond(other, bound, sign) for other in found):
            found = [other for other in found if not is_beyond(bound, other, sign)] + [bound]
    return tuple(found)


def is_beyond(one: ir.Expr, other: ir.Expr, sign: int) -> bool:
    """Whether `one` is at least as far as `other`; extents are not negative."""
    terms, constant = linear(sub(one, other))
    natural = all(isinstance(t, ir.Dim) and count * sign > 0 for t, count in terms.items())
    return natural and constant * sign >= 0


def value_ranges(ls: ir.LoopSet) -> dict[str, ValueRange]:
    """The ranges of local integer arrays of the normal LoopSet `ls` that decide which elements are read or written;
    those of which nothing is known are left out."""
    deciding = deciding_arrays(ls)
    if not deciding:
        return {}
    reader = Reader(ls)
    found = {name: own for name in deciding if (own := reader.range_of(name)) is not None}
    while True:
        missing = [name for name, own in found.items() if not own.others <= found.keys()]
        if not missing:
            break
        for name in missing:
            del found[name]
    whole = {name: with_others(name, found) for name in found}
    return {n: r for n, r in whole.items() if 0 < len(r.lows) <= MOST_BOUNDS and 0 < len(r.highs) <= MOST_BOUNDS}


def with_others(name: str, found: Mapping[str, ValueRange]) -> ValueRange:
    """The range of what `name` gets at first hand, or at second hand of others."""
    reached, left = {name}, [name]
    while left:
        new = found[left.pop()].others - reached
        reached |= new
        left += new
    whole = reduce(ValueRange.joined, (found[other] for other in sorted(reached)))
    return ValueRange(whole.lows, whole.highs)


def deciding_arrays(ls: ir.LoopSet) -> frozenset[str]:
    """Local integer arrays, if elements of any are in subscripts or in what subscripts are made of."""
    local = {a.name for a in ls.arrays if a.role == "local" and a.type is not None and a.type.element is INT}
    if not local:
        return frozenset()
    deciding = [s for found in loads_in(ls.body) for s in found.access.subscripts]
    for stmt in all_statements(ls.body):
        target = written_access(stmt)
        deciding += target.subscripts if target is not None else ()
        deciding += (stmt.value,) if isinstance(stmt, ir.Let) else ()
    return frozenset(local) if any(load.access.array in local for e in deciding for load in loads(e)) else frozenset()


@dataclass(slots=True)
class Reader:
    """Reads ranges out of one LoopSet."""

    ls: ir.LoopSet
    loops: dict[str, ir.Loop] = field(default_factory=dict)
    lets: dict[str, ir.Expr] = field(default_factory=dict)
    writers: dict[str, list[ir.Stmt]] = field(default_factory=dict)
    uses: FirstUses = field(init=False)

    def __post_init__(self) -> None:
        values = (r.value for r in self.ls.results if isinstance(r, ir.ScalarResult))
        self.uses = FirstUses(self.ls, frozenset(load.access.array for value in values for load in loads(value)))
        for stmt in all_statements(self.ls.body):
            match stmt:
                case ir.Loop(index=index):
                    self.loops[index] = stmt
                case ir.Let(name=name, value=value):
                    self.lets[name] = value
                case _:
                    for array in written_arrays((stmt,)) if not isinstance(stmt, ir.If) else ():
                        self.writers.setdefault(array, []).append(stmt)

    def range_of(self, name: str) -> ValueRange | None:
        """What statements store in the array, if all of it is stored before anything is read."""
        writers = self.writers.get(name, ())
        undefined = [stmt for stmt in writers if isinstance(stmt, ir.Allocate) and stmt.fill is None]
        found = self.together(map(self.stored, writers))
        if found is None or len(undefined) > 1 or not self.uses.are_stores(name):
            return None
        return found

    def stored(self, stmt: ir.Stmt) -> ValueRange | None:
        match stmt:
            case ir.Assign(value=value) | ir.Accumulate(op="max" | "min", value=value):
                return self.value(value)
            case ir.Allocate(fill=fill):
                return ValueRange() if fill is None else self.value(fill)
            case _:
                return None

    def together(self, found: Iterable[ValueRange | None]) -> ValueRange | None:
        whole = ValueRange()
        for one in found:
            if one is None:
                return None
            whole = whole.joined(one)
        return whole

    def value(self, expr: ir.Expr) -> ValueRange | None:
        match expr:
            case ir.Const(value=bool() | int() as value):
                return exactly(integer(int(value)))
            case ir.Dim():
                return exactly(expr)
            case ir.Param(name=name):
                return exactly(expr) if self.ls.scalar(name).type is INT else None
            case ir.Index(name=name):
                return self.index(self.loops[name])
            case ir.Var(name=name):
                return self.value(self.lets[name]) if name in self.lets else None
            case ir.Load(access=access):
                return ValueRange(others=frozenset({access.array}))
            case ir.Select(then=then, orelse=orelse):
                return self.together(map(self.value, (then, orelse)))
            case ir.Apply(op=Op.MIN | Op.MAX, args=args):
                return self.together(map(self.value, args))
            case ir.Apply(op=op, args=args):
                return self.operation(op, args)
            case _:
                return None

    def index(self, loop: ir.Loop) -> ValueRange | None:
        """Of the index of `loop`, in its iterations."""
        if not isinstance(loop.step, ir.Const):
            return None
        step = int(loop.step.value)
        first, last = (loop.lower, loop.upper) if step > 0 else (loop.upper, loop.lower)
        lower, upper = self.value(first), self.value(last)
        if lower is None or upper is None or lower.others or upper.others:
            return None
        lows = lower.lows if step > 0 else tuple(add(b, integer(1)) for b in lower.lows)
        highs = tuple(sub(b, integer(1)) for b in upper.highs) if step > 0 else upper.highs
        return ValueRange(lows, highs)

    def operation(self, op: Op, args: tuple[ir.Expr, ...]) -> ValueRange | None:
        """Sums with constants, where nothing is so large that they overflow, and remainders."""
        match op, args:
            case Op.MOD, (_, ir.Const(value=int(divisor))) if divisor > 0:
                return ValueRange((integer(0),), (integer(divisor - 1),))
            case Op.MOD, (_, ir.Dim() as extent):
                return ValueRange((integer(0),), (sub(extent, integer(1)),))
            case Op.ADD, (a, ir.Const(value=int(by))) if abs(by) < MOST_ADDED:
                return self.moved(a, by)
            case Op.ADD, (ir.Const(value=int(by)), a) if abs(by) < MOST_ADDED:
                return self.moved(a, by)
            case Op.SUB, (a, ir.Const(value=int(by))) if abs(by) < MOST_ADDED:
                return self.moved(a, -by)
            case _:
                return None

    def moved(self, expr: ir.Expr, by: int) -> ValueRange | None:
        found = self.value(expr)
        if found is None or found.others or any(isinstance(e, ir.Param) for b in bounds_of(found) for e in subexprs(b)):
            return None
        return ValueRange(
            tuple(add(b, integer(by)) for b in found.lows), tuple(add(b, integer(by)) for b in found.highs)
        )


def exactly(expr: ir.Expr) -> ValueRange:
    return ValueRange((expr,), (expr,))


def bounds_of(found: ValueRange) -> tuple[ir.Expr, ...]:
    return (*found.lows, *found.highs)


# -- memory that nobody has written ---------------------------------------------------------------------------
@immutable
class FirstUses:
    """Where arrays of one LoopSet are first met. Results read those that are `read_at_end`; `touched` is what
    statements have to do with, by their identity."""

    ls: ir.LoopSet
    read_at_end: frozenset[str]
    touched: dict[int, frozenset[str]] = field(default_factory=dict)

    def are_stores(self, name: str) -> bool:
        """Whether all of the array is stored before any of it is read, by results too."""
        return self.is_stored_first(self.ls.body, name, name in self.read_at_end)

    def is_stored_first(self, body: tuple[ir.Stmt, ...], name: str, is_read_behind: bool = False) -> bool:
        touching = [s for s in body if name in self.arrays_of(s)]
        if not touching:
            return not is_read_behind
        first, *rest = touching
        match first:
            case ir.Assign(target=ir.Access(subscripts=()), value=value):
                return name not in {load.access.array for load in loads(value)}
            case ir.Allocate(fill=fill) if fill is None:
                return fills(self.ls, rest[0], name) if rest else not is_read_behind
            case ir.Allocate():
                return True
            case ir.Loop(body=inside) if not rest and not is_read_behind:
                return self.is_stored_first(inside, name)
            case ir.If(then=then, orelse=orelse) if not rest and not is_read_behind:
                return all(self.is_stored_first(branch, name) for branch in (then, orelse))
            case _:
                return False

    def arrays_of(self, stmt: ir.Stmt) -> frozenset[str]:
        if id(stmt) not in self.touched:
            self.touched[id(stmt)] = touched_arrays((stmt,))
        return self.touched[id(stmt)]


def fills(ls: ir.LoopSet, stmt: ir.Stmt, name: str) -> bool:
    """Whether loops over all extents store every element of the array, and look at none before."""
    loops, body = into_nest((stmt,))
    extents = ls.array(name).extents or ()
    match body:
        case (ir.Assign(target=ir.Access(array=array, subscripts=subscripts), value=value),) if array == name:
            pass
        case _:
            return False
    if len(loops) != len(extents) or name in {load.access.array for load in loads(value)}:
        return False
    by_index = {loop.index: loop for loop in loops}
    places = [s.name for s in subscripts if isinstance(s, ir.Index) and s.name in by_index]
    return len(set(places)) == len(extents) and all(
        covers(by_index[place], extent) for place, extent in zip(places, extents, strict=True)
    )


def covers(loop: ir.Loop, extent: ir.Expr) -> bool:
    """Whether the index is every subscript of an axis of `extent`, once."""
    steps = [int(e.value) for e in (loop.lower, loop.step) if isinstance(e, ir.Const)]
    return steps == [0, 1] and loop.upper == extent
