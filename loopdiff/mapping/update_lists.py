"""Update lists: data-dependent scatters as lists of (element, value), sorted by element and added up without atomics.

    for p in range(n):                          for p in range(n): places[p], values[p] = index[p], v
        y[index[p]] += v        becomes         sort by place, equal ones as they came
                                                each run of equal places: y[place] += the sum of its values

What is added to an element is added in one order, whatever thread does it, and no array is copied. That pays where an
iteration updates few elements of many; where its loops sweep over all of them, threads sum into copies. A list has room
for the most updates that there can be where that is known beforehand, and then so many iterations are listed at a time
that the list stays in the cache while it is sorted; or else they are counted first. Updates of whole rows are listed as
one, with one place, be that in a loop or by threads side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopdiff.analysis.polyhedral.model import trip_count
from loopdiff.analysis.strides import is_varying, varying_names
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, extents_of, integer, mul, natural
from loopdiff.ir.walk import (
    Site,
    all_statements,
    lets_in,
    loads,
    loops_in,
    statements,
    stmt_exprs,
    subexprs,
    written_arrays,
)

Names = frozenset[str]

MOST_AXES = 4  # of an array that lists are made for
TILE = 2048  # updates that a block sorts
DIGIT = 11  # bits that it sorts by at a time, at most
RUN = 32  # updates that a thread adds up, to two at most that others go on with
REST = 1 << 14  # updates that one block adds up
# Bytes of a list that stays in the cache beside another of its length; and updates in one list, if that is too few for
# a GPU to be busy.
CACHED, LISTED = 1 << 24, 1 << 24
PLACE = 4  # bytes


def is_listed(body: tuple[ir.Stmt, ...], array: str, rank: int, own: Names, *, is_last_resort: bool = False) -> bool:
    """Whether threads that run `body` list what they add to `array`. They have the cells `own` for themselves.

    `is_last_resort`: they would sum into copies otherwise.
    """
    sites = list(updates(body, array))
    if not 0 < rank <= MOST_AXES:
        return False
    if not any(map(is_chosen_by_data, sites)) and not (is_last_resort and all(map(is_sparse, sites))):
        return False
    return most_updates(body, array) is not None or counting_body(body, frozenset({array}), own) is not None


def updates(body: tuple[ir.Stmt, ...], array: str) -> Iterator[Site]:
    return (s for s in statements(body) if isinstance(s.stmt, ir.Accumulate) and s.stmt.target.array == array)


def is_chosen_by_data(site: Site) -> bool:
    """Whether data say to which elements an update goes, or to how many."""
    bounds = [e for p in site.loops for b in (p.lower, p.upper) for e in subexprs(b)]
    return any(isinstance(e, ir.Load | ir.Var) for e in (*parts_of(site), *bounds))


def leading_axis(body: tuple[ir.Stmt, ...], array: str, axes: Sequence[str]) -> int | None:
    """Which of the `axes` of a grid says where along the first axis of `array` all updates go: those of iterations that
    follow each other along it go to elements that do, too."""
    firsts = {s.stmt.target.subscripts[0] for s in updates(body, array) if isinstance(s.stmt, ir.Accumulate)}
    return next((k for k, index in enumerate(axes) if firsts == {ir.Index(index)}), None)


def rows_listed(
    decl: ir.ArrayDecl, body: tuple[ir.Stmt, ...], axis: ir.Loop | None, lists: Sequence[str]
) -> tuple[str, bool]:  # fmt: skip
    """The index of `axis`, the last of a grid, if its threads list rows together; and whether rows are listed. Pieces
    of an axis, for one of the `lists` that goes along it, would not be whole rows."""
    width = extents_of(decl)[-1]
    if is_in_rows(body, decl.name, width):
        return "", True
    if axis is None or any(leading_axis(body, name, [axis.index]) is not None for name in lists):
        return "", False
    return (axis.index, True) if goes_along_rows(axis, body, decl.name, width) else ("", False)


def is_in_rows(body: tuple[ir.Stmt, ...], array: str, width: ir.Expr) -> bool:
    """Whether all updates of `array`, whose last axis has `width` elements, go to whole rows along that, each in a loop
    of its own."""
    sites = list(updates(body, array))
    loops = [s.loops[-1] for s in sites if s.loops]
    return len(sites) == len({p.index for p in loops}) and all(is_row(s, width) for s in sites)


def is_row(site: Site, width: ir.Expr) -> bool:
    """Whether the loop around an update, which does nothing but work out what is added, goes along a row. It has none
    of another array, which may have to be counted one by one."""
    if not site.loops or not isinstance(site.stmt, ir.Accumulate) or len(site.stmt.target.subscripts) < 2:
        return False
    loop, (*row, last) = site.loops[-1], site.stmt.target.subscripts
    is_whole = loop.lower == integer(0) and loop.upper == width and loop.step == integer(1)
    sums = [s for s in loop.body if isinstance(s, ir.Accumulate) and s.target.subscripts]
    is_plain = all(isinstance(s, ir.Let | ir.Accumulate) for s in loop.body) and len(sums) == 1
    made = {ir.Index(loop.index), *(ir.Var(n) for n in lets_in(loop.body))}
    is_same = not any(e in made for s in row for e in subexprs(s)) and not reads_any(row, written_arrays(loop.body))
    return is_whole and is_plain and is_same and last == ir.Index(loop.index)


def goes_along_rows(axis: ir.Loop, body: tuple[ir.Stmt, ...], array: str, width: ir.Expr) -> bool:
    """Whether iterations of `axis`, one for each element of a row, make the same updates of `array` for their own
    elements: threads side by side list a row together. `axis` are all iterations, each of which runs `body`."""
    if (axis.lower, axis.upper, axis.step) != (integer(0), width, integer(1)) or most_updates(body, array) is None:
        return False
    varying, written = varying_names(replace(axis, body=body)), written_arrays(body)
    targets: list[ir.Access] = []
    for site in updates(body, array):
        assert isinstance(site.stmt, ir.Accumulate)
        decided = [x for s in site.enclosing for x in stmt_exprs(s)]
        *row, last = site.stmt.target.subscripts
        exprs = (*decided, *row)
        is_same = not any(is_varying(x, varying) for x in exprs) and not reads_any(exprs, written)
        if not row or last != ir.Index(axis.index) or not is_same:
            return False
        targets.append(site.stmt.target)
    loops = loops_in(body)
    return bool(targets) and not any(is_varying(x, varying) for p in loops for x in stmt_exprs(p))


def reads_any(exprs: Sequence[ir.Expr], arrays: Names) -> bool:
    return any(load.access.array in arrays for e in exprs for load in loads(e))


def is_sparse(site: Site) -> bool:
    """Whether an update goes to another element in another thread, and to one in all loops inside of them."""
    used = {e.name for e in parts_of(site) if isinstance(e, ir.Index)}
    return bool(used) and not used & {p.index for p in site.loops}


def parts_of(site: Site) -> list[ir.Expr]:
    """All parts of the subscripts of an update."""
    assert isinstance(site.stmt, ir.Accumulate)
    return [e for s in site.stmt.target.subscripts for e in subexprs(s)]


def is_filled(body: tuple[ir.Stmt, ...], array: str) -> bool:
    """Whether a list of what `body` adds to `array` is full in the end: that of as many as there are at most may not
    be, if data say whether one is made; others are as long as they have to be, but for threads that stop."""
    if any(isinstance(s, ir.Require) for s in all_statements(body)):
        return False
    is_known = most_updates(body, array) is not None
    return not is_known or not any(s.is_conditional for s in updates(body, array))


def most_updates(body: tuple[ir.Stmt, ...], array: str, *, in_rows: bool = False) -> ir.Expr | None:
    """How often `body` adds to `array`, or to rows of it, at most; None if that is only known when it runs."""
    total: ir.Expr = integer(0)
    for site in updates(body, array):
        times: ir.Expr = integer(1)
        for loop in site.loops[:-1] if in_rows else site.loops:
            trips = natural(trip_count(loop))
            is_known = not any(isinstance(e, ir.Load | ir.Var | ir.Index) for e in subexprs(trips))
            may_end_early = any(isinstance(s, ir.Exit) for s in loop.body)
            if not isinstance(loop.step, ir.Const) or may_end_early or not is_known:
                return None
            times = mul(times, trips)
        total = add(total, times)
    return total


def counting_body(body: tuple[ir.Stmt, ...], arrays: Names, own: Names) -> tuple[ir.Stmt, ...] | None:
    """The part of `body` that says how often it adds to `arrays`; None if what it depends on is changed by the rest."""
    needed, kept = Names(), tuple(counting(body, arrays, Names()))
    while (found := names_in(kept, arrays)) != needed:
        needed, kept = found, tuple(counting(body, arrays, found & (own | lets_in(body))))
    shared = written_arrays(body) - own
    return None if needed & shared else kept


def counting(body: tuple[ir.Stmt, ...], arrays: Names, needed: Names) -> Iterator[ir.Stmt]:
    """Updates of `arrays`, what makes the cells and Lets `needed`, and what stands around them."""
    for stmt in body:
        match stmt:
            case ir.Let(name=name) if name in needed:
                yield stmt
            case ir.Assign(target=ir.Access(array=name)) if name in needed:
                yield stmt
            case ir.Accumulate(target=ir.Access(array=name)) if name in needed | arrays:
                yield stmt
            case ir.Exit() | ir.Require():
                yield stmt
            case ir.Loop(body=inner):
                new = tuple(counting(inner, arrays, needed))
                if any(not isinstance(s, ir.Let | ir.Exit) for s in new):
                    yield replace(stmt, body=new)
            case ir.If(then=then, orelse=orelse):
                new_then, new_orelse = (tuple(counting(branch, arrays, needed)) for branch in (then, orelse))
                if new_then or new_orelse:
                    yield replace(stmt, then=new_then, orelse=new_orelse)
            case _:
                pass


def names_in(body: tuple[ir.Stmt, ...], arrays: Names) -> Names:
    """Arrays, cells and Lets that statements read, but where they update `arrays`."""
    exprs = [x for s in all_statements(body) if not is_update(s, arrays) for x in stmt_exprs(s)]
    read = {e.access.array for x in exprs for e in loads(x)}
    return frozenset(read | {e.name for x in exprs for e in subexprs(x) if isinstance(e, ir.Var)})


def is_update(stmt: ir.Stmt, arrays: Names) -> bool:
    return isinstance(stmt, ir.Accumulate) and stmt.target.array in arrays
