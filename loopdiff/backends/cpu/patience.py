"""Where generated code looks out for signals: seldom enough that what takes the time is as it was.

    i_size = block_size(0.3 * np.float64(n))              for trip in range(4611686018427387904):
    i_turn = 0 + i_size                                       patience -= 2300
    for i in range(m):                                        if patience < 0:
        if i == i_turn:                                           patience = look_out()
            i_turn += i_size                                  if error < 1e-9:
            look_out()                                            break
        for j in range(n):                                    ...
            ...

So many iterations as take a fraction of a millisecond by the estimate of their work, which is made before the outermost
loop, are between two looks. The outermost loop of a nest looks out, and the next one if there are more inside: what is
further inside is over soon, and would pay each time. An innermost loop that nothing is around runs in blocks. Nobody
knows how often a loop runs that is left by a condition: it counts its iterations, as tiles do, whose loops begin and
end in many ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from loopdiff.backends.cpu.interrupts import PATIENCE, largest_block
from loopdiff.backends.writer import Writer
from loopdiff.ir.nodes import Apply, Call, Cast, Const, Exit, Expr, Index, Loop, Stmt
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, INT
from loopdiff.ir.walk import map_expr, statements
from loopdiff.transform.mapping import TiledNest, VectorLoop
from loopdiff.transform.work import LANES, Estimate, estimate_of, number, times
from loopdiff.transform.work import UNKNOWN as FEWER

if TYPE_CHECKING:
    from loopdiff.backends.cpu.scheduled import ScheduledEmitter

FEW = 64  # iterations of a loop that counts for nothing
LEAST = 0.05  # nanoseconds of an iteration
TICKS = 1000.0  # of patience in a nanosecond
# Iterations of a loop of which nothing is known, and nanoseconds of a function with a rule: with fewer there are few
# looks all the same, and with more they do not come too late.
UNKNOWN, CALLED = 100.0, 1000.0


class Guess(Estimate):
    """An estimate that rather has a look too many than one too late."""

    def statement(self, stmt: Stmt, speed: float = 1.0) -> Expr:
        return number(CALLED) if isinstance(stmt, Call) else super().statement(stmt, speed)

    def trips(self, loop: Loop) -> Expr:
        found = number(UNKNOWN) if is_left(loop) else super().trips(loop)
        return number(UNKNOWN) if found == number(FEWER) else map_expr(without_limit, found)


def without_limit(expr: Expr) -> Expr:
    """Iterations of a loop that may have fewer than none: those are no concern here."""
    match expr:
        case Apply(op=Op.MAX, args=(Cast(dtype=kind) as trips, Const(value=0.0))) if kind is F64:
            return trips
        case _:
            return expr


@dataclass(slots=True)
class Patience:
    """Writes blocks, counts and looks into `emitter`.

    `name` is the variable that each function counts in. By the index of a loop: `sizes` of its blocks, and `turns` at
    which it looks, with what they are apart.
    """

    emitter: ScheduledEmitter
    name: str
    sizes: dict[str, str] = field(default_factory=dict)
    turns: dict[str, tuple[str, str]] = field(default_factory=dict)

    def line(self, text: str) -> None:
        self.emitter.writer.line(text)

    def begin_function(self, writer: Writer) -> None:
        """Give `writer`, which has written a function, the variable's line if the function counts."""
        if any(f"{self.name} -=" in line for line in writer.lines):
            writer.lines.insert(1, f"    {self.name} = {PATIENCE}")

    def call(self, name: str) -> str:
        self.emitter.looks.add(name)
        return name

    # -- work ------------------------------------------------------------------------------------------------
    def estimate(self, *stmts: Stmt) -> Guess:
        known = estimate_of(stmts, self.emitter.mapping_of)
        return Guess(known.chosen, known.known, known.inside)

    def iteration(self, loop: Loop, estimate: Estimate) -> Expr:
        """Nanoseconds of an iteration."""
        is_vector = isinstance(self.emitter.mapping_of(loop), VectorLoop)
        found = estimate.block(loop.body, LANES if is_vector else 1.0)
        return number(max(float(found.value), LEAST)) if isinstance(found, Const) else found

    # -- blocks ----------------------------------------------------------------------------------------------
    def begin_nest(self, nest: Loop) -> None:
        """How large blocks are, of the loops of a nest that nothing is around."""
        estimate = self.estimate(nest)
        for site in statements((nest,)):
            if isinstance(site.stmt, Loop):  # which may have been written before, in another function
                self.sizes.pop(site.stmt.index, None)
                self.turns.pop(site.stmt.index, None)
            if isinstance(site.stmt, Loop) and self.has_blocks(site.stmt, site.loops):
                work = self.iteration(site.stmt, estimate)
                self.sizes[site.stmt.index] = self.size(site.stmt.index, work)

    def size(self, index: str, work: Expr) -> str:
        """So many iterations make a block, as a number or the name of one."""
        if isinstance(work, Const):
            return str(largest_block(float(work.value)))
        name = self.emitter.names.fresh(f"{index}_size")
        self.line(f"{name} = {self.call('block_size')}({self.emitter.expr(work)})")
        return name

    def has_blocks(self, loop: Loop, around: tuple[Loop, ...]) -> bool:
        """Whether the loop looks out: it is the outermost one of its nest, or the next one around others."""
        kinds = [self.emitter.mapping_of(s) for s in (*around, loop)]
        if is_left(loop) or not isinstance(loop.step, Const) or any(isinstance(k, TiledNest) for k in kinds):
            return False
        if self.has_few(loop) or sum(not self.has_few(p) for p in around) > 1:
            return False
        return not around or self.may_be_long(loop) or isinstance(kinds[-2], VectorLoop)

    def may_be_long(self, loop: Loop) -> bool:
        """Whether the loop is around others, not all of which are short as a rule."""
        inside = [s.stmt for s in statements(loop.body)]
        found = [self.emitter.mapping_of(s) for s in inside if isinstance(s, Loop)]
        is_short = [isinstance(k, VectorLoop) and k.may_be_short for k in found]
        return not all(is_short) or any(isinstance(s, Call) for s in inside)

    def has_few(self, loop: Loop) -> bool:
        """Whether the loop has only a few iterations for certain."""
        trips = self.estimate(loop).trips(loop)
        return isinstance(trips, Const) and trips.value <= FEW and not is_left(loop)

    @contextmanager
    def blocks(self, loop: Loop, together: int = 1) -> Iterator[Loop]:
        """An innermost loop, or a block of it; one around others looks whenever its index `turns` up."""
        size = self.sizes.get(loop.index)
        if size is None:
            yield loop
            return
        assert isinstance(loop.step, Const)
        step = int(loop.step.value) * together
        if any(isinstance(s.stmt, Loop) for s in statements(loop.body)):
            turn, count = self.emitter.names.fresh(f"{loop.index}_turn"), times_step(size, step)
            self.line(f"{turn} = {self.emitter.expr(loop.lower)} + {count}")
            self.turns[loop.index] = (turn, count)
            yield loop
            return
        bounds = (self.emitter.expr(loop.lower), self.emitter.expr(loop.upper))
        with self.range(loop.index, bounds, step) as (start, end):
            yield replace(loop, lower=Index(start), upper=Index(end))

    def begin_iteration(self, index: str, place: str) -> None:
        """At the head of a loop over `index`, which is at `place`."""
        if index in self.turns:
            turn, count = self.turns[index]
            with self.emitter.writer.block(f"if {place} == {turn}:"):
                self.line(f"{turn} += {count}")
                self.line(f"{self.call('look_out')}()")

    @contextmanager
    def range(self, index: str, bounds: tuple[str, str], step: int) -> Iterator[tuple[str, str]]:
        """A loop over blocks of that many times `step`, and the names of their bounds."""
        start, end = (self.emitter.names.fresh(f"{index}_{n}") for n in ("block", "end"))
        limit, nearest, relation = bounds[1], *(("min", "<") if step > 0 else ("max", ">"))
        count = times_step(self.sizes[index], step)
        with self.emitter.writer.block(f"for {start} in range({bounds[0]}, {limit}, {count}):"):
            self.line(f"{end} = {nearest}({start} + {count}, {limit})")
            yield start, end
            with self.emitter.writer.block(f"if {end} {relation} {limit}:"):
                self.line(f"{self.call('look_out')}()")

    # -- counts ----------------------------------------------------------------------------------------------
    def begin_counting(self, loop: Loop) -> str:
        """The ticks of an iteration of a loop that counts."""
        work = self.iteration(loop, self.estimate(loop))
        if isinstance(work, Const):
            return str(round(TICKS * float(work.value)))
        return self.ticks(work, f"{loop.index}_ticks")

    def ticks(self, work: Expr, stem: str) -> str:
        """The name of the ticks of so many nanoseconds."""
        name = self.emitter.names.fresh(stem)
        self.line(f"{name} = {self.emitter.expr(Cast(INT, times(number(TICKS), work)))}")
        return name

    def count(self, ticks: str) -> None:
        """Count, and look if it is time."""
        self.line(f"{self.name} -= {ticks}")
        with self.emitter.writer.block(f"if {self.name} < 0:"):
            self.line(f"{self.name} = {self.call('look_out')}()")


def is_left(loop: Loop) -> bool:
    """Whether a condition may end the loop."""
    return any(isinstance(s, Exit) for s in loop.body)


def times_step(size: str, step: int) -> str:
    """So many times that step."""
    if size.isdigit():
        return str(int(size) * step)
    return size if step == 1 else f"-{size}" if step == -1 else f"{size} * {step}"
