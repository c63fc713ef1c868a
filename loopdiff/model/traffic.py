"""Bytes that loops move between the levels of the memory.

What one run of a loop touches comes in once if it fits into a cache; else every iteration brings in its own, or, where
one iteration fits, what is new in it (layer conditions: Rivera and Tseng, "Tiling optimizations for 3D scientific
computations", SC 2000).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from loopdiff.analysis.contractions import access_indices, contraction
from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, children, has_values, stmt_exprs, subexprs
from loopdiff.mapping.loops import Schedule, TiledNest
from loopdiff.model.machine import Machine
from loopdiff.model.register_tiles import tile_shape
from loopdiff.model.trip_counts import Ranges, TripCounter

LINE = 64.0
WRITTEN = 2.0  # a line that is written comes in first, and goes out


@immutable
class Touch:
    """An access below a loop, the loops around it from there on, and whether it writes."""

    access: ir.Access
    loops: tuple[ir.Loop, ...]
    is_write: bool


def touches(stmt: ir.Stmt, loops: tuple[ir.Loop, ...] = ()) -> Iterator[Touch]:
    """Every access to an array in `stmt`."""
    if isinstance(stmt, ir.Loop):
        loops = (*loops, stmt)
    for expr in stmt_exprs(stmt):
        for e in subexprs(expr):
            if isinstance(e, ir.Load) and e.access.subscripts:
                yield Touch(e.access, loops, False)
    if isinstance(stmt, ir.Assign | ir.Accumulate) and stmt.target.subscripts:
        yield Touch(stmt.target, loops, True)
    for child in children(stmt):
        yield from touches(child, loops)


@immutable
class Traffic:
    """Bytes in and out of caches, of lines of that many bytes, under `schedule`; `counter` says how often loops run."""

    counter: TripCounter
    schedule: Schedule
    machine: Machine
    line: float = LINE

    def nanoseconds(self, stmt: ir.Stmt, path: Path, total: float) -> float:
        """How long the busiest path between levels takes for `stmt`, part of a function that touches `total` bytes.

        What the whole function touches may be in a cache from the call before.
        """
        caches = [c for c in self.machine.caches if total > c.size]
        return max((self.moved(stmt, path, {}, c.size) / c.bandwidth for c in caches), default=0.0)

    def moved(self, stmt: ir.Stmt, path: Path, ranges: Ranges, size: int) -> float:
        """Bytes that one run of `stmt` brings into, and sends out of, a cache of `size` bytes."""
        whole = self.footprint(stmt, ranges)
        inside = [(s, (*path, k)) for k, s in enumerate(children(stmt))]
        if whole <= size:
            return whole
        if not inside:
            return self.footprint(stmt, ranges, size)
        if not isinstance(stmt, ir.Loop):
            return sum(self.moved(s, p, ranges, size) for s, p in inside)
        mapping = self.schedule.of(path)
        if isinstance(mapping, TiledNest):
            return self.moved_by_tiles(stmt, mapping, ranges, size)
        trips, span = self.counter.trips(stmt, ranges)
        known = {**ranges, stmt.index: span}
        if sum(self.footprint(s, known) for s, _ in inside) <= size:
            return self.footprint(stmt, ranges, size)
        return trips * sum(self.moved(s, p, known, size) for s, p in inside)

    def moved_by_tiles(self, stmt: ir.Loop, tile: TiledNest, ranges: Ranges, size: int) -> float:
        """Bytes of a contraction: blocks of columns, which may stay in the cache, around blocks of rows."""
        found = contraction(stmt)
        assert found is not None
        bits = 8 * self.item_size(found.update.target.array)
        lanes = self.machine.lanes(bits)
        shape = tile_shape(tile, self.machine.bits, lanes)
        trips = self.counter.nest_trips(found.loops, ranges)
        width = shape.columns * (lanes if tile.columns == tile.lanes else 1)
        across, down = trips.get(tile.rows or "", 1.0) / shape.rows, trips[tile.columns] / width
        used = {tile.lanes, tile.rows, tile.columns, *tile.sums}
        total = 0.0
        for touch in touches(stmt):
            moving = access_indices(touch.access)
            box = self.box(touch, ranges) * (WRITTEN if touch.is_write else 1.0)
            panel = box / max(1.0, down) if tile.columns in moving else box
            again = 1.0 if tile.columns in moving else max(1.0, down)
            if tile.rows not in moving and panel > size / 2:
                again *= max(1.0, across)
            again *= math.prod(n for i, n in trips.items() if i not in used and i not in moving)
            total += box * again
        return total

    def item_size(self, array: str) -> int:
        kind = self.counter.ls.array(array).type
        assert kind is not None
        return np.dtype(kind.dtype).itemsize

    def footprint(self, stmt: ir.Stmt, ranges: Ranges, size: float = math.inf) -> float:
        """Bytes of the different cache lines that `stmt` touches, those that are written counted twice.

        Computed places in arrays of more than `size` bytes count each time: they do not stay in a cache of that size.
        """
        boxes: dict[tuple[str, object], tuple[float, bool]] = {}
        for touch in touches(stmt):
            key = (touch.access.array, self.shape(touch))
            before, is_written = boxes.get(key, (0.0, False))
            boxes[key] = max(before, self.box(touch, ranges)), is_written or touch.is_write
        found: dict[str, tuple[float, bool]] = {}
        for (array, _), (touched, is_written) in boxes.items():
            before, was_written = found.get(array, (0.0, False))
            found[array] = before + touched, is_written or was_written
        return sum(
            self.kept(array, touched, size) * (WRITTEN if is_written else 1.0)
            for array, (touched, is_written) in found.items()
        )

    def kept(self, array: str, touched: float, size: float) -> float:
        """Of `touched` bytes of an array, those that a cache of `size` bytes does not have already."""
        whole = self.whole(array)
        return touched if whole > size else min(touched, whole)

    def shape(self, touch: Touch) -> object:
        """What accesses have in common that differ by a shift alone."""
        inside = [p.index for p in touch.loops]
        return tuple(
            tuple((k, coefficient(s, i)) for k, i in enumerate(inside) if coefficient(s, i) != 0)
            for s in touch.access.subscripts
        )

    def box(self, touch: Touch, ranges: Ranges) -> float:
        """Bytes of the lines that one access touches."""
        trips = self.counter.nest_trips(touch.loops, ranges)
        counts = [self.places(s, trips) for s in touch.access.subscripts]
        kind = self.counter.ls.array(touch.access.array).type
        dense = 0 if kind is not None and kind.layout == "F" else len(counts) - 1
        apart = math.prod(n for axis, n in enumerate(counts) if axis != dense)
        each = self.line if has_values(touch.access.subscripts[dense]) else self.item_size(touch.access.array)
        return apart * max(self.line, counts[dense] * each)

    def places(self, subscript: ir.Expr, trips: dict[str, float]) -> float:
        """How many places a subscript takes in loops that run `trips` times; a computed one another each time, and so
        does one whose steps are not known, as those of `l * n + j` along `l`.
        """
        if has_values(subscript):
            return max(1.0, math.prod(trips.values()))
        steps = {index: coefficient(subscript, index) for index in trips}
        near = 1.0 + sum(abs(step) * max(0.0, trips[index] - 1.0) for index, step in steps.items() if step)
        return near * math.prod(max(1.0, trips[index]) for index, step in steps.items() if step is None)

    def whole(self, array: str) -> float:
        """Bytes of an array."""
        kind = self.counter.ls.array(array).type
        rank = 0 if kind is None else kind.rank
        return self.item_size(array) * math.prod(self.counter.extent(array, axis) for axis in range(rank))
