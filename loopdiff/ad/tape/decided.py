"""What rounding decides in a loop that runs again in segments is recorded as it was decided the first time: a byte for
a condition, and a number for a subscript, a bound, or the iterations of a loop that such a condition ends.

The forward sweep records it for each iteration of the whole loop, and segments find it by the numbers of iterations.
Below a loop whose length data decide that is a running position, which is recorded as well, once for each time that
the loop begins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from loopdiff.ad.exits import Count, Passes
from loopdiff.ad.rounded import Rounded
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At
from loopdiff.ad.tape.plan import Guards, TapeStore, When, Why, tape_stem, trip_number
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, compare, mul
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT, ScalarType
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import Path, substitute


@dataclass(slots=True)
class Decided:
    """Provides what rounding decided in iterations of the loop at `path` to the segments that run them again."""

    needed: Needed
    path: Path
    found: Rounded
    kept: dict[tuple[Path, ir.Expr], ir.Expr] = field(default_factory=dict)

    def value(self, expr: ir.Expr, at: Path) -> ir.Expr | None:
        """`expr` of the statement at `at` as it came out the first time; None if it comes out the same again."""
        strict = self.needed.tape.strict.get(at, {})
        for value, guards in self.found.values.get(at, ()):
            if expr in (value, substitute(value, strict)):
                return self.recorded(value, at, "before", guards, type_of(value, self.needed.facts.types))
        return None

    def recorded(self, value: ir.Expr, at: Path, when: When, guards: Guards = (), kind: ScalarType = INT) -> ir.Expr:
        """`value`, of this kind, as it was when the forward sweep came to the statement at `at`."""
        if (at, value) not in self.kept:
            tape, around = self.needed.tape, self.needed.facts.loops_around(at)
            why = Why(value.loc, "rounding decided it")
            name = tape.declare(f"{tape_stem(value)}_decided", kind, tape.extents(around, None), None, why)
            target = ir.Access(name, tape.coordinates(around, None, as_it_is))
            tape.stores.append(TapeStore(None, at, when, target, value, guards))
            self.kept[at, value] = ir.Load(replace(target, subscripts=self.place(at)))
        return self.kept[at, value]

    def place(self, at: Path) -> tuple[ir.Expr, ...]:
        """Where the segment that runs again finds what was recorded for the statement at `at`."""
        tape, depth = self.needed.tape, len(self.path)
        outer = self.needed.facts.loops_around(self.path)
        inside = [(p, s) for p, s in self.needed.facts.loops_around(at) if len(p) >= depth]
        counted, plain = tape.split(inside[1:], None)
        numbers = tuple(trip_number(s, p, as_it_is) for p, s in plain)
        if counted is None:
            held = tape.coordinates(outer, None, lambda e, path: self.needed.exact(e, At(path), closed=True))
            return (*held, trip_number(inside[0][1], self.path, as_it_is), *numbers)
        loop = self.needed.facts.sites[counted].stmt
        assert isinstance(loop, ir.Loop)
        start = self.recorded(ir.Load(ir.Access(tape.counter(None, counted).base)), counted, "before")
        return (add(start, trip_number(loop, counted, as_it_is)), *numbers)

    def loop(self, loop: ir.Loop, path: Path) -> ir.Loop:
        """`loop`, inside of the one that runs again, made to end when it did, if rounding decided that."""
        if path not in self.found.loops:
            return loop
        passes = self.needed.facts.passes[loop.index]
        upper = add(loop.lower, mul(self.count(passes.all), loop.step))
        number = trip_number(loop, path, as_it_is)
        body = as_far_as(passes, loop.body, lambda count: compare(Op.LT, number, self.count(count)))
        return replace(loop, upper=upper, body=body)

    def count(self, count: Count) -> ir.Expr:
        return self.recorded(ir.Var(count.let), self.needed.facts.lets[count.let].path, "after")


def as_it_is(expr: ir.Expr, _: Path) -> ir.Expr:
    return expr


def as_far_as(
    passes: Passes, body: tuple[ir.Stmt, ...], is_among: Callable[[Count], ir.Expr]
) -> tuple[ir.Stmt, ...]:  # fmt: skip
    """`body`, an iteration that runs again: what is behind an Exit if the iteration is among those that got past it."""
    left = list(passes.past)
    rest: tuple[ir.Stmt, ...] = ()
    for stmt in reversed(body):
        if not isinstance(stmt, ir.Exit):
            rest = (stmt, *rest)
        elif (count := left.pop()) != passes.all:
            rest = (ir.If(is_among(count), rest, loc=stmt.loc),)
    return rest
