"""Outer-loop vectorization: a loop that is independent but for private buffers becomes the lanes around its nests.

    for i in range(n):                      for i0 in range(0, n, 32):
        for a in range(d):                      for i in lanes:
            s = c[a] * x[i, a]                      for a in range(d):
            for b in range(a):        becomes           s = c[a] * x[i, a]
                s += l[a, b] * y[b]                     for b in range(a):
            y[a] = s                                        s += l[a, b] * y_lanes[b, i - i0]
                                                        y_lanes[a, i - i0] = s

Independent iterations may run side by side, so this is always allowed where their own buffers get an axis more; that is
the last, so that lanes lie side by side. Scalars stay in registers. Worth it where the nests inside make no vectors:
loops whose number of iterations is that of another loop (outer-loop vectorization: Nuzman and Zaks, PACT 2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.analysis.privatization import Names, Privates, find_privates, span
from loopdiff.analysis.recurrences import hands_on
from loopdiff.analysis.repeated_stores import conflicts
from loopdiff.analysis.strides import stride_of, varying_names
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, is_unit_step, nested, over_elements, zero
from loopdiff.ir.names import NameSupply
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import (
    Path,
    accesses,
    all_statements,
    loops_of,
    map_accesses,
    statements,
    subexprs,
    written_arrays,
)
from loopdiff.mapping.lane_blocks import FEW, LaneBlock
from loopdiff.mapping.loops import Mapping, VectorLoop
from loopdiff.model import tuning
from loopdiff.passes.loops.distribution import tidied, upright
from loopdiff.schedule.cpu.planner import Planner
from loopdiff.settings.requests import Requests

ONE = integer(1)


def widen_lanes(
    ls: ir.LoopSet, dead: Names, names: NameSupply, lanes: int, requests: Requests
) -> tuple[ir.LoopSet, Names]:  # fmt: skip
    """`ls` with independent outer loops in blocks of `lanes`, where the loops inside make no vectors, and the indices
    of the loops over lanes. Loops that `requests` want in no blocks stay as they are.

    `dead` are the arrays whose contents nobody looks at after the function. New local arrays, the last of the result's
    and allocated where it begins, hold the lanes of a block.
    """
    if not has_lanes(ls, dead) or not has_independent_lanes(tidied(ls), dead):
        return ls, frozenset()
    tidy = upright(ls)
    widener = Widener(Planner.of(build_model(tidy)), dead, names, lanes, requests, [], set())
    body = tuple(widener.visit(s, (k,)) for k, s in enumerate(tidy.body))
    if not widener.indices:
        return ls, frozenset()
    fresh = tuple(ir.Allocate(a.name) for a in widener.buffers)
    wide = replace(tidy, arrays=(*ls.arrays, *widener.buffers), body=(*fresh, *body))
    return wide, frozenset(widener.indices)


def has_lanes(ls: ir.LoopSet, dead: Names) -> bool:
    """Whether there is a loop that may become lanes, if no more than these arrays are `dead`."""
    return any(True for _ in candidates(ls, dead))


def candidates(ls: ir.LoopSet, dead: Names) -> Iterator[tuple[ir.Loop, Path]]:
    """The loops that may become lanes, as far as their text says."""
    for site in statements(ls.body):
        stmt = site.stmt
        if may_be_lanes(stmt, ls, dead) and not conflicts(stmt, dead) and not lies_apart(stmt, ls):
            yield stmt, site.path


def has_independent_lanes(ls: ir.LoopSet, dead: Names) -> bool:
    """Whether iterations of such a loop are independent, but for arrays that each may have for itself."""
    model = build_model(ls)
    return any(find_privates(model, dead, p, path) is not None for p, path in candidates(ls, dead))


def lies_apart(loop: ir.Loop, ls: ir.LoopSet) -> bool:
    """Whether loops are around triangles whose elements mostly lie apart from lane to lane: then lanes gain nothing."""
    return has_triangles(loop) and not stays_close(loop, ls)


def stays_close(loop: ir.Loop, ls: ir.LoopSet) -> bool:
    """Whether most accesses of the deepest statements stay, or move by one element, from lane to lane."""
    sites = [s for s in statements(loop.body) if isinstance(s.stmt, ir.Assign | ir.Accumulate)]
    depth = max((len(s.loops) for s in sites), default=0)
    varying = varying_names(loop)
    found: list[str] = []
    for site in (s for s in sites if len(s.loops) == depth):
        strides = [stride_of(a, loop.index, varying, ls) for a in accesses(site.stmt)]
        found += [s for s in strides if s in ("strided", "indexed")]
    return len(found) <= sum(len(s.loops) == depth for s in sites)


def may_be_lanes(stmt: ir.Stmt, ls: ir.LoopSet, dead: Names) -> TypeGuard[ir.Loop]:
    """Whether `stmt` is a loop around triangles, or one with buffers around loops that hand on values."""
    if not isinstance(stmt, ir.Loop) or not is_candidate(stmt):
        return False
    has_own = has_buffers(stmt, ls, dead) or fills_tapes(stmt, ls)
    return has_triangles(stmt) or (has_own and any(hands_on(p, ls) for p in loops_of(stmt)))


def is_candidate(stmt: ir.Loop) -> bool:
    """Whether the iterations of a loop run through nests of the same shape."""
    if not is_unit_step(stmt):
        return False
    sites = list(statements(stmt.body))
    if any(isinstance(s.stmt, ir.Exit | ir.Require | ir.Allocate | ir.Call) for s in sites):
        return False
    defined = {s.stmt.name for s in sites if isinstance(s.stmt, ir.Let)}
    inner = [s.stmt for s in sites if isinstance(s.stmt, ir.Loop)]
    if any(s.is_conditional for s in sites if isinstance(s.stmt, ir.Loop)):
        return False
    bounds = [e for p in inner for b in (p.lower, p.upper, p.step) for e in subexprs(b)]
    is_uniform = not any(
        isinstance(e, ir.Load)
        or (isinstance(e, ir.Index) and e.name == stmt.index)
        or (isinstance(e, ir.Var) and e.name in defined)
        for e in bounds
    )
    return is_uniform and bool(inner)


def has_triangles(loop: ir.Loop) -> bool:
    """Whether loops inside of `loop` are as long as the index of another one says."""
    return any(isinstance(e, ir.Index) for p in loops_of(loop) for b in (p.lower, p.upper, p.step) for e in subexprs(b))


def has_buffers(loop: ir.Loop, ls: ir.LoopSet, dead: Names) -> bool:
    """Whether iterations write arrays that may be their own."""
    own = written_arrays(loop.body) & dead
    return any((kind := ls.array(n).type) is not None and kind.rank > 0 for n in own)


def fills_tapes(loop: ir.Loop, ls: ir.LoopSet) -> bool:
    """Whether iterations fill rows of tapes, which are laid out as lanes like them."""
    targets = [s.target for s in all_statements(loop.body) if isinstance(s, ir.Assign)]
    rows = (t for t in targets if ir.Index(loop.index) in t.subscripts[:-1])
    return any(ls.array(t.array).role == "tape" for t in rows)


@immutable
class Widener:
    planner: Planner
    dead: Names
    names: NameSupply
    lanes: int
    requests: Requests
    buffers: list[ir.ArrayDecl]
    indices: set[str]

    @property
    def model(self) -> Model:
        return self.planner.model

    def visit(self, stmt: ir.Stmt, path: Path) -> ir.Stmt:
        """`stmt` with loops that qualify in blocks: the outermost of those around triangles, the innermost of those
        around loops that hand on values."""
        if not isinstance(stmt, ir.Loop):
            return stmt
        is_wanted = self.requests.rows(stmt.index, stmt.loc.line, self.lanes) > 0
        is_wanted = is_wanted and may_be_lanes(stmt, self.model.ls, self.dead) and not self.planner.obstacle(stmt)
        made = self.in_blocks(stmt, path) if is_wanted else None
        return made or replace(stmt, body=tuple(self.visit(s, (*path, k)) for k, s in enumerate(stmt.body)))

    def in_blocks(self, loop: ir.Loop, path: Path) -> ir.Loop | None:
        """A promising loop in blocks; None if that takes longer, or if iterations conflict in more than buffers."""
        lanes = self.lanes if has_triangles(loop) else FEW
        if not (stays_close(loop, self.model.ls) if has_triangles(loop) else self.waits(loop, path)):
            return None
        own = None if conflicts(loop, self.dead) else find_privates(self.model, self.dead, loop, path)
        if own is None or not (own.arrays or fills_tapes(loop, self.model.ls)):
            return None
        return Outermost(self, loop, own, lanes).loop()

    def waits(self, loop: ir.Loop, path: Path) -> bool:
        """Whether iterations of `loop`, right around loops that hand on values, take longer one after the other than
        lanes do, though what these use lies apart; or are lanes anyway, for which tapes can be laid out."""
        if any(may_be_lanes(p, self.model.ls, self.dead) for p in loops_of(loop)):
            return False
        found: list[tuple[Path, Mapping]] = []
        best = self.planner.loop(loop, path, {}, found)
        is_vector = isinstance(dict(found).get(path), VectorLoop)
        return is_vector or tuning.LANES_GAIN * self.planner.costs.vector(loop, {}) < best


class Outermost:
    """One loop in blocks, each with buffers for its lanes."""

    def __init__(self, widener: Widener, loop: ir.Loop, own: Privates, lanes: int) -> None:
        self.widener = widener
        self.source = loop
        self.own = own
        self.start = widener.names.fresh(f"{loop.index}_block")
        self.lower, self.upper = span(loop)
        self.lanes = lanes
        self.block = LaneBlock(loop.index, self.start, lanes)
        self.arrays = {array: self.buffer(array) for array in sorted(own.arrays)}

    def loop(self) -> ir.Loop:
        body = [self.cleared(a) for a in sorted(self.own.zero)]
        body.append(self.lanes_loop(tuple(map_accesses(self.placed, s) for s in self.source.body)))
        step = integer(self.lanes)
        return ir.Loop(self.start, self.lower, self.upper, step, tuple(body), loc=self.source.loc)

    def buffer(self, array: str) -> str:
        """A new array with an element for each lane where `array` has one."""
        decl = self.widener.model.ls.array(array)
        assert decl.type is not None
        name = self.widener.names.fresh(f"{array}_lanes")
        shape = (*(decl.extents or ()), integer(self.lanes))
        self.widener.buffers.append(ir.ArrayDecl(name, ArrayType(decl.type.dtype, len(shape)), "local", shape))
        return name

    def lanes_loop(self, body: tuple[ir.Stmt, ...]) -> ir.Stmt:
        loop = self.block.loop(self.upper, body, self.source.loc)
        (made,) = renamed_block((loop,), self.widener.names)
        assert isinstance(made, ir.Loop)
        self.widener.indices.add(made.index)
        return made

    def cleared(self, array: str) -> ir.Stmt:
        decl = self.widener.model.ls.array(array)
        assert decl.type is not None
        loc = self.source.loc
        loops, place = over_elements(decl.extents or (), self.widener.names, loc=loc)
        access = ir.Access(self.arrays[array], (*place, self.block.place))
        lanes = self.lanes_loop((ir.Assign(access, zero(decl.type.element), loc=loc),))
        (nest,) = nested(loops, (lanes,))
        return nest

    def placed(self, access: ir.Access) -> ir.Access:
        """Where `access` goes in the buffers of the block; its subscripts are placed already."""
        if access.array in self.arrays:
            return replace(access, array=self.arrays[access.array], subscripts=(*access.subscripts, self.block.place))
        return access
