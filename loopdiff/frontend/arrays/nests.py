"""Loop nests for whole arrays: storing into one, and giving a computed one memory.

The right side of an assignment is read before the left side is written. So where the nest would read elements
that it has already written, the right side goes through an array of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import permutations

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import aligned, is_unit, require_fit
from loopdiff.frontend.arrays.element_types import dtype_of, is_truth_value
from loopdiff.frontend.arrays.evaluated import require_elements
from loopdiff.frontend.arrays.integers import (
    at_least_zero,
    count_of,
    distance,
    minus,
    plus,
    times,
)
from loopdiff.frontend.arrays.ranges import greatest_base, is_nonnegative_here, keep_range, limit, moves
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, as_array, fill, has_holes, hole, is_hole
from loopdiff.frontend.parsing.accumulations import store
from loopdiff.frontend.parsing.sites import Copy, choice_site
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.buffers import declare
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import from_linear, linear
from loopdiff.ir.build import nested
from loopdiff.ir.ops import Op
from loopdiff.ir.types import HALVES, ArrayType
from loopdiff.ir.walk import loads, map_body, map_expr, map_stmt_exprs, read_arrays, written_arrays

STEMS = "ijklmn"
SMALL_INTEGERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
SMALL = (*SMALL_INTEGERS, *HALVES)  # elements that hold less than what is computed with
EXACT = "float64"
Make = Callable[[tuple[ir.Expr, ...]], Sequence[ir.Stmt]]


def nest(
    state: State, extents: Sequence[ir.Expr], make: Make, span: Span, starts: Sequence[ir.Expr] | None = None
) -> tuple[ir.Stmt, ...]:
    """Loops over all subscripts of an array of the `extents`, around the statements that `make` gives for them.

    `starts`: where the index of each loop starts, so that it is the subscript of what is written.
    """
    firsts = [ir.Const(0)] * len(extents) if starts is None else list(starts)
    names = [state.index(STEMS[k % len(STEMS)]) for k in range(len(extents))]
    subscripts = tuple(minus(ir.Index(n), f) for n, f in zip(names, firsts, strict=True))
    loops = [
        ir.Loop(name, first, plus(first, count_of(extent)), ir.Const(1), (), loc=span)
        for name, first, extent in zip(names, firsts, extents, strict=True)
    ]
    return nested(loops, tuple(make(subscripts)))


# -- storing -------------------------------------------------------------------------------------------------
def store_array(state: State, target: View, value: Array | ir.Expr, node: ast.AST) -> None:
    """`target[...] = value`, repeated to its shape."""
    span = state.source.span(node)
    if target.is_read_only:
        refuse_read_only(state, node)
        return
    require_elements(state, value, node)
    if isinstance(value, View) and redirected(state, target, value, span):
        return
    source = without_leading_units(as_array(value), target.rank)
    if source is None:
        refuse_axes(state, value, target.rank, node)
        return
    source = with_held_elements(state, source, target.array, span)
    require_fit(state, source, target.extents, span)
    if reads_written(source, aligned(state, source, target.extents), target):
        source = copied_view(state, source, target.array, span)
    element = aligned(state, source, target.extents)

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        return [store(target.access(subscripts), fill(element, subscripts), span, is_elementwise=True)]

    state.out += nest(state, target.extents, make, span, starts_of(target))


def refuse_read_only(state: State, node: ast.AST) -> None:
    hint = "write to the array that it is made of, or to a copy: `x.copy()`"
    state.reject("LD121", f"`{ast.unparse(node)}` writes to an array that NumPy lets nobody write to", node, hint)


def refuse_axes(state: State, value: Quantity, rank: int, node: ast.AST) -> None:
    given, taken = (f"{n} {'axis' if n == 1 else 'axes'}" for n in (as_array(value).rank, rank))
    state.reject("LD121", f"an array with {given} is assigned to one with {taken}", node)


def without_leading_units(value: Array, rank: int) -> Array | None:
    """`value` with at most `rank` axes: those before, of one element, left out; None if one has more."""
    extra = value.rank - rank
    if extra <= 0:
        return value
    if any(not (isinstance(e, ir.Const) and e.value == 1) for e in value.extents[:extra]):
        return None
    positions = [ir.Const(0)] * extra + [hole(k) for k in range(rank)]
    return ArrayValue(value.extents[extra:], fill(value.element, positions))


def with_held_elements(state: State, value: Array, array: str, span: Span) -> Array:
    """`value` with single elements of `array`, which is about to change, held in cells."""
    fixed = dict.fromkeys(e for e in loads(value.element) if e.access.array == array and not has_holes(e))
    cells: dict[ir.Expr, ir.Expr] = {}
    for load in fixed:
        cell = state.temporary("held", span)
        state.out.append(ir.Assign(cell, load, loc=span))
        cells[load] = ir.Load(cell, loc=span)
    if not cells:
        return value
    return ArrayValue(
        value.extents, map_expr(lambda e: cells.get(e, e) if isinstance(e, ir.Load) else e, value.element)
    )


def starts_of(target: View) -> list[ir.Expr]:
    """For each axis of the view where its first element is in the array, if its elements follow one another."""
    starts: list[ir.Expr] = [ir.Const(0)] * target.rank
    for subscript in target.subscripts:
        terms, constant = linear(subscript)
        found = [t for t in terms if is_hole(t)]
        rest = {t: n for t, n in terms.items() if not is_hole(t)}
        if len(found) == 1 and terms[found[0]] == 1 and not any(map(has_holes, rest)):
            axis = int(found[0].name[1:])  # type: ignore[union-attr]
            starts[axis] = from_linear(rest, constant, subscript.loc)
    return starts


def reads_written(value: Array, element: ir.Expr, target: View) -> bool:
    """Whether the nest that stores `element` would read what it wrote in an earlier iteration."""
    reads = [e.access for e in loads(element) if e.access.array == target.array]
    return not all(is_unwritten(read.subscripts, target) for read in reads)


def is_unwritten(read: Sequence[ir.Expr], target: View) -> bool:
    """Whether the element at `read` is not written in an earlier iteration: it is the one written, another in every
    iteration, or one that is written later.
    """
    ahead: dict[int, int] = {}
    for subscript, written in zip(read, target.subscripts, strict=True):
        gap = distance(subscript, written)
        if gap is None:
            return False
        terms, _ = linear(written)
        found = [(int(t.name[1:]), n) for t, n in terms.items() if is_hole(t)]  # type: ignore[union-attr]
        if len(found) > 1 or any(has_holes(t) and not is_hole(t) for t in terms):
            return False
        if not found:
            if gap:
                return True
            continue
        ((axis, stride),) = found
        if gap % stride:
            return True
        ahead[axis] = gap // stride
    order = [ahead[axis] for axis in sorted(ahead)]
    return len(ahead) == target.rank and next((d for d in order if d), 0) >= 0


# -- memory --------------------------------------------------------------------------------------------------
def copied_view(state: State, value: Array, stem: str, span: Span) -> View:
    """`value` in a new local array."""
    view = new_array(state, stem, value.extents, span, is_truth_value(state, value.element))
    keep_type(state, view.array, value.element)
    made_of(state, view.array, value.element)
    note_order(state, view.array, value)
    if isinstance(value, ArrayValue) and value.memory is not None:
        event, site = state.whole.event(view.array), choice_site(value)
        state.whole.copies += [Copy(site, event, a) for a in sorted({e.access.array for e in loads(value.element)})]

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        return [ir.Assign(view.access(subscripts), fill(value.element, subscripts), loc=span)]

    state.out += nest(state, view.extents, make, span)
    return view


def keep_type(state: State, array: str, element: ir.Expr) -> None:
    """The new `array`, whose elements are read as `element`, is of small integers, or of halves, if what is read is: it
    wraps, or rounds, as that. Where it is made in several versions of a statement, if it is so in all."""
    decl, dtype = state.arrays[array], None
    if isinstance(element, ir.Load) and element.access.subscripts:
        dtype = dtype_of(state, element.access.array)
    kind = ArrayType(dtype, len(decl.extents or ())) if dtype in SMALL else None
    if decl.type is None and not decl.values:
        state.arrays[array] = replace(decl, type=kind)
    elif decl.type != kind:
        state.arrays[array] = replace(decl, type=None)


def new_array(state: State, stem: str, extents: Sequence[ir.Expr], span: Span, is_truth: bool = False) -> View:
    """A new local array of the `extents`, a part of one where these are not known at entry but a limit is."""
    sizes = [state.known(e) for e in extents]
    limits = [limit(state, s) for s in sizes]
    row = axes_in_row(state, sizes, limits)
    if row is not None:
        return laid_in_row(state, stem, sizes, row, span, is_truth)
    room = tuple(s if m is None or m == s else at_least_zero(m) for s, m in zip(sizes, limits, strict=True))
    array, _ = declare(state, ir.ArrayDecl("", None, "local", room, loc=span), stem, None, span)
    if is_truth:
        state.whole.truths.add(array)
    whole = state.all_of(array, span)
    if all(m is None or distance(s, m) == 0 for s, m in zip(sizes, limits, strict=True)):
        return whole
    return with_more_room(state, whole, sizes)


@immutable
class AxesInRow:
    """Axes of a new array, from `first` to `last`, that are laid out in a row of `room` elements; and `before` and
    `behind` these, how many the other axes are at most."""

    first: int
    last: int
    room: ir.Expr
    before: tuple[ir.Expr, ...]
    behind: tuple[ir.Expr, ...]

    @property
    def extents(self) -> tuple[ir.Expr, ...]:
        return (*self.before, self.room, *self.behind)


def axes_in_row(state: State, sizes: Sequence[ir.Expr], limits: Sequence[ir.Expr | None]) -> AxesInRow | None:
    """Axes that are shorter the longer others are, `n // m` by `m`: together they have `n` elements at most, far fewer
    than what each is at most would make. None if there are none, or if nothing says how many elements there are."""
    known = [at_least_zero(most) for most in limits if most is not None]
    if len(known) < len(sizes):
        return None
    for k, p in permutations(range(len(sizes)), 2):
        most = together_at_most(state, count_of(sizes[k]), count_of(sizes[p]))
        if most is not None:
            first, last = min(k, p), max(k, p)
            others = (end for at, end in enumerate(known) if first < at < last and at not in (k, p))
            room = reduce(times, others, at_least_zero(most))
            return AxesInRow(first, last, room, tuple(known[:first]), tuple(known[last + 1 :]))
    return None


def together_at_most(state: State, size: ir.Expr, other: ir.Expr) -> ir.Expr | None:
    """What the product of two extents never exceeds, one of which is smaller the larger the other is: that of a
    quotient `n // m` and what is `m` at most, and that of powers. None for others."""
    match size, other:
        case ir.Apply(op=Op.FLOORDIV, args=(whole, by)), _ if moves(state, by) and is_nonnegative_here(
            state, minus(by, other)
        ):
            return limit(state, whole)
        case (
            ir.Apply(op=Op.POW | Op.SHL as op, args=(ir.Const(value=int(base)) as by, a)),
            ir.Apply(op=op_2, args=(ir.Const(value=base_2), b)),
        ) if op is op_2 and base == base_2 and (base > 1 if op is Op.POW else base == 1) and moves(state, a):
            end = limit(state, plus(a, b))
            return None if end is None else ir.Apply(op, (by, at_least_zero(end)), loc=size.loc)
        case ir.Apply(op=Op.POW, args=(by, a)), ir.Apply(op=Op.POW, args=(by_2, b)) if (
            by == by_2 and (most := greatest_base(state, by)) is not None and moves(state, a)
        ):
            end = limit(state, plus(a, b))
            return None if end is None else ir.Apply(Op.POW, (most, at_least_zero(end)), loc=size.loc)
        case _:
            return None


def laid_in_row(
    state: State, stem: str, sizes: Sequence[ir.Expr], row: AxesInRow, span: Span, is_truth: bool = False
) -> View:
    """A new local array of these `sizes`, some axes of which are one axis of its memory."""
    array, _ = declare(state, ir.ArrayDecl("", None, "local", row.extents, loc=span), stem, None, span)
    if is_truth:
        state.whole.truths.add(array)
    return placed_in_row(state, array, sizes, row)


def placed_in_row(state: State, array: str, sizes: Sequence[ir.Expr], row: AxesInRow) -> View:
    """The new `array` of these `sizes`, whose memory is the `row` and the axes around it."""
    place: ir.Expr = hole(row.first)
    for axis in range(row.first + 1, row.last + 1):
        place = plus(times(place, now(state, sizes[axis], "row")), hole(axis))
    subscripts = (*map(hole, range(row.first)), place, *map(hole, range(row.last + 1, len(sizes))))
    return with_more_room(state, View(array, subscripts, ()), sizes)


def with_more_room(state: State, memory: View, sizes: Sequence[ir.Expr]) -> View:
    """The new array of these `sizes` whose elements are in the `memory`, which has room for more."""
    state.whole.roomy.add(memory.array)
    return replace(memory, extents=tuple(sizes), is_piece=True)


def now(state: State, size: ir.Expr, stem: str) -> ir.Expr:
    """`size` as it is here, whatever becomes of what it is computed from."""
    if not any(True for _ in loads(size)):
        return size
    cell = state.temporary(stem, size.loc)
    state.out.append(ir.Assign(cell, size, loc=size.loc))
    keep_range(state, cell.array, size)
    return ir.Load(cell, loc=size.loc)


# -- order ---------------------------------------------------------------------------------------------------
def note_order(state: State, array: str, *made_from: Array) -> None:
    """Remember whether NumPy's memory of the new `array` has the elements in another order than row by row: it keeps
    that of what it computes from, so that `2.0 * A.T` is laid out as `A.T` is."""
    orders = [o for value in made_from if value.rank > 1 for o in orders_of(state, value.element, value.rank)]
    if True in orders and False not in orders:
        state.whole.turned.add(array)


def orders_of(state: State, element: ir.Expr, rank: int) -> Iterator[bool]:
    """For each array that `element` reads along several axes whether it may have them in another order; those that have
    all of them in that of the subscripts decide."""
    for load in loads(element):
        nested = [has_holes(s) and any(has_holes(e) for e in loads(s)) for s in load.access.subscripts]
        if any(nested) and any(has_holes(s) and not n for s, n in zip(load.access.subscripts, nested, strict=True)):
            yield True  # elements at index arrays and slices: NumPy puts the axes of the former first
            continue
        found = [int(e.name[1:]) for s in load.access.subscripts for e in linear(s)[0] if is_hole(e)]  # type: ignore[union-attr]
        if len(found) > 1:
            is_turned = found != sorted(found) or is_turned_memory(state, load.access.array)
            if is_turned or len(found) == rank:
                yield is_turned


def is_turned_memory(state: State, array: str) -> bool:
    """Whether the rows of `array` may not follow one another in NumPy's memory."""
    decl = state.arrays[array]
    kind = (state.types or {}).get(array) if decl.role == "argument" else None
    return array in state.whole.turned or (isinstance(kind, ArrayType) and kind.layout != "C" and kind.rank > 1)


