"""Split reductions: long sums into few elements are made in parts by many threads, and then combined.

    for a: for c: for r in range(R):            for q in range(Q): for a: for c:
        W[a, c] += g[r, a] * h[r, c]                for r in the q-th part of range(R):
                                      becomes           total += g[r, a] * h[r, c]
                                                    parts[q, a, c] = total
                                                for a: for c: for q in range(Q):
                                                    W[a, c] += parts[q, a, c]

Gradients of weights over samples are such sums, those of biases, and products with a transposed matrix. How many parts
there are depends on extents alone, so that results are the same bits from run to run; where it is one, the first kernel
adds to the elements itself ("split-K" of matrix products).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from loopdiff.analysis.polyhedral.model import trip_count
from loopdiff.errors import Span
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, at_least_one, compare, floordiv, integer, mul, natural, sub, zeroed
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, ArrayType
from loopdiff.ir.walk import (
    all_statements,
    loads_of,
    map_accesses,
    map_body,
    map_stmt_exprs,
    statements,
    substitute,
    written_access,
)
from loopdiff.mapping.grids import AXES, MOST_AXES, Axis, Grid
from loopdiff.mapping.launches import HostIf, Launch, LaunchPlan, OnHost, Step, map_launches
from loopdiff.model import tuning
from loopdiff.passes.loops.sum_registers import runs_all, sums_in
from loopdiff.schedule.gpu.host_values import is_extent, is_on_host, names_made
from loopdiff.schedule.gpu.launch_planner import wishes_for
from loopdiff.settings.requests import Requests

Names = frozenset[str]
Cells = Mapping[ir.Access, ir.Access]


@immutable
class Sum:
    """A sum into an element, which starts there at zero or not; `runs` says when anything is added, if that is known.

    Others count what is added: an element that nothing is added to may not be there, or be that of another thread.
    """

    target: ir.Access
    is_started: bool
    runs: ir.Expr | None

    @property
    def is_counted(self) -> bool:
        return self.runs is None and not self.is_started


def split_sums(plan: LaunchPlan, requests: Requests) -> LaunchPlan:
    """`plan` with kernels that sum in parts beside those that do not. Sums may be added up in another order."""
    splitter = Splitter(plan.ls, plan.on_device, supply(plan.ls), requests, [])
    steps = map_launches(splitter.split, plan.steps)
    return replace(plan, ls=replace(plan.ls, arrays=(*plan.ls.arrays, *splitter.arrays)), steps=steps)


@immutable
class Splitter:
    """Splits launches; `arrays` collects cells and parts."""

    ls: ir.LoopSet
    on_device: Names
    names: NameSupply
    requests: Requests
    arrays: list[ir.ArrayDecl]

    def split(self, launch: Launch) -> tuple[Step, ...]:
        """A launch, or what is launched instead for sums into elements that the host knows the number of."""
        grid = launch.grid
        if grid is None or len(grid.axes) == MOST_AXES or grid != Grid(grid.axes):
            return (launch,)
        *head, loop = launch.body
        starts = frozenset(found for s in head if (found := zeroed(s)) is not None)
        if not isinstance(loop, ir.Loop) or len(starts) != sum(not isinstance(s, ir.Let) for s in head):
            return (launch,)
        if {t.array for t in starts} & {e.access.array for s in head for e in loads_of(s)}:
            return (launch,)
        is_refused = self.requests.wish(loop.index, loop.loc.line) == "sequential"
        if is_refused or "plain" in wishes_for(launch, self.requests):
            return (launch,)
        counts = [trip_count(a.span) for a in grid.axes]
        axes = (a.loop.index for a in grid.axes)
        inside = self.on_device.union(launch.cells, names_made(launch.body), axes)
        is_known = all(map(is_extent, counts)) and all(is_on_host(e, inside) for e in (loop.lower, loop.upper))
        is_dense = all(p.step == integer(1) for p in (loop, *(a.loop for a in grid.axes)))
        targets = self.targets(launch, loop) if is_known and is_dense else ()
        if not targets or starts - set(targets):
            return (launch,)
        sums = [Sum(t, t in starts, when_there(loop, t)) for t in targets]
        return self.in_parts(launch, grid, loop, sums, [natural(n) for n in counts])

    def in_parts(
        self, launch: Launch, grid: Grid, loop: ir.Loop, sums: list[Sum], counts: list[ir.Expr]
    ) -> tuple[Step, ...]:
        """The `sums` over `loop`, for so many iterations along each axis."""
        loc = loop.loc
        most = most_parts(counts)
        wanted = ir.Apply(Op.MIN, (most, parts_by_terms(loop)))
        number = self.cell("parts", "int64")
        several = compare(Op.GE, ir.Load(number), integer(2))
        part = ir.Loop(self.names.fresh("part"), integer(0), ir.Load(number), integer(1), (), loc=loc)
        cutting, cut = self.cut(loop, number, wanted, ir.Index(part.index))
        totals = {s.target: self.cell(f"{s.target.array}_total", self.dtype(s.target)) for s in sums}
        terms = {s.target: self.cell(f"{s.target.array}_terms", self.dtype(s.target)) for s in sums if s.is_counted}
        place = (ir.Index(part.index), *(sub(ir.Index(a.loop.index), a.lower) for a in grid.axes))
        extents = (ir.Select(compare(Op.GE, most, integer(2)), most, integer(0)), *counts)
        made = [*totals.items(), *terms.items()]
        parts = {cell: ir.Access(self.part_array(t, extents), place) for t, cell in made}
        (counted,) = map_body((cut,), lambda stmt: with_count(stmt, terms))
        inner = map_accesses(lambda a: totals.get(a, a), counted)
        clears = [ir.Assign(cell, ir.Const(0.0, F64), loc=loc) for cell in parts]
        kept = tuple(ir.Assign(own, ir.Load(cell), loc=loc) for cell, own in parts.items())
        begun = [ir.Assign(s.target, ir.Load(totals[s.target]), loc=loc) for s in sums if s.is_started]
        later = grouped([s for s in sums if not s.is_started], totals, terms, loc)
        head, cells = launch.body[:-1], (*launch.cells, *(cell.array for cell in parts))
        lets = tuple(s for s in head if isinstance(s, ir.Let))
        partial = Grid((Axis(part, part.lower, part.upper), *grid.axes))
        ends = ir.If(several, kept, (*begun, *later), loc=loc)
        in_parts = replace(launch, body=(*lets, *clears, inner, ends), cells=cells, grid=partial)
        finish = self.finish(launch, part, sums, totals, terms, parts)
        if len(grid.axes) < AXES:
            asked = ir.If(several, (loop,), (), loc=loc)
            return (*cutting, in_parts, HostIf(asked, (finish,), (), "there are several parts"))
        # With one more axis a kernel has fewer that may be tiled, and there are mostly threads enough.
        asked = ir.If(several, (loop,), (loop,), loc=loc)
        return (*cutting, HostIf(asked, (in_parts, finish), (launch,), "there are several parts"))

    def finish(
        self, launch: Launch, part: ir.Loop, sums: list[Sum], totals: Cells, terms: Cells, parts: Cells
    ) -> Launch:
        """The kernel that adds up the `parts` of totals, and of the numbers of their terms."""
        by_number = [s for s in sums if s.is_counted]
        whole = [s for s in sums if not s.is_counted]
        values = {s.target: parts[totals[s.target]] for s in whole}
        body = []
        for stmt in grouped(whole, values, {}, part.loc):
            index = part.index if not body else self.names.fresh(part.index)
            match stmt:
                case ir.If(then=then):
                    body.append(replace(stmt, then=(within(part, index, then),)))
                case _:
                    body.append(within(part, index, (stmt,)))
        cells = [cell for s in by_number for cell in (totals[s.target], terms[s.target])]
        if cells:
            index = part.index if not body else self.names.fresh(part.index)
            added = tuple(ir.Accumulate("add", cell, ir.Load(parts[cell]), loc=part.loc) for cell in cells)
            body += [*(ir.Assign(cell, ir.Const(0.0, F64), loc=part.loc) for cell in cells), within(part, index, added)]
            body += grouped(by_number, totals, terms, part.loc)
        names = tuple(cell.array for cell in cells)
        return Launch((*launch.body[:-1], *body), names, launch.grid, lets=launch.lets)

    def cut(
        self, loop: ir.Loop, number: ir.Access, wanted: ir.Expr, part: ir.Expr
    ) -> tuple[tuple[OnHost, ...], ir.Loop]:
        """The `number` of parts that a sum over `loop` is made in, `wanted` at most, as the host finds it, and what is
        left of the loop in one `part`; where it has fewer iterations than parts are wanted, of the loop inside too."""
        inner, *others = loop.body
        if not isinstance(inner, ir.Loop) or others or inner.step != integer(1):
            return self.cut_once(loop, number, wanted, part)
        if not is_extent(inner.lower) or not is_extent(inner.upper):
            return self.cut_once(loop, number, wanted, part)
        outer_parts, inner_parts = self.cell("outer_parts", "int64"), self.cell("inner_parts", "int64")
        each = at_least_one(ir.Load(inner_parts))
        rows, within = ir.Apply(Op.FLOORDIV, (part, each)), ir.Apply(Op.MOD, (part, each))
        first, outer = self.cut_once(loop, outer_parts, wanted, rows)
        share = floordiv(wanted, at_least_one(ir.Load(outer_parts)))
        second, inside = self.cut_once(inner, inner_parts, share, within)
        both = OnHost(ir.Assign(number, mul(ir.Load(outer_parts), ir.Load(inner_parts)), loc=loop.loc))
        return (*first, *second, both), replace(outer, body=(inside,))

    def cut_once(
        self, loop: ir.Loop, number: ir.Access, wanted: ir.Expr, part: ir.Expr
    ) -> tuple[tuple[OnHost, ...], ir.Loop]:
        """The same for one loop, of which no part is empty."""
        length, trips = self.cell("part_length", "int64"), natural(trip_count(loop))
        wanted = ir.Apply(Op.MIN, (wanted, trips))
        longest = floordiv(add(trips, sub(ir.Load(number), integer(1))), ir.Load(number))
        first = add(loop.lower, mul(part, ir.Load(length)))
        last = ir.Apply(Op.MIN, (add(first, ir.Load(length)), loop.upper))
        found = (
            OnHost(ir.Assign(number, at_least_one(wanted), loc=loop.loc)),
            OnHost(ir.Assign(length, longest, loc=loop.loc)),
        )
        return found, replace(loop, lower=first, upper=last)

    def cell(self, stem: str, dtype: str) -> ir.Access:
        name = self.names.fresh(stem)
        self.arrays.append(ir.ArrayDecl(name, ArrayType(dtype, 0), extents=()))
        return ir.Access(name)

    def dtype(self, target: ir.Access) -> str:
        kind = self.ls.array(target.array).type
        assert kind is not None
        return kind.dtype

    def part_array(self, target: ir.Access, extents: tuple[ir.Expr, ...]) -> str:
        name = self.names.fresh(f"{target.array}_of_parts")
        self.arrays.append(ir.ArrayDecl(name, ArrayType(self.dtype(target), len(extents)), extents=extents))
        return name

    def targets(self, launch: Launch, loop: ir.Loop) -> tuple[ir.Access, ...]:
        """The elements that a thread adds to in all iterations of `loop`; none if it does anything else there."""
        inside = all_statements(loop.body)
        found = dict(sums_in(loop, self.ls, with_choices=True))
        written = (target for s in inside if (target := written_access(s)) is not None)
        is_all = all(t in found or t.array in launch.cells for t in written)
        kinds = ir.Let | ir.Loop | ir.If | ir.Assign | ir.Accumulate
        return tuple(found) if is_all and all(isinstance(s, kinds) for s in inside) else ()


def when_there(loop: ir.Loop, target: ir.Access) -> ir.Expr | None:
    """When iterations of `loop` add to the target; None if that depends on what is inside."""
    sites = [s for s in statements(loop.body) if isinstance(s.stmt, ir.Accumulate) and s.stmt.target == target]
    return runs_all(loop, sites[0].loops) if len(sites) == 1 and not sites[0].is_conditional else None


def with_count(stmt: ir.Stmt, terms: Cells) -> tuple[ir.Stmt, ...]:
    """A statement, with what it adds to one of the targets of `terms` counted."""
    if not isinstance(stmt, ir.Accumulate) or stmt.target not in terms:
        return (stmt,)
    return stmt, ir.Accumulate("add", terms[stmt.target], ir.Const(1.0, F64), loc=stmt.loc)


def grouped(sums: list[Sum], values: Cells, terms: Cells, loc: Span) -> list[ir.Stmt]:
    """Sums get their `values`, those with the same condition in one statement."""
    found: dict[ir.Expr | None, list[ir.Stmt]] = {}
    for s in sums:
        asked = compare(Op.GT, ir.Load(terms[s.target]), ir.Const(0.0, F64)) if s.target in terms else s.runs
        added = ir.Accumulate("add", s.target, ir.Load(values[s.target]), loc=loc)
        found.setdefault(asked, []).append(added)
    return [s for k, stmts in found.items() for s in (stmts if k is None else [ir.If(k, tuple(stmts), loc=loc)])]


def within(part: ir.Loop, index: str, body: tuple[ir.Stmt, ...]) -> ir.Loop:
    """The loop over parts around statements, with an index of its own."""
    moved: dict[ir.Expr, ir.Expr] = {ir.Index(part.index): ir.Index(index)}
    inside = (map_stmt_exprs(lambda e: substitute(e, moved), s) for s in body)
    return replace(part, index=index, body=tuple(inside))


def most_parts(counts: list[ir.Expr]) -> ir.Expr:
    """In how many parts a sum is made at most, for so many iterations along each axis; none, if there are many."""
    threads = reduce(mul, counts, integer(1))
    return ir.Apply(
        Op.MIN, (integer(tuning.SUM_PARTS), floordiv(integer(tuning.ENOUGH_THREADS), at_least_one(threads)))
    )


def parts_by_terms(loop: ir.Loop) -> ir.Expr:
    """In how many parts the sum over `loop` and those inside is made at most, so that each has enough terms."""
    terms = natural(trip_count(loop))
    while len(loop.body) == 1 and isinstance(inner := loop.body[0], ir.Loop) and is_extent(trip_count(inner)):
        loop, terms = inner, mul(terms, natural(trip_count(inner)))
    return floordiv(terms, integer(tuning.PART_TERMS))
