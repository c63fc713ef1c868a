"""Loops on several threads: the loop becomes a function of one chunk, and where it stood the pool is asked to run it.

    t_parts = np.empty(chunks)                      def energy_chunk(chunk, lower, upper, size, t_parts, x):
    run_in_chunks(energy_chunk, chunks, ...)            first = lower + chunk * size
    for part in t_parts:                                t = 0.0
        t += part                                       for i in range(first, min(first + size, upper)):
                                                            t += x[i] * x[i]
                                                        t_parts[chunk] = t

The first chunk works in the arrays themselves, the others in arrays of their own. Small nests shall not pay for any of
this: they are written a second time as without threads, and the extents decide which one runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.vector import neutral_value
from loopdiff.backends.writer import Writer
from loopdiff.ir.nodes import AccumulateOp, Cast, Const, Dim, Expr, Index, Loop
from loopdiff.ir.types import F64, ScalarType
from loopdiff.transform.mapping import Parallel
from loopdiff.transform.work import number, plus, times, work_of

if TYPE_CHECKING:
    from loopdiff.backends.cpu.scheduled import ScheduledEmitter

# Nanoseconds that an element costs which each chunk has for itself: summed apart, set to zero, or only there.
SUMMED, CLEARED, TOUCHED = 4.0, 2.0, 0.5
UNEVEN = 2.0  # how much more than on average a loop inside another one may do


def write_both(emitter: ScheduledEmitter, stmt: Loop, shared: list[Loop]) -> None:
    """The nest `stmt`, in which the loops `shared` run in chunks if any of them is worth it."""
    work: Expr = number(0.0)
    for loop in shared:
        found = work_of(loop, emitter.mapping_of, stmt)
        work = plus(work, found if loop is stmt else times(number(UNEVEN), found))
    emitter.threads.add("is_worth")
    with emitter.writer.block(f"if is_worth({emitter.expr(work)}):"):
        emitter.on_threads(stmt)
    with emitter.writer.block("else:"):
        emitter.on_one_thread(stmt)


@dataclass(slots=True)
class ChunkWriter:
    """Writes one loop as chunks into `emitter`, and the function of a chunk into its `chunks`."""

    emitter: ScheduledEmitter
    loop: Loop
    sharing: Parallel

    def write(self) -> None:
        """Ask how many chunks there are, have them run, and bring together what they summed."""
        writer, fresh, sharing = self.emitter.writer, self.emitter.names.fresh, self.sharing
        lower, upper, count, size = (fresh(n) for n in ("lower", "upper", "chunks", "size"))
        along = self.along
        writer.line(f"{lower}, {upper} = {self.emitter.expr(along.lower)}, {self.emitter.expr(along.upper)}")
        costs = (work_of(self.loop, self.emitter.mapping_of), self.apart())
        given = ", ".join(map(self.emitter.expr, costs))
        trips = trip_count(lower, upper, self.step)
        writer.line(f"{count}, {size} = {self.call('share')}({trips}, {sharing.granule}, {sharing.reach}, {given})")
        parts = {name: fresh(f"{name}_parts") for name, _ in sharing.sums}
        for name, held in parts.items():
            shape = count if name in self.emitter.cells else f"({count} - 1,) + {self.in_order(name)}.shape"
            writer.line(f"{held} = np.empty({shape}, np.{self.kind(name).value})")
        function, names = self.function(lower, upper, size, parts)
        run = self.call("run_in_turns" if sharing.near else "run_in_chunks")
        writer.line(f"{run}({', '.join((function, count, *names))})")
        for name, op in sharing.sums:
            if name in self.emitter.cells:
                place = fresh("chunk")
                with writer.block(f"for {place} in range({count}):"):
                    writer.line(f"{name} = {self.combined(op, name, f'{parts[name]}[{place}]')}")
            else:
                writer.line(f"{self.call('add_parts')}({self.in_order(name)}, {parts[name]})")

    @property
    def along(self) -> Loop:
        """The loop whose iterations are shared: this one, or one of its nest."""
        loop = self.loop
        while loop.index != self.sharing.index:
            loop = next(s for s in loop.body if isinstance(s, Loop))
        return loop

    @property
    def step(self) -> int:
        step = self.along.step
        assert isinstance(step, Const)
        return int(step.value)

    def call(self, name: str) -> str:
        self.emitter.threads.add(name)
        return name

    def kind(self, name: str) -> ScalarType:
        return self.emitter.types.arrays[name].element

    def apart(self) -> Expr:
        """What it costs for each chunk to have arrays of its own."""
        sums = (n for n, _ in self.sharing.sums if n not in self.emitter.cells)
        groups = ((SUMMED, sums), (CLEARED, self.sharing.zero), (TOUCHED, self.sharing.arrays))
        total: Expr = number(0.0)
        for price, names in groups:
            for name in names:
                size: Expr = number(price)
                for axis in range(self.emitter.types.arrays[name].rank):
                    size = times(size, Cast(F64, Dim(name, axis)))
                total = plus(total, size)
        return total

    def in_order(self, name: str) -> str:
        """The array with its axes as they lie in memory."""
        return f"{name}.T" if self.emitter.types.arrays[name].layout == "F" else name

    def combined(self, op: AccumulateOp, total: str, part: str) -> str:
        if op == "add":
            return f"{total} + {part}"
        self.emitter.imports.add(f"{op}2")
        return f"{op}2({total}, {part})"

    # -- the function of a chunk -----------------------------------------------------------------------------
    def function(self, lower: str, upper: str, size: str, parts: dict[str, str]) -> tuple[str, list[str]]:
        """The name of the function of one chunk, now among the emitter's, and its parameters after the chunk."""
        emitter, fresh = self.emitter, self.emitter.names.fresh
        emitter.names.taken.add(emitter.ls.name)
        name, chunk, first, last = (fresh(n) for n in (f"{emitter.ls.name}_chunk", "chunk", "first", "last"))
        with self.elsewhere() as body:
            stride = size if self.step == 1 else f"{size} * {self.step}"
            body.line(f"{first} = {lower} + {chunk} * {stride}")
            body.line(f"{last} = {'min' if self.step > 0 else 'max'}({first} + {stride}, {upper})")
            self.own(chunk, parts)
            emitter.on_one_thread(self.between(self.loop, Index(first), Index(last)))
            for summed, _ in self.sharing.sums:
                if summed in emitter.cells:
                    body.line(f"{parts[summed]}[{chunk}] = {summed}")
        sharing = self.sharing
        replaced = {*sharing.arrays, *sharing.zero, *(n for n in parts if n not in emitter.cells)}
        given = sorted((free_names(body.text) | replaced) & emitter.names.taken - {chunk})
        header = f"def {name}({', '.join((chunk, *given))}):"
        emitter.chunks.append("\n".join([header, *(f"    {line}" for line in body.lines)]))
        return name, given

    @contextmanager
    def elsewhere(self) -> Iterator[Writer]:
        """A writer of its own for what the emitter writes."""
        emitter = self.emitter
        here, emitter.writer = emitter.writer, Writer()
        yield emitter.writer
        emitter.writer = here

    def own(self, chunk: str, parts: dict[str, str]) -> None:
        """What each chunk has for itself; the first chunk uses the arrays themselves."""
        emitter, sharing = self.emitter, self.sharing
        line = emitter.writer.line
        for cell in sharing.cells:
            line(f"{cell} = {spell_constant(0, self.kind(cell))}")
        for name, op in sharing.sums:
            if name in emitter.cells:
                line(f"{name} = {spell_constant(neutral_value(op, self.kind(name)), self.kind(name))}")
        anew = [f"{n} = np.empty_like({n})" for n in sharing.arrays]
        anew += [f"{n} = np.zeros_like({n})" for n in sharing.zero]
        for name in (n for n, _ in sharing.sums if n not in emitter.cells):
            turned = ".T" if self.in_order(name) != name else ""
            anew.append(f"{name} = {parts[name]}[{chunk} - 1]{turned}")
            anew.append(f"{name}[...] = {spell_constant(0, self.kind(name))}")
        if anew:
            with emitter.writer.block(f"if {chunk} > 0:"):
                for text in anew:
                    line(text)

    def between(self, loop: Loop, first: Expr, last: Expr) -> Loop:
        """The nest with the shared loop from `first` to `last`; to the emitter the same loop as before."""
        if loop.index == self.sharing.index:
            new = replace(loop, lower=first, upper=last)
        else:
            body = tuple(self.between(s, first, last) if isinstance(s, Loop) else s for s in loop.body)
            new = replace(loop, body=body)
        self.emitter.take_for(new, loop)
        return new


def trip_count(lower: str, upper: str, step: int) -> str:
    if step < 0:
        lower, upper, step = upper, lower, -step
    return f"{upper} - {lower}" if step == 1 else f"({upper} - {lower} + {step - 1}) // {step}"


def free_names(text: str) -> set[str]:
    """Names that `text` uses before, or without, giving them a value."""
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)]
    loaded = {n.id for n in nodes if isinstance(n.ctx, ast.Load)}
    return loaded - {n.id for n in nodes if isinstance(n.ctx, ast.Store)}
