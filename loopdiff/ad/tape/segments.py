"""Segments: run a loop again from copies of its state, a segment at a time, instead of keeping every iteration.

The forward sweep copies the state, what an iteration may read of the iterations before it, at the start of each
segment. The reverse sweep takes the segments from the last to the first: it restores the copy, runs the segment again
with its recordings, and reverses it. With segments of about the square root of the number of iterations both the copies
and the recordings grow with that root, and every iteration runs twice (Griewank and Walther 2008, chapter 12).

A segment works on copies of what it overwrites: memory of the caller, and of the forward sweep, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.needed import At, Needed
from loopdiff.ad.tape.plan import Tape, TapeStore, Why
from loopdiff.ad.tape.record import ONE, ZERO, reversed_range, segment_length, trips_before
from loopdiff.ad.tape.replay import repeats_exactly, slice_of, spans
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, extents_of, floordiv, mul, nested, over_elements, sub
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import renamed_block, renamed_names
from loopdiff.ir.walk import Path, touched_arrays
from loopdiff.model import tuning


def candidates(facts: Facts, tape: Tape, replayed: frozenset[Path]) -> Iterator[Path]:
    """Loops that may run again in segments and around which something is recorded for every iteration, outermost
    first."""
    around = {p for s in tape.stores if s.scope is None for p, _ in facts.loops_around((*s.path, 0))}
    for path in sorted(around, key=lambda p: (len(p), p)):
        inside = [p for p, s in facts.sites.items() if isinstance(s.stmt, ir.Loop) and p[: len(path)] == path]
        is_counted = any(facts.trip_hull(p) is None for p in inside)
        is_within = any(path[: len(p)] == p for p in replayed)
        if is_counted or is_within or is_short(facts.trip_hull(path)) or any(spans(r, path) for r in facts.regions):
            continue
        if repeats_exactly(facts, path):
            yield path


def is_nested(one: Path, other: Path) -> bool:
    """Whether one of two statements is inside the other, or they are the same."""
    return one[: len(other)] == other or other[: len(one)] == one


def is_short(trips: ir.Expr | None) -> bool:
    return isinstance(trips, ir.Const) and trips.value < tuning.SEGMENTED_TRIPS


@dataclass(frozen=True, slots=True)
class SegmentedLoop:
    """Builds the reverse of `loop`, at `path`; `reverse` is that of one iteration."""

    needed: Needed
    loop: ir.Loop
    path: Path
    reverse: tuple[ir.Stmt, ...]

    def statements(self) -> list[ir.Stmt]:
        needed, loop, names = self.needed, self.loop, self.needed.names
        again = slice_of(needed, loop, self.path, self.reverse)
        lower, _, step, count = needed.range_made(loop, self.path)
        if not again:
            return [ir.Loop(loop.index, *reversed_range(lower, add(lower, mul(count, step)), step), self.reverse)]
        segment = needed.tape.segments[self.path]
        number = names.fresh(f"{loop.index}_segment")
        length, first, end = ir.Var(segment.length), ir.Var(segment.first), ir.Var(names.fresh(f"{loop.index}_end"))
        begin, stop = add(lower, mul(first, step)), add(lower, mul(end, step))
        copies = {a: self.copy(a) for a in sorted(needed.own(self.path) & touched_arrays(again))}
        state = [a for a in copies if a in needed.facts.exposed(self.path)]
        run = replace(loop, lower=begin, upper=stop, step=step, body=renamed_names(again, copies))
        body = (
            ir.Let(first.name, mul(ir.Index(number), length), loc=loop.loc),
            ir.Let(end.name, ir.Apply(Op.MIN, (count, add(first, length))), loc=loop.loc),
            *(self.restored(array, copies[array], number) for array in state),
            *renamed_block((run,), names),
            replace(loop, body=self.reverse, **backwards(begin, stop, step)),
        )
        segments = floordiv(add(count, sub(length, ONE)), length)
        return [
            ir.Let(length.name, segment_length(needed.tape, self.path), loc=loop.loc),
            ir.Loop(number, *reversed_range(ZERO, segments, ONE), body, loc=loop.loc),
        ]

    def copy(self, array: str) -> str:
        """The array on which a segment runs again, in place of `array`; a cell of the reverse sweep is its own."""
        decl = self.needed.facts.ls.array(array)
        assert decl.type is not None
        if decl.type.rank == 0:
            return array
        why = Why(decl.loc, "a segment of the loop runs again on it")
        return self.needed.tape.declare(f"{array}_again", decl.type.dtype, extents_of(decl), self.path, why)

    def restored(self, array: str, copy: str, number: str) -> ir.Stmt:
        """Give `copy` the state of `array` at the start of segment `number`; the forward sweep is told to keep it."""
        tape, decl = self.needed.tape, self.needed.facts.ls.array(array)
        assert decl.type is not None
        loops, extents = self.needed.facts.loops_around(self.path), extents_of(decl)
        why = Why(decl.loc, "state at the start of each segment of the loop")
        shape = (*tape.extents(loops, None), tape.segment_number(self.path), *extents)
        name = tape.declare(f"{array}_start", decl.type.dtype, shape, None, why)
        outer = tape.coordinates(loops, None, lambda expr, path: expr)
        current = floordiv(trips_before(self.loop), ir.Var(tape.segments[self.path].length))
        target = ir.Access(name, (*outer, current))
        tape.stores.append(TapeStore(None, self.path, "start", target, ir.Load(ir.Access(array)), whole=bool(extents)))
        held = tape.coordinates(loops, None, lambda expr, path: self.needed.exact(expr, At(path), closed=True))
        loops, place = over_elements(extents, self.needed.names)
        kept = ir.Load(ir.Access(name, (*held, ir.Index(number), *place)))
        (nest,) = nested(loops, (ir.Assign(ir.Access(copy, place), kept),))
        return nest


def backwards(lower: ir.Expr, upper: ir.Expr, step: ir.Expr) -> Mapping[str, ir.Expr]:
    return dict(zip(("lower", "upper", "step"), reversed_range(lower, upper, step), strict=True))
