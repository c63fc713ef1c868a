"""Lanes: a loop whose iterations are independent but for buffers they use again becomes the vector around its nests.

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

from dataclasses import dataclass, replace

from loopdiff.analysis.polyhedra import Model, build_model
from loopdiff.ir.build import integer
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Allocate,
    ArrayDecl,
    Assign,
    Call,
    Const,
    Exit,
    Index,
    Let,
    Load,
    Loop,
    LoopSet,
    Require,
    Stmt,
    Var,
)
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import (
    Path,
    accesses,
    map_accesses,
    statements,
    subexprs,
)
from loopdiff.names import NameSupply
from loopdiff.requests import Requests
from loopdiff.transform.lane_blocks import LaneBlock
from loopdiff.transform.mapping import ScalarLoop
from loopdiff.transform.privates import Names, Privates, find_privates, span
from loopdiff.transform.rename import renamed_block
from loopdiff.transform.restructure import ascend
from loopdiff.transform.schedule import Planner
from loopdiff.transform.strides import stride_of, varying_names
from loopdiff.transform.sums import tidy_sums

ONE = integer(1)
FEW = 16  # lanes around loops that hand on values: as many as two or more vectors have
GAIN = 1.25  # times as fast lanes have to be there


def widen_lanes(
    ls: LoopSet, dead: Names, names: NameSupply, lanes: int, requests: Requests
) -> tuple[LoopSet, Names]:  # fmt: skip
    """`ls` with independent outer loops in blocks of `lanes`, where the loops inside make no vectors, and the indices
    of the loops over lanes. Loops that `requests` want in no blocks stay as they are.

    `dead` are the arrays whose contents nobody looks at after the function. New local arrays, the last of the result's
    and allocated where it begins, hold the lanes of a block.
    """
    if not any(is_candidate(s.stmt) for s in statements(ls.body)):
        return ls, frozenset()
    tidy = ascend(tidy_sums(ls))
    widener = Widener(Planner.of(build_model(tidy)), dead, names, lanes, requests, [], set())
    body = tuple(widener.visit(s, (k,)) for k, s in enumerate(tidy.body))
    if not widener.indices:
        return ls, frozenset()
    fresh = tuple(Allocate(a.name) for a in widener.buffers)
    wide = replace(tidy, arrays=(*ls.arrays, *widener.buffers), body=(*fresh, *body))
    return wide, frozenset(widener.indices)


def is_candidate(stmt: Stmt) -> bool:
    """Whether `stmt` is a loop whose iterations run through nests of the same shape, some of them not rectangular."""
    if not isinstance(stmt, Loop) or not is_unit(stmt):
        return False
    sites = list(statements(stmt.body))
    if any(isinstance(s.stmt, Exit | Require | Allocate | Call) for s in sites):
        return False
    defined = {s.stmt.name for s in sites if isinstance(s.stmt, Let)}
    inner = [s.stmt for s in sites if isinstance(s.stmt, Loop)]
    if any(s.is_conditional for s in sites if isinstance(s.stmt, Loop)):
        return False
    bounds = [e for p in inner for b in (p.lower, p.upper, p.step) for e in subexprs(b)]
    is_uniform = not any(
        isinstance(e, Load)
        or (isinstance(e, Index) and e.name == stmt.index)
        or (isinstance(e, Var) and e.name in defined)
        for e in bounds
    )
    return is_uniform and bool(inner)


def has_triangles(loop: Loop) -> bool:
    """Whether loops inside of `loop` are as long as the index of another one says."""
    inner = [s.stmt for s in statements(loop.body) if isinstance(s.stmt, Loop)]
    return any(isinstance(e, Index) for p in inner for b in (p.lower, p.upper, p.step) for e in subexprs(b))


def is_unit(loop: Loop) -> bool:
    return isinstance(loop.step, Const) and abs(loop.step.value) == 1


@dataclass(frozen=True, slots=True)
class Widener:
    planner: Planner
    dead: Names
    names: NameSupply
    lanes: int
    requests: Requests
    buffers: list[ArrayDecl]
    indices: set[str]

    @property
    def model(self) -> Model:
        return self.planner.model

    def visit(self, stmt: Stmt, path: Path) -> Stmt:
        """`stmt` with loops that qualify in blocks: the outermost of those around triangles, the innermost of those
        around loops that hand on values."""
        if not isinstance(stmt, Loop):
            return stmt
        is_wanted = self.requests.rows(stmt.index, stmt.loc.line, self.lanes) > 0
        is_wanted = is_wanted and is_candidate(stmt) and not self.planner.obstacle(stmt)
        if is_wanted and has_triangles(stmt) and self.is_worth_it(stmt):
            own = find_privates(self.model, self.dead, stmt, path)
            if own is not None and own.arrays:
                return Outermost(self, stmt, own, self.lanes).loop()
        inner = tuple(self.visit(s, (*path, k)) for k, s in enumerate(stmt.body))
        if inner != stmt.body:
            return replace(stmt, body=inner)
        if is_wanted and not has_triangles(stmt) and self.hands_on(stmt, path) and self.pays(stmt, path):
            own = find_privates(self.model, self.dead, stmt, path)
            if own is not None and own.arrays:
                return Outermost(self, stmt, own, FEW).loop()
        return stmt

    def hands_on(self, loop: Loop, path: Path) -> bool:
        """Whether a loop inside of `loop` runs in order: its iterations hand on values."""
        inside = [(s.stmt, (*path, *s.path)) for s in statements(loop.body) if isinstance(s.stmt, Loop)]
        return any(isinstance(self.planner.vector(p, at), ScalarLoop) for p, at in inside)

    def pays(self, loop: Loop, path: Path) -> bool:
        """Whether lanes take less time, though what they use lies apart, than one iteration after the other."""
        return GAIN * self.planner.costs.vector(loop, {}) < self.planner.loop(loop, path, {}, [])

    def is_worth_it(self, loop: Loop) -> bool:
        """Whether most accesses of the deepest statements stay, or move by one element, from lane to lane."""
        sites = [s for s in statements(loop.body) if isinstance(s.stmt, Assign | Accumulate)]
        depth = max((len(s.loops) for s in sites), default=0)
        varying = varying_names(loop)
        found: list[str] = []
        for site in (s for s in sites if len(s.loops) == depth):
            strides = [stride_of(a, loop.index, varying, self.model.ls) for a in accesses(site.stmt)]
            found += [s for s in strides if s in ("strided", "indexed")]
        return len(found) <= sum(len(s.loops) == depth for s in sites)


class Outermost:
    """One loop in blocks, each with buffers for its lanes."""

    def __init__(self, widener: Widener, loop: Loop, own: Privates, lanes: int) -> None:
        self.widener = widener
        self.source = loop
        self.own = own
        self.start = widener.names.fresh(f"{loop.index}_block")
        self.lower, self.upper = span(loop)
        self.lanes = lanes
        self.block = LaneBlock(loop.index, self.start, lanes)
        self.arrays = {array: self.buffer(array) for array in sorted(own.arrays)}

    def loop(self) -> Loop:
        body = [self.cleared(a) for a in sorted(self.own.zero)]
        body.append(self.lanes_loop(tuple(map_accesses(self.placed, s) for s in self.source.body)))
        step = integer(self.lanes)
        return Loop(self.start, self.lower, self.upper, step, tuple(body), loc=self.source.loc)

    def buffer(self, array: str) -> str:
        """A new array with an element for each lane where `array` has one."""
        decl = self.widener.model.ls.array(array)
        assert decl.type is not None
        name = self.widener.names.fresh(f"{array}_lanes")
        shape = (*(decl.extents or ()), integer(self.lanes))
        self.widener.buffers.append(ArrayDecl(name, ArrayType(decl.type.dtype, len(shape)), "local", shape))
        return name

    def lanes_loop(self, body: tuple[Stmt, ...]) -> Stmt:
        loop = self.block.loop(self.upper, body, self.source.loc)
        (made,) = renamed_block((loop,), self.widener.names)
        assert isinstance(made, Loop)
        self.widener.indices.add(made.index)
        return made

    def cleared(self, array: str) -> Stmt:
        decl = self.widener.model.ls.array(array)
        assert decl.type is not None
        extents = decl.extents or ()
        indices = [self.widener.names.fresh("d") for _ in extents]
        access = Access(self.arrays[array], (*map(Index, indices), self.block.place))
        out = self.lanes_loop((Assign(access, Const(0.0, decl.type.element), loc=self.source.loc),))
        for index, extent in reversed(list(zip(indices, extents, strict=True))):
            out = Loop(index, integer(0), extent, ONE, (out,), loc=self.source.loc)
        return out

    def placed(self, access: Access) -> Access:
        """Where `access` goes in the buffers of the block; its subscripts are placed already."""
        if access.array in self.arrays:
            return replace(access, array=self.arrays[access.array], subscripts=(*access.subscripts, self.block.place))
        return access
