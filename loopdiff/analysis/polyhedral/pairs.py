"""The pairs of instances that touch the same element, and the ways for one of them to come before the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loopdiff.analysis.polyhedral.delinearization import Digit, digits
from loopdiff.analysis.polyhedral.events import Event, Frame
from loopdiff.analysis.polyhedral.sets import Model, element_map, isl_integer, meeting, translation
from loopdiff.analysis.polyhedral.translation import PARAM, isl
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.walk import Path

IN, OUT = isl.dim_type.in_, isl.dim_type.out


@immutable
class Order:
    """A way for an instance of one event to come before an instance of another: they agree on the first
    `shared` loops around both, and the next loop carries the step (`is_carried`) or the program text decides.
    """

    shared: int
    is_carried: bool


def common_loops(first: Event, second: Event) -> int:
    """Number of loops around both events."""
    count = 0
    for mine, other in zip(first.loops, second.loops, strict=False):
        if mine is not other and mine.key != other.key:
            break
        count += 1
    return count


def orders(first: Event, second: Event, least: int = 0) -> Iterator[Order]:
    """Ways for `first` to come before `second` in the same iteration of the `least` outermost loops, nearest
    first.
    """
    common = common_loops(first, second)
    if common < least:
        return
    if first.order < second.order:
        yield Order(common, False)
    for shared in reversed(range(least, common)):
        yield Order(shared, True)


@immutable
class Touched:
    """From instances of an event to the `element` that each touches, and to `digits` of its subscripts: see
    `polyhedra_digits`. One for all events with the same, so that what follows from it is found once."""

    element: Any
    digits: tuple[tuple[Digit, Any], ...]


def touched(model: Model, event: Event) -> Touched:
    def compute() -> Touched:
        into = translation(model, event.frame)
        found = digits_in(model, event, event.frame)
        maps = tuple((key, isl.Map.from_pw_aff(into.function(term))) for key, term in found.items())
        new = Touched(element_map(model, event), maps)
        names = tuple(new.element.get_var_names(PARAM))  # which isl's hash leaves out
        return model.shared.once((names, new), lambda: new)

    return model.cached(("touched", event), compute)


def same_element(model: Model, first: Event, second: Event) -> Any:
    """Pairs of instances that touch the same element."""
    a, b = touched(model, first), touched(model, second)
    return model.shared.once("same", lambda: compute_same(a, b), a, b)


def compute_same(first: Touched, second: Touched) -> Any:
    pairs = first.element.apply_range(second.element.reverse())
    others = dict(second.digits)
    for key, digit in first.digits:
        if key in others:
            pairs = pairs.intersect(digit.apply_range(others[key].reverse()))
    return pairs


def digits_in(model: Model, event: Event, frame: Frame) -> dict[Digit, ir.Expr]:
    """Digits of the subscripts of `event`, translated, if its instances are those of `frame`."""

    def is_digit(term: ir.Expr, radix: ir.Expr) -> bool:
        outside = ir.Apply(Op.OR, (ir.Apply(Op.LT, (term, ir.Const(0, INT))), ir.Apply(Op.GE, (term, radix))))
        return model.bounded(lambda: meeting(model, frame, outside).is_empty(), False)

    return model.cached(("digits", event, frame), lambda: digits(model.terms, event, is_digit))


def ordered(model: Model, first: Event, second: Event, order: Order) -> Any:
    """Pairs of instances that touch the same element, `first` before `second` in the way of `order`."""
    return model.cached((first, second, order), lambda: find_ordered(model, first, second, order))


def find_ordered(model: Model, first: Event, second: Event, order: Order) -> Any:
    """`ordered`, of which there is one for all pairs of events that touch the same and meet in the same way."""
    places = second.places
    carrier = first.loops[order.shared] if order.is_carried else None
    way: list[tuple[int, int, int]] = []
    for place, dim in enumerate(first.frame.dims):
        if dim == carrier:
            way.append((place, places[dim.key], dim.stride))
        elif is_fixed(dim, order) and dim.key in places:
            way.append((place, places[dim.key], 0))
    return found_once(model, first, second, way)


def found_once(model: Model, first: Event, second: Event, way: Sequence[tuple[int, int, int]]) -> Any:
    """What `compute_ordered` finds of the pairs that touch the same element."""
    pairs = same_element(model, first, second)
    return model.shared.once(("ordered", *way), lambda: compute_ordered(pairs, way), pairs)


def compute_ordered(pairs: Any, way: Iterable[tuple[int, int, int]]) -> Any:
    """Those of `pairs` that are equal in two places, where the stride is zero, or else one after the other."""
    if pairs.is_empty():
        return pairs
    found = isl.BasicMap.universe(pairs.get_space())
    for mine, other, stride in way:
        if stride == 0:
            found = found.equate(IN, mine, OUT, other)
        else:
            found = found.order_gt(OUT, other, IN, mine) if stride > 0 else found.order_gt(IN, mine, OUT, other)
    return pairs.intersect(isl.Map.from_basic_map(found))


def ahead(model: Model, first: Event, second: Event, lag: int) -> Any:
    """Pairs of instances in neighbouring loops that touch the same element, in the same iteration of the loops around
    both, that of `first` in an iteration of its loop more than `lag` after that of `second`.
    """
    return apart(model, first, second, common_loops(first, second), None, -1 - lag)


def apart(model: Model, first: Event, second: Event, shared: int, least: int | None, most: int | None = None) -> Any:
    """Pairs of instances that touch the same element, in the same iteration of the `shared` outermost loops: that of
    `second` comes at least and at most so many iterations of the next loop after that of `first`, where that is said.
    """
    pairs, equal = same_element(model, first, second), alike(first, second, shared)
    mine, other = (event.places[event.loops[shared].key] for event in (first, second))

    def compute() -> Any:
        if pairs.is_empty():
            return pairs
        found = isl.BasicMap.universe(pairs.get_space())
        for one, that in equal:
            found = found.equate(IN, one, OUT, that)
        for sign, bound in ((1, least), (-1, most)):
            if bound is not None:
                later = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(pairs.get_space()))
                later = later.set_coefficient_val(IN, mine, isl_integer(model, -sign))
                later = later.set_coefficient_val(OUT, other, isl_integer(model, sign))
                found = found.add_constraint(later.set_constant_val(isl_integer(model, -sign * bound)))
        return pairs.intersect(isl.Map.from_basic_map(found))

    return model.shared.once(("apart", equal, mine, other, least, most), compute, pairs)


def aside(model: Model, first: Event, second: Event, shared: int, mine: Path, other: Path) -> Any:
    """Pairs of instances that touch the same element, in the same iteration of the `shared` outermost loops, `first` at
    a lower index of the loop `mine` around it than `second` is of the loop `other`.
    """
    equal = ((one, that, 0) for one, that in alike(first, second, shared))
    return found_once(model, first, second, (*equal, (first.places[mine], second.places[other], 1)))


def alike(first: Event, second: Event, shared: int) -> tuple[tuple[int, int], ...]:
    """Where what both have of the `shared` outermost loops is in each."""
    places = second.places
    dims = ((place, dim) for place, dim in enumerate(first.frame.dims) if dim.kind != "element" and dim.level <= shared)
    return tuple((place, places[dim.key]) for place, dim in dims if dim.key in places)


def is_fixed(dim: Any, order: Order) -> bool:
    """Whether instances that agree on the shared loops agree on `dim`."""
    return dim.kind != "element" and dim.level <= order.shared


def is_certain(first: Event, second: Event, order: Order) -> bool:
    """Whether every instance of `first` that `ordered` pairs with an executed one of `second` is executed as
    well: what its domain does not know is known from the iteration it shares with `second`.
    """
    places = second.places
    return not first.is_possible and all(is_fixed(d, order) and d.key in places for d in first.opaques)
