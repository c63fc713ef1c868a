"""Thread coarsening: a tile of iterations for one thread, which loads once what several of them read.

    for m, n: a thread each                     for m, n, four by two: a thread each
        for k in range(K):                          for k in range(K):
            total += A[m, k] * B[k, n]                  total += A[m, k] * B[k, n]
        C[m, n] = total              becomes            total_1 += A[m, k] * B[k, n_1]
                                                        ...
                                                    C[m, n] = total
                                                    if is_n_1: C[m, n_1] = total_1
                                                    ...

That is unroll and jam (Callahan, Carr and Kennedy, "Improving register allocation for subscripted variables", PLDI
1990, section 3) of the turns that threads take: iterations of a thread are as far apart as there are threads, so that
neighbours still read what lies side by side. Beyond the end the last iteration is computed again, and not written. It
pays where loops inside read the same for several iterations, and where there are more iterations than a GPU has room
for threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import combinations, product
from math import prod

from loopdiff.canonical.invariant_motion import is_total
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op, effort
from loopdiff.ir.renaming import renamed_names
from loopdiff.ir.walk import (
    accesses,
    all_statements,
    children,
    map_blocks,
    map_stmt_exprs,
    nodes_in,
    nodes_of,
    operands,
    rebuild,
    stmt_exprs,
    subexprs,
    written_arrays,
)
from loopdiff.mapping.grids import AXES, Grid
from loopdiff.mapping.launches import Launch, LaunchPlan, Step, WarpLoop, map_launches
from loopdiff.model import tuning
from loopdiff.schedule.gpu.host_values import names_used
from loopdiff.schedule.gpu.launch_planner import wishes_for
from loopdiff.settings.requests import Requests

# Operations on integers that raise in Python for some operands.
FAILING = frozenset((Op.FLOORDIV, Op.MOD, Op.POW, Op.SHL, Op.SHR))

Names = frozenset[str]


# -- which kernels -------------------------------------------------------------------------------------------
def tile_launches(plan: LaunchPlan, requests: Requests) -> LaunchPlan:
    """`plan` with tiles for the threads of contractions."""

    def tiled(launch: Launch) -> tuple[Step, ...]:
        return (launch if "plain" in wishes_for(launch, requests) else replace(launch, tile=tile_of(launch)),)

    return replace(plan, steps=map_launches(tiled, plan.steps))


def tile_of(launch: Launch) -> tuple[int, ...]:
    """How many iterations a thread takes together along each axis of the grid; nothing, if it takes one."""
    grid = launch.grid
    if grid is None or grid.arrays or grid.copies or grid.lists or not is_plain(launch):
        return ()
    indices = [a.loop.index for a in grid.axes]
    for shape in tuning.THREAD_TILES:
        found: list[tuple[float, tuple[int, ...]]] = []
        for pair in combinations(indices[-AXES if len(indices) == AXES else 1 - AXES :], 2):
            tile = tuple(dict(zip(pair, shape, strict=True)).get(i, 1) for i in indices)
            share = share_of_reads(launch, dict(zip(indices, tile, strict=True)))
            if share is not None and share <= tuning.TILED_READS:
                found.append((share, tile))
        if found:
            return min(found)[1]
    return ()


def is_plain(launch: Launch) -> bool:
    """Whether nothing but elements and the thread's own scalars are given values, nothing ends early, and the last
    iteration may be computed again while another thread writes."""
    if not may_read_anything(launch.body):
        return False
    for stmt in all_statements(launch.body):
        match stmt:
            case ir.Require() | ir.Exit() | ir.Allocate() | ir.Call():
                return False
            case ir.Let(name=name) if name not in launch.lets:
                return False
            case _:
                pass
    return True


def may_read_anything(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether the values of elements that `body` writes decide nothing but other values, and nothing can fail."""
    written = {n for n in written_arrays(body) if any(a.array == n and a.subscripts for a in all_accesses(body))}
    parts = list(nodes_in(body))
    if not any(isinstance(e, ir.Load) and e.access.array in written for e in parts):
        return True
    places = [e for a in all_accesses(body) for s in a.subscripts for e in subexprs(s)]
    is_decided = any(
        isinstance(e, ir.Var | ir.Cast) or (isinstance(e, ir.Load) and e.access.array in written) for e in places
    )
    return not is_decided and not any(isinstance(e, ir.Apply) and e.op in FAILING and not is_total(e) for e in parts)


def all_accesses(body: tuple[ir.Stmt, ...]) -> list[ir.Access]:
    return [a for s in all_statements(body) for a in accesses(s)]


