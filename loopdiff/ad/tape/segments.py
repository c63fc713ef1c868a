"""Segments: run a loop again from copies of its state, a segment at a time, instead of keeping every iteration.

The forward sweep copies the state, what an iteration may read of the iterations before it, at the start of each
segment. The reverse sweep takes the segments from the last to the first: it restores the copy, runs the segment again
with its recordings, and reverses it. With segments of about the square root of the number of iterations both the copies
and the recordings grow with that root, and every iteration runs twice (Griewank and Walther 2008, chapter 12).

A segment may itself run in segments: then the reverse sweep runs it once more, without recordings, and copies the state
at the start of each of its own. With d levels of segments d + 1 arrays grow with the root of degree d + 1 of the number
of iterations, and every iteration runs d + 1 times.

A segment works on copies of what it overwrites: memory of the caller, and of the forward sweep, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At
from loopdiff.ad.tape.plan import Tape, TapeStore, Why
from loopdiff.ad.tape.record import ONE, ZERO, reversed_range, segment_length, trips_before
from loopdiff.ad.tape.replay import slice_of, spans
from loopdiff.errors import Span
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, extents_of, floordiv, mul, nested, over_elements, sub
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import renamed_block, renamed_names
from loopdiff.ir.slicing import keep_live, live_names
from loopdiff.ir.walk import Path, touched_arrays, written_arrays
from loopdiff.model import tuning
from loopdiff.rules.printing import is_printing


def candidates(facts: Facts, tape: Tape, replayed: frozenset[Path]) -> Iterator[Path]:
    """Loops that may run again in segments and around which something is recorded for every iteration, outermost
    first."""
    for path in recorded_around(facts, tape):
        is_within = any(path[: len(p)] == p for p in replayed)
        if not is_within and not is_short(facts.trip_hull(path)) and hindrance(facts, path) is None:
            yield path


def recorded_around(facts: Facts, tape: Tape) -> list[Path]:
    """Loops around which something is recorded for every iteration, outermost first."""
    around = {p for s in tape.stores if s.scope is None for p, _ in facts.loops_around((*s.path, 0))}
    return sorted(around, key=lambda p: (len(p), p))


def hindrance(facts: Facts, path: Path) -> str | None:
    """Why the loop at `path` is not to run again in segments, if it is not."""
    if facts.trip_hull(path) is None and facts.loops_around(path):
        return "data decide how often it runs, and it is inside of another loop"
    if any(spans(r, path) for r in facts.regions):
        return "a maximum or minimum goes on over its iterations"
    calls = [s.stmt for p, s in facts.sites.items() if p[: len(path)] == path and isinstance(s.stmt, ir.Call)]
    return None if all(is_printing(call.rule) for call in calls) else "it calls a function with a rule"


def hindered(facts: Facts, tape: Tape) -> tuple[tuple[Span, str], ...]:
    """Where loops are of which every iteration is recorded, none inside of another one, and why that has to be."""
    found: dict[Path, str] = {}
    for path in recorded_around(facts, tape):
        reason = hindrance(facts, path)
        if reason is not None and not any(is_nested(path, p) for p in (*found, *tape.segments)):
            found[path] = reason
    return tuple((facts.sites[path].stmt.loc, reason) for path, reason in found.items())


def is_nested(one: Path, other: Path) -> bool:
    """Whether one of two statements is inside the other, or they are the same."""
    return one[: len(other)] == other or other[: len(one)] == one


def is_short(trips: ir.Expr | None) -> bool:
    return isinstance(trips, ir.Const) and trips.value < tuning.SEGMENTED_TRIPS


@immutable
class SegmentedLoop:
    """Builds the reverse of `loop`, at `path`; `reverse` is that of one iteration."""

    needed: Needed
    loop: ir.Loop
    path: Path
    reverse: tuple[ir.Stmt, ...]

    def statements(self) -> list[ir.Stmt]:
        needed, loop, own = self.needed, self.loop, self.needed.own(self.path)
        again = slice_of(needed, loop, self.path, self.reverse)
        lower, _, step, count = needed.range_made(loop, self.path)
        if again or needed.tape.segment_counters(self.path):
            needed.tape.measure_segments(self.path)
        if not again:
            return [ir.Loop(loop.index, *reversed_range(lower, add(lower, mul(count, step)), step), self.reverse)]
        copies = {a: self.copy(a) for a in sorted(own & touched_arrays(again))}
        state = {a: copy for a, copy in copies.items() if a in needed.facts.exposed(self.path)}
        onward = keep_live(again, live_names(again, frozenset(state), own), own)
        again, onward = (renamed_names(body, copies) for body in (again, onward))
        return Levels(self, lower, step, state, again, onward).segments(1, ZERO, count)

    def copy(self, array: str) -> str:
        """The array on which a segment runs again, in place of `array`; a cell of the reverse sweep is its own."""
        decl = self.needed.facts.ls.array(array)
        assert decl.type is not None
        if decl.type.rank == 0:
            return array
        why = Why(decl.loc, "a segment of the loop runs again on it")
        return self.needed.tape.declare(f"{array}_again", decl.type.dtype, extents_of(decl), self.path, why)

    def starts(self, array: str, level: int) -> ir.Access:
        """The rows in which the state of `array` is kept at the starts of segments; the forward sweep is told to keep
        that of outermost ones."""
        tape, decl = self.needed.tape, self.needed.facts.ls.array(array)
        assert decl.type is not None
        extents, dtype = extents_of(decl), decl.type.dtype
        if level > 1:
            why = Why(decl.loc, "state at the start of each segment of a segment")
            shape = (tape.segment_length(self.path), *extents)
            return ir.Access(tape.declare(f"{array}_start", dtype, shape, self.path, why))
        loops = self.needed.facts.loops_around(self.path)
        why = Why(decl.loc, "state at the start of each segment of the loop")
        shape = (*tape.extents(loops, None), tape.segment_number(self.path), *extents)
        name = tape.declare(f"{array}_start", dtype, shape, None, why)
        outer = tape.coordinates(loops, None, lambda expr, path: expr)
        current = floordiv(trips_before(self.loop), ir.Var(tape.segments[self.path].length))
        target = ir.Access(name, (*outer, current))
        tape.stores.append(TapeStore(None, self.path, "start", target, ir.Load(ir.Access(array)), whole=bool(extents)))
        held = tape.coordinates(loops, None, lambda expr, path: self.needed.exact(expr, At(path), closed=True))
        return ir.Access(name, held)


def if_any(number: ir.Expr, least: int) -> ir.Expr:
    """How many iterations there are, or there is room for, never less than `least`: inside of the loop over segments
    there are some, and sets would be split at a maximum. Products of maxima stay as they are."""
    match number:
        case ir.Apply(op=Op.MAX, args=(ir.Const(value=value), some)) if value == least:
            return some
        case _:
            return number


@immutable
class Levels:
    """Builds the segments of each level: from the outermost ones, at level 1, to those that are reversed.

    `lower` and `step` are the loop's, `state` the copies of arrays that an iteration may get from the one before. An
    iteration runs again as `again`, with its recordings, or as `onward`, which only makes the next state.
    """

    of: SegmentedLoop
    lower: ir.Expr
    step: ir.Expr
    state: Mapping[str, str]
    again: tuple[ir.Stmt, ...]
    onward: tuple[ir.Stmt, ...]

    def segments(self, level: int, start: ir.Expr, stop: ir.Expr) -> list[ir.Stmt]:
        """The reverse of the iterations with numbers from `start` to `stop`, a segment of this level at a time."""
        loop, names, tape = self.of.loop, self.of.needed.names, self.of.needed.tape
        segment = tape.segments[self.of.path]
        is_innermost = level == segment.levels
        number = names.fresh(f"{loop.index}_segment")
        room = segment_length(tape, self.of.path, level)
        length = ir.Var(segment.length if level == 1 else names.fresh(f"{loop.index}_length"))
        first = ir.Var(segment.first if is_innermost else names.fresh(f"{loop.index}_first"))
        end = ir.Var(names.fresh(f"{loop.index}_end"))
        body: list[ir.Stmt] = [
            ir.Let(first.name, add(start, mul(ir.Index(number), length)), loc=loop.loc),
            ir.Let(end.name, ir.Apply(Op.MIN, (if_any(stop, 0), add(first, if_any(room, 1)))), loc=loop.loc),
        ]
        changing = written_arrays(self.onward)
        kept = {a: self.of.starts(a, level) for a, copy in self.state.items() if level == 1 or copy in changing}
        body += [self.moved(array, rows, number, is_restored=True) for array, rows in kept.items()]
        body += self.innermost(first, end) if is_innermost else self.segments(level + 1, first, end)
        segments = floordiv(add(sub(stop, start), sub(length, ONE)), length)
        return [
            ir.Let(length.name, room, loc=loop.loc),
            *(self.visited(kept, segments, length, start, stop) if level > 1 else ()),
            ir.Loop(number, *reversed_range(ZERO, segments, ONE), tuple(body), loc=loop.loc),
        ]

    def visited(
        self, kept: Mapping[str, ir.Access], segments: ir.Expr, length: ir.Expr, start: ir.Expr, stop: ir.Expr
    ) -> list[ir.Stmt]:
        """Run from `start` to the last of the `segments`, and keep the state at the start of each of them."""
        loop, names = self.of.loop, self.of.needed.names
        number, last = names.fresh(f"{loop.index}_segment"), ir.Var(names.fresh(f"{loop.index}_last"))
        first = ir.Var(names.fresh(f"{loop.index}_first"))
        body = (
            *(self.moved(array, rows, number, is_restored=False) for array, rows in kept.items()),
            ir.Let(first.name, add(start, mul(ir.Index(number), length)), loc=loop.loc),
            *self.run(self.onward, first, ir.Apply(Op.MIN, (last, add(first, length)))),
        )
        whole = mul(floordiv(sub(sub(stop, start), ONE), length), length)
        return [
            ir.Let(last.name, add(start, whole), loc=loop.loc),
            ir.Loop(number, ZERO, segments, ONE, body, loc=loop.loc),
        ]

    def moved(self, array: str, rows: ir.Access, number: str, is_restored: bool) -> ir.Stmt:
        """Give the copy of `array` the state at the start of segment `number`, or keep that of the copy."""
        loops, place = over_elements(extents_of(self.of.needed.facts.ls.array(array)), self.of.needed.names)
        row = replace(rows, subscripts=(*rows.subscripts, ir.Index(number), *place))
        copy = ir.Access(self.state[array], place)
        target, source = (copy, row) if is_restored else (row, copy)
        (nest,) = nested(loops, (ir.Assign(target, ir.Load(source)),))
        return nest

    def run(self, body: tuple[ir.Stmt, ...], first: ir.Expr, end: ir.Expr) -> tuple[ir.Stmt, ...]:
        """The iterations from `first` to `end`, with this body."""
        begin, stop = self.place(first), self.place(end)
        loop = replace(self.of.loop, lower=begin, upper=stop, step=self.step, body=body)
        return renamed_block((loop,), self.of.needed.names) if body else ()

    def innermost(self, first: ir.Expr, end: ir.Expr) -> tuple[ir.Stmt, ...]:
        """An innermost segment: run with its recordings, then reversed."""
        lower, upper, step = reversed_range(self.place(first), self.place(end), self.step)
        reverse = replace(self.of.loop, lower=lower, upper=upper, step=step, body=self.of.reverse)
        counters = self.of.needed.tape.segment_counters(self.of.path)
        start = (ir.Assign(ir.Access(c.base), ZERO) for c in counters)
        return (*start, *self.run(self.again, first, end), reverse)

    def place(self, number: ir.Expr) -> ir.Expr:
        """The index of the iteration with this number."""
        return add(self.lower, mul(number, self.step))
