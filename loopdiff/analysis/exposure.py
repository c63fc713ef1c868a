"""Value-based flow: which reads are upward exposed, which values are overwritten, which a read may see.

All answers are conservative: True means "may". Exactness comes from isl wherever subscripts, bounds and
conditions are affine; a write counts as certain under a data-dependent condition if it shares the condition
with the read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from functools import partial
from itertools import chain, count, groupby, islice, takewhile
from typing import Any

from loopdiff.analysis.polyhedral.events import Event, Frame
from loopdiff.analysis.polyhedral.pairs import Order, common_loops, is_certain, ordered, orders
from loopdiff.analysis.polyhedral.sets import Model, instances, less, once
from loopdiff.analysis.polyhedral.terms import Dimension
from loopdiff.analysis.polyhedral.translation import SET, isl
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, Site

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
    place = bisect_left(writes, event.order, key=lambda w: w.order)
    nearest_first = chain(islice(writes, place, None), islice(writes, place))
    least = depth_of(model, scope) if is_inside(event.path, scope) else 0

    def search() -> bool:
        return any(
            not ordered(model, event, write, order).is_empty()
            for write in nearest_first
            if is_inside(write.path, scope) or least == 0
            for order in orders(event, write, least)
        )

    return model.bounded(search, True)


def written_within(model: Model, place: Path, path: Path, access: ir.Access, after: bool = False) -> bool:
    """Whether the location `access`, read by an instance of the statement at `path`, may be written before that read,
    or `after` it, while the same instance of the statement at `place` runs, which is that statement or one around it.
    """
    read, least = model.reading(path, access), len(model.sites[place].loops)
    writes = [w for w in model.touching(access.array, True) if w.path[: len(place)] == place]

    def search() -> bool:
        pairs = ((read, write) if after else (write, read) for write in writes)
        ways = ((*pair, order) for pair in pairs for order in orders(*pair, least))
        return any(not ordered(model, *way).is_empty() for way in ways)

    return bool(writes) and model.bounded(search, True)


def exposed_reads(
    model: Model, scope: Scope = None, arrays: Collection[str] | None = None
) -> tuple[tuple[Path, ir.Access], ...]:
    """Reads, as (path, access), that may see a value not written earlier in the function (None) or in the
    same iteration of the loop at `scope`. Reads of results have the path (); what the caller sees of arrays
    is no read. Where they are given, of these `arrays` alone.
    """
    least = depth_of(model, scope)
    found = [
        (e.path, e.access)
        for e in model.events
        if (arrays is None or e.access.array in arrays)
        and not e.is_write
        and not e.is_final
        and is_inside(e.path, scope)
        and is_exposed(model, e, least)
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
        ways = (order for order in orders(write, read) if order.shared < level)
        return any(not visible(model, write, read, order).is_empty() for order in ways)

    return model.bounded(lambda: any(reaches(w, r) for w in writes for r in reads), True)


def is_exposed(model: Model, read: Event, least: int = 0) -> bool:
    """Whether an instance of `read` may see a value not written earlier in its iteration of the outermost
    loops.
    """
    return model.bounded(lambda: not exposed(model, read, least).is_empty(), True)


STRETCH = 16  # steps of writes that nobody asked for, until it is looked whether they hide all further ones


# -- what comes before a read --------------------------------------------------------------------------------
@immutable
class Step:
    """Writes that come before a read in the way of `order`, the last one first; where the program text decides, those
    of one statement, at `branch`, beside the read or what is around it. `hides_all`: one of them makes the whole array
    anew in the same iteration, before which there is nothing to see."""

    order: Order
    branch: Path
    writes: tuple[Event, ...]
    hides_all: bool = False


@immutable
class Steps:
    """Steps as far as anybody asked for them: an element is mostly written in one of the first few, of thousands."""

    rest: Iterator[Step]
    found: list[Step] = field(default_factory=list)
    numbers: dict[tuple[Order, Path], int] = field(default_factory=dict)

    def goes_to(self, number: int) -> bool:
        """Whether there is a step of this number."""
        while len(self.found) <= number:
            step = next(self.rest, None)
            if step is None:
                return False
            self.numbers[step.order, step.branch] = len(self.found)
            self.found.append(step)
        return True

    def __iter__(self) -> Iterator[Step]:
        return (self.found[k] for k in takewhile(self.goes_to, count()))

    def number_of(self, order: Order, branch: Path) -> int | None:
        """The number of the step in the way of `order` at `branch`; None if nothing of that can be seen."""
        while (order, branch) not in self.numbers and self.goes_to(len(self.found)):
            pass
        return self.numbers.get((order, branch))


def steps_before(model: Model, read: Event) -> Steps:
    """The writes to the array of `read` that come before it, from the nearest on: all of them, or all after which it is
    not made anew."""
    return model.cached(("before", read), lambda: Steps(find_steps(model, read)))


def find_steps(model: Model, read: Event) -> Iterator[Step]:
    writes = model.touching(read.access.array, True)
    end = bisect_left(writes, read.order, key=lambda w: w.order)
    for depth in range(len(read.loops), -1, -1):
        inside = span_of(model, read, depth)
        before = (writes[k] for k in range(end - 1, inside[0] - 1, -1))
        for branch, found in groupby(before, key=lambda w: branch_of(w, read)):
            step = Step(Order(depth, False), branch, tuple(found), makes_anew(model, branch, read))
            yield step
            if step.hides_all:
                return
        if depth and inside[0] < inside[1]:
            yield Step(Order(depth - 1, True), (), latest_first(model, read.access.array, inside))
        end = inside[0]


def makes_anew(model: Model, path: Path, read: Event) -> bool:
    """Whether the statement at `path` makes the array of `read` in each iteration that gets there."""
    match model.sites.get(path):
        case Site(stmt=ir.Allocate(array=array)) as site if array == read.access.array:
            return follows(site, read.order[0])
        case _:
            return False


def follows(site: Site, path: Path) -> bool:
    """Whether the statement at `path` is that of `site`, or stands after it in the same block."""
    *prefix, place = site.path
    if path == site.path:
        return True
    if len(path) <= len(prefix) or path[: len(prefix)] != tuple(prefix) or path[len(prefix)] < place:
        return False
    around = site.enclosing[-1] if site.enclosing else None
    return not isinstance(around, ir.If) or (path[len(prefix)] < len(around.then)) == (place < len(around.then))


def span_of(model: Model, read: Event, depth: int) -> tuple[int, int]:
    """Where, among the writes to the array of `read`, those in the loop around it at that `depth` begin and end."""
    writes = model.touching(read.access.array, True)
    if depth == 0:
        return 0, len(writes)
    path = read.loops[depth - 1].key
    assert isinstance(path, tuple)
    first, last = (bisect_left(writes, end, key=lambda w: w.path) for end in (path, (*path[:-1], path[-1] + 1)))
    return first, last


def latest_first(model: Model, array: str, span: tuple[int, int]) -> tuple[Event, ...]:
    """The writes to `array` in that part of all of them."""
    return model.cached(("span", array, span), lambda: model.touching(array, True)[slice(*span)][::-1])


def reaching(model: Model, read: Event, asked: Callable[[Event], bool]) -> Iterator[tuple[Event, Order]]:
    """Writes, of those `asked` for, that come before `read`, and in which way: from the nearest on, until the element
    is certainly written, for which others than those are looked at now and then."""
    for number, step in enumerate(steps_before(model, read)):
        is_asked = any(map(asked, step.writes))
        if (is_asked or number % STRETCH == 0) and model.bounded(
            lambda n=number: exposed_to(model, read, n).is_empty(), False
        ):
            return
        if is_asked:
            yield from ((write, step.order) for write in step.writes if asked(write))


def exposed(model: Model, read: Event, least: int) -> Any:
    """Instances of `read` whose element is not certainly written earlier in the same iteration of the `least`
    outermost loops.
    """
    number = 0
    for step in steps_before(model, read):
        if step.order.shared < least or exposed_to(model, read, number).is_empty():
            break
        number += 1
    return exposed_to(model, read, number)


@immutable
class Exposed:
    """Instances of `seen_by`, a read with what is known of the `deciding` values, that see none of the writes of the
    first few steps before it for certain."""

    deciding: tuple[Dimension, ...]
    seen_by: Event
    instances: Any


def exposed_to(model: Model, read: Event, number: int) -> Any:
    """Instances of `read` whose element is not certainly written in the first `number` steps before it."""
    steps = steps_before(model, read)
    found: list[Exposed] = model.cached(("exposed", read), lambda: [Exposed((), read, instances(model, read))])
    while len(found) <= number:
        found.append(with_step(model, read, steps, len(found), found[-1]))
    seen_by = found[number].seen_by
    own, known = len(read.frame.dims), len(seen_by.frame.dims)
    return once(model, ("own", own, known), partial(own_part, own, known), found[number].instances)


def own_part(own: int, known: int, found: Any) -> Any:
    return found.project_out(SET, own, known - own) if known > own else found


def with_step(model: Model, read: Event, steps: Steps, number: int, before: Exposed) -> Exposed:
    """What is `before` the last one of the first `number` steps, with that one."""
    if before.instances.is_empty():
        return before
    last = steps.found[number - 1]
    if last.hides_all:
        return replace(before, instances=isl.Set.empty(before.instances.get_space()))
    deciding = deciding_values(read, last, before.deciding)
    seen_by = informed(model, read, deciding)
    if seen_by is before.seen_by:
        return Exposed(deciding, seen_by, without(model, seen_by, before.instances, last))
    remaining = instances(model, seen_by)
    for step in steps.found[:number]:
        remaining = without(model, seen_by, remaining, step)
    return Exposed(deciding, seen_by, remaining)


def without(model: Model, read: Event, remaining: Any, step: Step) -> Any:
    """`remaining` instances of `read` but for those that certainly see what is written in `step`."""
    for write in step.writes:
        if remaining.is_empty():
            break
        if is_certain(write, read, step.order):
            pairs = ordered(model, write, read, step.order)
            remaining = less(model, read.frame, remaining, once(model, "range", isl.Map.range, pairs))
    return remaining


def deciding_values(read: Event, step: Step, others: tuple[Dimension, ...]) -> tuple[Dimension, ...]:
    """Opaque values of the iteration of `read` that decide whether anything is written in `step`, and `others`."""
    known = read.places
    opaques = (d for write in step.writes for d in write.opaques)
    found = {d for d in opaques if d.key not in known and d.level <= step.order.shared}.difference(others)
    return (*others, *sorted(found, key=lambda d: str(d.leaf))) if found else others


def informed(model: Model, read: Event, deciding: tuple[Dimension, ...]) -> Event:
    """`read` with the opaque values of its iteration that decide whether writes happen, such as the condition of an
    `if` whose two branches both do: for each of their values some write must be certain.
    """
    if not deciding or len(deciding) > MOST_DECIDING:
        return read
    frame = Frame(read.frame, (*read.frame.dims, *deciding), ())
    return model.cached(("informed", read, frame.dims), lambda: replace(read, frame=frame))


def visible(model: Model, write: Event, read: Event, order: Order) -> Any:
    """Pairs of instances in the way of `order` where `read` may see what `write` wrote: no certain write is
    between.
    """
    return model.cached(("visible", write, read, order), lambda: compute_visible(model, write, read, order))


def compute_visible(model: Model, write: Event, read: Event, order: Order) -> Any:
    pairs = ordered(model, write, read, order)
    if pairs.is_empty():
        return pairs
    branch = () if order.is_carried else branch_of(write, read)
    steps = steps_before(model, read)
    number = steps.number_of(order, branch)
    if number is None:
        return isl.Map.empty(pairs.get_space())
    pairs = once(model, "seen", isl.Map.intersect_range, pairs, exposed_to(model, read, number))
    for other in steps.found[number].writes:  # those of nearer steps leave nothing exposed
        if pairs.is_empty():
            break
        for found in hidden(model, write, other, read, order):
            pairs = less(model, read.frame, pairs, found)
    return pairs


def hidden(model: Model, write: Event, other: Event, read: Event, order: Order) -> Iterator[Any]:
    """Pairs of `write` and `read` in the way of `order` with a certain instance of `other` between them, which comes
    before `read` in this way, too, on the same element, in parts.
    """
    common = common_loops(write, read)
    if not is_certain(other, read, order):
        return
    for before in orders(write, other):
        if in_turn(before, order, common) == order:
            first = ordered(model, write, other, before)
            second = first if first.is_empty() else ordered(model, other, read, order)
            if not second.is_empty():
                yield once(model, "between", isl.Map.apply_range, first, second)


def seen_writes(model: Model, read: Event, asked: Callable[[Event], bool] = lambda _: True) -> Iterator[Event]:
    """Writes, of those `asked` for, that `read` may find what they wrote of, from the nearest on."""
    for write, order in reaching(model, read, asked):
        if model.bounded(lambda w=write, o=order: not visible(model, w, read, o).is_empty(), True):
            yield write


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
