"""Where generated code looks out for signals: each function counts its work, and looks when patience is used up.

    for i in range(n):                            for i_block in range(0, n, 1000000):
        patience -= 2.0                               i_end = min(i_block + 1000000, n)
        if patience < 0.0:                            patience -= 0.3 * np.float64(i_end - i_block)
            patience = look_out()                     if patience < 0.0:
        patience -= 0.05 * np.float64(m)                  patience = look_out()
        for j in range(m):                            for i in range(i_block, i_end):
            ...                                           ...

Loops around loops count their own statements and look, the innermost ones are counted where they begin, so that what
takes the time is as it was. An innermost loop that nothing is around runs in blocks. Whether a loop that is left by a
condition takes long is known to nobody: it counts each iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loopdiff.backends.cpu.interrupts import PATIENCE
from loopdiff.backends.writer import Writer
from loopdiff.ir.build import natural, sub
from loopdiff.ir.nodes import Call, Cast, Const, Exit, If, Index, Loop, Stmt
from loopdiff.ir.types import F64
from loopdiff.ir.walk import statements
from loopdiff.transform.work import Estimate, cost, estimate_of, number, times

if TYPE_CHECKING:
    from loopdiff.backends.cpu.scheduled import ScheduledEmitter

# Nanoseconds: of a block of an innermost loop, below which a loop counts as a statement, and of a function with a rule.
BLOCK, LITTLE, CALLED = 2e5, 200.0, 1e5
LEAST = 0.05  # of an iteration


@dataclass(slots=True)
class Patience:
    """Writes counts and looks into `emitter`, for the variable `name` that each function has for itself."""

    emitter: ScheduledEmitter
    name: str

    def line(self, text: str) -> None:
        self.emitter.writer.line(text)

    def begin_function(self, writer: Writer) -> None:
        """Give `writer`, which has written a function, the variable's line if the function counts."""
        if any(self.name in line for line in writer.lines):
            writer.lines.insert(1, f"    {self.name} = {PATIENCE!r}")

    # -- costs, in nanoseconds -------------------------------------------------------------------------------
    def estimate(self, *stmts: Stmt) -> Estimate:
        return estimate_of(stmts, self.emitter.mapping_of)

    def own(self, body: tuple[Stmt, ...]) -> float:
        """What `body` costs without what is counted apart."""
        total = 0.0
        for stmt in body:
            total += CALLED if isinstance(stmt, Call) else cost(stmt, 1.0) if not isinstance(stmt, Loop) else 0.0
            match stmt:
                case Loop():
                    total += self.little(stmt) or 0.0
                case If(then=then, orelse=orelse):
                    total += self.own(then) + self.own(orelse)
        return total

    def little(self, loop: Loop) -> float | None:
        """What a loop costs that takes so little that it is not counted apart."""
        if any(isinstance(s.stmt, Exit | Call) for s in statements(loop.body)):
            return None
        found = self.estimate(loop).statement(loop)
        return float(found.value) if isinstance(found, Const) and found.value <= LITTLE else None

    def counts_itself(self, body: tuple[Stmt, ...]) -> bool:
        """Whether a loop counts each iteration: it is around others, calls functions, or may be left."""
        inside = [s.stmt for s in statements(body)]
        is_left = any(isinstance(s, Exit) for s in body)
        return is_left or any(isinstance(s, Call) or (isinstance(s, Loop) and self.little(s) is None) for s in inside)

    # -- counts and looks ------------------------------------------------------------------------------------
    def count(self, work: str) -> None:
        self.emitter.looks.add("look_out")
        self.line(f"{self.name} -= {work}")

    def look(self, work: str) -> None:
        """Count `work`, and look if it is time."""
        self.count(work)
        with self.emitter.writer.block(f"if {self.name} < 0.0:"):
            self.line(f"{self.name} = look_out()")

    def begin_iteration(self, body: tuple[Stmt, ...], count: int = 1) -> None:
        """In front of `count` iterations of a loop with that body."""
        if self.counts_itself(body):
            self.look(repr(count * max(self.own(body), LEAST)))

    def count_ahead(self, loop: Loop) -> None:
        """All of an innermost loop."""
        each, step = self.each(loop), loop.step.value if isinstance(loop.step, Const) else 1
        span = sub(loop.lower, loop.upper) if step < 0 else sub(loop.upper, loop.lower)
        self.count(self.emitter.expr(times(number(each / abs(step)), Cast(F64, natural(span)))))

    def each(self, loop: Loop, speed: float = 1.0) -> float:
        """What an iteration of an innermost loop costs."""
        found = self.estimate(loop).block(loop.body, speed)
        return max(float(found.value), LEAST) if isinstance(found, Const) else LITTLE

    @contextmanager
    def counted(self, loop: Loop) -> Iterator[Loop]:
        """The loop, which runs in order, or a block of it in a loop that is already there."""
        is_apart = not self.counts_itself(loop.body) and self.little(loop) is None
        if is_apart and self.emitter.around == 0:
            with self.in_blocks(loop) as block:
                yield block
            return
        if is_apart:
            self.count_ahead(loop)
        yield loop

    # -- blocks ----------------------------------------------------------------------------------------------
    @contextmanager
    def in_blocks(self, loop: Loop) -> Iterator[Loop]:
        """An innermost loop that nothing is around, inside one over its blocks if its step is known."""
        if not isinstance(loop.step, Const):
            yield loop
            return
        step = int(loop.step.value)
        lower, upper = self.emitter.expr(loop.lower), self.emitter.expr(loop.upper)
        with self.blocks(loop.index, (lower, upper), step, self.each(loop)) as (start, end):
            yield replace(loop, lower=Index(start), upper=Index(end))

    @contextmanager
    def blocks(self, index: str, bounds: tuple[str, str], step: int, each: float) -> Iterator[tuple[str, str]]:
        """A loop over blocks of iterations, of which `each` nanoseconds are for one; the names of a block's bounds."""
        start, end = self.emitter.names.fresh(f"{index}_block"), self.emitter.names.fresh(f"{index}_end")
        size = step * max(1, int(BLOCK / each))
        with self.emitter.writer.block(f"for {start} in range({bounds[0]}, {bounds[1]}, {size}):"):
            self.line(f"{end} = {'min' if step > 0 else 'max'}({start} + {size}, {bounds[1]})")
            self.look(f"{each / step!r} * np.float64({end} - {start})")
            yield start, end
