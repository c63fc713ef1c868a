"""First-write analysis: where an element is certainly zero, `+=` is `=`, and dead zero stores are removed.

    for i: z_adj[i] += y_adj[i]                  for i: z_adj[i] = y_adj[i]
    for i:                             becomes   for i:
        x_adj[i] += 2.0 * z_adj[i]                   x_adj[i] += 2.0 * z_adj[i]
        z_adj[i] = 0.0

Reverse sweeps are full of both: every adjoint starts at zero, and goes back to it where its array was overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from typing import Any, Generic, TypeVar

from loopdiff.analysis.exposure import is_exposed, seen_writes, visible
from loopdiff.analysis.legality import AccessKind, access_kinds, commute, conflicting_pairs, may_meet
from loopdiff.analysis.polyhedral.events import END, Event
from loopdiff.analysis.polyhedral.expressions import basic_sets, constraint, rows
from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.analysis.polyhedral.pairs import orders
from loopdiff.analysis.polyhedral.translation import PARAM
from loopdiff.analysis.privatization import Names
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, any_of, zeroed
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import Path, Site, all_statements, is_empty, map_sites, subexprs

T = TypeVar("T")
Rewrite = Callable[[ir.Stmt, Path], ir.Stmt | None]
NOTHING: Names = frozenset()
ALWAYS, NEVER = ir.Const(True, BOOL), ir.Const(False, BOOL)


def drop_zeros(ls: ir.LoopSet, dead: Names, forgotten: Names = NOTHING) -> ir.LoopSet:
    """`ls` with first writes into zeros as assignments, and without zeros that nothing reads.

    Nobody looks at the contents of the `dead` arrays before or after the function, nor at those of the `forgotten` ones
    after it.
    """
    arrays = {a.name for a in ls.arrays if a.type is not None and a.type.rank > 0}
    cleared = {found.array for s in all_statements(ls.body) if (found := zeroed(s)) is not None} & arrays
    updated = {s.target.array for s in all_statements(ls.body) if isinstance(s, ir.Accumulate) and s.op == "add"}
    if not cleared & (updated | forgotten):
        return ls
    model = build_model(ls)
    sums = (e for a in cleared & updated for e in model.touching(a, False) if e.combines == "add")
    first = {e.path for e in sums if finds_zeros(model, e) and not binds(model, e)}
    needed = needed_zeros(model, cleared, first, dead | forgotten)

    def rewrite(stmt: ir.Stmt, path: Path) -> ir.Stmt | None:
        return zero_where(stmt, needed[path]) if path in needed else assigned(stmt) if path in first else stmt

    return rewritten(ls, rewrite)


def drop_unread_zeros(ls: ir.LoopSet, arrays: Names | set[str], dead: Names | set[str]) -> ir.LoopSet:
    """`ls` without zeros in `arrays` that nothing reads; after the function somebody reads all but the `dead` ones."""
    needed = needed_zeros(build_model(ls), arrays, set(), dead)
    return rewritten(ls, lambda stmt, path: zero_where(stmt, needed[path]) if path in needed else stmt)


@immutable
class Zeros(Generic[T]):
    """Zeros in `array`, and what is left, if they are left to something else, of what writes them: the statement at
    `site`, or None for all of an array that is new."""

    array: str
    rest: tuple[T, ...]
    site: Site | None = None


def sink_zeros(
    parts: tuple[T, ...],
    zeros_in: Callable[[T], Iterable[Zeros[T]]],
    is_concerned: Callable[[T, Zeros[T]], bool],
    started: Callable[[T, Zeros[T]], tuple[T, ...] | None],
) -> tuple[T, ...]:
    """Statements, or steps, with the `zeros_in` them left to the first one after them that `is_concerned`, where this
    can be `started` at zero itself."""
    for place, part in enumerate(parts):
        for zeros in zeros_in(part):
            user = next((k for k in range(place + 1, len(parts)) if is_concerned(parts[k], zeros)), None)
            new = None if user is None else started(parts[user], zeros)
            if user is not None and new is not None:
                after = (*parts[place + 1 : user], *new, *parts[user + 1 :])
                return (*parts[:place], *sink_zeros((*zeros.rest, *after), zeros_in, is_concerned, started))
    return parts


def needed_zeros(
    model: Model, arrays: Names | set[str], first: set[Path], unseen: Names | set[str]
) -> dict[Path, ir.Expr]:
    """When something may read the zeros that a statement writes into one of `arrays`, by the path of the statement.

    The sums `first` no longer look, and nobody looks at the `unseen` arrays at the end.
    """
    found: dict[Path, ir.Expr] = {}
    for array in sorted(arrays):
        zeros = [w for w in model.touching(array, True) if is_zero_write(model, w)]
        reads = [r for r in model.touching(array, False) if not (r.combines and r.path in first)]
        left = not_seen(model, zeros, (r for r in reads if not r.is_final))
        final = [r for r in reads if r.is_final and left and array not in unseen]
        by_caller = {r: frozenset(zeros_seen(model, r)) for r in final}
        found |= dict.fromkeys((w.path for w in zeros), ALWAYS)
        found |= {w.path: seen_by_caller(model, w, [r for r in final if w in by_caller[r]]) for w in left}
    return found


def not_seen(model: Model, zeros: Iterable[Event], reads: Iterable[Event]) -> list[Event]:
    """The writes of `zeros`, all of one array, that none of `reads` may find."""
    found = tuple(reads)
    left = dict.fromkeys(w for w in zeros if not is_seen_next(model, w, found))
    first = next((w.order for w in left), (END, 0))
    for read in sorted(found, key=lambda r: r.order < first):  # most are seen soon after them, or an iteration later
        if not left:
            break
        for write in seen_writes(model, read, left.__contains__):
            left.pop(write, None)
    return list(left)


def is_seen_next(model: Model, write: Event, reads: tuple[Event, ...]) -> bool:
    """Whether the first one of `reads` that follows `write` in the text may find it, which is soon known."""
    read = next((r for r in reads if r.order > write.order), None)
    return read is not None and any(seen_writes(model, read, lambda w: w is write))


def zeros_seen(model: Model, read: Event) -> Iterator[Event]:
    """Writes of zeros that `read` may find."""
    return seen_writes(model, read, partial(is_zero_write, model))


def finds_zeros(model: Model, read: Event) -> bool:
    """Whether the sum of `read` only ever finds zeros, written before."""
    others = seen_writes(model, read, lambda w: not is_zero_write(model, w))
    return next(others, None) is None and not is_exposed(model, read)


def binds(model: Model, read: Event) -> bool:
    """Whether the sum of `read` meets others in different iterations of a loop that has nothing but sums into their
    array: as sums they may run in any order, after an assignment they may not."""
    others = [k for k in kinds_in_body(model, read.access.array) if not k.first[0] == k.last[0] == read.path]
    met = {
        read.loops[order.shared]
        for other in others
        if other.event.combines == "add"
        for a, b in ((read, other.event), (other.event, read))
        for order in orders(a, b)
        if order.is_carried and may_meet(model, a, b, order)
    }
    return any(only_sums([k.event for k in others if loop in k.event.loops]) for loop in met)


def kinds_in_body(model: Model, array: str) -> list[AccessKind]:
    """What the body does with `array`, by kinds."""

    def find() -> list[AccessKind]:
        events = (e for is_write in (True, False) for e in model.touching(array, is_write) if e.path)
        return access_kinds(model, events, (array,))[array]

    return model.cached(("kinds in body", array), find)


def only_sums(events: list[Event]) -> bool:
    """Whether accesses to one array all commute, if any of them writes."""
    return all(commute(a, b) for a, b in conflicting_pairs(events))


def seen_by_caller(model: Model, write: Event, final: list[Event]) -> ir.Expr:
    """When the caller may see what `write` wrote, in the reads `final`: a constant, or, where the function fills an
    array of the caller's but for elements beyond the extents of another one, a comparison of these extents."""
    is_start = len(write.path) == 1 and isinstance(model.sites[write.path].stmt, ir.Allocate)
    if not final or not is_start or write.access.array not in model.ls.params:
        return ir.Const(bool(final), BOOL)
    return model.bounded(lambda: beyond(model, write, final), ALWAYS)


