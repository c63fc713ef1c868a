"""Warp-level parallelism: an iteration is run by a warp, whose lanes share inner loops and reduce by shuffles.

    for i in range(n):                          each warp: an i, and each of its 32 lanes:
        for j in range(m):                          for j in range(lane, m, 32):
            s += x[i, j]                becomes         s += x[i, j]
        y[i] = s                                    s = the sum of those of all lanes
                                                    lane 0: y[i] = s

A thread for each `i` would read elements that are far apart from what its neighbours read, and there may be few `i`.
That pays where rows are long, which the host looks at. All lanes do what stands outside of these loops, and one of
them writes. See Bell and Garland, "Implementing sparse matrix-vector multiplication on throughput-oriented processors"
(SC 2009), section 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from loopdiff.analysis.polyhedral.model import build_model, trip_count
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, all_of, at_least_one, compare, integer, mul, natural, nested, sub
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.typing import cell_types, type_env
from loopdiff.ir.walk import (
    Path,
    accesses,
    all_statements,
    children,
    indices_in,
    loops_in,
    map_expr,
    map_stmt_exprs,
    may_stop,
    nodes_in,
    written_arrays,
)
from loopdiff.mapping.grids import Axis, Grid
from loopdiff.mapping.launches import HostIf, Launch, LaunchPlan, Step, WarpLoop, map_launches
from loopdiff.model import tuning
from loopdiff.schedule.gpu.grid_mapper import GridMapper, is_short
from loopdiff.schedule.gpu.host_values import is_on_host, names_made
from loopdiff.schedule.gpu.launch_planner import wishes_for
from loopdiff.settings.requests import NOTHING, Requests

Names = frozenset[str]


def spread_over_warps(plan: LaunchPlan, requests: Requests, *, may_reassociate: bool) -> LaunchPlan:
    """`plan` with kernels of warps beside those of threads, where loops inside read what lies side by side.

    `may_reassociate`: whether sums may be added up in another order.
    """

    def changed(launch: Launch) -> tuple[Step, ...]:
        asked = wishes_for(launch, requests)
        if "warp" in asked:
            return (with_requested_warps(plan, launch, requests, may_reassociate),)
        return (launch if "plain" in asked else warped(plan, launch, requests, may_reassociate),)

    return replace(plan, steps=map_launches(changed, plan.steps))


def with_requested_warps(plan: LaunchPlan, launch: Launch, requests: Requests, may_reassociate: bool) -> Launch:
    """A launch whose lanes share the loops of which that was asked, as far as they can."""
    grid = launch.grid
    if grid is None or not may_spread(launch, grid):
        return launch
    spreader = Spreader.of(plan.ls, launch, grid, may_reassociate)
    return replace(launch, warp_loops=tuple(spreader.requested(launch.body, (0,) * len(grid.axes), requests)))


def may_spread(launch: Launch, grid: Grid) -> bool:
    """Whether the lanes of a warp can do together what a thread does, and none finds something wrong, and leaves."""
    return not grid.arrays and not grid.copies and not grid.lists and not may_stop(launch.body)


def warped(plan: LaunchPlan, launch: Launch, requests: Requests, may_reassociate: bool) -> Step:
    """A launch, or what is launched instead where rows are long."""
    grid = launch.grid
    if grid is None or not may_spread(launch, grid):
        return launch
    if not any(isinstance(s, ir.Loop) and not is_short(s) for s in all_statements(launch.body)):
        return launch
    found = Spreader.of(plan.ls, launch, grid, may_reassociate).loops()
    axes = (a.loop.index for a in grid.axes)
    unknown = plan.on_device.union(launch.cells, names_made(launch.body), axes)
    lengths = [length_of(w.loop, grid.axes, unknown) for w in found]
    least = least_iterations(grid, unknown)
    conditions = [compare(Op.GE, n, least) for n in dict.fromkeys(lengths) if n is not None]
    is_refused = any(requests.wish(w.loop.index, w.loop.loc.line) == "sequential" for w in found)
    if not found or None in lengths or is_refused:
        return launch
    stmt = ir.If(all_of(conditions), launch.body, launch.body, loc=launch.body[0].loc)
    named = ", ".join(dict.fromkeys(f"`{w.loop.index}`" for w in found))
    have = "has" if len(found) == 1 else "have"
    many = f", {tuning.LONG_ROWS} where there are many threads" if least != integer(tuning.WARP_ITERATIONS) else ""
    reason = f"{named} {have} {tuning.WARP_ITERATIONS} iterations or more{many}"
    return HostIf(stmt, (replace(launch, warp_loops=found),), (launch,), reason)


def least_iterations(grid: Grid, unknown: Names) -> ir.Expr:
    """How many iterations are worth the lanes of a warp: more, where there are enough threads without, if the host
    knows how many there are."""
    counts = [natural(trip_count(a.span)) for a in grid.axes]
    if not all(is_on_host(c, unknown) for c in counts):
        return integer(tuning.WARP_ITERATIONS)
    are_enough = compare(Op.GE, reduce(mul, counts), integer(tuning.ENOUGH_THREADS))
    return ir.Select(are_enough, integer(tuning.LONG_ROWS), integer(tuning.WARP_ITERATIONS))


def alone(ls: ir.LoopSet, launch: Launch, grid: Grid) -> ir.LoopSet:
    """A LoopSet with nothing but one kernel in it: indices and Lets from outside are its arguments, and cells that are
    not its own its results."""
    nest = nested([axis.span for axis in grid.axes], launch.body)
    exprs = nodes_in(nest)
    given = sorted({e.name for e in exprs if isinstance(e, ir.Var | ir.Index)} - names_made(nest))
    lets = type_env(ls).lets

    def argument(expr: ir.Expr) -> ir.Expr:
        return ir.Param(expr.name) if isinstance(expr, ir.Var | ir.Index) and expr.name in given else expr

    body = tuple(map_stmt_exprs(lambda e: map_expr(argument, e), s) for s in nest) if given else nest
    scalars = (*ls.scalars, *(ir.ScalarDecl(n, lets.get(n, INT)) for n in given))
    shared = sorted((written_arrays(nest) & cell_types(ls).keys()) - set(launch.cells))
    results = tuple(ir.ScalarResult(ir.Load(ir.Access(n))) for n in shared)
    return replace(ls, params=(*ls.params, *given), scalars=scalars, body=body, results=results)


@immutable
class Spreader:
    """Finds the loops of a kernel, in a LoopSet with nothing else in it, that the lanes of a warp share."""

    mapper: GridMapper
    launch: Launch
    grid: Grid

    @staticmethod
    def of(ls: ir.LoopSet, launch: Launch, grid: Grid, may_reassociate: bool) -> Spreader:
        mapper = GridMapper(build_model(alone(ls, launch, grid)), frozenset(), may_reassociate, NOTHING)
        return Spreader(mapper, launch, grid)

    def loops(self) -> tuple[WarpLoop, ...]:
        """The loops that lanes share; none if others take long, too."""
        found = tuple(self.best(self.launch.body, (0,) * len(self.grid.axes)))
        inside = {p.index for w in found for p in loops_in((w.loop,))}
        around = [p for p in loops_in(self.launch.body) if p.index not in inside]
        shared = {w.loop.index for w in found}
        is_all = all(is_short(p) or any(q.index in shared for q in loops_in((p,))) for p in around)
        return found if is_all else ()

    def requested(self, body: tuple[ir.Stmt, ...], path: Path, requests: Requests) -> Iterator[WarpLoop]:
        """The outermost loops in `body` of which that is asked, if their iterations are independent."""
        for number, stmt in enumerate(body):
            place = (*path, number)
            own = None
            if isinstance(stmt, ir.Loop) and requests.wish(stmt.index, stmt.loc.line) == "warp":
                own = self.spread(stmt, place)
            if own is not None:
                yield own
            else:
                yield from self.requested(children(stmt), place, requests)

    def best(self, body: tuple[ir.Stmt, ...], path: Path) -> tuple[WarpLoop, ...]:
        """Of each nest in `body` the loops along which more lies side by side than along threads: the outermost."""
        found: list[WarpLoop] = []
        for number, stmt in enumerate(body):
            place = (*path, number)
            below = self.best(children(stmt), place)
            own = None
            if isinstance(stmt, ir.Loop) and not is_short(stmt) and self.is_better(stmt, below):
                own = self.spread(stmt, place)
            found += below if own is None else (own,)
        return tuple(found)

    def is_better(self, loop: ir.Loop, below: tuple[WarpLoop, ...]) -> bool:
        return self.gain(loop) > max(0, sum(self.gain(w.loop) for w in below) - 1)

    def gain(self, loop: ir.Loop) -> int:
        """How many more accesses in a loop go from element to element along it than along the threads of the grid."""
        used = [a for s in all_statements(loop.body) for a in accesses(s) if a.subscripts]
        across = self.grid.axes[-1].loop.index
        return sum(self.mapper.steps(a, loop.index) - self.mapper.steps(a, across) for a in used)

    def spread(self, loop: ir.Loop, path: Path) -> WarpLoop | None:
        """The loop with what its iterations sum, if they are independent beside that."""
        own = self.mapper.independence(loop, path)
        if own is None or isinstance(own, str) or own.arrays or own.copies or own.lists:
            return None
        cells = {*self.launch.cells, *(n for n, _ in self.grid.sums)}
        return WarpLoop(loop, own.sums) if all(n in cells for n, _ in own.sums) else None


def length_of(loop: ir.Loop, axes: tuple[Axis, ...], unknown: Names) -> ir.Expr | None:
    """How many iterations a loop has where the axes begin or where they end, whichever is more, or on average if they
    go through an array together; None if the host cannot say, as it does not know those of the `unknown` names."""
    rows = mean_length(loop, axes)
    if rows is None:
        ends = [
            trips_at(loop, {a.loop.index: bound for a, bound in zip(axes, bounds, strict=True)})
            for bounds in ([a.lower for a in axes], [a.upper for a in axes])
        ]
        rows = ends[0] if ends[0] == ends[1] else ir.Apply(Op.MAX, tuple(ends))
    return rows if is_on_host(rows, unknown) else None


def trips_at(loop: ir.Loop, places: Mapping[str, ir.Expr]) -> ir.Expr:
    """How many iterations a loop has where axes are at these places, whose bounds may depend on those before."""

    def placed(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Index(name=name):
                return places.get(name, expr)
            case ir.Apply(op=Op.ADD, args=(a, b)):
                return add(a, b)
            case ir.Apply(op=Op.SUB, args=(a, b)):
                return sub(a, b)
            case ir.Apply(op=Op.MUL, args=(a, b)):
                return integer(0) if integer(0) in (a, b) else mul(a, b)
            case _:
                return expr

    trips = trip_count(loop)
    for _ in places:
        trips = map_expr(placed, trips)
    return trips


def mean_length(loop: ir.Loop, axes: tuple[Axis, ...]) -> ir.Expr | None:
    """The mean length of rows that are an array together, as those of a sparse matrix are: each begins where the one
    before ends."""
    match loop.lower, loop.upper:
        case ir.Load(access=first), ir.Load(access=last) if first.array == last.array and first.subscripts:
            pass
        case _:
            return None
    rows: ir.Expr = integer(1)
    used = indices_in(*first.subscripts)
    for axis in axes:
        if axis.loop.index in used:
            rows = mul(rows, natural(trip_count(axis.span)))
    visited = (
        a.array for s in all_statements(loop.body) for a in accesses(s) if a.subscripts == (ir.Index(loop.index),)
    )
    array = next(visited, None)
    return None if array is None else ir.Apply(Op.FLOORDIV, (ir.Dim(array, 0), at_least_one(rows)))