def made_of(state: State, array: str, *values: ir.Expr) -> None:
    """The new `array` gets its element type from `values`, formulas of what it is filled with; later ones adapt. Where
    it is made in several versions of a statement, from all of these."""
    decl = state.arrays[array]
    state.arrays[array] = replace(decl, values=tuple(dict.fromkeys((*decl.values, *values))))


# -- results computed where they are stored: `C[:] = A @ B` needs no array in between ----------------------------
def redirected(state: State, target: View, value: View, span: Span) -> bool:
    """Let the statements that compute `value`, a fresh array, write `target` instead, if that is the same."""
    if value.array not in state.whole.fresh or value != state.all_of(value.array, span):
        return False
    places = [k for k, s in enumerate(state.out) if isinstance(s, ir.Allocate) and s.array == value.array]
    if not places or value.rank != target.rank or not has_extents(state, value, target):
        return False
    work = tuple(state.out[places[-1] + 1 :])
    read, written = read_arrays(work), written_arrays(work)
    if target.array in read | written or not all(map(lambda a: is_exact(state, a), {target.array, *read} - written)):
        return False
    with state.block() as checks:
        require_fit(state, value, target.extents, span)
    state.out[places[-1] :] = [*checks, *(moved(s, value.array, target) for s in work)]
    del state.arrays[value.array]
    return True


