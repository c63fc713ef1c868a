"""A LoopSet as a launch plan: what the host does, and which kernels it launches.

Loops whose iterations are independent become kernels; loops around them that are not run on the host; whatever is left
runs in a kernel of one thread, statements after each other together. A scalar that a kernel makes, or that is made
from elements of arrays, lives in the memory of the device; the host reads it where it decides something by it, and
waits for the device to get there. Other scalars live on the host and are handed to kernels by value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from loopdiff.analysis.ownership import owned_cells
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, compare, integer
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType
from loopdiff.ir.typing import cell_types
from loopdiff.ir.walk import (
    Path,
    accesses,
    children,
    lets_in,
    loops_in,
    nodes_in,
    statements,
    subexprs,
    touched_arrays,
    written_arrays,
)
from loopdiff.mapping.grids import Axis, Grid
from loopdiff.mapping.launches import HostIf, HostLoop, Launch, LaunchPlan, OnHost, Step, all_steps, map_launches
from loopdiff.schedule.gpu.grid_mapper import GridMapper, Mapped
from loopdiff.schedule.gpu.ragged_rows import RaggedRows, ragged_rows
from loopdiff.settings.requests import Requests, Wish

Names = frozenset[str]


def plan_launches(model: Model, dead: Names, requests: Requests, *, may_reassociate: bool) -> LaunchPlan:
    """The launch plan of the LoopSet of `model`. Nobody looks at the `dead` arrays before or after the function.

    `may_reassociate`: whether sums may be added up in another order.
    """
    planner = Planner(model, GridMapper(model, dead, may_reassociate, requests), supply(model.ls), [])
    steps = planner.steps(model.ls.body, ())
    ls = replace(model.ls, arrays=(*model.ls.arrays, *planner.cells)) if planner.cells else model.ls
    on_device = scalars_on_device(ls, steps)
    settled = with_own_lets(ls, Settler(ls, on_device).steps(steps))
    return LaunchPlan(ls, settled, on_device - lets_of_one_kernel(settled))


@immutable
class Planner:
    """Splits statements into steps; those that are neither kernels nor around some are left as `OnHost`. `cells`
    collects those that the plan needs beside the LoopSet's."""

    model: Model
    mapper: GridMapper
    names: NameSupply
    cells: list[ir.ArrayDecl]

    def steps(self, body: tuple[ir.Stmt, ...], path: Path, first: int = 0) -> tuple[Step, ...]:
        """The steps of statements at `path`, numbered there from `first`."""
        return tuple(step for k, s in enumerate(body, first) for step in self.steps_of(s, (*path, k)))

    def steps_of(self, stmt: ir.Stmt, path: Path) -> tuple[Step, ...]:
        usual = self.step(stmt, path)
        found = self.by_rows(stmt, path) if not is_free(usual) else None
        return (usual,) if found is None else self.if_apart(*found, usual)

    def by_rows(self, stmt: ir.Stmt, path: Path) -> tuple[ir.Loop, RaggedRows, Launch] | None:
        """A loop that is a kernel if the rows of its iterations do not overlap."""
        if not isinstance(stmt, ir.Loop) or (rows := ragged_rows(stmt)) is None:
            return None
        found = self.mapper.mapped(stmt, path, rows.arrays)
        if isinstance(found, str) or len(found.grid.axes) > 1:
            return None
        return stmt, rows, Launch(found.body, found.cells, found.grid)

    def if_apart(self, loop: ir.Loop, rows: RaggedRows, launch: Launch, usual: Step) -> tuple[Step, ...]:
        """A launch that is right if the rows of a loop do not overlap, or else what is done as a rule."""
        cell = ir.ArrayDecl(self.names.fresh("are_apart"), ArrayType("int64", 0), extents=())
        self.cells.append(cell)
        told = ir.Access(cell.name)
        holds = ir.Select(all_of(rows.conditions), integer(1), integer(0))
        check = ir.Accumulate("min", told, holds, loc=loop.loc)
        axes = (Axis(loop, loop.lower, loop.upper),)
        asked = ir.If(compare(Op.NE, ir.Load(told), integer(0)), (loop,), (loop,), loc=loop.loc)
        return (
            OnHost(ir.Assign(told, integer(1), loc=loop.loc)),
            Launch((check,), (), Grid(axes, sums=((cell.name, "min"),))),
            HostIf(asked, (launch,), (usual,)),
        )

    def step(self, stmt: ir.Stmt, path: Path) -> Step:
        match stmt:
            case ir.Loop():
                found = self.mapper.mapped(stmt, path)
                if isinstance(found, Mapped) and self.is_kernel(stmt, path):
                    return Launch(found.body, found.cells, found.grid)
                reason = found if isinstance(found, str) else "it has few iterations"
                if self.holds_kernels(stmt, path):
                    return HostLoop(stmt, self.steps(stmt.body, path), reason)
                return Launch((stmt,), self.own_cells((stmt,), path), reason=reason)
            case ir.If(then=then, orelse=orelse) if self.holds_kernels(stmt, path):
                return HostIf(stmt, self.steps(then, path), self.steps(orelse, path, len(then)))
            case ir.If():
                return Launch((stmt,), self.own_cells((stmt,), path))
            case _:
                return OnHost(stmt)

    def is_kernel(self, loop: ir.Loop, path: Path) -> bool:
        """Whether a loop is worth a launch, and its iterations are threads, which do something."""
        if self.mapper.is_too_short(loop):
            return False
        found = self.mapper.mapped(loop, path)
        return isinstance(found, Mapped) and bool(found.body)

    def holds_kernels(self, stmt: ir.Stmt, path: Path) -> bool:
        """Whether a loop inside is worth a kernel."""
        for number, child in enumerate(children(stmt)):
            place = (*path, number)
            if isinstance(child, ir.Loop) and self.is_kernel(child, place):
                return True
            if self.by_rows(child, place) is not None or self.holds_kernels(child, place):
                return True
        return False

    def own_cells(self, body: tuple[ir.Stmt, ...], path: Path) -> tuple[str, ...]:
        """Cells that nothing outside of the statement at `path` touches, or sees the value of."""
        cells = frozenset(cell_types(self.model.ls))
        used = (touched_arrays(body)) & cells
        sites = [s for s in statements(self.model.ls.body) if s.path[: len(path)] != path]
        outside = {a.array for s in sites for a in accesses(s.stmt)}
        outside |= {e.access.array for r in results(self.model.ls) for e in subexprs(r) if isinstance(e, ir.Load)}
        around = [path[:k] for k in range(1, len(path)) if isinstance(self.model.sites[path[:k]].stmt, ir.Loop)]
        own = used - outside
        if around and own:
            own &= owned_cells(self.model, around[-1])
        return tuple(sorted(own))


