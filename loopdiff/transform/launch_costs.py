"""What kernels have to move and to compute, and how long a GPU takes for that at least.

The bytes are those of different elements that a kernel touches, each read once and each written once: what its caches
keep does not come again. The time is that of the roofline (Williams, Waterman and Patterson, "Roofline", CACM 2009) and
of a launch: a lower bound, not a forecast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loopdiff.ir.nodes import Accumulate, Apply, Assign, If, Let, Loop, LoopSet, Stmt
from loopdiff.ir.ops import INFO, Op
from loopdiff.ir.walk import children, statements, stmt_exprs, subexprs
from loopdiff.transform.extents import Counter, Extents, Range
from loopdiff.transform.grid import Grid, loop_around
from loopdiff.transform.launch_plan import HostIf, HostLoop, Launch, LaunchPlan, OnHost, Step
from loopdiff.transform.machine import Machine
from loopdiff.transform.schedule import Schedule
from loopdiff.transform.traffic import Touch, Traffic, touches

SECTOR = 32.0  # bytes that come from memory together
COPIED = 128e6  # bytes of the copies that threads sum into, as far as 32 of these are not more
FUNCTION, QUOTIENT = 20.0, 8.0  # operations that an elementary function, and a division, are worth
Ranges = Mapping[str, Range]


@dataclass(frozen=True, slots=True)
class Gpu:
    """What a GPU does in a nanosecond, bytes and operations in float64 and float32; its cache in bytes, and nanoseconds
    that a launch takes."""

    name: str
    bandwidth: float
    f64: float
    f32: float
    cache: float
    launch: float


# Copies measured at 4.3 TB/s; the rest by data sheet, outside the tensor cores.
H200 = Gpu("H200", 4300.0, 34_000.0, 67_000.0, 50e6, 2500.0)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one kernel, over all its launches: how many, bytes read and written, operations, nanoseconds at least."""

    launch: Launch
    launches: float
    bytes: float
    operations: float
    nanoseconds: float


def costs_of(plan: LaunchPlan, extents: Extents, gpu: Gpu = H200) -> list[Cost]:
    """The costs of each kernel of a plan, for arguments of `extents`."""
    coster = Coster(plan.ls, Counter.of(plan.ls, extents), gpu)
    return list(coster.steps(plan.steps, 1.0, {}))


@dataclass(frozen=True, slots=True)
class Coster:
    ls: LoopSet
    counter: Counter
    gpu: Gpu

    def steps(self, steps: tuple[Step, ...], runs: float, ranges: Ranges) -> Iterator[Cost]:
        for step in steps:
            match step:
                case HostLoop(loop=loop, steps=inner):
                    trips, span = self.counter.trips(loop, ranges)
                    yield from self.steps(inner, runs * trips, {**ranges, loop.index: span})
                case HostIf(then=then, orelse=orelse):
                    yield from self.steps(then, runs, ranges)
                    yield from self.steps(orelse, 0.0, ranges)
                case Launch():
                    yield self.cost(step, runs, ranges)
                case OnHost():
                    pass

    def cost(self, launch: Launch, runs: float, ranges: Ranges) -> Cost:
        nest = launch.body
        if launch.grid is not None:
            for axis in reversed(launch.grid.axes):
                nest = (loop_around(axis.loop, nest),)
        moved = self.moved(nest, ranges) + self.apart(launch.grid, ranges)
        operations = sum(self.operations(s, ranges) for s in nest)
        peak = self.gpu.f32 if self.is_narrow(nest) else self.gpu.f64
        busy = max(moved / self.gpu.bandwidth, operations / peak)
        return Cost(launch, runs, runs * moved, runs * operations, runs * (self.gpu.launch + busy))

    def moved(self, nest: tuple[Stmt, ...], ranges: Ranges) -> float:
        """Bytes of all different elements that are read, and of those that are written."""
        traffic = Traffic(self.counter, Schedule(()), Machine(), SECTOR)
        found: dict[tuple[str, bool], dict[object, float]] = {}
        for touch in all_touches(nest):
            boxes = found.setdefault((touch.access.array, touch.is_write), {})
            key = traffic.shape(touch)
            boxes[key] = max(boxes.get(key, 0.0), traffic.box(touch, ranges))
        return sum(traffic.kept(array, sum(boxes.values()), self.gpu.cache) for (array, _), boxes in found.items())

    def apart(self, grid: Grid | None, ranges: Ranges) -> float:
        """Bytes of the arrays that threads have for themselves, filled and read once."""
        if grid is None:
            return 0.0
        traffic = Traffic(self.counter, Schedule(()), Machine(), SECTOR)
        threads, outer = 1.0, dict(ranges)
        for axis in grid.axes:
            trips, outer[axis.loop.index] = self.counter.trips(axis.loop, outer)
            threads *= trips
        own = sum(traffic.whole(n) for n in grid.arrays) * threads
        copied = sum(traffic.whole(n) for n in grid.copies)
        copies = min(threads, 512.0, max(32.0, COPIED / max(1.0, copied)))
        return 2.0 * own + 3.0 * copies * copied

    def operations(self, stmt: Stmt, ranges: Ranges) -> float:
        """How many operations on numbers a statement takes."""
        match stmt:
            case Loop(body=body):
                trips, span = self.counter.trips(stmt, ranges)
                return trips * sum(self.operations(s, {**ranges, stmt.index: span}) for s in body)
            case If():
                return sum(self.operations(s, ranges) for s in children(stmt))
            case Let() | Assign() | Accumulate():
                values = (e for x in stmt_exprs(stmt) for e in subexprs(x) if isinstance(e, Apply))
                return sum(map(worth, values)) + isinstance(stmt, Accumulate)
            case _:
                return 0.0

    def is_narrow(self, nest: tuple[Stmt, ...]) -> bool:
        arrays = {t.access.array for t in all_touches(nest)}
        kinds = {kind.dtype for n in arrays if (kind := self.ls.array(n).type) is not None}
        return "float32" in kinds and "float64" not in kinds


def all_touches(nest: tuple[Stmt, ...]) -> Iterator[Touch]:
    """Every access to an element, those of an accumulation as a read and as a write."""
    added_to = {s.stmt.target for s in statements(nest) if isinstance(s.stmt, Accumulate)}
    for stmt in nest:
        for touch in touches(stmt):
            yield touch
            if touch.is_write and touch.access in added_to:
                yield Touch(touch.access, touch.loops, False)


def worth(part: Apply) -> float:
    if part.op in (Op.DIV, Op.FLOORDIV, Op.MOD, Op.SQRT):
        return QUOTIENT
    return FUNCTION if INFO[part.op].result == "float" and part.op not in (Op.COPYSIGN, Op.STRONG_MUL) else 1.0
