"""Where ways meet that bind a name to different arrays: the name gets memory of its own, and each way copies to it.

So the name of an array is a value like that of a number, with a copy at the end of each way where single assignment has
a phi (Boissinot, Darte, Rastello, Dupont de Dinechin and Guillon 2009, "Revisiting Out-of-SSA Translation for
Correctness, Code Quality, and Efficiency"). The copies of a way happen all at once. There are few of them: an array for
which only this name stands is the memory itself, and what another branch makes is made there at once.

A copy is as good as the array while nobody sees a difference. Where the array has other names, that is so unless one
of the two is altered later: such copies are noted, and looked at when the whole function is known. Where it is not so,
the function is parsed again, and names stand for one of several arrays there (see `varying`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import are_equal_here, require_equal, shape_text
from loopdiff.frontend.arrays.element_types import dtype_of
from loopdiff.frontend.arrays.integers import count_of, distance
from loopdiff.frontend.arrays.nests import copied_view, nest, note_order, reads_written
from loopdiff.frontend.arrays.values import View, fill
from loopdiff.frontend.binding.types import is_declared_so
from loopdiff.frontend.parsing.bindings import AnyList, ArrayName, Binding, Bindings, ListName, ListRow, Unsure
from loopdiff.frontend.parsing.lists.lengths import ask_how_they_grow, kinds_of, settled_elements
from loopdiff.frontend.parsing.sites import ArrayEvent, Copy, JoinSite, LoopName, ParseAgain
from loopdiff.frontend.parsing.state import State, Whole
from loopdiff.frontend.parsing.ways.buffers import declare
from loopdiff.frontend.parsing.ways.reach import arrays_of, others
from loopdiff.frontend.parsing.ways.resized import (
    begin_joined,
    count_elements,
    has_room,
    is_all_there,
    resized_view,
    room_for,
)
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.minima import could_be_equal_if_large
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import map_accesses, map_body, map_expr, map_stmt_exprs, touched_arrays

Way = tuple[Bindings | None, list[ir.Stmt]]
Coming = Sequence[tuple[Bindings, list[ir.Stmt]]]


# -- what names stand for ------------------------------------------------------------------------------------
def view_of(state: State, binding: Binding | None, span: Span) -> View | None:
    """The array that a name stands for; None for anything else, or where that depends on the way here."""
    match binding:
        case ArrayName(array=array):
            return state.all_of(array, span)
        case View():
            return binding
        case ListRow(view=view):
            return view
        case ListName():
            return settled_elements(state, binding, span)
        case _:
            return None


def named(state: State, array: str, before: Binding, span: Span) -> Binding:
    """What a name stands for that has the memory of `array`, after it stood for what is copied there: an array, or a
    list, which does not grow there."""
    if array in state.whole.resized:
        return resized_view(state, array, span)
    if not isinstance(before, AnyList):
        return ArrayName(array)
    made = state.whole.lists[before.array]
    state.whole.lists.setdefault(array, replace(made, kinds=kinds_of(state, before)[1:]))
    return ListRow(state.all_of(array, span))


def is_own(state: State, bindings: Bindings, name: str, view: View, span: Span) -> bool:
    """Whether only `name` stands for `view`, which is all of a local array."""
    return view == state.all_of(view.array, span) and is_alone(state, bindings, name, view)


def is_alone(state: State, bindings: Bindings, name: str, view: View) -> bool:
    """Whether only `name` stands for `view`, and nothing else for other parts of that local array."""
    if state.arrays[view.array].role == "argument":
        return False
    return not any(view.array in arrays_of(b) for b in others(state, bindings, name))


def memory_like(
    state: State, views: Sequence[View | None], span: Span, is_checked: bool = False
) -> ir.ArrayDecl | None:
    """The declaration of an array that can hold any of `views`; None if they differ in shape or type. `is_checked`:
    that shapes are equal is seen to when the program runs."""
    first, *rest = views
    state.need_types()
    if first is None or not first.rank:
        return None
    extents = tuple(map(state.known, first.extents))
    types = {None if view is None else dtype_of(state, view.array) for view in views}
    dtype = "float64" if is_checked and types == {"int64", "float64"} else types.pop() if len(types) == 1 else None
    if dtype is None or not all(map(state.is_fixed, extents)):
        return None
    for view in rest:
        if view is None or view.rank != first.rank:
            return None
        if view.is_read_only != first.is_read_only:
            return None
        pairs = zip(extents, map(state.known, view.extents), strict=True)
        if not all(may_be_one(state, *pair, is_checked) for pair in pairs):
            return None
    return ir.ArrayDecl("", ArrayType(dtype, first.rank), "local", extents, loc=span)


def may_be_one(state: State, size: ir.Expr, other: ir.Expr, is_checked: bool) -> bool:
    gap = distance(size, other)
    return gap == 0 or (gap is None and (is_checked or are_equal_here(state, size, other)))


def memory_for(
    state: State, name: str, views: Sequence[View | None], are_lists: bool, span: Span
) -> ir.ArrayDecl | None:  # fmt: skip
    """The declaration of memory for a `name` that stands for any of `views`. Of names that are supposed to stand for
    arrays of one shape, that is required when the program runs."""
    found = memory_like(state, views, span, is_checked=are_lists)
    given, decided = [view for view in views if view is not None], state.whole.decisions
    own, is_one_type = loop_name(state, name), len({dtype_of(state, v.array) for v in views if v is not None}) == 1
    if found is not None or are_lists or len(given) < len(views) or own not in decided.one_shape | decided.required:
        return found
    if any(view.array in state.whole.resized for view in given):
        return None  # inner loops have seen that lengths differ
    likely = given[0] if own in decided.required else shape_of_all(state, given)
    return None if likely is None or not is_one_type else memory_like(state, (likely, *given), span, is_checked=True)


def suppose_one_shape(state: State, names: Iterable[str]) -> None:
    """Raises ParseAgain where `names`, which stand for too many arrays as loops go on, have not been supposed to stand
    for arrays of one shape: `np.convolve(x, w, "same")` has that of `x`, unless `w` is longer."""
    decisions, new = state.whole.decisions, frozenset(loop_name(state, name) for name in names)
    if not new <= decisions.one_shape:
        decisions.one_shape |= new
        raise ParseAgain


def loop_name(state: State, name: str) -> LoopName:
    """`name` in the function that the calls around led to."""
    return tuple(frame.name for frame in state.stack), name


def shape_of_all(state: State, views: Sequence[View]) -> View | None:
    """One of the arrays `views` whose shape they may all have where what it depends on is large; None if there is none.
    Shapes are known at entry."""
    if len({view.rank for view in views}) > 1:
        return None
    axes = list(zip(*(map(state.known, view.extents) for view in views), strict=True))
    if not all(state.is_fixed(extent) for axis in axes for extent in axis):
        return None
    for k, view in enumerate(views):
        if all(could_be_equal_if_large(axis[k], extent) for axis in axes for extent in axis):
            return view
    return None


def has_type_of(state: State, view: View, decl: ir.ArrayDecl) -> bool:
    """Whether the array of `view` has elements like those of `decl`."""
    return decl.type is not None and dtype_of(state, view.array) == decl.type.dtype


def make_memory(state: State, decl: ir.ArrayDecl, name: str, ways: Sequence[Bindings], span: Span) -> str:
    """A new array like `decl` for `name`, for which no name stands on any of the `ways`."""
    array, _ = declare(state, decl, name, None, span, ways)
    if decl.type is not None and decl.type.dtype == "bool":
        state.whole.truths.add(array)
    return array


# -- copies --------------------------------------------------------------------------------------------------
def copy_to(state: State, bindings: Bindings, site: JoinSite, array: str, span: Span, before: Bindings) -> None:
    """`array` gets what the name of `site` stands for in `bindings`, and it stands for that. `before` is what names
    stood for before the first of the copies that are made together: those of two names for one array are both shared.
    """
    name = site.name
    view, target, is_resized = (
        view_of(state, bindings[name], span),
        resized_view(state, array, span),
        array in state.whole.resized,
    )
    assert view is not None
    is_shared = not (is_alone(state, before, name, view) if is_resized else is_own(state, before, name, view, span))
    found = bindings[name]
    bindings[name] = named(state, array, found, span)
    if view == target:
        return
    if site.name.isidentifier() and not is_resized:  # results have been seen to
        require_shape(state, name, view, target, isinstance(found, AnyList), span)
    note_order(state, array, view)
    event = state.whole.event(array)
    copies = dict.fromkeys(state.whole.copies)
    copies |= dict.fromkeys(replace(c, event=event) for c in state.whole.copies if c.event.array == view.array)
    seen = {array, *(a for b in others(state, bindings, name) for a in arrays_of(b))}
    moved = (c for c in state.whole.copies if c.source == view.array and c.event.array in seen)
    copies |= dict.fromkeys(replace(c, source=array) for c in moved)
    of_list = isinstance(found, ListName)
    state.whole.copies = [*copies, *([Copy(site, event, view.array, of_list)] if is_shared else [])]
    source = copied_view(state, view, name, span) if reads_written(view, view.element, target) else view

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        return [ir.Assign(target.access(subscripts), fill(source.element, subscripts), loc=span)]

    if not is_all_there(view, array):
        state.out += nest(state, view.extents if is_resized else target.extents, make, span)
    if is_resized:
        count_elements(state, array, view, span)


def require_shape(state: State, name: str, view: View, memory: View, is_list: bool, span: Span) -> None:
    """`view` must have the shape of the `memory` of `name`."""
    message = f"`{name}` stands for arrays of the shapes {shape_text(memory.extents)} and {shape_text(view.extents)}"
    message = "a list of another length than before, under the same name" if is_list else f"{message} in one loop"
    for size, wanted in zip(view.extents, memory.extents, strict=True):
        require_equal(state, size, wanted, message, span)


def copy_all(state: State, bindings: Bindings, memory: Mapping[str, str], span: Span) -> frozenset[str]:
    """Copy what names stand for in `bindings` to their `memory`, all at once, and let them stand for that; the names
    for which that cannot be done. What a name stands for only if a loop ran is copied only then."""
    refused: set[str] = set()
    left: dict[str, View] = {}
    unsure = {n: b for n in memory if isinstance(b := bindings.get(n), Unsure)}
    bindings.update((n, b.meant) for n, b in unsure.items() if b.ran is not None)
    before = dict(bindings)
    for name, array in memory.items():
        if name not in bindings or isinstance(bindings[name], Unsure):
            continue
        view, target = view_of(state, bindings[name], span), resized_view(state, array, span)
        is_list = isinstance(bindings[name], AnyList)
        if view is None or not is_taken(state, name, view, array, is_list, span):
            refused.add(name)
        elif view == target:
            bindings[name] = named(state, array, bindings[name], span)
        else:
            left[name] = view
    while left:
        free = next((n for n in left if all(left[m].array != memory[n] for m in left if m != n)), None)
        if free is None:
            refused |= set(left)
            break
        with state.block() as copying:
            copy_to(state, bindings, state.site(free, span), memory[free], span, before)
        ran = unsure[free].ran if free in unsure else None
        state.out += copying if ran is None else [ir.If(ran, tuple(copying), (), loc=span)]
        del left[free]
    bindings.update((n, replace(b, meant=bindings[n])) for n, b in unsure.items() if b.ran is not None)  # type: ignore
    return frozenset(refused)


def is_taken(state: State, name: str, view: View, array: str, is_list: bool, span: Span) -> bool:
    """Whether `array`, the memory of `name`, may get a copy of `view`."""
    if array in state.whole.resized:
        return has_room(state, array, view, span)
    memory = state.all_of(array, span)
    if is_list and any(is_shorter(*pair) for pair in zip(view.extents, memory.extents, strict=False)):
        return False
    return memory_for(state, name, (memory, view), is_list, span) is not None


def is_shorter(size: ir.Expr, wanted: ir.Expr) -> bool:
    """Whether a list of `size` elements is certainly shorter or longer than one of so many, unless both are empty."""
    return distance(count_of(size), count_of(wanted)) not in (None, 0)


@contextmanager
def writing(state: State, out: list[ir.Stmt]) -> Iterator[None]:
    """Statements written inside go to `out`."""
    outer, state.out = state.out, out
    try:
        yield
    finally:
        state.out = outer


# -- assumptions ---------------------------------------------------------------------------------------------
def broken(whole: Whole) -> frozenset[JoinSite]:
    """Where copies were made that somebody may tell from what they are copies of."""
    return frozenset(
        copy.site
        for copy in whole.copies
        if any(is_later(whole, event, copy.event) for event in changes_of(whole, copy))
    )


def changes_of(whole: Whole, copy: Copy) -> Iterator[ArrayEvent]:
    """Where what is copied, or the copy, is altered; a list that is copied may become longer, too. An array that is no
    item of a list any more is as it was."""
    altered = (e for e in whole.altered if e.array in (copy.source, copy.event.array))
    yield from (e for e in altered if not (e.is_item and copy.is_item and e.array != copy.source))
    if copy.of_list:
        yield from (e for e in whole.lengthened if e.array == copy.source)


def is_later(whole: Whole, altered: ArrayEvent, copied: ArrayEvent) -> bool:
    """Whether an array may be `altered` after it was `copied`, or copied to: in the text, or in a loop around both in
    which it is not made anew before it is altered."""
    if altered.number > copied.number:
        return True
    around = [a for a, b in zip(altered.loops, copied.loops, strict=False) if a == b]
    birth = whole.births.get(altered.array)
    return bool(around) and (birth is None or around[-1] not in birth.loops or altered.number < birth.number)


# -- branches ------------------------------------------------------------------------------------------------
def join_ways(state: State, ways: Sequence[Way], names: Iterable[str], earlier: frozenset[str], span: Span) -> None:
    """Give those of `names` that the ways bind to different arrays of one kind memory of their own, which each fills at
    its end. `earlier` are the arrays from before the ways."""
    coming = [(b, out) for b, out in ways if b is not None]
    bound, before = [b for b, _ in coming], [dict(b) for b, _ in coming]
    for name in names:
        views = [view_of(state, b[name], span) for b in bound]
        is_shared, is_list = state.site(name, span) in state.whole.decisions.shared, isinstance(bound[0][name], AnyList)
        decl = None if is_shared else memory_for(state, name, views, is_list, span)
        if decl is None and not (is_shared or is_list) and join_resized(state, coming, name, views, span):
            continue
        if decl is None:
            ask_how_they_grow(state, [b[name] for b in bound])
            continue
        fitting = [v for v in views if v is not None and has_type_of(state, v, decl)]
        array = memory_at_hand(state, bound, name, fitting, earlier, span) if len(fitting) == len(views) else None
        is_new, first = array not in earlier and not state.whole.heads, None
        if array is None:
            first = coming[0][1]
            with writing(state, first):
                array = make_memory(state, decl, name, bound, span)
        for (bindings, out), old in zip(coming, before, strict=True):
            with writing(state, out):
                fill_memory(state, bindings, name, array, is_new and out is not first, earlier, span, old)


def join_resized(
    state: State, coming: Coming, name: str, views: Sequence[View | None], span: Span
) -> bool:  # fmt: skip
    """Give `name` memory, which loops around make shorter or longer, that each way fills; whether that can be done."""
    is_wanted = loop_name(state, name) in state.whole.decisions.one_shape
    found = room_for(state, views, views, span) if is_wanted else None
    if found is None:
        return False
    decl, moving = found
    before = [dict(b) for b, _ in coming]
    array = make_memory(state, decl, name, [b for b, _ in coming], span)
    begin_joined(state, array, moving, [v for v in views if v is not None], span)
    for (bindings, out), old in zip(coming, before, strict=True):
        with writing(state, out):
            copy_to(state, bindings, state.site(name, span), array, span, old)
    return True


def memory_at_hand(
    state: State, ways: Sequence[Bindings], name: str, views: Sequence[View], earlier: frozenset[str], span: Span
) -> str | None:  # fmt: skip
    """One of the arrays that `name` stands for, where nothing else does on any way, and that of each way only there."""
    if not all(is_own(state, b, name, v, span) for b, v in zip(ways, views, strict=True)):
        return None
    free = [v.array for v in views if not any(v.array in arrays_of(o) for b in ways for o in others(state, b, name))]
    return next((a for a in free if a in earlier), next(iter(free), None))


def fill_memory(
    state: State, bindings: Bindings, name: str, array: str, is_new: bool, earlier: frozenset[str], span: Span,
    before: Bindings,
) -> None:  # fmt: skip
    """`array` gets what `name` stands for at the end of a way, or takes its place there. `is_new`: it is made on this
    way too."""
    view = view_of(state, bindings[name], span)
    assert view is not None
    if view.array == array:
        copy_to(state, bindings, state.site(name, span), array, span, before)
    elif (
        is_new
        and has_shape_of(state, view, array, span)
        and view.array not in (*earlier, *state.whole.lists)
        and is_replaceable(state, bindings, name, view, array, span)
    ):
        replace_array(state, view.array, array)
        bindings[name] = ArrayName(array)
    else:
        if is_new:
            state.out.append(ir.Allocate(array, None, loc=span))
        copy_to(state, bindings, state.site(name, span), array, span, before)


def has_shape_of(state: State, view: View, array: str, span: Span) -> bool:
    """Whether `view` is seen to have the shape of `array`."""
    sizes = zip(view.extents, state.all_of(array, span).extents, strict=True)
    return all(distance(state.known(a), state.known(b)) == 0 for a, b in sizes)


def is_replaceable(state: State, bindings: Bindings, name: str, view: View, array: str, span: Span) -> bool:
    """Whether the way whose statements are in `out` can make `array` in place of `view`, all of which is seen there."""
    body, old = tuple(state.out), view.array
    kept = [
        b
        for s in state.whole.active
        for loop in s.loops
        for w in (*loop.ends, *loop.breaks, *loop.ways)
        for b in w.values()
    ]
    returned = [] if state.returned is None else [v for v in state.returned.values if isinstance(v, ArrayName | View)]
    noted = {a for copy in state.whole.copies for a in (copy.source, copy.event.array)}
    return (
        any(isinstance(s, ir.Allocate) and s.array == old for s in body)
        and is_own(state, bindings, name, view, span)
        and array not in touched_arrays(body)
        and old not in noted
        and not any(old in arrays_of(b) for b in (*kept, *returned))
    )


def replace_array(state: State, old: str, new: str) -> None:
    """Let the statements in `out` make `new` in place of `old`, for which there is no other use."""

    def access(found: ir.Access) -> ir.Access:
        return replace(found, array=new) if found.array == old else found

    def expr(found: ir.Expr) -> ir.Expr:
        match found:
            case ir.Dim(array=array) | ir.SizeOf(array=array) | ir.RankOf(array=array) if array == old:
                return replace(found, array=new)
            case ir.Load(access=place):
                return replace(found, access=access(place))
            case _:
                return found

    def stmt(found: ir.Stmt) -> tuple[ir.Stmt, ...]:
        return (replace(found, array=new) if isinstance(found, ir.Allocate) and found.array == old else found,)

    def decl(found: ir.ArrayDecl) -> ir.ArrayDecl:
        extents = None if found.extents is None else tuple(map_expr(expr, e) for e in found.extents)
        like, dtype_like = (new if a == old else a for a in (found.like, found.dtype_like))
        values = tuple(map_expr(expr, e) for e in found.values)
        made = replace(found, extents=extents, like=like, dtype_like=dtype_like, values=values)
        return found if is_declared_so(made, found) else made  # what was inferred from it still holds

    body = tuple(map_accesses(access, map_stmt_exprs(lambda e: map_expr(expr, e), s)) for s in state.out)
    state.out[:] = map_body(body, stmt)
    del state.arrays[old]
    state.whole.arrays = {n: decl(d) for n, d in state.arrays.items()}
    state.whole.supposed = {new if a == old else a: t for a, t in state.whole.supposed.items()}
    state.whole.altered = [replace(e, array=new) if e.array == old else e for e in state.whole.altered]
