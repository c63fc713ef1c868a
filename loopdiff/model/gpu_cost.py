"""The roofline of kernels: bytes and operations, and the least time a GPU takes for them.

The bytes are those of different elements that a kernel touches, each read once and each written once: what its caches
keep does not come again, and neither does what they have from the kernels before. The time is that of the roofline
(Williams, Waterman and Patterson, "Roofline", CACM 2009), or that of one thread, if each does much, and of launches: a
lower bound, not a forecast.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import field
from math import ceil, inf, log2, prod

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import extents_of, nested
from loopdiff.ir.ops import Effort, effort
from loopdiff.ir.walk import Path, accesses, all_statements, children, nodes_of, subexprs, written_arrays
from loopdiff.mapping.grids import BUSY, COPIED, LEAST_COPIES, MOST_COPIES, Grid
from loopdiff.mapping.launches import HostIf, HostLoop, Launch, LaunchPlan, OnHost, Step, all_steps
from loopdiff.mapping.loops import Schedule
from loopdiff.mapping.update_lists import (
    CACHED,
    DIGIT,
    LISTED,
    PLACE,
    REST,
    RUN,
    TILE,
    is_filled,
    leading_axis,
    most_updates,
    rows_listed,
    updates,
)
from loopdiff.model.gpu_cache import Resident
from loopdiff.model.machine import Machine
from loopdiff.model.traffic import Touch, Traffic, touches
from loopdiff.model.trip_counts import Extents, Range, TripCounter, lets_of, windows_of

SECTOR = 32.0  # bytes that come from memory together
LANES = 32.0  # of a warp
OFFSETS = 8.0  # bytes for each iteration whose updates are counted
COUNT = 4.0  # bytes that say how often a digit is in a tile
EFFORTS: dict[Effort, float] = {"plain": 1.0, "quotient": 8.0, "function": 20.0}  # operations that one is worth
Ranges = Mapping[str, Range]


@immutable
class Gpu:
    """What a GPU does in a nanosecond, bytes and operations in float64 and float32; its cache in bytes, and nanoseconds
    that a launch takes, and an operation of a thread that waits for the one before."""

    name: str
    bandwidth: float
    f64: float
    f32: float
    cache: float
    launch: float
    waiting: float = 0.0


# Copies measured at 4.3 TB/s, and 4 to 30 nanoseconds for an operation where few threads do much; the rest by data
# sheet, outside the tensor cores.
H200 = Gpu("H200", 4300.0, 34_000.0, 67_000.0, 50e6, 2500.0, 4.0)


@immutable
class Cost:
    """Of one kernel, or an array that is filled, at that `place` in the plan, over all its launches: how many, bytes
    read and written, operations, nanoseconds at least."""

    place: Path
    launches: float
    bytes: float
    operations: float
    nanoseconds: float


@immutable
class ListCost:
    """Of one list of updates: bytes that it takes to write, sort and add up, and kernels."""

    bytes: float
    launches: float


@immutable
class Sort:
    """How a list is sorted and added up: in so many rounds, with bytes for the `counts` of digits for each update."""

    rounds: float
    counts: float
    launches: float

    @classmethod
    def of(cls, updates: float, elements: float) -> Sort:
        bits = int(log2(max(1.0, elements))) + 1
        rounds = ceil(bits / DIGIT)
        folds = 1
        while updates > REST:
            updates, folds = 2.0 * ceil(updates / RUN), folds + 1
        return cls(rounds, COUNT * 2.0 ** ceil(bits / rounds) / TILE, 4.0 * rounds + folds)


def pieces_of_list(updates: float, entry: float, threads: float, leading: float) -> tuple[float, float]:
    """In how many pieces threads make so many updates of `entry` bytes along an axis of `leading` iterations, and in
    how many lists, one after the other, for all of them."""
    each, others = updates / max(1.0, threads), threads / max(1.0, leading)
    together = min(max(CACHED / (each * entry), BUSY), LISTED / each) if each else threads
    parts = max(1.0, ceil(leading / max(1.0, together // max(1.0, others))))
    return parts, parts * max(1.0, ceil(min(threads, others * ceil(leading / parts)) / max(1.0, together)))


def costs_of(plan: LaunchPlan, extents: Extents, gpu: Gpu = H200) -> list[Cost]:
    """The costs of each kernel of a plan, for arguments of `extents`."""
    counter = TripCounter(plan.ls, extents, {**lets_of(plan.ls), **cells_of_host(plan)}, windows_of(plan.ls))
    coster = Coster(plan.ls, counter, gpu, Resident(gpu.cache))
    return list(coster.steps(plan.steps, (), 1.0, {}))


def cells_of_host(plan: LaunchPlan) -> dict[str, ir.Expr]:
    """The values of cells that the host gives one value, and nobody else any."""
    given = [s.stmt for s in all_steps(plan.steps) if isinstance(s, OnHost) and isinstance(s.stmt, ir.Assign)]
    others = written_arrays(plan.ls.body)
    return {s.target.array: s.value for s in given if not s.target.subscripts and s.target.array not in others}


@immutable
class Coster:
    """Goes through a plan as it runs, of loops of the host the first two iterations: the others are like the second.

    `turns`: which iteration of such loops that is, by index.
    """

    ls: ir.LoopSet
    counter: TripCounter
    gpu: Gpu
    cache: Resident
    turns: dict[str, int] = field(default_factory=dict)

    def steps(
        self, steps: tuple[Step, ...], around: Path, runs: float, ranges: Ranges, first: int = 0
    ) -> Iterator[Cost]:
        for number, step in enumerate(steps, first):
            place = (*around, number)
            match step:
                case HostLoop():
                    yield from self.loop(step, place, runs, ranges)
                case HostIf(stmt=stmt, then=then, orelse=orelse):
                    if not is_only_check(stmt):
                        holds = self.counter.value(stmt.cond, {})
                        taken, start = (orelse, len(then)) if holds == 0.0 else (then, 0)
                        yield from self.steps(taken, place, runs, ranges, start)
                case Launch():
                    yield self.cost(step, place, runs, ranges)
                case OnHost(stmt=ir.Allocate(array=array, fill=fill)) if fill is not None and self.is_array(array):
                    moved = self.cache.write(self.key(array, ()), self.traffic.whole(array))
                    time = self.gpu.launch + moved / self.gpu.bandwidth
                    yield Cost(place, runs, runs * moved, 0.0, runs * time)
                case OnHost():
                    pass

    def loop(self, step: HostLoop, place: Path, runs: float, ranges: Ranges) -> Iterator[Cost]:
        trips, span = self.counter.trips(step.loop, ranges)
        inside = {**ranges, step.loop.index: span}
        rounds: list[list[Cost]] = []
        for turn in range(2):
            self.turns[step.loop.index] = turn
            rounds.append(list(self.steps(step.steps, place, runs, inside)))
        first, more = min(1.0, trips), max(0.0, trips - 1.0)
        for one, other in zip(*rounds, strict=True):
            yield Cost(
                one.place, first * one.launches + more * other.launches, first * one.bytes + more * other.bytes,
                first * one.operations + more * other.operations,
                first * one.nanoseconds + more * other.nanoseconds,
            )  # fmt: skip

    def is_array(self, name: str) -> bool:
        kind = self.ls.array(name).type
        return kind is not None and kind.rank > 0

    def key(self, array: str, found: Iterable[Touch]) -> Hashable:
        """What the cache knows an array by: where kernels go on to other elements in the next iteration of a loop of
        the host, these are another one."""
        parts = (e for t in found for s in t.access.subscripts for e in subexprs(s))
        used = {e.name for e in parts if isinstance(e, ir.Index)}
        return (array, *sorted((i, turn) for i, turn in self.turns.items() if i in used))

    def cost(self, launch: Launch, place: Path, runs: float, ranges: Ranges) -> Cost:
        if launch.grid is not None and self.threads(launch.grid, ranges)[0] == 0.0:
            return Cost(place, 0.0, 0.0, 0.0, 0.0)
        nest, listed = tuple(self.taken(launch.body)), self.listed(launch, ranges)
        if launch.grid is not None:
            nest = nested([axis.loop for axis in launch.grid.axes], nest)
        lists = frozenset(launch.grid.lists) if launch.grid is not None else frozenset[str]()
        moved = self.moved(nest, ranges, lists) + self.apart(launch.grid, ranges) + sum(each.bytes for each in listed)
        operations = sum(self.operations(s, ranges) for s in nest)
        peak = self.gpu.f32 if self.is_narrow(nest) else self.gpu.f64
        threads = 1.0 if launch.grid is None else self.threads(launch.grid, ranges)[0]
        lanes = LANES if launch.warp_loops else 1.0
        waits = self.gpu.waiting * operations / (max(1.0, threads) * lanes)
        busy = max(moved / self.gpu.bandwidth, operations / peak, waits)
        launches = 1.0 + sum(each.launches for each in listed)
        return Cost(place, runs, runs * moved, runs * operations, runs * (launches * self.gpu.launch + busy))

    def taken(self, body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
        """Statements without the branches that are not taken, as far as that is known."""
        for stmt in body:
            match stmt:
                case ir.Loop(body=inner):
                    yield replace(stmt, body=tuple(self.taken(inner)))
                case ir.If(cond=cond, then=then, orelse=orelse):
                    holds = self.counter.value(cond, {})
                    if holds is None:
                        yield replace(stmt, then=tuple(self.taken(then)), orelse=tuple(self.taken(orelse)))
                    else:
                        yield from self.taken(then if holds else orelse)
                case _:
                    yield stmt

    def listed(self, launch: Launch, ranges: Ranges) -> list[ListCost]:
        """What lists of updates take."""
        if launch.grid is None:
            return []
        threads, outer = self.threads(launch.grid, ranges)
        return [self.list_cost(launch.grid, launch.body, name, threads, outer) for name in launch.grid.lists]

    def threads(self, grid: Grid, ranges: Ranges) -> tuple[float, Ranges]:
        """How many threads a grid has, and where the indices of its axes are."""
        number, inside = 1.0, dict(ranges)
        for axis in grid.axes:
            trips, inside[axis.loop.index] = self.counter.trips(axis.loop, inside)
            number *= trips
        return number, inside

    def list_cost(self, grid: Grid, body: tuple[ir.Stmt, ...], array: str, threads: float, ranges: Ranges) -> ListCost:
        traffic, key, decl = self.traffic, self.key(array, ()), self.ls.array(array)
        along, in_rows = rows_listed(decl, body, grid.last, grid.lists)
        is_counted = most_updates(body, array, in_rows=in_rows and not along) is None
        width = self.counter.extent(array, len(extents_of(decl)) - 1) if in_rows else 1.0
        item, threads = traffic.item_size(array) * width, threads / (width if along else 1.0)
        number = 0.0
        for site in updates(body, array):
            loops = site.loops[:-1] if in_rows and not along else site.loops
            trips = self.counter.nest_trips(loops, ranges)
            number += min(threads * prod(trips.values()), self.most_visited(loops, threads))
        elements, entry = traffic.whole(array) / max(1.0, item), PLACE + item
        leading = leading_axis(body, array, [a.loop.index for a in grid.axes])
        along = 1.0 if leading is None else self.counter.trips(grid.axes[leading].loop, ranges)[0]
        parts, pieces = (1.0, 1.0) if is_counted else pieces_of_list(number, entry, threads, along)
        sort = Sort.of(number / pieces, elements / parts)
        once = number / pieces * (2.0 * entry + sort.counts) + is_counted * threads * OFFSETS
        again = number / pieces * (PLACE + sort.rounds * (PLACE + 2.0 * entry + 4.0 * sort.counts))
        again += is_counted * threads * 4.0 * OFFSETS
        fits, starts = once <= self.gpu.cache, array in grid.starts
        added = elements * item if starts else min(number * max(SECTOR, item), elements * item)
        moved = self.cache.write(("list", array), once) if fits else pieces * (once + again)
        moved += (0.0 if starts else self.cache.read(key, added)) + self.cache.write(key, added)
        if parts < pieces:
            moved += (pieces - parts) / parts * (self.cache.read(key, added) + self.cache.write(key, added))
        cleared = pieces * (not is_filled(body, array)) + parts * starts
        return ListCost(moved, cleared + pieces * sort.launches + pieces - 1.0 + is_counted * 3.0)

    def most_visited(self, loops: tuple[ir.Loop, ...], threads: float) -> float:
        """How often all threads together run the body of loops at most, if those whose bounds are data go through an
        array once, as rows of a sparse matrix do."""
        found = inf
        for loop in loops:
            if has_data(loop):
                visited = (
                    (a.array, k)
                    for s in all_statements(loop.body)
                    for a in accesses(s)
                    for k, e in enumerate(a.subscripts)
                    if e == ir.Index(loop.index)
                )
                found = min((found, *(self.counter.extent(name, axis) for name, axis in visited)))
        return found

    @property
    def traffic(self) -> Traffic:
        return Traffic(self.counter, Schedule(()), Machine(), SECTOR)

    def moved(self, nest: tuple[ir.Stmt, ...], ranges: Ranges, lists: frozenset[str]) -> float:
        """Bytes of all different elements that are read, and of those that are written, but those of `lists`."""
        touched: dict[tuple[str, bool], list[Touch]] = {}
        for touch in all_touches(nest):
            if touch.access.array not in lists:
                touched.setdefault((touch.access.array, touch.is_write), []).append(touch)
        moved = 0.0
        for (array, is_write), found in touched.items():
            if self.ls.has_array(array) and self.is_array(array):
                key, amount = self.key(array, found), self.amount(array, found, ranges)
                moved += self.cache.write(key, amount) if is_write else self.cache.read(key, amount)
        return moved

    def amount(self, array: str, found: list[Touch], ranges: Ranges) -> float:
        """Bytes of the different elements of an array that a kernel touches."""
        traffic = self.traffic
        boxes: dict[object, float] = {}
        for touch in found:
            key = traffic.shape(touch)
            whole = traffic.whole(array) if goes_through(touch) else 0.0
            boxes[key] = max(boxes.get(key, 0.0), traffic.box(touch, ranges), whole)
        return traffic.kept(array, sum(boxes.values()), self.gpu.cache)

    def apart(self, grid: Grid | None, ranges: Ranges) -> float:
        """Bytes of the arrays that threads have for themselves, filled and read once."""
        if grid is None:
            return 0.0
        traffic, (threads, _) = self.traffic, self.threads(grid, ranges)
        own = sum(traffic.whole(n) for n in grid.arrays) * threads
        elements = sum(traffic.whole(n) / traffic.item_size(n) for n in grid.copies)
        copies = min(threads, float(MOST_COPIES), max(float(LEAST_COPIES), COPIED / max(1.0, elements)))
        return 2.0 * own + 3.0 * copies * sum(traffic.whole(n) for n in grid.copies)

    def operations(self, stmt: ir.Stmt, ranges: Ranges) -> float:
        """How many operations on numbers a statement takes."""
        match stmt:
            case ir.Loop(body=body):
                trips, span = self.counter.trips(stmt, ranges)
                return trips * sum(self.operations(s, {**ranges, stmt.index: span}) for s in body)
            case ir.If():
                return sum(self.operations(s, ranges) for s in children(stmt))
            case ir.Let() | ir.Assign() | ir.Accumulate():
                values = (EFFORTS[effort(e.op)] for e in nodes_of(stmt) if isinstance(e, ir.Apply))
                return sum(values) + isinstance(stmt, ir.Accumulate)
            case _:
                return 0.0

    def is_narrow(self, nest: tuple[ir.Stmt, ...]) -> bool:
        arrays = {t.access.array for t in all_touches(nest)}
        kinds = {kind.dtype for n in arrays if (kind := self.ls.array(n).type) is not None}
        return "float32" in kinds and "float64" not in kinds


def goes_through(touch: Touch) -> bool:
    """Whether an access goes along with a loop whose bounds are data, through rows that are the array together."""
    return any(e == ir.Index(p.index) and has_data(p) for e in touch.access.subscripts for p in touch.loops)


def has_data(loop: ir.Loop) -> bool:
    return any(isinstance(e, ir.Load) for b in (loop.lower, loop.upper) for e in subexprs(b))


def is_only_check(stmt: ir.Stmt) -> bool:
    """Whether a statement runs to say which of several checks fails."""
    return all(isinstance(s, ir.If | ir.Let | ir.Loop | ir.Require) for s in all_statements((stmt,)))


def all_touches(nest: tuple[ir.Stmt, ...]) -> Iterator[Touch]:
    """Every access to an element, those of an accumulation as a read and as a write."""
    added_to = {s.target for s in all_statements(nest) if isinstance(s, ir.Accumulate)}
    for stmt in nest:
        for touch in touches(stmt):
            yield touch
            if touch.is_write and touch.access in added_to:
                yield Touch(touch.access, touch.loops, False)
