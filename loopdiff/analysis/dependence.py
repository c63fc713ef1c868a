"""Dependences between statement instances: what forbids another order, and where a value comes from.

Flow dependences carry values: a write that another certain write hides from the read is left out, so a row
buffer filled anew in each iteration has none between iterations. Anti and output dependences relate every two
instances that touch one element; together the three forbid exactly the orders that change what some read
sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from loopdiff.analysis.exposure import is_exposed, visible
from loopdiff.analysis.polyhedra_events import Event
from loopdiff.analysis.polyhedra_sets import (
    IN,
    OUT,
    SET,
    Model,
    Order,
    common_loops,
    integer,
    ordered,
    orders,
)
from loopdiff.ir.nodes import Access, Loop, LoopSet
from loopdiff.ir.printer import print_access
from loopdiff.ir.walk import Path, statements

Kind = Literal["flow", "anti", "output"]
Direction = Literal["<", "=", ">", "<=", ">=", "!=", "*"]
DIRECTIONS: dict[tuple[bool, bool, bool], Direction] = {
    (True, False, False): "<", (False, True, False): "=", (False, False, True): ">",
    (True, True, False): "<=", (False, True, True): ">=", (True, False, True): "!=", (True, True, True): "*",
}  # fmt: skip
VERBS = {"flow": ("writes", "reads"), "anti": ("reads", "writes"), "output": ("writes", "writes")}


@dataclass(frozen=True, slots=True)
class Dependence:
    """Instances of the statement at `source` come before instances of the one at `sink` that touch the same
    element.

    `carrier` is the loop whose iterations they separate (None: within one iteration of all `loops` around
    both). `directions`, one per common loop, compare the index of the source with that of the sink, in the
    direction of the step ("<": the source comes first); `distance` is the difference in steps where it is
    constant along all of them. A loop whose step is not constant is compared by the number of the iteration.
    `is_reduction`: both accumulate with one op, so that only rounding depends on their order.
    """

    kind: Kind
    source: Path
    sink: Path
    array: str
    carrier: Path | None
    directions: tuple[Direction, ...]
    distance: tuple[int, ...] | None
    is_reduction: bool
    source_access: Access
    sink_access: Access

    def text(self, ls: LoopSet) -> str:
        """One sentence in the words of the program `ls`."""
        sites = {s.path: s.stmt for s in statements(ls.body)}
        first, second = VERBS[self.kind]
        lines = [
            access.loc.line or sites[path].loc.line
            for path, access in ((self.source, self.source_access), (self.sink, self.sink_access))
        ]
        found = (
            f"{self.kind} dependence on `{self.array}`: line {lines[0]} {first} {name(self.source_access)}, "
            f"line {lines[1]} {second} {name(self.sink_access)} {self.when()}"
        )
        if self.carrier is not None:
            loop = sites[self.carrier]
            assert isinstance(loop, Loop)
            found += f", carried by `{loop.index}`"
        return found + (" (a reduction)" if self.is_reduction else "")

    def when(self) -> str:
        if self.carrier is None:
            return "in the same iteration" if self.directions else "afterwards"
        steps = None if self.distance is None else self.distance[self.directions.index("<")]
        match steps:
            case None:
                return "in a later iteration"
            case 1:
                return "one iteration later"
            case _:
                return f"{steps} iterations later"


def name(access: Access) -> str:
    return print_access(access) if access.subscripts else access.array


def dependences(model: Model) -> tuple[Dependence, ...]:
    """All dependences of the LoopSet, by array in textual order; the caller's view of results is not part of
    them.

    Flow dependences may include some that writes in the iterations between hide, never fewer than there are.
    """
    return model.cached("dependences", lambda: tuple(find_dependences(model)))


def find_dependences(model: Model) -> Iterator[Dependence]:
    arrays = dict.fromkeys(e.access.array for e in model.events if e.is_write)
    for array in arrays:
        events = [e for e in model.events if e.access.array == array and e.path]
        for first in events:
            for second in events:
                if first.is_write or second.is_write:
                    yield from between(model, first, second)


def between(model: Model, first: Event, second: Event) -> Iterator[Dependence]:
    """Dependences from instances of `first` to instances of `second`, one for each loop that carries any."""
    kind: Kind = "anti" if not first.is_write else "output" if second.is_write else "flow"
    common = first.loops[: common_loops(first, second)]
    is_reduction = first.combines is not None and first.combines == second.combines
    for order in orders(first, second):
        if not order.is_carried and first.path == second.path:
            continue
        pairs = model.bounded(lambda o=order: related(model, first, second, o), None)
        if pairs is not None and pairs.is_empty():
            continue
        if pairs is None:
            distance, directions = None, (*equal(order.shared), *anything(len(common) - order.shared))
        else:
            distance, directions = vectors(model, first, second, order, pairs)
        carrier = common[order.shared].key if order.is_carried else None
        yield Dependence(
            kind, first.path, second.path, first.access.array, carrier,  # type: ignore[arg-type]
            directions, distance, is_reduction, first.access, second.access,
        )  # fmt: skip


def equal(number: int) -> tuple[Direction, ...]:
    return ("=",) * number


def anything(number: int) -> tuple[Direction, ...]:
    return ("*",) * number


def related(model: Model, first: Event, second: Event, order: Order) -> Any:
    """Pairs of dependent instances in the way of `order`."""
    if first.is_write and not second.is_write:
        return visible(model, first, second, order)
    return ordered(model, first, second, order)


def vectors(
    model: Model, first: Event, second: Event, order: Order, pairs: Any
) -> tuple[tuple[int, ...] | None, tuple[Direction, ...]]:
    """Distance (None unless constant) and directions over the common loops."""
    common = first.loops[: common_loops(first, second)]
    if order.shared == len(common):
        return (0,) * len(common), equal(len(common))
    for event, side in ((first, IN), (second, OUT)):
        for place, dim in reversed(list(enumerate(event.frame.dims))):
            if dim not in common:
                pairs = pairs.project_out(side, place, 1)
    steps = pairs.deltas()
    hull = steps.affine_hull().to_set()
    found = [along(model, steps, hull, place, loop.stride) for place, loop in enumerate(common)]
    known = tuple(d for d, _ in found if d is not None)
    return (known if len(known) == len(found) else None), tuple(direction for _, direction in found)


def along(model: Model, steps: Any, hull: Any, place: int, stride: int) -> tuple[int | None, Direction]:
    """Distance, if constant, and direction along one loop, from differences of indices."""
    sign = 1 if stride > 0 else -1
    value = hull.plain_get_val_if_fixed(SET, place)
    if value.is_int():
        step = value.to_python()
        whole = step // stride if step % stride == 0 else None
        return whole, DIRECTIONS[step * sign > 0, step == 0, step * sign < 0]
    one = integer(model, 1)
    greater = not steps.lower_bound_val(SET, place, one).is_empty()
    less = not steps.upper_bound_val(SET, place, one.neg()).is_empty()
    same = not steps.fix_val(SET, place, integer(model, 0)).is_empty()
    return None, DIRECTIONS[(greater, same, less) if sign > 0 else (less, same, greater)]


def last_writer(model: Model, path: Path, access: Access) -> tuple[Path | None, ...]:
    """Statements whose value the statement at `path` may see when it reads `access`; None: the value at
    entry.

    One element means certainty. Writes hidden by others are left out as in `dependences`.
    """
    read = model.reading(path, access)
    found: list[Path | None] = []
    for write in model.touching(access.array, True):
        for order in orders(write, read):
            pairs = model.bounded(lambda w=write, o=order: related(model, w, read, o), None)
            if pairs is None or not pairs.is_empty():
                found.append(write.path)
                break
    if is_exposed(model, read):
        found.append(None)
    return tuple(dict.fromkeys(found))
