"""Elements at index arrays and under boolean masks: gathers and scatters."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import aligned, broadcast, is_unit, require_equal, require_fit, shape_text
from loopdiff.frontend.arrays.evaluated import require_elements
from loopdiff.frontend.arrays.integers import ONE, minimum, plus
from loopdiff.frontend.arrays.nests import (
    copied_view,
    made_of,
    nest,
    new_array,
    reads_written,
    refuse_axes,
    store_array,
    with_held_elements,
    with_more_room,
    without_leading_units,
)
from loopdiff.frontend.arrays.ranges import limit, tests_of_slices
from loopdiff.frontend.arrays.slicing import Slice, slice_part
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, as_array, fill, has_holes, hole
from loopdiff.frontend.arrays.views import (
    NewAxis,
    Subscript,
    basic,
    inside,
    is_full_axis,
    product,
    require_evaluated,
    taken,
    transposed,
    with_new_axes,
)
from loopdiff.frontend.parsing.accumulations import store
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import all_statements, loads


@immutable
class Masked:
    """What is assigned to by `array[:, mask] = ...`: the elements of `view` where `mask`, over its leading axes, is
    true. NumPy has the axis of these elements at `place` among the others."""

    view: View
    mask: Array
    place: int = 0


# -- index arrays --------------------------------------------------------------------------------------------
def gathered(
    state: State, array: Array, subscripts: Sequence[Subscript], node: ast.AST, is_parted: bool = False
) -> ArrayValue:  # fmt: skip
    """`array` at index arrays, which are broadcast against each other, integers and slices. `is_parted`: something is
    between these arrays that stands for no axis, as slices that do, so that theirs come first."""
    span = state.source.span(node)
    source = gather_source(state, array, subscripts, span)
    places = [k for k, s in enumerate(subscripts) if not isinstance(s, Slice | NewAxis)]
    indices = [as_array(subscripts[k]) for k in places]  # type: ignore[arg-type]
    common, elements = broadcast(state, indices, span)
    together = not is_parted and places == list(range(places[0], places[-1] + 1))
    first = sum(isinstance(s, Slice | NewAxis) for s in subscripts[: places[0]]) if together else 0
    extents: list[ir.Expr] = []
    positions: list[ir.Expr] = []
    for place, subscript in enumerate(subscripts):
        if len(extents) == first:
            extents += common
        axis = len(positions)
        match subscript:
            case NewAxis():
                extents.append(ir.Const(1))
            case Slice():
                part = slice_part(source.extents[axis], subscript, *tests_of_slices(state))
                positions.append(part.subscript(hole(len(extents))))
                extents.append(part.count)
            case _:
                element = elements[places.index(place)]
                is_formula = has_holes(element)
                shifted = fill(element, [hole(first + k) for k in range(len(common))])
                positions.append(shifted if is_formula else inside(state, source, axis, element, node))
    if len(extents) == first:
        extents += common
    for axis, subscript in enumerate(s for s in subscripts if not isinstance(s, NewAxis)):
        if not isinstance(subscript, Slice | View | ArrayValue):
            require_evaluated(state, source, axis, subscript, node)  # type: ignore[arg-type]
            continue
        if isinstance(subscript, View | ArrayValue) and any(isinstance(s, Slice) for s in subscripts):
            require_indices(state, source, axis, subscript, node)
    found = taken(source, positions, extents)
    return ArrayValue(found.extents, found.element)


def require_indices(state: State, source: Array, axis: int, index: Array, node: ast.AST) -> None:
    """Require that the elements of an index array are in range, be what they choose without elements."""

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        with state.block() as body:
            require_evaluated(state, source, axis, fill(index.element, subscripts), node)
        return body

    body = nest(state, index.extents, make, state.source.span(node))
    state.out += [s for s in body if any(isinstance(inner, ir.Require) for inner in all_statements((s,)))]


def gather_source(state: State, array: Array, subscripts: Sequence[Subscript], span: Span) -> Array:
    """`array` as memory all of whose axes under index arrays are checked as such: else a copy of it, which goes back
    where something is stored (`store_back`)."""
    axis = 0
    for subscript in subscripts:
        is_index = isinstance(subscript, View | ArrayValue)
        if is_index and not (isinstance(array, View) and is_full_axis(state, array, axis)):
            copy = copied_view(state, array, "source", span)
            if isinstance(array, View):
                state.whole.parts[copy.array] = copy, array
            return copy
        axis += not isinstance(subscript, NewAxis)
    return array


def scattered(state: State, target: ArrayValue, value: Quantity, node: ast.AST, accumulate: bool = False) -> None:
    """`x[idx] = value`, the last of equal subscripts wins; `accumulate`: `np.add.at`, all of them count."""
    span = state.source.span(node)
    require_elements(state, value, node)
    assert isinstance(target.element, ir.Load)
    target = with_own_indices(state, target, span)
    assert isinstance(target.element, ir.Load)
    access = target.element.access
    source = without_leading_units(as_array(value), target.rank)
    if source is None:
        refuse_axes(state, value, target.rank, node)
        return
    source = with_held_elements(state, source, access.array, span)
    require_fit(state, source, target.extents, span)
    if any(e.access.array == access.array for e in loads(source.element)):
        source = copied_view(state, source, access.array, span)
    element = aligned(state, source, target.extents)

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        place = fill(target.element, subscripts)
        assert isinstance(place, ir.Load)
        number = fill(element, subscripts)
        if accumulate:
            return [ir.Accumulate("add", place.access, number, loc=span)]
        return [ir.Assign(place.access, number, loc=span)]

    state.out += nest(state, target.extents, make, span)
    store_back(state, access.array, node)


def store_back(state: State, array: str, node: ast.AST) -> None:
    """Store the local `array` where it is a copy of: a part of another, of which elements at index arrays are set."""
    if array in state.whole.parts:
        copy, part = state.whole.parts[array]
        store_array(state, part, copy, node)


def with_own_indices(state: State, target: ArrayValue, span: Span) -> ArrayValue:
    """`target`, elements at index arrays, with copies of those that are what is written: NumPy reads them before."""
    assert isinstance(target.element, ir.Load)
    access = target.element.access
    subscripts: list[ir.Expr] = []
    for subscript in access.subscripts:
        if any(load.access.array == access.array for load in loads(subscript)):
            subscript = copied_view(state, ArrayValue(target.extents, subscript), "places", span).element
        subscripts.append(subscript)
    return replace(target, element=replace(target.element, access=replace(access, subscripts=tuple(subscripts))))


# -- masks ---------------------------------------------------------------------------------------------------
def mask_target(state: State, array: Array, subscripts: Sequence[Subscript], node: ast.AST) -> Masked | None:
    """`array[i, :, mask]`, one mask among integers and slices; None after a rejection."""
    span = state.source.span(node)
    places = [k for k, s in enumerate(subscripts) if isinstance(s, View | ArrayValue)]
    if len(places) > 1 or any(isinstance(s, NewAxis) for s in subscripts):
        state.reject("LD120", "a boolean mask stands with other arrays, or new axes, in its subscript", node)
        return None
    at = places[0]
    mask = subscripts[at]
    assert isinstance(mask, View | ArrayValue)
    for size, extent in zip(mask.extents, array.extents[at:], strict=False):
        shapes = f"{shape_text(mask.extents)} and {shape_text(array.extents)}"
        require_equal(state, size, extent, f"the shapes {shapes} of mask and array do not fit together", span)
    found = array
    if any(s != Slice() for s in (*subscripts[:at], *subscripts[at + 1 :])):
        found = as_array(basic(state, array, [*subscripts[:at], *[Slice()] * mask.rank, *subscripts[at + 1 :]], node))
    view = found if isinstance(found, View) else copied_view(state, found, "source", span)
    first = sum(isinstance(s, Slice) for s in subscripts[:at])
    if first:
        own = range(first, first + mask.rank)
        view = transposed(view, [*own, *(k for k in range(view.rank) if k not in own)])
        assert isinstance(view, View)
    return Masked(view, mask, place_of_chosen(subscripts))


def place_of_chosen(subscripts: Sequence[Subscript]) -> int:
    """Before which of the axes under slices NumPy has that of the elements that a mask chooses: where the mask and the
    integers are, if these are side by side, else first."""
    places = [k for k, s in enumerate(subscripts) if not isinstance(s, Slice)]
    return places[0] if places == list(range(places[0], places[-1] + 1)) else 0


def masked(state: State, array: Array, subscripts: Sequence[Subscript], node: ast.AST) -> Quantity | None:
    """The elements where the mask is true, one after the other in a new array."""
    span = state.source.span(node)
    found = mask_target(state, array, subscripts, node)
    if found is None:
        return None
    view, mask = found.view, found.mask
    rest = view.extents[mask.rank :]
    most = product(view.extents[: mask.rank])
    room = new_array(state, "chosen", (most, *rest), span)
    made_of(state, room.array, view.element)
    count = state.temporary("count", span)
    number = ir.Load(count, loc=span)
    state.out.append(ir.Assign(count, ir.Const(0, loc=span), loc=span))
    if (upto := limit(state, state.known(most))) is not None:  # also of what another mask chose
        state.whole.ranges[count.array] = ir.Const(0), plus(upto, ONE)

    def make(positions: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        def move(others: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
            taken = ir.Load(view.access((*positions, *others)))
            return [ir.Assign(room.access((number, *others)), taken, loc=span)]

        follow = (*nest(state, rest, move, span), ir.Accumulate("add", count, ir.Const(1, loc=span), loc=span))
        return [ir.If(fill(mask.element, positions), follow, loc=span)]

    state.out += nest(state, mask.extents, make, span)
    chosen, place = with_more_room(state, room, (minimum(number, most), *rest)), found.place
    return transposed(chosen, [*range(1, place + 1), 0, *range(place + 1, chosen.rank)]) if place else chosen


def store_masked(
    state: State,
    target: Masked,
    value: Quantity,
    node: ast.AST,
    build: Callable[[ir.Expr, ir.Expr], ir.Expr] | None = None,
) -> None:
    """`view[mask] = value`: a number, or one element of `value` for each that is written.

    `build`: what an augmented assignment makes of the old element and that of `value`.
    """
    span = state.source.span(node)
    require_elements(state, value, node)
    view, mask = target.view, target.mask
    rest = view.extents[mask.rank :]
    source = without_leading_units(as_array(value), 1 + len(rest))
    if source is None:
        refuse_axes(state, value, 1 + len(rest), node)
        return
    source = with_chosen_first(source, 1 + len(rest), target.place)
    source = with_held_elements(state, source, view.array, span)
    if any(e.access.array == view.array for e in loads(source.element)):
        source = copied_view(state, source, view.array, span)
    if reads_written(mask, mask.element, view):
        mask = copied_view(state, mask, "mask", span)
    has_own = source.rank == 1 + len(rest) and not is_unit(state, source.extents[0])
    counter = state.temporary("count", span)
    if has_own:
        count_true(state, mask, counter, span)
    number = ir.Load(counter, loc=span)
    lead: ir.Expr = number if has_own else ir.Const(0)
    extents = (number, *rest) if has_own else (ir.Const(1), *rest)
    require_fit(state, source, extents, span)
    element = aligned(state, source, extents)
    if has_own:
        state.out.append(ir.Assign(counter, ir.Const(0, loc=span), loc=span))

    def make(positions: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        def move(others: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
            place = view.access((*positions, *others))
            new = fill(element, (lead, *others))
            new = new if build is None else build(ir.Load(place, loc=span), new)
            return [store(place, new, span, is_elementwise=True)]

        more = (ir.Accumulate("add", counter, ir.Const(1, loc=span), loc=span),) if has_own else ()
        return [ir.If(fill(mask.element, positions), (*nest(state, rest, move, span), *more), loc=span)]

    state.out += nest(state, mask.extents, make, span)


def with_chosen_first(source: Array, rank: int, place: int) -> Array:
    """What is stored in `rank` axes with that at `place` before the others."""
    if not (place and source.rank):
        return source
    whole = with_new_axes(source, range(rank - source.rank))
    return transposed(whole, [place, *(k for k in range(rank) if k != place)])


def count_true(state: State, mask: Array, counter: ir.Access, span: Span) -> None:
    def make(positions: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        return [ir.Accumulate("add", counter, ir.Cast(BOOL, fill(mask.element, positions)), loc=span)]

    state.out.append(ir.Assign(counter, ir.Const(0, loc=span), loc=span))
    state.out += nest(state, mask.extents, make, span)
