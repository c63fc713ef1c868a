"""Value-based flow: which reads are upward exposed, which values are overwritten, which a read may see.

All answers are conservative: True means "may". Exactness comes from isl wherever subscripts, bounds and
conditions are affine; a write counts as certain under a data-dependent condition if it shares the condition
with the read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from loopdiff.analysis.polyhedral.events import Event, Frame
from loopdiff.analysis.polyhedral.sets import (
    IN,
    OUT,
    Model,
    Order,
    common_loops,
    instances,
    is_certain,
    less,
    ordered,
    orders,
    same_element,
)
from loopdiff.analysis.polyhedral.translation import SET
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path

Scope = Path | None
MOST_DECIDING = 6


def overwritten_after(model: Model, path: Path, access: ir.Access, scope: Scope = None) -> bool:
    """Whether the location `access`, read by an instance of the statement at `path`, may be written after
    that read and before the end of the current iteration of the loop at `scope` (None, or a loop that is not
    around the statement: of the function). The statement's own write counts as after. `path` () is the end of
    the function.
    """
    return bool(path) and is_overwritten(model, model.reading(path, access), scope)


def rewritten_after(model: Model, path: Path, access: ir.Access, scope: Scope = None) -> bool:
    """Whether the location `access`, written by an instance of the statement at `path`, may be written again, in the
    sense of `overwritten_after`.
    """
    own = next(e for e in model.touching(access.array, True) if e.path == path and e.access == access)
    return is_overwritten(model, own, scope)


def is_overwritten(model: Model, event: Event, scope: Scope) -> bool:
    """Whether the element that `event` touches may be written after it, in the current iteration of `scope`."""
    writes = model.touching(event.access.array, True)
    least = depth_of(model, scope) if is_inside(event.path, scope) else 0

    def search() -> bool:
        return any(
            not ordered(model, event, write, order).is_empty()
            for write in writes
            if is_inside(write.path, scope) or least == 0
            for order in orders(event, write, least)
        )

    return model.bounded(search, True)


def exposed_reads(model: Model, scope: Scope = None) -> tuple[tuple[Path, ir.Access], ...]:
    """Reads, as (path, access), that may see a value not written earlier in the function (None) or in the
    same iteration of the loop at `scope`. Reads of results have the path (); what the caller sees of arrays
    is no read.
    """
    least = depth_of(model, scope)
    found = [
        (e.path, e.access)
        for e in model.events
        if not e.is_write and not e.is_final and is_inside(e.path, scope) and is_exposed(model, e, least)
    ]
    return tuple(dict.fromkeys(found))


def read_after(model: Model, scope: Path, array: str) -> bool:
    """Whether a value written to `array` in an iteration of the loop at `scope` may be read after that
    iteration: by a later one or after the loop. The caller reads every array that is a parameter or returned.
    """
    level = depth_of(model, scope)
    writes = [w for w in model.touching(array, True) if is_inside(w.path, scope)]
    reads = model.touching(array, False)

    def reaches(write: Event, read: Event) -> bool:
        for order in orders(write, read):
            if order.shared >= level:
                continue
            if not visible(model, write, read, order).is_empty():
                return True
        return False

    return model.bounded(lambda: any(reaches(w, r) for w in writes for r in reads), True)


def covers(model: Model, path: Path, access: ir.Access, other: Path, read: ir.Access, level: int) -> bool:
    """Whether every element that `access` means at `path` is one that `read` certainly means at `other`, in the same
    iterations of the loops around both that are outside the statements of that `level`.
    """
    wanted, known = model.reading(path, access), model.reading(other, read)
    if known.is_possible or known.opaques:
        return False

    def search() -> bool:
        pairs = same_element(model, wanted, known)
        for place, dim in enumerate(wanted.frame.dims):
            if dim.kind == "loop" and dim.level <= depth and dim.key in known.places:
                pairs = pairs.equate(IN, place, OUT, known.places[dim.key])
        return less(model, wanted.frame, instances(model, wanted), pairs.domain()).is_empty()

    depth = sum(isinstance(model.sites[path[:k]].stmt, ir.Loop) for k in range(1, level + 1))
    return model.bounded(search, False)


def is_exposed(model: Model, read: Event, least: int = 0) -> bool:
    """Whether an instance of `read` may see a value not written earlier in its iteration of the outermost
    loops.
    """
    return model.bounded(lambda: not exposed(model, read, least).is_empty(), True)


def exposed(model: Model, read: Event, least: int, after: Path = ()) -> Any:
    """Instances of `read` whose element is not certainly written earlier in the same iteration of the `least`
    outermost loops, by a statement below a later branch of the program text than `after`.
    """
    return model.cached(("exposed", read, least, after), lambda: compute_exposed(model, read, least, after))


def compute_exposed(model: Model, read: Event, least: int, after: Path) -> Any:
    candidates = [
        (order, write)
        for write in model.touching(read.access.array, True)
        if not after or write.path[: len(after)] > after
        for order in orders(write, read, least)
    ]
    seen_by = informed(model, read, candidates)
    remaining = instances(model, seen_by)
    for order, write in sorted(candidates, key=lambda pair: -pair[0].shared):
        if is_certain(write, seen_by, order):
            remaining = less(model, read.frame, remaining, ordered(model, write, seen_by, order).range())
            if remaining.is_empty():
                break
    own, known = len(read.frame.dims), len(seen_by.frame.dims)
    return remaining.project_out(SET, own, known - own)


def informed(model: Model, read: Event, candidates: list[tuple[Order, Event]]) -> Event:
    """`read` with the opaque values of its iteration that decide whether the candidates write, such as the
    condition of an `if` whose two branches both do: for each of their values some write must be certain.
    """
    known = {d.key for d in read.frame.dims}
    deciding = dict.fromkeys(
        d for order, write in candidates for d in write.opaques if d.key not in known and d.level <= order.shared
    )
    if not deciding or len(deciding) > MOST_DECIDING:
        return read
    frame = Frame(read.frame, (*read.frame.dims, *deciding), ())
    return model.cached(("informed", read, frame.dims), lambda: replace(read, frame=frame))


def visible(model: Model, write: Event, read: Event, order: Order) -> Any:
    """Pairs of instances in the way of `order` where `read` may see what `write` wrote: no certain write is
    between.
    """
    pairs = ordered(model, write, read, order)
    if pairs.is_empty():
        return pairs
    if order.is_carried:
        seen = exposed(model, read, order.shared + 1)
    else:
        seen = exposed(model, read, order.shared, branch_of(write, read))
    pairs = pairs.intersect_range(seen)
    for other in model.touching(read.access.array, True):
        if pairs.is_empty():
            break
        for found in hidden(model, write, other, read, order):
            pairs = less(model, read.frame, pairs, found)
    return pairs


def hidden(model: Model, write: Event, other: Event, read: Event, order: Order) -> tuple[Any, ...]:
    """Pairs of `write` and `read` in the way of `order` with a certain instance of `other` between them, on the same
    element, in parts.
    """
    key = ("hidden", write, other, read, order)
    return model.cached(key, lambda: tuple(find_hidden(model, write, other, read, order)))


def find_hidden(model: Model, write: Event, other: Event, read: Event, order: Order) -> Iterator[Any]:
    common = common_loops(write, read)
    for before in orders(write, other):
        for after in orders(other, read):
            if in_turn(before, after, common) == order and is_certain(other, read, after):
                first = ordered(model, write, other, before)
                second = first if first.is_empty() else ordered(model, other, read, after)
                if not second.is_empty():
                    yield first.apply_range(second)


def in_turn(before: Order, after: Order, common: int) -> Order:
    """The way in which one event comes before another with `common` loops around both, if some third one is between
    them: `before` is how it follows the first, `after` how the other follows it.
    """
    shared = min(before.shared, after.shared)
    is_carried = any(o.is_carried and o.shared == shared for o in (before, after))
    return Order(shared, True) if is_carried and shared < common else Order(common, False)


def branch_of(write: Event, read: Event) -> Path:
    """The path, up to where they part, of `write` seen from `read`; empty if `read` is in the statement of
    `write`.
    """
    other = read.order[0]
    for position, step in enumerate(write.path):
        if position >= len(other) or other[position] != step:
            return write.path[: position + 1]
    return write.path


def depth_of(model: Model, scope: Scope) -> int:
    """Number of loops around an iteration of the loop at `scope`, itself included."""
    if scope is None:
        return 0
    frame = model.frames[scope]
    return sum(d.kind == "loop" for d in frame.dims) + 1


def is_inside(path: Path, scope: Scope) -> bool:
    """Whether the statement at `path` is in the body of the loop at `scope`."""
    return scope is None or (len(path) > len(scope) and path[: len(scope)] == scope)
