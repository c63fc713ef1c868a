"""Loop fusion of neighbouring nests that touch the same arrays, so that they share rows in cache.

    for i in range(1, N):                        for i in range(1, N):
        for j: e[i, j] -= h[i, j] - h[i - 1, j]      for j: e[i, j] -= h[i, j] - h[i - 1, j]
    for i in range(N - 1):             becomes       for j: h[i - 1, j] -= e[i, j] - e[i - 1, j]
        for j: h[i, j] -= e[i + 1, j] - e[i, j]

A nest follows as many rows behind as its dependences on those before it ask for (loop shifting: Darte and Huard, "Loop
shifting for loop compaction", LCPC 1999). Rows that not all of the nests have are left out by conditions. Rows that are
loops themselves, of planes, are fused like nests, so that what nests hand on to each other stays in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from loopdiff.analysis.contractions import contraction
from loopdiff.analysis.legality import Fusion, is_legal, keep_order, within
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.analysis.strides import stride_of
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, compare, integer, is_constant, parted, shifted, sub
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import body_at
from loopdiff.ir.typing import cell_types
from loopdiff.ir.walk import (
    Path,
    accesses,
    all_statements,
    children,
    exits,
    has_values,
    map_expr,
    map_stmt_exprs,
    statements,
    subexprs,
    touched_arrays,
    written_arrays,
)
from loopdiff.model import tuning

NONE: frozenset[str] = frozenset()
Nest = tuple[ir.Loop, Path, tuple[ir.Expr, ...]]


def fuse(
    ls: ir.LoopSet, *, is_strict: bool = False, is_deep: bool = True, waiting: frozenset[str] = NONE
) -> ir.LoopSet:  # fmt: skip
    """`ls` with neighbouring nests fused row by row, and, if `is_deep`, the loops of fused rows likewise; `is_strict`:
    sums keep their order. Nests that fill arrays `waiting` for what is added go along with any.
    """
    while any(has_neighbours(body, ls, waiting) for body in bodies(ls)):
        fuser = Fuser(build_model(ls), supply(ls), is_strict, waiting)
        body = fuser.block(ls.body, ())
        if body == ls.body:
            break
        ls = replace(ls, body=body)
        if not is_deep:
            break
    return ls


def bodies(ls: ir.LoopSet) -> Iterable[tuple[ir.Stmt, ...]]:
    yield ls.body
    for stmt in all_statements(ls.body):
        if isinstance(stmt, ir.Loop):
            yield stmt.body


def has_neighbours(body: tuple[ir.Stmt, ...], ls: ir.LoopSet, waiting: frozenset[str]) -> bool:
    nests = [(s, row_nest(s, ls) is not None) for s in body if not begins_something(s)]
    return any(
        is_nest and (is_next or (is_fill(stmt, waiting) and takes_fills(following, ls)))
        for (stmt, is_nest), (following, is_next) in pairwise(nests)
    )


def begins_something(stmt: ir.Stmt) -> bool:
    """Whether `stmt` begins an array with nothing in it, or sets a cell."""
    match stmt:
        case ir.Allocate(fill=fill):
            return fill is None
        case ir.Assign(target=target):
            return not target.subscripts
        case _:
            return False


def may_go_ahead(stmt: ir.Stmt, group: Sequence[ir.Stmt], ls: ir.LoopSet) -> bool:
    """Whether `stmt`, which begins something, may run before all of the group."""
    if not begins_something(stmt):
        return False
    own = touched_arrays((stmt,))
    if isinstance(stmt, ir.Allocate):
        extents = ls.array(stmt.array).extents or ()
        own |= {e.access.array for extent in extents for e in subexprs(extent) if isinstance(e, ir.Load)}
    return not own & touched_arrays(tuple(group))


def row_nest(stmt: ir.Stmt, ls: ir.LoopSet) -> Nest | None:
    """The loop over rows that `stmt` is, or has under a condition: with its path from there, and the condition."""
    if isinstance(stmt, ir.If) and len(stmt.then) == 1 and not stmt.orelse and is_choice_of_rows(stmt):
        found = row_nest(stmt.then[0], ls)
        return None if found is None else (found[0], (0, *found[1]), (stmt.cond, *found[2]))
    return (stmt, (), ()) if isinstance(stmt, ir.Loop) and is_row_nest(stmt, ls) else None


def is_row_nest(stmt: ir.Loop, ls: ir.LoopSet) -> bool:
    """Whether `stmt` is nothing but loops along rows of all that they touch, and choices between them."""
    if not all(isinstance(s, ir.Loop) or is_choice_of_rows(s) for s in stmt.body) or not moves_along_rows(stmt, ls):
        return False
    inner = (s for s in statements(stmt.body) if is_innermost(s.stmt))
    return all(is_choice_of_rows(e) for s in inner for e in s.enclosing if isinstance(e, ir.If))


def takes_fills(stmt: ir.Stmt, ls: ir.LoopSet) -> bool:
    """Whether `stmt` may have fills of what it adds to in its rows: it goes through rows, whatever else it does."""
    return isinstance(stmt, ir.Loop) and not exits(stmt) and moves_along_rows(stmt, ls)


def moves_along_rows(stmt: ir.Loop, ls: ir.LoopSet) -> bool:
    """Whether there are loops in `stmt`, of which the innermost move along rows of all that they touch, and none is a
    contraction."""
    if not stmt.body or not is_constant(stmt.step, 1) or has_values(stmt.lower, stmt.upper):
        return False
    sites = all_statements((stmt,))
    if not all(isinstance(s, ir.Loop | ir.If | ir.Let | ir.Assign | ir.Accumulate) for s in sites):
        return False
    if any(isinstance(s, ir.Loop) and contraction(s) is not None for s in sites):
        return False
    inner = [s for s in sites[1:] if is_innermost(s)]
    return bool(inner) and all(isinstance(s, ir.Loop) and is_smooth(s, ls) for s in inner)


def is_innermost(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Loop) and not any(isinstance(s, ir.Loop) for s in all_statements(stmt.body))


def is_choice_of_rows(stmt: ir.Stmt) -> bool:
    """Whether `stmt` is a condition on indices and extents alone, around loops."""
    if not isinstance(stmt, ir.If) or has_values(stmt.cond):
        return False
    return any(isinstance(s, ir.Loop) for s in all_statements(children(stmt)))


def is_smooth(loop: ir.Loop, ls: ir.LoopSet) -> bool:
    """Whether the innermost `loop` moves along rows of all that it touches."""
    found = [stride_of(a, loop.index, NONE, ls) for s in all_statements(loop.body) for a in accesses(s)]
    return "unit" in found and all(s in ("unit", "uniform") for s in found)


def is_fill(stmt: ir.Stmt, arrays: frozenset[str]) -> bool:
    """Whether `stmt` is a loop that does nothing but write a constant to some of `arrays`."""
    if not isinstance(stmt, ir.Loop):
        return False
    inside = all_statements(stmt.body)
    is_simple = all(
        isinstance(s, ir.Loop | ir.If) or (isinstance(s, ir.Assign) and isinstance(s.value, ir.Const)) for s in inside
    )
    return is_simple and written_arrays(stmt.body) <= arrays


@immutable
class Member:
    """A loop of a group, `behind` by so many iterations, under the conditions of `guards`."""

    stmt: ir.Stmt
    loop: ir.Loop
    path: Path
    guards: tuple[ir.Expr, ...]
    behind: int


@immutable
class Fuser:
    model: Model
    names: NameSupply
    is_strict: bool
    waiting: frozenset[str]
    known: dict[Path, dict[str, list[Event]]] = field(default_factory=dict)

    def block(self, body: tuple[ir.Stmt, ...], prefix: Path) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        group: list[Member] = []
        between: list[ir.Stmt] = []  # behind the group, or ahead of it once another joins it
        for number, stmt in enumerate(body):
            path = (*prefix, number)
            rows = row_nest(stmt, self.model.ls)
            found = rows or self.after_fills(group, stmt)
            if found is None and group and may_go_ahead(stmt, [m.stmt for m in group], self.model.ls):
                between.append(stmt)
                continue
            if found is not None:
                loop, inside, guards = found
                behind = self.behind(group, loop, (*path, *inside)) if group else 0
                out += between if behind is not None else [*self.together(group), *between]
                group, between = group if behind is not None else [], []
                group.append(Member(stmt, loop, (*path, *inside), guards, behind or 0))
                if rows is not None:
                    continue  # what follows fills by itself is the last of its group
            out += [*self.together(group), *between]
            group, between = [], []
            if found is None:
                out.append(self.inside(stmt, path))
        return (*out, *self.together(group), *between)

    def after_fills(self, group: list[Member], stmt: ir.Stmt) -> Nest | None:
        """The nest `stmt` if it goes with a group of nothing but fills, and with no other."""
        is_waiting = bool(group) and all(is_fill(m.loop, self.waiting) for m in group)
        return (stmt, (), ()) if is_waiting and isinstance(stmt, ir.Loop) and takes_fills(stmt, self.model.ls) else None

    def inside(self, stmt: ir.Stmt, path: Path) -> ir.Stmt:
        match stmt:
            case ir.Loop(body=body):
                return replace(stmt, body=self.block(body, path))
            case ir.If(then=then, orelse=()) if is_choice_of_rows(stmt):
                return replace(stmt, then=self.block(then, path))
            case _:
                return stmt

    def behind(self, group: list[Member], loop: ir.Loop, path: Path) -> int | None:
        """How far behind the first of the group `loop` may go along with it; None if it may not, or gains nothing."""
        bodies = [m.loop.body for m in group]
        before = frozenset[str]().union(*(touched_arrays(b) for b in bodies))
        own = touched_arrays(loop.body)
        cells = frozenset(cell_types(self.model.ls))
        is_gain = before & own or all(is_fill(m.loop, self.waiting) for m in group)
        if not is_gain or len((before | own) - cells) > tuning.FUSION_STREAMS:
            return None
        most, found = max(m.behind for m in group) + tuning.FUSION_LAG, 0
        for member in group:
            for first, second in self.conflicts(member, path):
                while not self.may_trail(first, second, found - member.behind):
                    found += 1
                    if found > most:
                        return None
        return found

    def held_back(self, group: list[Member]) -> list[Member]:
        """`group` with loops further behind, so that what they hand on to others is used sooner, where fewer rows are
        held at a time then.
        """
        for place in range(len(group) - 2, 0, -1):
            while group[place].behind < group[-1].behind:
                member = replace(group[place], behind=group[place].behind + 1)
                later = [*group[:place], member, *group[place + 1 :]]
                if rows_held(later) >= rows_held(group) or self.is_late(member, later[place + 1 :]):
                    break
                group = later
        return group

    def is_late(self, member: Member, others: list[Member]) -> bool:
        """Whether one of the `others`, which belong after `member`, would come to an element before it."""
        return any(
            not self.may_trail(first, second, other.behind - member.behind)
            for other in others
            for first, second in self.conflicts(member, other.path)
        )

    def may_trail(self, first: Event, second: Event, lag: int) -> bool:
        """Whether `second` finds and leaves what it should so many iterations behind `first`."""
        return is_legal(self.model, Fusion((first,), (second,), lag), is_strict=True)

    def conflicts(self, member: Member, path: Path) -> Iterator[tuple[Event, Event]]:
        """Accesses of a loop of the group, and of the loop at `path`, that have to keep their order; of those to the
        same elements one.
        """
        later = self.events(path)
        found: dict[tuple[Hashable, ...], tuple[Event, Event]] = {}
        for array, events in self.events(member.path).items():
            for first in events:
                for second in later.get(array, ()):
                    if keep_order(first, second, self.is_strict):
                        elements = (first.access, first.path, first.frame, second.access, second.path, second.frame)
                        found.setdefault(elements, (first, second))
        yield from found.values()

    def events(self, path: Path) -> dict[str, list[Event]]:
        """Accesses below the loop at `path`, by array."""
        if path not in self.known:
            self.known[path] = {}
            for event in within(self.model, path):
                self.known[path].setdefault(event.access.array, []).append(event)
        return self.known[path]

    # -- the new loop ----------------------------------------------------------------------------------------
    def together(self, group: list[Member]) -> tuple[ir.Stmt, ...]:
        """One loop for all of a group."""
        if len(group) < 2:
            return tuple(self.inside(m.stmt, m.path[: len(m.path) - len(m.guards)]) for m in group)
        group = self.held_back(group)
        index = self.names.fresh(group[0].loop.index)
        lowers = [shifted(m.loop.lower, m.behind) for m in group]
        uppers = [shifted(m.loop.upper, m.behind) for m in group]
        lower, upper = hull(Op.MIN, lowers), hull(Op.MAX, uppers)
        body: list[ir.Stmt] = []
        for member, first, last in zip(group, lowers, uppers, strict=True):
            row = sub(ir.Index(index), integer(member.behind))
            moved = body_at(member.loop, row)
            rows = tuple(map_stmt_exprs(lambda e: map_expr(with_one_constant, e), s) for s in moved)
            limits = list(member.guards)
            limits += [compare(Op.GE, ir.Index(index), first)] if first != lower else []
            limits += [compare(Op.LT, ir.Index(index), last)] if last != upper else []
            if limits:
                rows = (ir.If(all_of(limits), rows, loc=member.loop.loc),)
            body += rows
        return (ir.Loop(index, lower, upper, integer(1), tuple(body), loc=group[0].loop.loc),)


def with_one_constant(expr: ir.Expr) -> ir.Expr:
    """`expr` with the constants that are added to an index added up."""
    base, offset = parted(expr)
    return shifted(base, offset) if isinstance(base, ir.Index) else expr


def rows_held(group: list[Member]) -> int:
    """How many rows of all arrays lie between the first and the last that one iteration of the fused loop touches."""
    rows: dict[str, list[int]] = {}
    for member in group:
        for access in (a for s in all_statements(member.loop.body) for a in accesses(s)):
            for base, offset in map(parted, access.subscripts):
                if base == ir.Index(member.loop.index):
                    rows.setdefault(access.array, []).append(offset - member.behind)
    return sum(max(found) - min(found) for found in rows.values())


def hull(op: Op, bounds: list[ir.Expr]) -> ir.Expr:
    """The least, or greatest, of the bounds."""
    choose = min if op is Op.MIN else max
    offsets: dict[ir.Expr, int] = {}
    for base, offset in map(parted, bounds):
        offsets[base] = choose(offsets.get(base, offset), offset)
    distinct = tuple(shifted(base, offset) for base, offset in offsets.items())
    return distinct[0] if len(distinct) == 1 else ir.Apply(op, distinct)
