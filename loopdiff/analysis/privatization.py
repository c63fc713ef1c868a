"""Privatization: buffers that would carry no value between iterations if each iteration had its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from loopdiff.analysis.exposure import depth_of, exposed, follows, visible
from loopdiff.analysis.legality import AnyOrder, violation, within
from loopdiff.analysis.ownership import homes_of_cells
from loopdiff.analysis.polyhedral.events import EVERYWHERE, Event, known_extents
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.analysis.polyhedral.pairs import ordered, orders
from loopdiff.analysis.polyhedral.sets import bounded_below, translation
from loopdiff.analysis.polyhedral.terms import constant_terms
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_zero, shifted, zeroed
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.walk import Path, map_accesses, map_expr, map_stmt_exprs

Names = frozenset[str]


@immutable
class Privates:
    """`homes`: cells, with the loop whose iterations own them; `arrays` that each iteration fills anew, or, those in
    `zero`, finds all zero.
    """

    homes: Mapping[str, Path]
    arrays: Names
    zero: Names

    @property
    def names(self) -> Names:
        return frozenset(self.homes) | self.arrays


def find_privates(
    model: Model, dead: Names, loop: ir.Loop, path: Path, apart: Names = frozenset()
) -> Privates | None:  # fmt: skip
    """Of the iterations of the loop at `path`, as far as they conflict; None if other arrays make them conflict.

    Nobody looks at the contents of the `dead` arrays before or after the function. Iterations are known to touch those
    that are `apart` in different places.
    """
    homes = homes_of_cells(model, path)
    arrays = conflicting(model, dead, path, frozenset(homes) | apart)
    if arrays is None:
        return None
    unfilled = {e.access.array for e in within(model, path) if e.access.array in arrays and is_unfilled(model, e, path)}
    if not all(is_zero_at_entry(model, n, path) for n in unfilled):
        return None
    return Privates(homes, arrays, frozenset(unfilled))


def conflicting(model: Model, dead: Names, path: Path, own: Names) -> Names | None:
    """The arrays that make iterations conflict of the loop at `path`, which have the cells `own` for themselves; None
    if they are not all `dead` and used there alone."""
    arrays: set[str] = set()
    while (conflict := violation(model, AnyOrder(path, own | arrays))) is not None:
        if conflict.array in arrays or conflict.array not in dead or not is_inside(model, conflict.array, path):
            return None
        arrays.add(conflict.array)
    return frozenset(arrays)


def is_inside(model: Model, array: str, path: Path) -> bool:
    """Whether nothing but an Allocate touches the local `array` outside the loop at `path`."""
    decl = model.ls.array(array)
    if decl.type is None or decl.type.rank == 0 or decl.extents is None:
        return False
    events = (e for e in model.events if e.access.array == array and not e.is_final)
    outside = [e for e in events if e.path[: len(path)] != path]
    return all(e.path and isinstance(model.sites[e.path].stmt, ir.Allocate) for e in outside)


def is_unfilled(model: Model, event: Event, path: Path) -> bool:
    """Whether `event` is a read that may see what its iteration of the loop at `path` has not written."""

    def search() -> bool:
        found = exposed(model, event, depth_of(model, path))
        return not found.is_empty() and not in_range(model, event, found).is_empty()

    return not event.is_write and model.bounded(search, True)


def in_range(model: Model, event: Event, found: Any) -> Any:
    """`found`, a set or map of instances, where the array of `event` has the elements at subscripts that are constants:
    such a subscript says of extents what no other one does, as that `a[0]` is read of no array without elements.
    """
    for term, extent in zip(
        event.subscripts, known_extents(model.terms, event.access.array, len(event.subscripts)), strict=True
    ):
        least = constant_terms(term)
        if least is not None and least >= 0 and extent is not None:
            there = ir.Apply(Op.GT, (extent, ir.Const(least, INT)))
            where = bounded_below(model, translation(model, EVERYWHERE).truth(there)).params()
            found = found.intersect_params(where)
    return found


def is_zero_at_entry(model: Model, array: str, path: Path) -> bool:
    """Whether each iteration of the loop at `path` finds only zeros: those of an Allocate before it, or of clears."""
    level, is_filled = depth_of(model, path), False
    for event in model.touching(array, True):
        site = model.sites[event.path]
        stmt = site.stmt
        if isinstance(stmt, ir.Allocate):
            if not is_zero(stmt.fill):
                return False
            is_filled = is_filled or follows(site, path)
        elif zeroed(stmt) is None and is_seen_later(model, event, level):
            return False
    return is_filled


def is_seen_later(model: Model, write: Event, level: int) -> bool:
    """Whether in another iteration of the `level` outermost loops something may come of what `write` wrote: it is read,
    or added to and then read. What is only added to again and again may be any number."""
    reads = [r for r in model.touching(write.access.array, False) if not r.is_final]

    def search() -> bool:
        return any(
            is_used(model, read, reads, visible(model, write, read, order), level)
            for read in reads
            for order in orders(write, read)
            if order.shared < level
        )

    return model.bounded(search, True)


def is_used(model: Model, read: Event, reads: list[Event], pairs: Any, level: int) -> bool:
    """Whether `read` is no part of an addition, or one of `reads` that is none may come to its element later in the
    same iteration of the `level` outermost loops, for any of `pairs` of a write and `read`."""
    if pairs.is_empty() or read.combines is None:
        return not pairs.is_empty()
    added = pairs.range()
    return any(
        not ordered(model, read, later, order).intersect_domain(added).is_empty()
        for later in reads
        if later.combines is None
        for order in orders(read, later, level)
    )


def span(loop: ir.Loop) -> tuple[ir.Expr, ir.Expr]:
    """The least index and the one after the greatest."""
    if isinstance(loop.step, ir.Const) and loop.step.value == -1:
        return shifted(loop.upper, 1), shifted(loop.lower, 1)
    return loop.lower, loop.upper


# -- statements on the buffers of a block --------------------------------------------------------------------
def moved(
    stmt: ir.Stmt, placed: Callable[[ir.Access], ir.Access], kept: Mapping[str, ir.Access], defined: Collection[str]
) -> Iterator[ir.Stmt]:
    """`stmt` with every access where it is `placed`. Lets that are `kept` in a buffer are read there, unless they are
    `defined` beside the statement, and stored there where they are.
    """

    def read(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Var(name=name) if name in kept and name not in defined:
                return ir.Load(kept[name], loc=expr.loc)
            case _:
                return expr

    new = map_stmt_exprs(lambda e: map_expr(read, e), map_accesses(placed, stmt))
    yield new
    if isinstance(new, ir.Let) and new.name in kept:
        yield ir.Assign(kept[new.name], ir.Var(new.name), loc=new.loc)
