"""Names whose arrays loops make shorter or longer: `x = x[1:]`, `c = np.append(c, v)`, `a = 0.5 * (a[::2] + a[1::2])`.

The memory of such a name has room for the longest, and cells count how many elements there are. How long arrays may
become follows from what an iteration makes of those it found: shorter ones have room where these had, and what becomes
longer has room for as much more in each iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from loopdiff.errors import Span
from loopdiff.frontend.arrays.element_types import dtype_of
from loopdiff.frontend.arrays.integers import ONE, ZERO, at_least_zero, distance, maximum, minus, plus, times
from loopdiff.frontend.arrays.ranges import greatest, is_nonnegative_here, least, limit
from loopdiff.frontend.arrays.values import View, holes
from loopdiff.frontend.parsing.bindings import ArrayName, Binding
from loopdiff.frontend.parsing.iterations import LoopState, Resized, Resizing, Trips
from loopdiff.frontend.parsing.lists.lengths import is_known_at_entry
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import from_linear, linear
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import loads, map_expr

Extents = tuple[ir.Expr, ...]
MOST_LIMITS = 8  # that are looked at of a formula


# -- memory --------------------------------------------------------------------------------------------------
def room_for(
    state: State, views: Sequence[View | None], held: Sequence[View | None], span: Span
) -> tuple[ir.ArrayDecl, tuple[bool, ...]] | None:  # fmt: skip
    """The declaration of an array with room for those of `views` that are to be `held` first, and along which axes they
    have different extents; None if they differ in more than that, or in nothing."""
    first = views[0]
    if first is None or not first.rank or any(v is None or not is_of_kind(state, v, first) for v in views):
        return None
    dtype = dtype_of(state, first.array)
    axes = zip(*(map(state.known, v.extents) for v in held if v is not None), strict=True)
    limits = [greatest(state, axis, span) for axis in axes]
    room = tuple(at_least_zero(m) for m in limits if m is not None)
    moving = tuple(is_moving(state, [v.extents[k] for v in views if v is not None]) for k in range(first.rank))
    if dtype is None or len(room) < first.rank or not any(moving):
        return None
    return ir.ArrayDecl("", ArrayType(dtype, first.rank), "local", room, loc=span), moving


def is_of_kind(state: State, view: View, other: View) -> bool:
    is_like = view.rank == other.rank and view.is_read_only == other.is_read_only
    return is_like and dtype_of(state, view.array) == dtype_of(state, other.array)


def is_moving(state: State, extents: Sequence[ir.Expr]) -> bool:
    """Whether `extents`, of one axis, are not seen to be the same everywhere."""
    first, *rest = map(state.known, extents)
    return not state.is_fixed(first) or any(distance(first, e) != 0 for e in rest)


def begin(
    state: State, array: str, moving: Sequence[bool], first: View, more: Extents, least: Extents, span: Span
) -> None:  # fmt: skip
    """Let `array` be the memory of a name that stands for `first` here, and for arrays with up to `more` elements more
    after each iteration, but never less than `least`; along axes that are `moving`."""
    room, limits = state.all_of(array, span).extents, [limit(state, state.known(e)) for e in first.extents]
    counts = tuple(state.temporary("length", span).array if moves else None for moves in moving)
    found = Resized(counts, tuple(ZERO if m is None else at_least_zero(m) for m in limits), more, first.extents)
    state.whole.resized[array] = found
    for cell, low, most in zip(counts, least, room, strict=True):
        if cell is not None:
            state.whole.ranges[cell] = (low, plus(most, ONE))


def finish(state: State, array: str, loop: LoopState, changes: Sequence[Resizing], span: Span) -> Binding | None:
    """After the loop: how long the arrays have become at most, by what they were before it. What their name stands for,
    if their length is known at entry."""
    found, trips = state.whole.resized[array], loop.trips
    state.whole.resized[array] = replace(found, more=(ZERO,) * len(found.more), peers=())
    is_relative = all(c.is_relative for c in changes)
    for cell, given, more in zip(found.counts, found.given, found.more, strict=True):
        if cell is not None and is_relative and (more == ZERO or trips.limit is not None):
            state.whole.most[cell] = given if trips.limit is None else plus(given, times(trips.limit, more))
    exact = [c.exactly for c in changes]
    first = exact[0] if exact else None
    is_exact = trips.is_exact and trips.limit is not None and not loop.breaks and first is not None
    if not is_exact or not all(e is not None and are_same(e, first or ()) for e in exact) or first is None:
        return None
    whole = state.all_of(array, span)
    axes = zip(found.counts, map(state.known, found.given), first, whole.extents, strict=True)
    extents = tuple(
        room if cell is None else at_least_zero(plus(given, times(trips.limit or ZERO, gap)))
        for cell, given, gap, room in axes
    )
    if not all(map(state.is_fixed, extents)):
        return None
    return ArrayName(array) if are_same(extents, whole.extents) else replace(whole, extents=extents)


def are_same(a: Extents, b: Extents) -> bool:
    return all(distance(x, y) == 0 for x, y in zip(a, b, strict=True))


def begin_joined(state: State, array: str, moving: Sequence[bool], views: Sequence[View], span: Span) -> None:
    """The same for a name that stands for one of `views`, depending on the way here."""
    begin(state, array, moving, views[0], (ZERO,) * len(moving), (ZERO,) * len(moving), span)
    axes = zip(*(v.extents for v in views), strict=True)
    for cell, extents in zip(state.whole.resized[array].counts, axes, strict=True):
        held = [with_held(state, e) for e in extents]
        if cell is not None and all(distance(e, held[0]) == 0 for e in held):
            state.whole.held[cell] = held[0]
        elif cell is not None:
            state.whole.most[cell] = reduce(maximum, held)


def resized_view(state: State, array: str, span: Span) -> View:
    """All of `array`, of which cells may count what is there."""
    found, whole = state.whole.resized.get(array), state.all_of(array, span)
    return whole if found is None else View(array, whole.subscripts, extents_now(found, whole.extents, span))


def extents_now(found: Resized, room: Extents, span: Span) -> Extents:
    return tuple(
        most if cell is None else ir.Load(ir.Access(cell, loc=span), loc=span)
        for cell, most in zip(found.counts, room, strict=True)
    )


def is_all_in_memory(state: State, binding: ArrayName | View, span: Span) -> bool:
    """Whether a name stands for all that is in its memory."""
    return isinstance(binding, ArrayName) or binding == resized_view(state, binding.array, span)


def is_all_there(view: View, array: str) -> bool:
    """Whether `view` begins where `array` does, and leaves nothing out but at ends."""
    return view.array == array and view.subscripts == holes(view.rank)


def count_elements(state: State, array: str, view: View, span: Span) -> None:
    """`array` has as many elements as `view` from here on."""
    for cell, extent in zip(state.whole.resized[array].counts, view.extents, strict=True):
        if cell is not None:
            state.out.append(ir.Assign(ir.Access(cell, loc=span), extent, loc=span))


# -- lengths -------------------------------------------------------------------------------------------------
def has_room(state: State, array: str, view: View, span: Span) -> bool:
    """Whether the resized `array` can hold `view` at the end of an iteration."""
    target, found = resized_view(state, array, span), state.whole.resized[array]
    if not is_of_kind(state, view, target):
        return False
    there = [target.extents, *(resized_view(state, peer, span).extents for peer in found.peers)]
    axes = zip(view.extents, zip(*there, strict=True), found.first, found.more, found.counts, strict=True)
    return all(
        distance(state.known(size), state.known(now[0])) == 0
        if cell is None
        else any(is_within(state, size, plus(n, more)) for n in now) or is_within(state, size, first)
        for size, now, first, more, cell in axes
    )


def change_of(state: State, array: str, view: View, memory: Mapping[str, str], span: Span) -> Resizing:
    """What the iteration that ends here with `view` does to the arrays in the resized `array`, one of the `memory` of
    names."""
    found, now = state.whole.resized[array], resized_view(state, array, span).extents
    fits = has_room(state, array, view, span)
    is_relative, exact = True, list[ir.Expr | None]()
    more, less = list[ir.Expr | None](), list[ir.Expr | None]()
    for size, n, cell, grows, first in zip(view.extents, now, found.counts, found.more, found.first, strict=True):
        known = state.known(size)
        if cell is None:
            more, less, exact = [*more, ZERO], [*less, ZERO], [*exact, ZERO]
            continue
        is_relative &= is_within(state, size, plus(n, grows))
        is_short = is_within(state, size, first)
        more.append(ZERO if is_short else first_known(state, (gap_of(state, m, n) for m in limits_of(state, known))))
        less.append(first_known(state, (limit(state, minus(n, low)) for low in lowers(state, known))))
        exact.append(first_known(state, exact_gaps(state, known, n)))
    read = {e.access.array for size in view.extents for e in loads(with_held(state, state.known(size)))}
    others = {n: a for n, a in memory.items() if a != array and a in state.whole.resized}
    beside = () if fits or read & set(found.counts) else tuple(gaps_beside(state, view, others, span))
    return Resizing(fits, is_relative, all_or_none(more), all_or_none(less), all_or_none(exact), beside)


def gaps_beside(
    state: State, view: View, others: Mapping[str, str], span: Span
) -> Iterator[tuple[str, Extents]]:  # fmt: skip
    """How many elements more than the arrays of `others` had `view` has at most, of those whose lengths are in its."""
    sizes = [with_held(state, state.known(size)) for size in view.extents]
    read = {e.access.array for size in sizes for e in loads(size)}
    for name, array in others.items():
        found = state.whole.resized[array]
        if len(found.counts) != view.rank or not read & set(found.counts):
            continue
        axes = zip(sizes, resized_view(state, array, span).extents, found.counts, strict=True)
        gaps = [
            ZERO if cell is None else first_known(state, (gap_of(state, m, n) for m in limits_of(state, size)))
            for size, n, cell in axes
        ]
        if (known := all_or_none(gaps)) is not None:
            yield name, known


def first_known(state: State, found: Iterable[ir.Expr | None]) -> ir.Expr | None:
    """The first that is known at entry."""
    return next((e for e in found if e is not None and is_known_at_entry(state, e)), None)


def all_or_none(found: Sequence[ir.Expr | None]) -> Extents | None:
    known = tuple(e for e in found if e is not None)
    return known if len(known) == len(found) else None


def more_in_all(changes: Sequence[Resizing]) -> Extents | None:
    """How many elements an iteration adds at most, whichever way it ends."""
    found = [c.more for c in changes if c.more is not None]
    axes = zip(*found, strict=True)
    return tuple(reduce(maximum, map(at_least_zero, axis)) for axis in axes) if len(found) == len(changes) else None


def more_in_group(
    changes: Mapping[str, Sequence[Resizing]], refused: Iterable[str]
) -> tuple[frozenset[str], Extents] | None:  # fmt: skip
    """Names whose arrays are made of those of one another, among them one that is `refused`, and how many elements an
    iteration adds at most to the longest; None if there are none."""
    group = {n for n in refused if any(c.beside for c in changes.get(n, ()))}
    group |= {peer for n in group for c in changes[n] for peer, _ in c.beside}
    gaps: list[Extents] = []
    for change in (c for n in group for c in changes.get(n, ()) if not c.fits):
        found = [g for _, g in change.beside] or ([] if change.more is None else [change.more])
        if not found:
            return None
        gaps.append(found[0])
    return (
        (frozenset(group), tuple(reduce(maximum, map(at_least_zero, axis)) for axis in zip(*gaps, strict=True)))
        if gaps
        else None
    )


def least_in_all(state: State, changes: Sequence[Resizing], given: Extents, trips: Trips) -> Extents | None:
    """How many elements there are at least at the start of an iteration, and after the last, along each axis where that
    is more than none; None if there is none of these."""
    found = [c.less for c in changes if c.less is not None]
    if trips.limit is None or not found or len(found) < len(changes):
        return None
    low: list[ir.Expr] = []
    for extent, axis in zip(given, zip(*found, strict=True), strict=True):
        gap = reduce(maximum, map(at_least_zero, axis))
        number = minus(least(state, extent), times(trips.limit, gap))
        is_known = state.is_fixed(number) and is_nonnegative_here(state, minus(number, ONE))
        low.append(number if is_known else ZERO)
    return tuple(low) if any(number != ZERO for number in low) else None


def gap_of(state: State, size: ir.Expr, start: ir.Expr) -> ir.Expr | None:
    """What `size` is at most above `start`, in what is known at entry."""
    match size:
        case ir.Apply(op=Op.MAX, args=args):
            return greatest(state, [minus(a, start) for a in args], size.loc)
        case _:
            return limit(state, minus(size, start))


def exact_gaps(state: State, size: ir.Expr, start: ir.Expr) -> Iterator[ir.Expr]:
    """How much `size` is above `start`, if that is so for all lengths: those below zero are zero then."""
    match with_held(state, size):
        case ir.Apply(op=Op.MAX, args=(a, ir.Const(value=0))):
            gap = minus(a, start)
            if isinstance(gap, ir.Const) and gap.value <= 0:
                yield gap
        case found:
            yield minus(found, start)


def with_held(state: State, size: ir.Expr) -> ir.Expr:
    """`size` in numbers that the iteration began with."""

    def held(expr: ir.Expr) -> ir.Expr:
        found = state.whole.held.get(expr.access.array) if isinstance(expr, ir.Load) else None
        return expr if found is None else with_held(state, found)

    return map_expr(held, size)


def lowers(state: State, size: ir.Expr) -> Iterator[ir.Expr]:
    """What `size` is at least, in numbers that the iteration began with."""
    match with_held(state, size):
        case ir.Apply(op=Op.MAX, args=args):
            yield from args
        case ir.Select(cond=ir.Apply(op=Op.LT, args=(a, ir.Const(value=0))), then=then, orelse=orelse) if a == orelse:
            if is_nonnegative_here(state, minus(then, a)):  # a bound from the end
                yield orelse
        case found:
            yield found


def is_within(state: State, size: ir.Expr, most: ir.Expr) -> bool:
    """Whether `size` is certainly at most `most`."""
    known = state.known(size)
    uppers = (known, *limits_of(state, known))
    constants = (limit(state, upper) for upper in uppers)
    return any(is_nonnegative_here(state, minus(most, u)) for u in (*uppers, *(c for c in constants if c is not None)))


def limits_of(state: State, size: ir.Expr) -> list[ir.Expr]:
    """What `size` is at most, in numbers that the iteration began with: none if it becomes too long."""
    found: list[ir.Expr] = []
    for most in uppers(state, size):
        if most not in found:
            found.append(most)
        if len(found) == MOST_LIMITS:
            break
    return found


def uppers(state: State, size: ir.Expr) -> Iterator[ir.Expr]:
    match size:
        case ir.Apply(op=Op.FLOORDIV, args=(a, ir.Const(value=int(count)))) if count > 0:
            for most in limits_of(state, a):
                terms, constant = linear(most)
                rest = from_linear(terms, 0, size.loc)
                if is_nonnegative_here(state, rest):  # (n + c) // count is at most n + c // count
                    yield plus(rest, ir.Const(constant // count, loc=size.loc))
        case _:
            yield from uppers_of_sum(state, size)


def uppers_of_sum(state: State, size: ir.Expr) -> Iterator[ir.Expr]:
    """Of a sum: with one operand of what is the least of several, and with each of what is the greatest."""
    terms, constant = linear(size)
    for term, count in terms.items():
        parts = operands_above(state, term) if count > 0 else []
        rest = from_linear({t: n for t, n in terms.items() if t != term}, constant, size.loc)
        sums = [plus(rest, times(ir.Const(count), part)) for part in parts]
        if sums and (isinstance(term, ir.Select) or (isinstance(term, ir.Apply) and term.op is Op.MAX)):
            limits = [limits_of(state, s) for s in sums]
            if all(limits):
                yield reduce(maximum, (found[0] for found in limits))
            return
        if sums:
            for one in sums:
                yield from uppers(state, one)
            return
    yield size


def operands_above(state: State, term: ir.Expr) -> list[ir.Expr]:
    """Numbers of which one, or the greatest, is at least `term`; none where nothing simpler is."""
    match term:
        case ir.Apply(op=Op.MIN | Op.MAX, args=args):
            return list(args)
        case ir.Select(cond=ir.Apply(op=Op.LT, args=(a, ir.Const(value=0))), then=then, orelse=orelse) if a == orelse:
            return [minus(minus(then, a), ONE), orelse]  # a bound from the end
        case ir.Select(then=then, orelse=orelse):
            return [then, orelse]
        case ir.Apply(op=Op.FLOORDIV, args=(_, ir.Const(value=int(count)))) if count > 0:
            return list(uppers(state, term))
        case ir.Load(access=ir.Access(array=cell)):
            most = state.whole.held.get(cell) or state.whole.most.get(cell)
            return [] if most is None else [most]
        case _:
            return []