def beyond(model: Model, write: Event, reads: list[Event]) -> ir.Expr:
    """The condition on extents under which one of `reads` sees what `write` wrote, if it is that some differ; that they
    are not negative goes without saying."""
    ways = [(read, order) for read in reads for order in orders(write, read)]
    where = reduce(lambda a, b: a.union(b), (visible(model, write, r, o).params() for r, o in ways))
    parts = [[row for row in rows(part) if involved(row) > 1] for part in basic_sets(where)]
    cond = any_of(all_of(constraint(model, row, False) for row in part) for part in parts)
    is_known = all(isinstance(e, ir.Dim | ir.Param | ir.Const | ir.Apply) for e in subexprs(cond))
    return cond if is_known else ALWAYS


def involved(row: Any) -> int:
    """How many parameters a constraint is about."""
    return sum(row.involves_dims(PARAM, k, 1) for k in range(row.dim(PARAM)))


def is_zero_write(model: Model, write: Event) -> bool:
    return zeroed(model.sites[write.path].stmt) is not None


def assigned(stmt: ir.Stmt) -> ir.Stmt:
    assert isinstance(stmt, ir.Accumulate)
    return ir.Assign(stmt.target, stmt.value, loc=stmt.loc)


def zero_where(stmt: ir.Stmt, needed: ir.Expr) -> ir.Stmt | None:
    """`stmt`, which writes zeros, as far as these are needed."""
    if needed == ALWAYS:
        return stmt
    empty = replace(stmt, fill=None) if isinstance(stmt, ir.Allocate) else None
    return empty if empty is None or isinstance(needed, ir.Const) else ir.If(needed, (stmt,), (empty,), loc=stmt.loc)


def rewritten(ls: ir.LoopSet, rewrite: Rewrite) -> ir.LoopSet:
    """`ls` with every statement but loops and conditions rewritten or left out; what is empty then goes too."""

    def statement(stmt: ir.Stmt, path: Path) -> tuple[ir.Stmt, ...]:
        if isinstance(stmt, ir.Loop | ir.If):
            return () if is_empty(stmt) else (stmt,)
        found = rewrite(stmt, path)
        return () if found is None else (found,)

    return replace(ls, body=map_sites(ls.body, statement))
