"""Scheduled code: scalar statements, vector loops and register tiles, as a schedule says."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

from loopdiff.analysis.contractions import contraction
from loopdiff.analysis.ownership import Owned, cell_owners
from loopdiff.analysis.recurrences import recurrence
from loopdiff.backends.cpu.chunks import in_tuples, write_both, write_shared
from loopdiff.backends.cpu.emit import ScalarEmitter
from loopdiff.backends.cpu.equal_nests import nests_written_once
from loopdiff.backends.cpu.patience import PatientEmitter, is_left
from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.tape_streams import ways_of
from loopdiff.backends.cpu.tiles.kept import operands_kept
from loopdiff.backends.cpu.tiles.product import ProductWriter
from loopdiff.backends.cpu.tiles.tile import TileWriter
from loopdiff.backends.cpu.tiles.windows import WindowTileWriter
from loopdiff.backends.cpu.vector import VectorLoopWriter
from loopdiff.errors import Span, calls_around
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, all_of, compare, integer
from loopdiff.ir.ops import Op
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import loops_in
from loopdiff.mapping.loops import ScalarLoop, TiledNest, VectorLoop
from loopdiff.schedule.cpu.unroll_and_jam import JammedRows, are_all_there, are_apart, jammed_rows, side_by_side

SMALL = 1 << 15  # elements that one thread fills sooner


@dataclass(slots=True)
class ScheduledEmitter(PatientEmitter):
    """Writes loops as `mappings` and `sharing` say. `owned`: the cells that iterations of a loop own."""

    owned: Owned = field(init=False)

    def __post_init__(self) -> None:
        PatientEmitter.__post_init__(self)
        self.owned = cell_owners(self.ls)
        if any(a.role == "tape" for a in self.ls.arrays):
            self.ways = ways_of(self.ls)

    def function(self) -> str:
        ScalarEmitter.function(self)
        self.patience.begin_function(self.writer)
        numbers = self.cells | self.types.lets.keys()
        text, nests = nests_written_once(self.writer.text, numbers, self.names.fresh)
        self.nests += nests
        return text

    def begin(self) -> None:
        if self.aside is None:
            return
        text = ", ".join((self.aside.name, self.like_results(), *in_tuples(self.ls.params)))
        with self.writer.block(f"if {self.aside.condition}:"):
            self.writer.line(f"return run_aside({text})" if self.ls.results else f"run_aside({text})")
            if not self.ls.results:
                self.writer.line("return")
        self.threads.add("run_aside")

    def like_results(self) -> str:
        """Something of the type of what the function returns."""
        found = [
            spell_constant(0, type_of(r.value, self.types)) if isinstance(r, ir.ScalarResult) else r.array
            for r in self.ls.results
        ]
        if not found or (len(found) == 1 and not self.ls.returns_tuple):
            return found[0] if found else "None"
        return f"({', '.join(found)},)"

    def store(self, stmt: ir.Let | ir.Assign | ir.Accumulate | ir.Allocate | ir.Jump) -> None:
        match stmt:
            case ir.Allocate(array=array, fill=fill) if fill is not None and self.is_shared_fill(stmt):
                self.threads.add("fill")
                turned = ".T" if self.types.arrays[array].layout == "F" else ""
                with self.writer.block(f"if {array}.size > {SMALL}:"):
                    self.writer.line(f"fill({array}{turned}.reshape(-1), {self.expr(fill)})")
                with self.writer.block("else:"):
                    ScalarEmitter.store(self, stmt)
            case _:
                ScalarEmitter.store(self, stmt)

    def is_shared_fill(self, stmt: ir.Allocate) -> bool:
        """Whether several threads fill an array where they share loops too: new memory takes as long as these."""
        kind = self.types.arrays[stmt.array]
        is_outside = any(s is stmt for s in self.ls.body)
        return bool(self.sharing) and is_outside and kind.rank > 0 and kind.layout in ("C", "F")

    def block(self, body: tuple[ir.Stmt, ...]) -> None:
        self.calls_in(body, 0)

    def calls_in(self, body: tuple[ir.Stmt, ...], depth: int) -> None:
        """Write `body`, and say where all that is inside one call was written out; `depth` calls around are known."""
        calls = [(called, tuple(same)) for called, same in groupby(body, lambda s: call_at_depth(s.loc, depth))]
        for called, same in calls:
            if called is None or len(same) == 1:
                for stmt in same:
                    self.statement(stmt)
            elif len(calls) == 1:
                self.calls_in(same, depth + 1)
            else:
                with self.writer.nest():
                    self.calls_in(same, depth + 1)

    def loop(self, stmt: ir.Loop) -> None:
        mapping = self.mapping_of(stmt)
        if isinstance(mapping, VectorLoop) and mapping.few:  # a call would take longer than so few iterations
            self.nest(stmt)
            return
        with self.writer.nest():
            self.nest(stmt)

    def nest(self, stmt: ir.Loop) -> None:
        sharing = self.sharing.get(stmt.index) if self.is_sharing else None
        is_shared = any(p.index in self.sharing for p in loops_in((stmt,)))
        if sharing is not None:
            write_shared(self, stmt, sharing)
        elif is_shared and not self.is_sharing and not self.is_inside:
            write_both(self, stmt)
        else:
            self.as_mapped(stmt)

    def as_mapped(self, stmt: ir.Loop) -> None:
        """The loop as its mapping says."""
        path, mapping = self.mappings.get(stmt.index, ((), ScalarLoop("")))
        if not self.around:
            self.patience.begin_nest(stmt)
        match mapping:
            case VectorLoop(may_be_short=may_be_short, few=few):
                VectorLoopWriter.of(self, stmt, self.owned(path)).write(may_be_short, few)
            case TiledNest():
                found = contraction(stmt)
                assert found is not None
                if mapping.product is not None:
                    ProductWriter(self, mapping.product, found).write()
                elif mapping.over_windows:
                    WindowTileWriter(self, mapping, found).write()
                else:
                    TileWriter(self, mapping, found).write()
            case ScalarLoop(together=together):
                rows = jammed_rows(stmt) if together > 1 else None
                with self.patience.blocks(stmt, together) as block:
                    if rows is None:
                        self.in_order(block)
                    else:
                        self.jam(block, rows, together)

    def in_order(self, stmt: ir.Loop) -> None:
        """One iteration after the other; what waits for the one before is added last."""
        before = self.recurrence
        if self.may_reassociate:
            self.recurrence = recurrence(stmt, self.cells)
        around, self.ticks = self.ticks, self.patience.begin_counting(stmt) if is_left(stmt) else ""
        self.around += 1
        with operands_kept(self, stmt):
            ScalarEmitter.loop(self, stmt)
        self.around -= 1
        self.recurrence, self.ticks = before, around

    def begin_iteration(self, index: str, body: tuple[ir.Stmt, ...]) -> None:
        if self.ticks:
            self.patience.count(self.ticks)
        self.patience.begin_iteration(index, index)

    def jam(self, stmt: ir.Loop, rows: JammedRows, count: int) -> None:
        """So many iterations with one vector loop for all; one after the other where not all of them are the same.

        What is left out of `stmt`, as in chunks, leaves dependences among the rest as they were.
        """
        start, index = ir.Index(self.names.fresh(f"{stmt.index}_block")), stmt.index
        bounds = f"{self.expr(stmt.lower)}, {self.expr(stmt.upper)}"
        end = add(start, integer(count))
        conds = (
            compare(Op.LE, end, stmt.upper),
            *are_all_there(rows, index, start, count),
            *are_apart(rows, index, self.types.arrays),
        )
        new = side_by_side(rows, index, start, count, self.names)
        self.take_types(new)
        self.ways[start.name] = self.ways.get(index, 0)
        self.around += 1
        with self.writer.block(f"for {start.name} in range({bounds}, {count}):"):
            self.patience.begin_iteration(index, start.name)
            with self.writer.block(f"if {self.expr(all_of(conds))}:"):
                self.block(new)
            with self.writer.block("else:"):
                rest = replace(stmt, lower=start, upper=ir.Apply(Op.MIN, (end, stmt.upper)))
                self.in_order(rest)
        self.around -= 1


def call_at_depth(span: Span, depth: int) -> int | None:
    """Which call the statement at `span` was written out for, of those that are not among the `depth` outermost."""
    calls = [call for _, call in calls_around(span)]
    return id(calls[-1 - depth]) if depth < len(calls) else None