def is_free(step: Step) -> bool:
    """Whether a step is a kernel whose threads sum into no array."""
    return isinstance(step, Launch) and step.grid is not None and not step.grid.lists and not step.grid.copies


def results(ls: ir.LoopSet) -> Iterator[ir.Expr]:
    return (r.value for r in ls.results if isinstance(r, ir.ScalarResult))


# -- where scalars live --------------------------------------------------------------------------------------
def scalars_on_device(ls: ir.LoopSet, steps: tuple[Step, ...]) -> Names:
    """Cells and Lets that kernels make, or that are made from what the device holds."""
    cells = frozenset(cell_types(ls))
    found: set[str] = set()
    for step in all_steps(steps):
        if isinstance(step, Launch):
            found |= (written_arrays(step.body) & cells) - set(step.cells)
            found |= {n for n, _ in step.grid.sums if n in cells} if step.grid is not None else set()
            found |= lets_in(step.body) & used_elsewhere(ls, step)
    while True:
        before = len(found)
        for step in all_steps(steps):
            if isinstance(step, OnHost):
                match step.stmt:
                    case ir.Let(name=name, value=value) if depends_on_device(value, cells, found):
                        found.add(name)
                    case ir.Assign(target=t, value=v) | ir.Accumulate(target=t, value=v) if t.array in cells:
                        if depends_on_device(v, cells, found):
                            found.add(t.array)
                    case _:
                        pass
        if len(found) == before:
            return frozenset(found)


