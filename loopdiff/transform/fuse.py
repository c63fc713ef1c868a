"""Fusion: neighbouring nests that touch the same arrays run row by row together, while the rows are in cache.

    for i in range(1, N):                        for i in range(1, N):
        for j: e[i, j] -= h[i, j] - h[i - 1, j]      for j: e[i, j] -= h[i, j] - h[i - 1, j]
    for i in range(N - 1):             becomes       for j: h[i - 1, j] -= e[i, j] - e[i - 1, j]
        for j: h[i, j] -= e[i + 1, j] - e[i, j]

A nest follows as many rows behind as its dependences on those before it ask for (loop shifting: Darte and Huard, "Loop
shifting for loop compaction", LCPC 1999). Rows that not all of the nests have are left out by conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from loopdiff.analysis.legality import commute, overtakes, within
from loopdiff.analysis.polyhedra import Model, build_model
from loopdiff.analysis.polyhedra_events import Event
from loopdiff.ir.build import compare, integer, is_constant, parted, shifted, sub
from loopdiff.ir.nodes import (
    Accumulate,
    Apply,
    Assign,
    Expr,
    If,
    Index,
    Let,
    Load,
    Loop,
    LoopSet,
    Stmt,
    Var,
)
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import (
    Path,
    accesses,
    children,
    read_arrays,
    statements,
    subexprs,
    written_arrays,
)
from loopdiff.names import NameSupply
from loopdiff.transform.contractions import contraction
from loopdiff.transform.normalize import cell_types, supply
from loopdiff.transform.rename import renamed
from loopdiff.transform.strides import stride_of

NONE: frozenset[str] = frozenset()
MOST_BEHIND = 2
MOST_ARRAYS = 12  # streams that a processor follows at once


def fuse(ls: LoopSet, *, is_strict: bool = False) -> LoopSet:
    """`ls` with neighbouring nests fused row by row; `is_strict`: sums keep their order."""
    if not any(has_neighbours(body, ls) for body in bodies(ls)):
        return ls
    fuser = Fuser(build_model(ls), supply(ls), is_strict)
    return replace(ls, body=fuser.block(ls.body, ()))


def bodies(ls: LoopSet) -> Iterable[tuple[Stmt, ...]]:
    yield ls.body
    for site in statements(ls.body):
        if isinstance(site.stmt, Loop):
            yield site.stmt.body


def has_neighbours(body: tuple[Stmt, ...], ls: LoopSet) -> bool:
    return any(is_row_nest(a, ls) and is_row_nest(b, ls) for a, b in pairwise(body))


def is_row_nest(stmt: Stmt, ls: LoopSet) -> bool:
    """Whether `stmt` is a loop over rows: its innermost loops move along rows of all that they touch."""
    if not isinstance(stmt, Loop) or not is_constant(stmt.step, 1) or contraction(stmt) is not None:
        return False
    if any(isinstance(e, Load | Var) for b in (stmt.lower, stmt.upper) for e in subexprs(b)):
        return False
    sites = list(statements(stmt.body))
    if not stmt.body or not all(isinstance(s, Loop) or is_choice_of_rows(s) for s in stmt.body):
        return False
    if not all(isinstance(s.stmt, Loop | If | Let | Assign | Accumulate) for s in sites):
        return False
    inner = [
        s
        for s in sites
        if isinstance(s.stmt, Loop) and not any(isinstance(c.stmt, Loop) for c in statements(s.stmt.body))
    ]
    if not all(is_choice_of_rows(e) for s in inner for e in s.enclosing if isinstance(e, If)):
        return False
    if any(isinstance(s.stmt, Loop) and contraction(s.stmt) is not None for s in sites):
        return False
    return all(isinstance(s.stmt, Loop) and is_smooth(s.stmt, ls) for s in inner)


def is_choice_of_rows(stmt: Stmt) -> bool:
    """Whether `stmt` is a condition on indices and extents alone, around loops."""
    if not isinstance(stmt, If) or any(isinstance(e, Load | Var) for e in subexprs(stmt.cond)):
        return False
    return any(isinstance(s.stmt, Loop) for s in statements(children(stmt)))


def is_smooth(loop: Loop, ls: LoopSet) -> bool:
    """Whether the innermost `loop` moves along rows of all that it touches."""
    found = [stride_of(a, loop.index, NONE, ls) for s in statements(loop.body) for a in accesses(s.stmt)]
    return "unit" in found and all(s in ("unit", "uniform") for s in found)


@dataclass(frozen=True, slots=True)
class Member:
    """A loop of a group, `behind` by so many iterations."""

    loop: Loop
    path: Path
    behind: int


@dataclass(frozen=True, slots=True)
class Fuser:
    model: Model
    names: NameSupply
    is_strict: bool

    def block(self, body: tuple[Stmt, ...], prefix: Path) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        group: list[Member] = []
        for number, stmt in enumerate(body):
            path = (*prefix, number)
            if isinstance(stmt, Loop) and is_row_nest(stmt, self.model.ls):
                behind = self.behind(group, stmt, path) if group else 0
                if behind is None:
                    out += self.together(group)
                    group, behind = [], 0
                group.append(Member(stmt, path, behind))
                continue
            out += self.together(group)
            group = []
            out.append(replace(stmt, body=self.block(stmt.body, path)) if isinstance(stmt, Loop) else stmt)
        return (*out, *self.together(group))

    def behind(self, group: list[Member], loop: Loop, path: Path) -> int | None:
        """How far behind the first of the group `loop` may go along with it; None if it may not, or gains nothing."""
        bodies = [m.loop.body for m in group]
        before = frozenset[str]().union(*(read_arrays(b) | written_arrays(b) for b in bodies))
        own = read_arrays(loop.body) | written_arrays(loop.body)
        cells = frozenset(cell_types(self.model.ls))
        if not before & own or len((before | own) - cells) > MOST_ARRAYS:
            return None
        most, found = max(m.behind for m in group) + MOST_BEHIND, 0
        for member in group:
            for first, second in self.conflicts(member, path):
                while overtakes(self.model, first, second, found - member.behind):
                    found += 1
                    if found > most:
                        return None
        return found

    def conflicts(self, member: Member, path: Path) -> Iterator[tuple[Event, Event]]:
        """Accesses of a loop of the group, and of the loop at `path`, that have to keep their order."""
        for first in within(self.model, member.path):
            for second in within(self.model, path):
                if first.access.array != second.access.array or not (first.is_write or second.is_write):
                    continue
                if self.is_strict or not commute(first, second):
                    yield first, second

    # -- the new loop ----------------------------------------------------------------------------------------
    def together(self, group: list[Member]) -> tuple[Stmt, ...]:
        """One loop for all of a group."""
        if len(group) < 2:
            return tuple(replace(m.loop, body=self.block(m.loop.body, m.path)) for m in group)
        index = self.names.fresh(group[0].loop.index)
        lowers = [shifted(m.loop.lower, m.behind) for m in group]
        uppers = [shifted(m.loop.upper, m.behind) for m in group]
        lower, upper = hull(Op.MIN, lowers), hull(Op.MAX, uppers)
        body: list[Stmt] = []
        for member, first, last in zip(group, lowers, uppers, strict=True):
            row = sub(Index(index), integer(member.behind))
            rows = tuple(renamed(s, {Index(member.loop.index): row}) for s in member.loop.body)
            limits = [compare(Op.GE, Index(index), first)] if first != lower else []
            limits += [compare(Op.LT, Index(index), last)] if last != upper else []
            if limits:
                cond = limits[0] if len(limits) == 1 else Apply(Op.AND, tuple(limits))
                rows = (If(cond, rows, loc=member.loop.loc),)
            body += rows
        return (Loop(index, lower, upper, integer(1), tuple(body), loc=group[0].loop.loc),)


def hull(op: Op, bounds: list[Expr]) -> Expr:
    """The least, or greatest, of the bounds."""
    choose = min if op is Op.MIN else max
    offsets: dict[Expr, int] = {}
    for base, offset in map(parted, bounds):
        offsets[base] = choose(offsets.get(base, offset), offset)
    distinct = tuple(shifted(base, offset) for base, offset in offsets.items())
    return distinct[0] if len(distinct) == 1 else Apply(op, distinct)
