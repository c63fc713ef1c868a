"""Legality of reorderings of iterations and statements under the dependences.

Two accesses conflict when they may touch one element and at least one writes it. Additions into the same array
(`+=` with `+=`, likewise `max=`, `min=`) commute and do not conflict, wherever reassociation is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from loopdiff.analysis.exposure import depth_of, is_inside
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.analysis.polyhedral.sets import Model, Order, ahead, apart, ordered, orders
from loopdiff.ir.printer import print_access
from loopdiff.ir.walk import Path

FARTHEST = 8  # iterations between what depends on each other, as far as distances are looked for


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses that may touch one element in different iterations of the loop at `carrier`."""

    array: str
    first: Event
    second: Event
    carrier: Path


def within(model: Model, path: Path) -> list[Event]:
    """Accesses of the statements below the loop at `path`, in textual order."""
    return [e for e in model.events if is_inside(e.path, path)]


def commute(a: Event, b: Event) -> bool:
    return a.combines is not None and a.combines == b.combines


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


def may_meet(model: Model, first: Event, second: Event, order: Order) -> bool:
    """Whether an instance of `first` may touch the element of one of `second` that it comes before in the way of
    `order`.
    """
    return model.bounded(lambda: not ordered(model, first, second, order).is_empty(), True)


def carried(model: Model, path: Path, private: frozenset[str], *, is_strict: bool = False) -> Conflict | None:
    """A conflict between different iterations of the loop at `path`, arrays in `private` apart; None if there is none.

    `is_strict`: accumulations conflict with each other too.
    """
    order = Order(depth_of(model, path) - 1, True)
    for a, b in conflicting_pairs(within(model, path)):
        if a.access.array in private or (commute(a, b) and not is_strict):
            continue
        if may_meet(model, a, b, order) or (a is not b and may_meet(model, b, a, order)):
            return Conflict(a.access.array, a, b, path)
    return None


def interrupted(model: Model, path: Path, arrays: frozenset[str], *, is_strict: bool = False) -> Conflict | None:
    """An access to one of `arrays` that comes upon an element in the same iteration of the loop at `path` in which
    something is added to it; None if there is none.

    Sums that are made apart from their array miss it, or are missed by it, and `carried` finds no conflict where only
    one iteration gets to the element. `is_strict`: another addition is such an access, too.
    """
    depth = depth_of(model, path)

    def meet(first: Event, second: Event, order: Order) -> bool:
        is_one = first.path == second.path and commute(first, second) and not order.is_carried
        return not is_one and may_meet(model, first, second, order)

    for a, b in conflicting_pairs(e for e in within(model, path) if e.access.array in arrays):
        ways = ((a, b, order) for order in orders(a, b, depth)), ((b, a, order) for order in orders(b, a, depth))
        if (is_strict or not commute(a, b)) and any(meet(*way) for way in chain(*ways)):
            return Conflict(a.access.array, a, b, path)
    return None


def may_split(model: Model, path: Path, first: list[Event], second: list[Event]) -> bool:
    """Whether all iterations of the accesses `first` may run before all of `second`, within one run of the loop."""
    outer = depth_of(model, path) - 1
    return not any(
        may_meet(model, b, a, order)
        for a in first
        for b in second
        if a.access.array == b.access.array and (a.is_write or b.is_write) and not commute(a, b)
        for order in orders(b, a, outer)
    )


def overtakes(model: Model, first: Event, second: Event, lag: int) -> bool:
    """Whether `second`, run beside the loop of `first` and `lag` iterations behind it, may come to an element before
    `first` does, which belongs before it.
    """
    return model.bounded(lambda: not ahead(model, first, second, lag).is_empty(), True)


def dependence_distance(model: Model, first: Event, second: Event, shared: int, least: int) -> int | None:
    """How many iterations, `least` or more, the farthest instances of `second` are that come to an element after one of
    `first`, in the loop inside the `shared` outermost ones; -1 if there are none, None if some are beyond `FARTHEST`.
    """
    for found in range(least, FARTHEST + 2):
        if model.bounded(lambda n=found: apart(model, first, second, shared, n).is_empty(), False):
            return found - 1 if found > least else -1
    return None


def describe_conflict(model: Model, conflict: Conflict) -> str:
    """The dependence in the user's words."""

    def words(event: Event) -> str:
        verb = "writes" if event.is_write else "reads"
        loc = model.sites[event.path].stmt.loc
        place = f"{loc.in_words} " if loc.line else ""
        return f"{place}{verb} {print_access(event.access)}"

    index = model.loop(conflict.carrier).index
    return (
        f"iterations of `{index}` depend on each other through `{conflict.array}`: "
        f"{words(conflict.first)}, {words(conflict.second)} in another iteration"
    )
