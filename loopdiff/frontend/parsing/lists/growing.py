"""Lists that grow: `out = []`, and `out.append(v)` in loops.

A list is an array with room for all that it can come to hold, and a cell that counts what it holds. How often each
statement appends at most, and of what shape elements are, is known once the function has been parsed: it is parsed
again with that (`Decisions.grown`), until nothing new is found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TypeGuard

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import ONE, ZERO, plus, times
from loopdiff.frontend.arrays.nests import new_array
from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.parsing.bindings import ListName, Rejected
from loopdiff.frontend.parsing.iterations import MadeList
from loopdiff.frontend.parsing.lists.items import Item, differs_in_truth, holds_truth, parse_items, put_item
from loopdiff.frontend.parsing.lists.lengths import (
    Kinds,
    capacity,
    is_exact_growth,
    is_known_at_entry,
    least_length,
    list_called,
    spoken,
)
from loopdiff.frontend.parsing.sites import Append, Growth, ParseAgain, next_place
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.refused import REFUSED_EXPRESSIONS
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import folded
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads, substitute, written_arrays
from loopdiff.source.nodes import GrownList, syntax_children, syntax_nodes
from loopdiff.source.scopes import own_nodes

MOST_WRITTEN_OUT = 16
MOST_NAMES = 4  # one behind the other, of what an extent is
MOST_OF_UNKNOWN = 4096  # elements of a list of which nothing says how long it becomes
FIXED = "make an array first, as `np.empty(n)`, and store into it; or choose elements of one by a mask"


def begins_list(node: ast.expr, state: State, name: str) -> TypeGuard[ast.List]:
    """Whether `node` makes a list that the function appends to under the `name`, or whose elements the run tells apart:
    those that are structures are no lists any more."""
    if not isinstance(node, ast.List):
        return False
    if isinstance(node, GrownList):
        return True
    nodes = own_nodes(state.source.node)
    if any(appended(n)[0] == name for n in nodes if isinstance(n, ast.Expr | ast.AugAssign)):
        return True
    return bool(node.elts) and is_even(node) and state.whole.decisions.known_lists.may_be_taken()


def is_even(node: ast.expr) -> bool:
    """Whether all lists and tuples that are written out in `node`, one beside the other, have as many elements."""
    match node:
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            lengths = {len(e.elts) if isinstance(e, ast.List | ast.Tuple) else None for e in elts}
            return len(lengths) <= 1 and all(map(is_even, elts))
        case _:
            return not isinstance(node, ast.Starred)


def appended(node: ast.stmt) -> tuple[str | None, list[ast.expr]]:
    """The name of the list that `node` appends to, None for other statements, and what it appends."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "append"), [item], [])):
            items = [item]
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "extend"), [ast.List(elts=items)], [])):
            pass
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List(elts=items)):
            pass
        case _:
            return None, []
    return (None, []) if any(isinstance(i, ast.Starred) for i in items) else (name, items)


def is_append(state: State, node: ast.stmt) -> bool:
    """Whether a list grows by `node`; of an array, `v += [1.0]` alters what is there."""
    name, _ = appended(node)
    return name is not None and list_called(state, name) is not None


# -- making ----------------------------------------------------------------------------------------------------
def new_list(state: State, stem: str, node: ast.List) -> ListName | None:
    """The list that `node` makes, which grows later; None after a rejection."""
    state.need_types()
    items = parse_items(state, node.elts)
    if items is None:
        return None
    span = state.source.span(node)
    place = next_place(span, state.whole.grown)
    known = state.whole.decisions.grown.get(place, Growth(len(items)))
    first = shape_at_entry(state, items[0]) if items else None
    room, whole = capacity(known), state.whole
    own = Growth(len(items), first, {})
    if items:
        own = replace(own, kinds=items[0].kinds, truths=holds_truth(state, items[0]))
    row, kinds, truths = known.row, known.kinds, known.truths
    if items and row is None:
        row, kinds, truths = own.row, own.kinds, own.truths
    whole.grown[place] = known
    if not all(has_known_shape(state, i) for i in items):
        return None
    if room is None:
        room = ir.Const(len(items) + MOST_OF_UNKNOWN)
    elif (
        known.appends is not None
        and is_short(room)
        and not (whole.holding or isinstance(node, GrownList) or whole.decisions.known_lists.may_be_taken())
    ):
        message, hint = REFUSED_EXPRESSIONS[ast.List]
        state.reject("LD111", message, node, hint)
        return None
    view = new_array(state, stem, (room, *(row or ())), span, truths)
    count = state.temporary("length", span)
    state.out.append(ir.Assign(count, ir.Const(len(items), loc=span), loc=span))
    head = state.temporary("first", span) if known.queue else None
    if head is not None:
        state.out.append(ir.Assign(head, ZERO, loc=span))
    whole.lists[view.array] = MadeList(place, node, state, len(whole.trips), tuple(whole.around), kinds=kinds)
    whole.grown[place] = own
    if known.appends is not None:
        whole.ranges[count.array] = (least_length(known), plus(room, ONE))
        if head is not None:
            whole.ranges[head.array] = (ZERO, plus(room, ONE))
    for k, item in enumerate(items):
        if not fits(state, kinds, view, item):
            return None
        put_item(state, view, (ir.Const(k, loc=span),), item)
    return ListName(view.array, count.array, None if head is None else head.array)