def wishes_for(launch: Launch, requests: Requests) -> frozenset[Wish | None]:
    """What was asked of the loops that are a kernel, and of those inside of it."""
    axes = () if launch.grid is None else tuple(a.loop for a in launch.grid.axes)
    inside = loops_in(launch.body)
    return frozenset(requests.wish(p.index, p.loc.line) for p in (*axes, *inside))


def used_elsewhere(ls: ir.LoopSet, launch: Launch) -> Names:
    """Lets that are read outside of a kernel."""
    ends = (e for x in results(ls) for e in subexprs(x))
    uses = Counter(e.name for e in chain(nodes_in(ls.body), ends) if isinstance(e, ir.Var))
    uses -= Counter(e.name for e in nodes_in(launch.body) if isinstance(e, ir.Var))
    return frozenset(uses)


def with_own_lets(ls: ir.LoopSet, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Launches with the Lets that only they read."""
    return map_launches(lambda k: (replace(k, lets=lets_in(k.body) - used_elsewhere(ls, k)),), steps)


def lets_of_one_kernel(steps: tuple[Step, ...]) -> Names:
    """Lets that only the kernels read that make them, in each of which they are its own."""
    launches = [s for s in all_steps(steps) if isinstance(s, Launch)]
    shared = frozenset(n for s in launches for n in lets_in(s.body) - s.lets)
    return frozenset(n for s in launches for n in s.lets) - shared


def depends_on_device(expr: ir.Expr, cells: Names, on_device: Iterable[str]) -> bool:
    """Whether the value is made from elements of arrays, or from scalars that are `on_device`."""
    known = frozenset(on_device)
    for e in subexprs(expr):
        match e:
            case ir.Load(access=access) if access.array not in cells or access.array in known:
                return True
            case ir.Var(name=name) if name in known:
                return True
            case _:
                pass
    return False


@immutable
class Settler:
    """Decides for the statements left `OnHost` whether they stay there; kernels of one thread are put together."""

    ls: ir.LoopSet
    on_device: Names

    def steps(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        out: list[Step] = []
        for step in map(self.settled, steps):
            last = out[-1] if out else None
            if isinstance(step, Launch) and step.grid is None and isinstance(last, Launch) and last.grid is None:
                cells = tuple(sorted({*last.cells, *step.cells}))
                reasons = dict.fromkeys(r for r in (last.reason, step.reason) if r)
                out[-1] = Launch(last.body + step.body, cells, reason="; ".join(reasons))
            else:
                out.append(step)
        return tuple(out)

    def settled(self, step: Step) -> Step:
        match step:
            case HostLoop():
                return replace(step, steps=self.steps(step.steps))
            case HostIf():
                return replace(step, then=self.steps(step.then), orelse=self.steps(step.orelse))
            case OnHost(stmt=stmt):
                return step if self.is_for_host(stmt) else Launch((stmt,), ())
            case Launch():
                return step

    def is_for_host(self, stmt: ir.Stmt) -> bool:
        cells = frozenset(cell_types(self.ls))
        match stmt:
            case ir.Let(name=name):
                return name not in self.on_device
            case ir.Assign(target=target) | ir.Accumulate(target=target):
                return target.array in cells and target.array not in self.on_device
            case ir.Require(cond=cond):
                return not depends_on_device(cond, cells, self.on_device)
            case ir.Allocate(array=array):
                return array not in cells or array not in self.on_device
            case ir.Exit() | ir.Call():
                return True
            case _:
                return False
