"""Lanes: a loop whose iterations are independent but for buffers they use again becomes the innermost of every nest.

    for i in range(n):                      for i0 in range(0, n, 64):
        for a in range(d):                      for a in range(d):
            s = c[a] * x[i, a]                      for i in rows: s_lanes[i - i0] = c[a] * x[i, a]
            for b in range(a):        becomes       for b in range(a):
                s += l[a, b] * y[b]                     for i in rows: s_lanes[i - i0] += l[a, b] * y_lanes[b, i - i0]
            y[a] = s                                for i in rows: y_lanes[a, i - i0] = s_lanes[i - i0]

Independent iterations may run side by side in any nest, so this is always allowed where their own buffers get an axis
more; that is the last, so that the new loops are vectors. Worth it where the nests inside are none: recurrences, and
loops whose number of iterations is that of another loop (outer-loop vectorization: Nuzman and Zaks, PACT 2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from loopdiff.analysis.polyhedra import Model, build_model
from loopdiff.ir.build import add, integer, sub
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Allocate,
    Apply,
    ArrayDecl,
    Assign,
    Call,
    Const,
    Exit,
    Expr,
    If,
    Index,
    Let,
    Load,
    Loop,
    LoopSet,
    Require,
    Stmt,
    Var,
)
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import (
    Path,
    statements,
    stmt_exprs,
    subexprs,
)
from loopdiff.names import NameSupply
from loopdiff.transform.privates import Names, Privates, find_privates, mentioned, moved, span
from loopdiff.transform.rename import renamed_block
from loopdiff.transform.restructure import ascend
from loopdiff.transform.strides import stride_of, varying_names
from loopdiff.transform.sums import tidy_sums

LANES = 64
ONE = integer(1)


def sink_lanes(ls: LoopSet, dead: Names, names: NameSupply, lanes: int = LANES) -> LoopSet:
    """`ls` with independent outer loops innermost, in blocks of `lanes`, where the loops inside make no vectors.

    `dead` are the arrays whose contents nobody looks at after the function. New local arrays, the last of the result's
    and allocated where it begins, hold the lanes of a block.
    """
    if not any(is_candidate(s.stmt) for s in statements(ls.body)):
        return ls
    tidy = ascend(tidy_sums(ls))
    sinker = Sinker(build_model(tidy), type_env(tidy), dead, names, lanes, [])
    body = tuple(sinker.visit(s, (k,)) for k, s in enumerate(tidy.body))
    if not sinker.buffers:
        return ls
    fresh = tuple(Allocate(a.name) for a in sinker.buffers)
    return replace(tidy, arrays=(*ls.arrays, *sinker.buffers), body=(*fresh, *body))


def is_candidate(stmt: Stmt) -> bool:
    """Whether `stmt` is a loop whose iterations run through nests of the same shape, some of them not rectangular."""
    if not isinstance(stmt, Loop) or not is_unit(stmt):
        return False
    sites = list(statements(stmt.body))
    if any(isinstance(s.stmt, Exit | Require | Allocate | Call) for s in sites):
        return False
    defined = {s.stmt.name for s in sites if isinstance(s.stmt, Let)}
    inner = [s.stmt for s in sites if isinstance(s.stmt, Loop)]
    if any(any(isinstance(e, If) for e in s.enclosing) for s in sites if isinstance(s.stmt, Loop)):
        return False
    bounds = [e for p in inner for b in (p.lower, p.upper, p.step) for e in subexprs(b)]
    is_uniform = not any(
        isinstance(e, Load)
        or (isinstance(e, Index) and e.name == stmt.index)
        or (isinstance(e, Var) and e.name in defined)
        for e in bounds
    )
    return is_uniform and any(isinstance(e, Index) for e in bounds)


def is_unit(loop: Loop) -> bool:
    return isinstance(loop.step, Const) and abs(loop.step.value) == 1


@dataclass(frozen=True, slots=True)
class Sinker:
    model: Model
    types: TypeEnv
    dead: Names
    names: NameSupply
    lanes: int
    buffers: list[ArrayDecl]

    def visit(self, stmt: Stmt, path: Path) -> Stmt:
        """The outermost candidate in `stmt` that qualifies, sunk."""
        if not isinstance(stmt, Loop):
            return stmt
        if is_candidate(stmt) and self.is_worth_it(stmt):
            own = find_privates(self.model, self.dead, stmt, path)
            if own is not None and own.arrays:
                return Sinking(self, stmt, path, own).loop()
        return replace(stmt, body=tuple(self.visit(s, (*path, k)) for k, s in enumerate(stmt.body)))

    def is_worth_it(self, loop: Loop) -> bool:
        """Whether most accesses of the deepest statements stay, or move by one element, from lane to lane."""
        sites = [s for s in statements(loop.body) if isinstance(s.stmt, Assign | Accumulate)]
        depth = max((len(s.loops) for s in sites), default=0)
        varying = varying_names(loop)
        found: list[str] = []
        for site in (s for s in sites if len(s.loops) == depth):
            assert isinstance(site.stmt, Assign | Accumulate)
            accesses = [e.access for x in stmt_exprs(site.stmt) for e in subexprs(x) if isinstance(e, Load)]
            strides = [stride_of(a, loop.index, varying, self.model.ls) for a in (site.stmt.target, *accesses)]
            found += [s for s in strides if s in ("strided", "indexed")]
        return len(found) <= sum(len(s.loops) == depth for s in sites)


class Sinking:
    """One loop made innermost."""

    def __init__(self, sinker: Sinker, loop: Loop, path: Path, own: Privates) -> None:
        self.sinker = sinker
        self.source = loop
        self.path = path
        self.own = own
        self.start = sinker.names.fresh(f"{loop.index}_block")
        self.lower, self.upper = span(loop)
        self.place = sub(Index(loop.index), Index(self.start))
        self.arrays: dict[str, str] = {}
        self.cells: dict[str, Access] = {}
        self.lets: dict[str, Access] = {}

    def loop(self) -> Loop:
        groups = list(self.groups(self.source.body))
        self.expand(groups)
        body = [self.cleared(a) for a in sorted(self.own.zero)]
        body += self.block(self.source.body)
        step = integer(self.sinker.lanes)
        return Loop(self.start, self.lower, self.upper, step, tuple(body), loc=self.source.loc)

    # -- buffers ---------------------------------------------------------------------------------------------
    def groups(self, body: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
        """Runs of statements that share a loop over the lanes."""
        run: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Loop):
                yield tuple(run)
                run = []
                yield from self.groups(stmt.body)
            else:
                run.append(stmt)
        yield tuple(run)

    def expand(self, groups: list[tuple[Stmt, ...]]) -> None:
        """Buffers for the lanes of a block: of arrays, and of cells and Lets that more than one group uses."""
        ls, users = self.sinker.model.ls, dict[str, set[int]]()
        for number, group in enumerate(groups):
            for name in mentioned(group):
                users.setdefault(name, set()).add(number)
        for array in sorted(self.own.arrays):
            self.arrays[array] = self.buffer(array, ls.array(array), ls.array(array).extents or ())
        for cell in sorted(self.own.homes):
            if len(users.get(cell, ())) > 1:
                self.cells[cell] = Access(self.buffer(cell, ls.array(cell), ()), (self.place,))
        for site in statements(self.source.body):
            if isinstance(site.stmt, Let) and len(users.get(site.stmt.name, ())) > 1:
                kind = ArrayType(type_of(site.stmt.value, self.sinker.types).value, 0)
                decl = ArrayDecl(site.stmt.name, kind)
                self.lets[site.stmt.name] = Access(self.buffer(site.stmt.name, decl, ()), (self.place,))

    def buffer(self, stem: str, decl: ArrayDecl, extents: tuple[Expr, ...]) -> str:
        assert decl.type is not None
        name = self.sinker.names.fresh(f"{stem}_lanes")
        shape = (*extents, integer(self.sinker.lanes))
        self.sinker.buffers.append(ArrayDecl(name, ArrayType(decl.type.dtype, len(shape)), "local", shape))
        return name

    # -- nests -----------------------------------------------------------------------------------------------
    def lanes_loop(self, body: tuple[Stmt, ...]) -> Stmt:
        stop = Apply(Op.MIN, (add(Index(self.start), integer(self.sinker.lanes)), self.upper))
        loop = Loop(self.source.index, Index(self.start), stop, ONE, body, loc=body[0].loc)
        return renamed_block((loop,), self.sinker.names)[0]

    def cleared(self, array: str) -> Stmt:
        decl = self.sinker.model.ls.array(array)
        assert decl.type is not None
        extents = decl.extents or ()
        indices = [self.sinker.names.fresh("d") for _ in extents]
        access = Access(self.arrays[array], (*map(Index, indices), self.place))
        out = self.lanes_loop((Assign(access, Const(0.0, decl.type.element), loc=self.source.loc),))
        for index, extent in reversed(list(zip(indices, extents, strict=True))):
            out = Loop(index, integer(0), extent, ONE, (out,), loc=self.source.loc)
        return out

    def block(self, body: tuple[Stmt, ...]) -> list[Stmt]:
        out: list[Stmt] = []
        run: list[Stmt] = []
        for stmt in (*body, None):
            if stmt is not None and not isinstance(stmt, Loop):
                run.append(stmt)
                continue
            if run:
                out.append(self.lanes_loop(tuple(self.in_lanes(run))))
                run = []
            if isinstance(stmt, Loop):
                out.append(replace(stmt, body=tuple(self.block(stmt.body))))
        return out

    def in_lanes(self, run: list[Stmt]) -> Iterator[Stmt]:
        """Statements of one lane on the buffers; a Let that other groups use is kept for them."""
        here = {s.name for s in run if isinstance(s, Let)}
        for stmt in run:
            yield from moved(stmt, self.placed, self.lets, here)

    def placed(self, access: Access) -> Access:
        """Where `access` goes in the buffers of the block; its subscripts are placed already."""
        if access.array in self.cells:
            return self.cells[access.array]
        if access.array in self.arrays:
            return replace(access, array=self.arrays[access.array], subscripts=(*access.subscripts, self.place))
        return access