def share_of_reads(launch: Launch, tile: Mapping[str, int]) -> float | None:
    """Which part is left, with a tile, of what loops inside read; None if they do more than sum products of it into
    few cells."""
    varying = varying_names(launch, frozenset(i for i, size in tile.items() if size > 1))
    loops = list(merged_loops(launch.body, varying))
    inside = [s for loop in loops for s in all_statements(loop.body)]
    written = {s.target.array for s in inside if isinstance(s, ir.Assign | ir.Accumulate)}
    copies, merged = prod(tile.values()), {p.index for p in loops}
    parts = [e for s in inside for e in nodes_of(s)]
    read = {e.access for e in parts if isinstance(e, ir.Load) and e.access.subscripts}
    is_simple = written <= set(launch.cells) and not any(map(is_function, parts))
    values = (x for s in all_statements(launch.body) if not isinstance(s, ir.Loop) for x in stmt_exprs(s))
    calls = any(is_function(e) for x in values for e in subexprs(x))
    most_sums = prod(tuning.THREAD_TILES[-1]) if calls else tuning.THREAD_SUMS
    are_merged = all(w.loop.index in merged for w in launch.warp_loops)
    if not read or not written or not is_simple or not are_merged or len(written) * copies > most_sums:
        return None
    return sum(times(access, varying, tile) for access in read) / (copies * len(read))


def times(access: ir.Access, varying: Names, tile: Mapping[str, int]) -> int:
    """How many different elements an access has in a tile."""
    used = {e.name for s in access.subscripts for e in subexprs(s) if isinstance(e, ir.Index | ir.Var)} & varying
    is_direct = used <= tile.keys() and not any(isinstance(e, ir.Load) for s in access.subscripts for e in subexprs(s))
    return prod(tile[i] for i in used) if is_direct else prod(tile.values())


def is_function(expr: ir.Expr) -> bool:
    """Whether it takes much longer than a product."""
    return isinstance(expr, ir.Apply) and effort(expr.op) != "plain"


# -- their text ----------------------------------------------------------------------------------------------
@immutable
class Tile:
    """The `body` for all iterations of a tile. `axes`: names of the index of each of its iterations along each axis,
    the loop's own first; `inside`: of whether there is one, by index. `cells` and `lets`: new names by old ones;
    `reads`: names of elements that are read once, by their arrays."""

    axes: tuple[tuple[str, ...], ...]
    inside: Mapping[str, str]
    body: tuple[ir.Stmt, ...]
    cells: Mapping[str, str]
    lets: Mapping[str, str]
    reads: Mapping[str, str]
    warp_loops: tuple[WarpLoop, ...]


def untiled(launch: Launch, body: tuple[ir.Stmt, ...], indices: tuple[str, ...]) -> Tile:
    """A tile of one iteration, which is the `body` of a launch."""
    cells = dict(zip(launch.cells, launch.cells, strict=True))
    return Tile(tuple((i,) for i in indices), {}, body, cells, {}, {}, launch.warp_loops)


def jam(launch: Launch, grid: Grid, names: NameSupply) -> Tile:
    """The tile of a launch, with fresh names for what each of its iterations has."""
    indices = [a.loop.index for a in grid.axes]
    axes = tuple((i, *(names.fresh(i) for _ in range(n - 1))) for i, n in zip(indices, launch.tile, strict=True))
    inside = {name: names.fresh(f"is_{name}") for axis in axes for name in axis[1:]}
    varying = varying_names(launch, frozenset(i for i, size in zip(indices, launch.tile, strict=True) if size > 1))
    cells: dict[str, str] = {c: c for c in launch.cells}
    lets: dict[str, str] = {}
    copies: list[Copy] = []
    for chosen in product(*axes):
        is_first = chosen == tuple(indices)
        new = {} if is_first else {n: names.fresh(n) for n in sorted(varying - set(indices))}
        cells |= {new[c]: c for c in launch.cells if c in new}
        lets |= {new[n]: n for n in new if n not in launch.cells}
        guards = tuple(ir.Var(inside[i]) for i in chosen if i in inside)
        copies.append(Copy({**dict(zip(indices, chosen, strict=True)), **new}, guards))
    jammer = Jammer(copies, varying, frozenset(launch.cells), names)
    body = jammer.block(launch.body)
    shared = tuple(jammer.shared(w) for w in launch.warp_loops)
    return Tile(axes, inside, body, cells, lets, jammer.reads, shared)


@immutable
class Copy:
    """One iteration of a tile: names of its indices, and of its cells and Lets, by the old ones. It is there if the
    `guards` hold."""

    names: Mapping[str, str]
    guards: tuple[ir.Expr, ...]


