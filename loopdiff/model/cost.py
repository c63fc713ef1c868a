"""The cost model: nanoseconds of a loop nest under a mapping.

A vector of iterations, or a scalar one, takes as long as the busiest unit of the processor, or as a chain of operations
that wait for each other; loops multiply by how often they run (the ECM model without its memory: Stengel et al.,
"Quantifying performance bottlenecks of stencil computations", ICS 2015). What memory adds is in `traffic`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loopdiff.analysis.contractions import Contraction, access_indices, terms
from loopdiff.analysis.strides import (
    LEAST_BYTES,
    Stride,
    close_step,
    coefficient,
    is_reversed_run,
    is_varying,
    stride_of,
    varying_names,
)
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F32, F64
from loopdiff.ir.typing import TypeEnv
from loopdiff.ir.walk import all_statements, loads_in, subexprs
from loopdiff.mapping.loops import TiledNest
from loopdiff.model.latency import waiting
from loopdiff.model.machine import (
    ARITHMETIC,
    CALL,
    DIVISIONS,
    FREE,
    FUNCTIONS,
    GATHERED,
    IMPEDED,
    INTEGER_DIVISION,
    ISSUE,
    LATENCY,
    LOAD,
    LOOP,
    OVERLAPPING,
    PLACE,
    REDUCE,
    SCATTERED,
    SEQUENCES,
    START,
    STORE,
    Machine,
)
from loopdiff.model.register_tiles import tile_shape
from loopdiff.model.trip_counts import Ranges, TripCounter

NONE: frozenset[str] = frozenset()
APART = ("strided", "indexed")
OFTEN = 0.5  # of the iterations enter each branch of a condition
LIGHT, COPIES = 16, 4.0  # bodies of so few operations run in so many copies, which hides the latency of sums


@dataclass(slots=True)
class Tally:
    """Cycles in which each kind of unit is busy."""

    arithmetic: float = 0.0
    loads: float = 0.0
    stores: float = 0.0
    divisions: float = 0.0
    instructions: float = 0.0

    @property
    def cycles(self) -> float:
        """The busiest unit, and a part of what the others do: they never overlap in full."""
        units = (self.arithmetic, self.loads, self.stores, self.divisions, ISSUE * self.instructions)
        busiest = max(units)
        return busiest + IMPEDED * (sum(units) - busiest)

    def add(self, other: Tally, times: float) -> None:
        self.arithmetic += times * other.arithmetic
        self.loads += times * other.loads
        self.stores += times * other.stores
        self.divisions += times * other.divisions
        self.instructions += times * other.instructions


@immutable
class CostModel:
    """Costs of the loops of `ls` on `machine`; `counter` says how often they run."""

    ls: ir.LoopSet
    types: TypeEnv
    machine: Machine
    counter: TripCounter

    def scalar(self, loop: ir.Loop, below: float, through: ir.Access | None, ranges: Ranges) -> float:
        """Iterations one after the other, each with `below` nanoseconds in loops of its own; they wait for each other
        `through` an access that sees what an earlier one left."""
        trips, _ = self.counter.trips(loop, ranges)
        cycles = self.straight(loop.body).cycles
        if through is not None:
            cycles = max(cycles, waiting(loop.body, through))
        return trips * (below + self.machine.nanoseconds(cycles + LOOP))

    def straight(self, body: tuple[ir.Stmt, ...]) -> Tally:
        """One scalar execution of `body` without its loops."""
        reader = Reader(self, "", NONE, 1, 64, Tally())
        reader.block(body, {}, is_deep=False)
        return reader.tally

    def vector(self, loop: ir.Loop, ranges: Ranges) -> float:
        """All iterations side by side in the lanes of vectors, with the loops inside."""
        trips, span = self.counter.trips(loop, ranges)
        bits = self.item_bits(loop)
        lanes = self.machine.lanes(bits)
        reader = Reader(self, loop.index, varying_names(loop), lanes, bits, Tally())
        reader.block(loop.body, {**ranges, loop.index: span}, is_deep=True)
        cycles = max(reader.tally.cycles, reader.waiting)
        whole = START + REDUCE * reader.sums + math.ceil(trips / lanes) * (cycles + LOOP)
        return self.machine.nanoseconds(whole)

    def item_bits(self, loop: ir.Loop) -> int:
        """Bits of the elements that vectors of the loop are made of."""
        arrays = {e.access.array for e in loads_in(loop.body) if e.access.subscripts}
        arrays |= {s.target.array for s in all_statements(loop.body) if isinstance(s, ir.Assign | ir.Accumulate)}
        kinds = {self.types.arrays[a].element for a in arrays}
        return 32 if F32 in kinds and F64 not in kinds else 64

    # -- register tiles --------------------------------------------------------------------------------------
    def tile(self, found: Contraction, tile: TiledNest, ranges: Ranges) -> float:
        """A contraction in register tiles."""
        trips = self.counter.nest_trips(found.loops, ranges)
        bits = 64 if self.types.arrays[found.update.target.array].element is F64 else 32
        lanes = self.machine.lanes(bits)
        shape = tile_shape(tile, self.machine.bits, lanes)
        rows, columns = shape.rows, shape.columns
        used = {tile.lanes, tile.rows, tile.columns, *tile.sums}
        outside = math.prod(n for i, n in trips.items() if i not in used)
        across = 1.0 if tile.rows is None else trips[tile.rows]
        row_blocks = math.ceil(across / rows)
        if tile.is_dot:
            steps = math.ceil(trips[tile.lanes] / lanes) * math.prod(trips[i] for i in tile.sums if i != tile.lanes)
            blocks = row_blocks * math.ceil(trips[tile.columns] / columns)
            step = self.tile_step(found, tile, rows, columns, lanes)
            cycles = blocks * (steps * step + 1.5 * rows * columns + 2 * START)
        else:
            steps = math.prod(trips[i] for i in tile.sums)
            cycles = row_blocks * sum(
                count * (steps * (self.tile_step(found, tile, rows, wide, lanes) + LOOP) + 2 * rows * wide + START)
                for count, wide in self.column_blocks(tile, trips, columns, lanes)
            )
        return self.machine.nanoseconds(outside * cycles)

    def column_blocks(
        self, tile: TiledNest, trips: dict[str, float], columns: int, lanes: int
    ) -> tuple[tuple[float, int], ...]:
        """How many blocks of how many columns: whole ones and single vectors, or lanes times blocks."""
        if tile.columns == tile.lanes:
            whole = trips[tile.columns] // (columns * lanes)
            rest = math.ceil((trips[tile.columns] - whole * columns * lanes) / lanes)
            return (whole, columns), (rest, 1)
        return ((math.ceil(trips[tile.lanes] / lanes) * math.ceil(trips[tile.columns] / columns), columns),)

    def tile_step(self, found: Contraction, tile: TiledNest, rows: int, columns: int, lanes: int) -> float:
        """Cycles of one step of the innermost summed loop: operands loaded, and a product added at every place."""
        operations = [e for e in subexprs(found.summand) if isinstance(e, ir.Apply) and has_loads(e)]
        fused = sum(isinstance(t, ir.Apply) and t.op is Op.MUL for _, t in terms(found.summand))
        arithmetic = ARITHMETIC * rows * columns * (1 + max(0, len(operations) - fused))
        step = Tally(arithmetic=arithmetic, instructions=arithmetic / ARITHMETIC)
        for access in {e.access for e in element_loads(found.summand)}:
            moving = access_indices(access)
            places = (rows if tile.rows in moving else 1) * (columns if tile.columns in moving else 1)
            is_apart = tile.product is None and stride_of(access, tile.lanes, NONE, self.ls) in APART
            each = lanes if is_apart else 1
            step.loads += places * (LOAD if each == 1 else GATHERED * each)
            step.instructions += places * each
        waiting = LATENCY if rows * columns < 8 or not tile.is_dot else 0.0
        return max(step.cycles, waiting)


# -- what statements do ---------------------------------------------------------------------------------------
@dataclass(slots=True)
class Reader:
    """Counts what the statements of a loop over `index` do for `lanes` iterations (one: scalar code).

    `waiting`: cycles for which sums wait for themselves. `sums`: how many are added over the lanes at the end.
    """

    model: CostModel
    index: str
    varying: frozenset[str]
    lanes: int
    bits: int
    tally: Tally
    waiting: float = 0.0
    sums: int = 0

    def block(
        self, body: tuple[ir.Stmt, ...], ranges: Ranges, is_deep: bool, times: float = 1.0, around: str = ""
    ) -> None:
        """Count `body`, which runs `times` times, with the loops inside if `is_deep`; `around` is the index of the loop
        inside that it is in, the innermost."""
        seen: set[ir.Expr] = set()
        mine, own = self.tally, Tally()
        for stmt in body:
            self.tally = own
            match stmt:
                case ir.Loop():
                    self.tally = mine
                    if is_deep:
                        trips, span = self.model.counter.trips(stmt, ranges)
                        self.block(stmt.body, {**ranges, stmt.index: span}, True, times * trips, stmt.index)
                        mine.add(Tally(arithmetic=LOOP, instructions=LOOP / ISSUE), times * trips)
                case ir.If(cond=cond, then=then, orelse=orelse):
                    self.value(cond, seen)
                    self.tally = mine
                    share = 1.0 if is_varying(cond, self.varying) and self.lanes > 1 else OFTEN
                    for branch in (then, orelse):
                        self.block(branch, ranges, is_deep, times * share, around)
                case _:
                    self.simple(stmt, seen, times, around)
        self.tally = mine
        mine.add(own, times)

    def simple(self, stmt: ir.Stmt, seen: set[ir.Expr], times: float, around: str) -> None:
        match stmt:
            case ir.Let(value=value):
                self.value(value, seen)
            case ir.Assign(target=target, value=value):
                self.value(value, seen)
                self.store(target)
            case ir.Accumulate(target=target, value=value):
                is_fused = stmt.op == "add" and isinstance(value, ir.Apply) and value.op is Op.MUL
                is_lanes = self.value(value, seen)
                self.accumulate(stmt, is_fused, is_lanes, times, around)
            case ir.Require(cond=cond) | ir.Exit(cond=cond):
                self.value(cond, seen)
            case ir.Call():
                self.tally.arithmetic += CALL
            case ir.Allocate():
                self.tally.stores += CALL
            case _:
                pass

    def accumulate(self, stmt: ir.Accumulate, is_fused: bool, is_lanes: bool, times: float, around: str) -> None:
        """An update, in a register where its target stays the same."""
        if not is_fused:
            self.work(ARITHMETIC if stmt.op == "add" else SEQUENCES[Op.MAX])
        if stmt.target.subscripts and self.stride(stmt.target) != "uniform":
            if self.stride(stmt.target) == "indexed" and self.lanes > 1:
                self.tally.arithmetic += PLACE * self.lanes
            if around and self.overlaps(stmt.target, around):
                self.waiting += times * (OVERLAPPING + LATENCY)
            self.load(stmt.target)
            self.store(stmt.target)
            return
        moves = not around or not stmt.target.subscripts
        if self.lanes > 1 and is_lanes and moves:
            copies = COPIES if self.tally.instructions <= LIGHT else 1.0
            self.waiting += times * LATENCY / copies
            self.sums += not around
        elif stmt.target.subscripts:
            self.tally.arithmetic += REDUCE if self.lanes > 1 else 0.0
            self.load(stmt.target)
            self.store(stmt.target)

    # -- values ----------------------------------------------------------------------------------------------
    def value(self, expr: ir.Expr, seen: set[ir.Expr]) -> bool:
        """Count the operations of `expr`; whether it differs between the lanes. Addresses cost nothing of their own."""
        match expr:
            case ir.Index(name=name) | ir.Var(name=name):
                return name == self.index or name in self.varying
            case ir.Load(access=access):
                return self.loaded(expr, access, seen)
            case ir.Const() | ir.Param() | ir.Dim():
                return False
            case ir.Cast(value=value):
                is_lanes = self.value(value, seen)
                self.work(ARITHMETIC)
                return is_lanes
            case ir.Select(cond=cond, then=then, orelse=orelse):
                parts = [self.value(e, seen) for e in (cond, then, orelse)]
                self.work(ARITHMETIC)
                return any(parts)
            case ir.Apply(op=op, args=args):
                return self.applied(op, args, seen)
            case _:
                return False

    def loaded(self, expr: ir.Load, access: ir.Access, seen: set[ir.Expr]) -> bool:
        if not access.subscripts:
            return access.array in self.varying
        stride = self.stride(access)
        if expr not in seen:
            seen.add(expr)
            for part in (e for s in access.subscripts for e in element_loads(s)):
                self.loaded(part, part.access, seen)
            self.load(access)
        return stride != "uniform"

    def applied(self, op: Op, args: tuple[ir.Expr, ...], seen: set[ir.Expr]) -> bool:
        is_sum = op in (Op.ADD, Op.SUB)
        is_lanes, is_fused = False, False
        for arg in args:
            if is_sum and not is_fused and isinstance(arg, ir.Apply) and arg.op is Op.MUL:
                is_fused = True
                is_lanes |= any([self.value(a, seen) for a in arg.args])
            else:
                is_lanes |= self.value(arg, seen)
        lanes = self.lanes if is_lanes else 1
        if op in DIVISIONS:
            each, least = DIVISIONS[op][self.bits]
            self.tally.divisions += max(least, each * lanes)
            self.tally.instructions += 1
        elif op in (Op.FLOORDIV, Op.MOD):
            self.tally.arithmetic += INTEGER_DIVISION * lanes
        elif op in FUNCTIONS:
            is_whole = isinstance(args[-1], ir.Const) and op is Op.POW
            self.tally.arithmetic += 2.0 if is_whole else FUNCTIONS[op]
            self.tally.instructions += 1.0 if is_whole else FUNCTIONS[op]
        elif op not in FREE:
            self.work(SEQUENCES.get(op, ARITHMETIC))
        return is_lanes

    def work(self, cycles: float) -> None:
        self.tally.arithmetic += cycles
        self.tally.instructions += cycles / ARITHMETIC

    # -- memory ----------------------------------------------------------------------------------------------
    def stride(self, access: ir.Access) -> Stride:
        return stride_of(access, self.index, self.varying, self.model.ls) if self.lanes > 1 else "unit"

    def overlaps(self, target: ir.Access, around: str) -> bool:
        """Whether a vector is made of parts of those that the iterations of the loop `around` before have stored, which
        are read when they have reached the memory: `y[i + j] += ..` in lanes of `i`."""
        steps = [coefficient(s, around) for s in target.subscripts]
        is_here = self.stride(target) == "unit" and not any(steps[:-1])
        return is_here and steps[-1] is not None and 0 < abs(steps[-1]) < self.lanes

    def places(self, access: ir.Access) -> int:
        """How many places in memory the lanes have to be brought together from."""
        if self.lanes == 1 or self.stride(access) not in APART:
            return 1
        return 1 if is_reversed_run(access, self.index, self.varying, self.model.ls) else self.lanes

    def close(self, access: ir.Access) -> int:
        """How many vectors hold the lanes, that lie close to each other; 0 where they do not."""
        if self.places(access) == 1 or np.dtype(self.model.types.arrays[access.array].dtype).itemsize < LEAST_BYTES:
            return 0
        return close_step(access, self.index, self.varying, self.model.ls)

    def load(self, access: ir.Access) -> None:
        if vectors := self.close(access):
            self.tally.loads += LOAD * vectors
            self.tally.arithmetic += ARITHMETIC * vectors
            self.tally.instructions += 2 * vectors
            return
        lanes = self.places(access)
        self.tally.loads += GATHERED * lanes if lanes > 1 else LOAD
        self.tally.arithmetic += ARITHMETIC * lanes if lanes > 1 else 0.0
        self.tally.instructions += lanes

    def store(self, target: ir.Access) -> None:
        if not target.subscripts:
            return
        if (vectors := self.close(target)) and self.model.machine.has_mask_registers:
            self.tally.stores += STORE * vectors
            self.tally.arithmetic += 2 * ARITHMETIC * vectors
            self.tally.instructions += 3 * vectors
            return
        lanes = self.places(target)
        self.tally.stores += SCATTERED * lanes if lanes > 1 else STORE
        self.tally.arithmetic += ARITHMETIC * lanes if lanes > 1 else 0.0
        self.tally.instructions += lanes


def element_loads(expr: ir.Expr) -> list[ir.Load]:
    """Loads of elements in `expr`, those of its subscripts included."""
    return [e for e in subexprs(expr) if isinstance(e, ir.Load) and e.access.subscripts]


def has_loads(expr: ir.Expr) -> bool:
    return any(isinstance(e, ir.Load) for e in subexprs(expr))
