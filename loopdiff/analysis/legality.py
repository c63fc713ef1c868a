"""Legality of reorderings of iterations and statements under the dependences.

    violation(model, AnyOrder((0,)))      the loop at (0,) reversed, on several threads, or in the lanes of a vector
    violation(model, Distribution(...))   a loop split in two
    violation(model, Fusion(...))         two loops as one
    violation(model, Jam(...))            unroll-and-jam

A reordering is legal unless an instance comes after another one that it belongs before, and both may touch one element
that at least one writes. Additions into the same array (`+=` with `+=`, likewise `max=`, `min=`) commute and may change
places, wherever reassociation is allowed (Allen and Kennedy, "Optimizing Compilers for Modern Architectures", 2.2).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, product
from typing import Any

from loopdiff.analysis.exposure import depth_of
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.analysis.polyhedral.pairs import Order, ahead, apart, common_loops, ordered, orders, touched
from loopdiff.analysis.polyhedral.sets import Model
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_access
from loopdiff.ir.walk import Path

FARTHEST = 8  # iterations between what depends on each other, as far as distances are looked for


# -- reorderings ---------------------------------------------------------------------------------------------
@immutable
class AnyOrder:
    """Iterations of the loop at `path` in any order, or at the same time; each has the arrays `private` for itself."""

    path: Path
    private: frozenset[str] = frozenset()


@immutable
class Distribution:
    """All instances of the accesses `first` before all of `second`, within one iteration of the `shared` outermost
    loops; for an array that is made anew farther inside, of as many as `homes` says."""

    first: Sequence[Event]
    second: Sequence[Event]
    shared: int
    homes: Mapping[str, int] = field(default_factory=dict)


@immutable
class Fusion:
    """The loop around the accesses `first` and the one around `second`, which comes after it, as one, in which `second`
    is `lag` iterations behind. Both count by one."""

    first: Sequence[Event]
    second: Sequence[Event]
    lag: int = 0


@immutable
class Jam:
    """`count` iterations of the loop at `path`, which counts by one, together: each of the statements `leaves` in it,
    by their paths from the loop on, runs for all of these before the next one does. A loop among them goes through its
    own iterations once."""

    path: Path
    leaves: tuple[Path, ...]
    count: int


Reordering = AnyOrder | Distribution | Fusion | Jam


@immutable
class Conflict:
    """Two accesses that may touch one element, and have to keep their order."""

    array: str
    first: Event
    second: Event


@immutable
class Turned:
    """`pairs()`: the instances of two accesses that touch the same element, and that a reordering turns round."""

    first: Event
    second: Event
    pairs: Callable[[], Any]


def is_legal(model: Model, change: Reordering, *, is_strict: bool = False) -> bool:
    return violation(model, change, is_strict=is_strict) is None


def violation(model: Model, change: Reordering, *, is_strict: bool = False) -> Conflict | None:
    """Two accesses that `change` may turn round though they have to keep their order; None if it is legal.

    `is_strict`: accumulations keep their order, too.
    """
    if isinstance(change, AnyOrder | Distribution) and is_legal_by_kinds(model, change, is_strict):
        return None
    for turned in turned_pairs(model, change, is_strict):
        if model.bounded(lambda found=turned: not found.pairs().is_empty(), True):
            return Conflict(turned.first.access.array, turned.first, turned.second)
    return None


def turned_pairs(model: Model, change: Reordering, is_strict: bool) -> Iterator[Turned]:
    """What `change` might turn round of accesses that have to keep their order."""
    match change:
        case AnyOrder():
            return turned_by_any_order(model, change, is_strict)
        case Distribution(first=first, second=second):
            return (
                Turned(a, b, partial(ordered, model, b, a, order))
                for a, b in pairs_between(first, second, is_strict)
                for order in orders(b, a, max(change.shared, change.homes.get(a.access.array, change.shared)))
            )
        case Fusion(first=first, second=second, lag=lag):
            pairs = pairs_between(first, second, is_strict)
            return (Turned(a, b, partial(ahead, model, a, b, lag)) for a, b in pairs)
        case Jam():
            return turned_by_jam(model, change, is_strict)


def turned_by_any_order(model: Model, change: AnyOrder, is_strict: bool) -> Iterator[Turned]:
    order = Order(depth_of(model, change.path) - 1, True)
    for a, b in conflicting_pairs(within(model, change.path)):
        if a.access.array in change.private or not keep_order(a, b, is_strict):
            continue
        yield Turned(a, b, partial(ordered, model, a, b, order))
        if a is not b:
            yield Turned(a, b, partial(ordered, model, b, a, order))


@dataclass(slots=True)
class AccessKind:
    """Accesses to one array that are alike: they touch the same elements in iterations of the same loops, and all write
    or all read. `event` is one of them; `first` and `last` say where they are in the text."""

    event: Event
    first: tuple[Path, int]
    last: tuple[Path, int]


def access_kinds(model: Model, events: Iterable[Event], arrays: Container[str]) -> dict[str, list[AccessKind]]:
    """The kinds of `events` on `arrays`, by array."""
    found: dict[object, AccessKind] = {}
    for e in events:
        if e.access.array not in arrays:
            continue
        kind = found.get(key := kind_key(model, e))
        if kind is None:
            found[key] = AccessKind(e, e.order, e.order)
        else:
            kind.first, kind.last = min(kind.first, e.order), max(kind.last, e.order)
    by_array: dict[str, list[AccessKind]] = {}
    for kind in found.values():
        by_array.setdefault(kind.event.access.array, []).append(kind)
    return by_array


def kind_key(model: Model, event: Event) -> object:
    """The same object for all events of one kind."""

    def find() -> object:
        touches = id(touched(model, event))
        return model.cached((event.access.array, event.is_write, event.combines, touches, event.frame.dims), object)

    return model.cached(("kind", event), find)


def is_legal_by_kinds(model: Model, change: AnyOrder | Distribution, is_strict: bool) -> bool:
    """Whether `change` is legal, as far as one access of each kind says so for all."""
    return not any(may_meet(model, *way) for way in ways_by_kinds(model, change, is_strict))


def ways_by_kinds(
    model: Model, change: AnyOrder | Distribution, is_strict: bool
) -> Iterator[tuple[Event, Event, Order]]:  # fmt: skip
    """Accesses, one of each kind, of which no instance may come before one of the other in some way."""
    match change:
        case AnyOrder(path=path, private=private):
            carried = Order(depth_of(model, path) - 1, True)
            events = within(model, path)
            written = {e.access.array for e in events if e.is_write}
            for kinds in access_kinds(model, events, written - private).values():
                for a, b in product(kinds, kinds):
                    if keep_order(a.event, b.event, is_strict):
                        yield a.event, b.event, carried
        case Distribution(first=first, second=second, shared=shared, homes=homes):
            firsts = access_kinds(model, first, {e.access.array for e in second})
            for array, kinds in access_kinds(model, second, firsts).items():
                least = max(shared, homes.get(array, shared))
                for a, b in product(firsts[array], kinds):
                    if keep_order(a.event, b.event, is_strict):
                        common = common_loops(b.event, a.event)
                        if common >= least and b.first < a.last:
                            yield b.event, a.event, Order(common, False)
                        yield from ((b.event, a.event, Order(level, True)) for level in range(least, common))


def turned_by_jam(model: Model, change: Jam, is_strict: bool) -> Iterator[Turned]:
    shared, last = depth_of(model, change.path) - 1, change.count - 1
    for a, b in conflicting_pairs(within(model, change.path)):
        one, other = (leaf_of(change.leaves, e.path[len(change.path) :]) for e in (a, b))
        if one is None or other is None or not keep_order(a, b, is_strict):
            continue
        if one <= other:
            yield Turned(a, b, partial(apart, model, b, a, shared, 1, last))
        if other <= one:
            yield Turned(a, b, partial(apart, model, a, b, shared, 1, last))


def leaf_of(leaves: Sequence[Path], below: Path) -> int | None:
    """Which of the `leaves` is, or is around, what is at the path `below`."""
    return next((number for number, leaf in enumerate(leaves) if below[: len(leaf)] == leaf), None)


# -- pairs of accesses ---------------------------------------------------------------------------------------
def within(model: Model, path: Path) -> tuple[Event, ...]:
    """Accesses of the statements below the loop at `path`, in textual order."""
    return model.cached(("within", path), lambda: events_from(model, (*path, 0), path))


def at_or_within(model: Model, path: Path) -> tuple[Event, ...]:
    """Accesses of the statement at `path` and of those below it, in textual order."""
    return model.cached(("at or within", path), lambda: events_from(model, path, path))


def events_from(model: Model, first: Path, path: Path) -> tuple[Event, ...]:
    """Accesses of the statements from that at `first` on until the one after that at `path`, which events are sorted
    by."""
    begin, end = (bisect_left(model.events, p, key=lambda e: e.order[0]) for p in (first, (*path[:-1], path[-1] + 1)))
    return model.events[begin:end]


def commute(a: Event, b: Event) -> bool:
    return a.combines is not None and a.combines == b.combines


def keep_order(a: Event, b: Event, is_strict: bool = False) -> bool:
    """Whether accesses to one element of the same array have to keep their order."""
    return (a.is_write or b.is_write) and (is_strict or not commute(a, b))


def conflicting_pairs(events: Iterable[Event]) -> Iterator[tuple[Event, Event]]:
    """Pairs on one array of which one writes, by array; a write is also paired with itself."""
    by_array: dict[str, list[Event]] = {}
    for event in events:
        by_array.setdefault(event.access.array, []).append(event)
    for listed in by_array.values():
        for k, a in enumerate(listed):
            for b in listed[k:]:
                if a.is_write or b.is_write:
                    yield a, b


def pairs_between(
    first: Sequence[Event], second: Sequence[Event], is_strict: bool = False
) -> Iterator[tuple[Event, Event]]:
    """Pairs of one of `first` and one of `second` on the same array that have to keep their order."""
    by_array: dict[str, list[Event]] = {}
    for b in second:
        by_array.setdefault(b.access.array, []).append(b)
    for a in first:
        for b in by_array.get(a.access.array, ()):
            if keep_order(a, b, is_strict):
                yield a, b


def may_meet(model: Model, first: Event, second: Event, order: Order) -> bool:
    """Whether an instance of `first` may touch the element of one of `second` that it comes before in the way of
    `order`.
    """
    return model.bounded(lambda: not ordered(model, first, second, order).is_empty(), True)


# -- sums and distances --------------------------------------------------------------------------------------
def interrupted(
    model: Model, path: Path, sums: Collection[ir.Access], *, is_strict: bool = False
) -> Conflict | None:  # fmt: skip
    """Two accesses that come upon an element in the same iteration of the loop at `path`, one of which adds to it as to
    one of `sums`; None if there are none.

    Sums that are made apart from their array miss it, or are missed by it, and `AnyOrder` is legal where only one
    iteration gets to the element. `is_strict`: another addition is such an access, too.
    """
    depth, arrays = depth_of(model, path), {access.array for access in sums}

    def is_summed(event: Event) -> bool:
        return event.combines is not None and event.access in sums

    def meet(first: Event, second: Event, order: Order) -> bool:
        is_one = first.path == second.path and commute(first, second) and not order.is_carried
        return not is_one and may_meet(model, first, second, order)

    for a, b in conflicting_pairs(e for e in within(model, path) if e.access.array in arrays):
        if not (is_summed(a) or is_summed(b)) or not keep_order(a, b, is_strict):
            continue
        ways = ((a, b, order) for order in orders(a, b, depth)), ((b, a, order) for order in orders(b, a, depth))
        if any(meet(*way) for way in chain(*ways)):
            return Conflict(a.access.array, a, b)
    return None


def dependence_distance(model: Model, first: Event, second: Event, shared: int, least: int) -> int | None:
    """How many iterations, `least` or more, the farthest instances of `second` are that come to an element after one of
    `first`, in the loop inside the `shared` outermost ones; -1 if there are none, None if some are beyond `FARTHEST`.
    """
    for found in range(least, FARTHEST + 2):
        if model.bounded(lambda n=found: apart(model, first, second, shared, n).is_empty(), False):
            return found - 1 if found > least else -1
    return None


def describe_conflict(model: Model, path: Path, conflict: Conflict) -> str:
    """The dependence between iterations of the loop at `path`, in the user's words."""

    def words(event: Event) -> str:
        verb = "writes" if event.is_write else "reads"
        loc = model.sites[event.path].stmt.loc
        place = f"{loc.in_words} " if loc.line else ""
        return f"{place}{verb} {print_access(event.access)}"

    index = model.loop(path).index
    return (
        f"iterations of `{index}` depend on each other through `{conflict.array}`: "
        f"{words(conflict.first)}, {words(conflict.second)} in another iteration"
    )