def is_short(room: ir.Expr) -> bool:
    """Whether a list becomes so long as is written out, and not long: as a structure it is written out itself."""
    return isinstance(room, ir.Const) and room.value <= MOST_WRITTEN_OUT


def named(node: ast.AST) -> str:
    return f"`{ast.unparse(node)}`"


def refuse_unbounded(state: State) -> None:
    """Rejections (LD134) of lists of which nothing says how long they become."""
    for span in state.whole.unbounded:
        message = "how many elements this list comes to have is not known at entry"
        state.reject("LD134", message, span, FIXED)


# -- growing ---------------------------------------------------------------------------------------------------
def append(state: State, node: ast.Expr | ast.AugAssign) -> bool:
    """`out.append(v)`, `out += [v]`. False if `node` is something else."""
    name, items = appended(node)
    if name is None or list_called(state, name) is None:
        return False
    found, rejected = state.settle(name, node), state.whole.rejected
    if isinstance(found, ListName):
        grow(state, found, spoken(state, name), items, node)
    if state.whole.rejected > rejected and state.diagnostics:
        state.bindings[name] = Rejected(state.diagnostics[-1])
    return True


def grow(state: State, found: ListName, name: str, items: list[ast.expr], node: ast.stmt) -> None:
    """Append `items` to the list, as `node` says."""
    if not may_change(state, found, name, node, "grows"):
        return
    since, place, rejected = state.whole.clock, len(state.out), state.whole.rejected
    found_items = parse_items(state, items)
    state.whole.note_altered(sorted(written_arrays(tuple(state.out[place:]))), since)
    state.whole.lengthened.append(state.whole.event(found.array))
    if state.whole.grown[state.whole.lists[found.array].place].shrinks:  # what was there is written over
        state.whole.note_altered([found.array], since)
    if found_items is None or state.whole.rejected > rejected:
        return
    for item in found_items:
        note_append(state, found, item.node, node)
        if not has_row(state, found, item):
            return
        span = state.source.span(item.node)
        count = ir.Access(found.count, loc=span)
        at = position(state, found) or ir.Load(count, loc=span)
        require_room(state, found, name, span)
        put_item(state, state.all_of(found.array, span), (at,), item)
        state.out.append(ir.Accumulate("add", count, ir.Const(1, loc=span), loc=span))


def require_room(state: State, found: ListName, name: str, span: Span) -> None:
    """A check that there is room for one more element in a list of which nothing says how long it becomes."""
    known = state.whole.decisions.grown.get(state.whole.lists[found.array].place)
    if known is None or capacity(known) is not None:
        return
    room, count = state.all_of(found.array, span).extents[0], ir.Load(ir.Access(found.count, loc=span), loc=span)
    message = f"`{name}` would have more than {MOST_OF_UNKNOWN} elements, and nothing says how long it may become"
    state.out.append(ir.Require(ir.Apply(Op.LT, (count, room), loc=span), "LD334", message, loc=span))


def may_change(state: State, found: ListName, name: str, node: ast.AST, how: str) -> bool:
    """Whether the list may have more, or fewer elements from here on, as the word `how` says; else a rejection."""
    if any(found.array in s.iterated for s in state.whole.active):
        message = f"`{name}` {how} in a loop that goes over it"
        state.reject("LD134", message, node, "go over `range(len(...))` of before")
        return False
    return True


def has_row(state: State, found: ListName, item: Item) -> bool:
    """Whether `item` is of the shape of what is in the list; else a rejection. Raises ParseAgain where the list was
    made for numbers, and gets arrays or lists."""
    if not has_known_shape(state, item):
        return False
    made = state.whole.lists[found.array]
    growth, row = state.whole.grown[made.place], shape_at_entry(state, item)
    room = state.all_of(found.array, state.source.span(item.node))
    truths = holds_truth(state, item)
    if growth.row is None:
        state.whole.grown[made.place] = growth = replace(growth, row=row, kinds=item.kinds, truths=truths)
        decided = state.whole.decisions.grown
        known = decided.get(made.place, Growth(growth.first))
        is_other = truths != (found.array in state.whole.truths)
        if known.row is None and (len(row) != room.rank - 1 or item.kinds != made.kinds or is_other):
            known = replace(known, row=row, kinds=item.kinds, truths=truths)
            state.whole.decisions.grown = {**decided, made.place: known}
            raise ParseAgain
    return fits(state, made.kinds, room, item)