def has_extents(state: State, value: View, target: View) -> bool:
    """Whether no axis of `value` is repeated along one of `target`."""
    pairs = zip(value.extents, target.extents, strict=True)
    return all(distance(a, b) == 0 or not is_unit(state, a) for a, b in pairs)


def is_exact(state: State, array: str) -> bool:
    """Whether sums of elements of `array` can be kept in such an array: it holds float64, as the sums do."""
    decl = state.arrays[array]
    kind = state.need_types().get(array) if decl.role == "argument" else decl.type
    return isinstance(kind, ArrayType) and kind.dtype == EXACT


def moved(stmt: ir.Stmt, array: str, target: View) -> ir.Stmt:
    """`stmt` with elements of `target` in place of those of `array`."""

    def element(expr: ir.Expr) -> ir.Expr:
        is_old = isinstance(expr, ir.Load) and expr.access.array == array
        return ir.Load(target.access(expr.access.subscripts), loc=expr.loc) if is_old else expr  # type: ignore[union-attr]

    def store(one: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if isinstance(one, ir.Assign | ir.Accumulate) and one.target.array == array:
            one = replace(one, target=replace(target.access(one.target.subscripts), loc=one.target.loc))
        return (one,)

    return map_body((map_stmt_exprs(lambda e: map_expr(element, e), stmt),), store)[0]