@immutable
class Jammer:
    """Puts the iterations of a tile together: loops and branches that are the same for all of them once. `reads`
    collects names of elements, by their arrays, `joined` the new loops, by their indices."""

    copies: list[Copy]
    varying: Names
    cells: Names
    names: NameSupply
    reads: dict[str, str] = field(default_factory=dict)
    joined: dict[str, ir.Loop] = field(default_factory=dict)

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(new for stmt in body for new in self.stmt(stmt))

    def stmt(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Loop(body=body) if is_same(stmt, self.varying):
                new = self.joined[stmt.index] = replace(stmt, body=self.without_repeats(self.block(body)))
                yield new
            case ir.If() if is_same(stmt, self.varying):
                yield map_blocks(self.block, stmt)
            case ir.Let(name=name) if name not in self.varying:
                yield stmt
            case _:
                is_seen = any(s.target.array not in self.cells for s in writes(stmt))
                for copy in self.copies:
                    (new,) = renamed_names((stmt,), copy.names)
                    yield ir.If(all_of(copy.guards), (new,), (), loc=stmt.loc) if is_seen and copy.guards else new

    def without_repeats(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """The statements of a loop that writes no arrays, with each element read once that is read in any case."""
        if any(isinstance(s, ir.Loop | ir.If) for s in body):
            return body
        reader = Reader(self.cells, self.names, self.reads)
        for stmt in body:
            reader.statement(stmt)
        return tuple(reader.body)

    def shared(self, spread: WarpLoop) -> WarpLoop:
        """A loop that lanes share, with what they sum for all iterations of the tile."""
        sums: tuple[tuple[str, ir.AccumulateOp], ...] = tuple(
            (c.names.get(n, n), op) for n, op in spread.sums for c in self.copies
        )
        assert len(dict(sums)) == len(sums)  # what a grid sums is summed elsewhere
        return WarpLoop(self.joined[spread.loop.index], sums)


@immutable
class Reader:
    """Writes statements to `body` that read each element once. `known` are names of those read, `same` names of Lets
    that have no other value."""

    cells: Names
    names: NameSupply
    reads: dict[str, str]
    body: list[ir.Stmt] = field(default_factory=list)
    known: dict[ir.Expr, str] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)

    def statement(self, stmt: ir.Stmt) -> None:
        new = map_stmt_exprs(lambda e: self.once(e, is_certain=True), stmt)
        match new:
            case ir.Let(name=name, value=ir.Var(name=other)):
                self.same[name] = other
            case _:
                self.body.append(new)

    def once(self, expr: ir.Expr, *, is_certain: bool) -> ir.Expr:
        """An expression with names instead of elements; those that may not be there are read where they are asked
        for."""
        match expr:
            case ir.Var(name=name):
                return replace(expr, name=self.same.get(name, name))
            case ir.Select(cond=cond, then=then, orelse=orelse):
                first = self.once(cond, is_certain=is_certain)
                return rebuild(expr, (first, *(self.once(e, is_certain=False) for e in (then, orelse))))
            case ir.Apply(op=Op.AND | Op.OR, args=(left, *rest)):
                first = self.once(left, is_certain=is_certain)
                return rebuild(expr, (first, *(self.once(e, is_certain=False) for e in rest)))
            case _:
                parts = tuple(self.once(e, is_certain=is_certain) for e in operands(expr))
                new = rebuild(expr, parts) if parts else expr
                return self.element(new, is_certain) if isinstance(new, ir.Load) and new.access.subscripts else new

    def element(self, load: ir.Load, is_certain: bool) -> ir.Expr:
        parts = (e for s in load.access.subscripts for e in subexprs(s))
        is_chosen = any(isinstance(e, ir.Load) and not e.access.subscripts for e in parts)  # by a cell, which changes
        if is_chosen or (load not in self.known and not is_certain):
            return load
        if load not in self.known:
            self.known[load] = self.names.fresh(f"{load.access.array}_value")
            self.reads[self.known[load]] = load.access.array
            self.body.append(ir.Let(self.known[load], load))
        return ir.Var(self.known[load])


def writes(stmt: ir.Stmt) -> list[ir.Assign | ir.Accumulate]:
    return [s for s in all_statements((stmt,)) if isinstance(s, ir.Assign | ir.Accumulate)]


def varying_names(launch: Launch, indices: Names) -> Names:
    """Cells, Lets and the `indices` whose values are not the same in all iterations of a tile."""
    varying = indices | frozenset(launch.cells)
    lets = [s for s in all_statements(launch.body) if isinstance(s, ir.Let)]
    while True:
        found = varying | {s.name for s in lets if names_used((s.value,)) & varying}
        if found == varying:
            return varying
        varying = found


def is_same(stmt: ir.Loop | ir.If, varying: Names) -> bool:
    """Whether all iterations of a tile go the same way."""
    return not names_used(stmt_exprs(stmt)) & varying


def merged_loops(body: tuple[ir.Stmt, ...], varying: Names) -> Iterator[ir.Loop]:
    """The loops that all iterations of a tile go through together."""
    for stmt in body:
        match stmt:
            case ir.Loop(body=inner) if is_same(stmt, varying):
                yield stmt
                yield from merged_loops(inner, varying)
            case ir.If() if is_same(stmt, varying):
                yield from merged_loops(children(stmt), varying)
            case _:
                pass