def fits(state: State, kinds: Kinds, room: View, item: Item) -> bool:
    """Whether `item` has as many axes as what is in the list that is kept in `room`, and is a list as that is; else a
    rejection."""
    is_so = len(item.shape) == room.rank - 1 and item.kinds == kinds
    if not is_so:
        hint = "use a list for the numbers, and one for the arrays"
        state.reject("LD134", f"{named(item.node)} makes a list of what differs in its axes", item.node, hint)
    return is_so and not any(differs_in_truth(state, room.array, v.element, n) for v, n in item.leaves())


def has_known_shape(state: State, item: Item) -> bool:
    """Whether the shape of `item` is known at entry; else a rejection."""
    is_so = all(is_known_at_entry(state, e) for e in shape_at_entry(state, item))
    if not is_so:
        message = f"this list has elements whose shape is not known at entry: {named(item.node)}"
        state.reject("LD134", message, item.node, FIXED)
    return is_so


def shape_at_entry(state: State, item: Item) -> tuple[ir.Expr, ...]:
    """The shape of `item`; of an array, as all have it that the loops around put into a list."""
    return tuple(state.known(e) if item.kinds else at_entry(state, e) for e in item.shape)


def at_entry(state: State, size: ir.Expr) -> ir.Expr:
    """`size` where the loops around begin, of an extent that all elements of a list have: that is seen to when each is
    stored."""
    changed = {s.target.array for s in state.out if isinstance(s, ir.Accumulate)}
    values = {s.target.array: s.value for s in state.out if isinstance(s, ir.Assign) and not s.target.subscripts}
    values = {cell: value for cell, value in values.items() if cell not in changed}
    variables = {cell for s in state.whole.active for cell in s.cells.values()}
    starts = {cell: state.whole.ranges[cell][0] for cell in variables & state.whole.ranges.keys()}
    found, known = state.known(size), values | starts
    for _ in range(MOST_NAMES):
        read = {load.access.array for load in loads(found)}
        cells = sorted(c for c in read if c in known)
        new: dict[ir.Expr, ir.Expr] = {ir.Load(ir.Access(c)): state.known(known[c]) for c in cells}
        if not new:
            break
        found = folded(substitute(found, new))
    return found


def note_append(state: State, found: ListName, item: ast.expr, node: ast.stmt) -> None:
    """Remember how often `node` appends `item`."""
    whole, made = state.whole, state.whole.lists[found.array]
    trips = whole.trips[made.depth :]
    limits = [t.limit for t in trips if t.limit is not None and is_known_at_entry(state, t.limit)]
    most = reduce(times, limits, ONE) if len(limits) == len(trips) else None
    is_exact = all(t.is_exact for t in trips) and always_comes(state.source.node, made.display, node)
    growth = whole.grown[made.place]
    appends = dict(growth.appends or {})
    place = next_place(state.source.span(item), appends)
    most = None if place in whole.decisions.endless else most
    appends[place] = Append(most, is_exact and most is not None and not whole.versions)
    whole.grown[made.place] = replace(growth, appends=appends)
    whole.lists[found.array] = replace(made, grown_in=made.grown_in | set(whole.around))


def position(state: State, found: ListName) -> ir.Expr | None:
    """Where the list grows now, as a formula of the numbers of the iterations around; None if there is none."""
    made = state.whole.lists[found.array]
    known = state.whole.decisions.grown.get(made.place)
    if known is None or known.appends is None or len(known.appends) != 1 or not is_exact_growth(known):
        return None
    at: ir.Expr = ZERO
    for trips in state.whole.trips[made.depth :]:
        if trips.number is None or trips.limit is None:
            return None
        at = plus(times(at, trips.limit), trips.number) if at != ZERO else trips.number
    return plus(ir.Const(known.first), at)


# -- how often -------------------------------------------------------------------------------------------------
def always_comes(function: ast.FunctionDef, display: ast.List, node: ast.stmt) -> bool:
    """Whether `node` runs once in each iteration of the loops around it, from where `display` stands on."""
    path = list(path_to(function, node))
    owner = list(path_to(function, display))[:-1]
    if not owner:
        return False
    while owner and not isinstance(owner[-1], ast.stmt):
        owner.pop()
    above = owner[:-1]
    if len(path) <= len(above) or path[: len(above)] != above:
        return False
    loops: Sequence[ast.AST] = path[len(above) : -1]
    inner = [child for loop in loops for child in syntax_nodes(loop)]
    has_jumps = any(isinstance(n, ast.Break | ast.Continue | ast.Return) for n in inner)
    return not has_jumps and all(isinstance(n, ast.For) and not n.orelse for n in loops)


def path_to(root: ast.AST, node: ast.AST) -> Iterator[ast.AST]:
    """What `node` is a part of, from below `root` down to itself; nothing if it is no part of that."""
    for child in syntax_children(root):
        if child is node:
            yield child
            return
        below = list(path_to(child, node))
        if below:
            yield child
            yield from below
            return
