"""Lists that grow: `out = []`, and `out.append(v)` in loops.

A list is an array with room for all that it can come to hold, and a cell that counts what it holds. How often each
statement appends at most, and of what shape elements are, is known once the function has been parsed: it is parsed
again with that (`Decisions.grown`), until nothing new is found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import TypeGuard

from loopdiff.frontend.arrays.broadcasting import require_equal
from loopdiff.frontend.arrays.element_types import is_truth_value
from loopdiff.frontend.arrays.integers import ONE, ZERO, plus, times
from loopdiff.frontend.arrays.nests import made_of, nest, new_array
from loopdiff.frontend.arrays.values import Array, ArrayValue, View, as_array, fill
from loopdiff.frontend.parsing.bindings import ListName, Rejected, Unsure
from loopdiff.frontend.parsing.iterations import MadeList
from loopdiff.frontend.parsing.order import in_order
from loopdiff.frontend.parsing.sites import Append, Copy, Growth, ParseAgain, next_place
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.reach import arrays_of
from loopdiff.frontend.refused import REFUSED_EXPRESSIONS
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads, subexprs, written_arrays
from loopdiff.source.scopes import own_nodes

MOST_WRITTEN_OUT = 16
FIXED = "make an array first, as `np.empty(n)`, and store into it; or choose elements of one by a mask"
TRUTHS = "make an array first: `np.zeros(n, dtype=bool)`"
OWN = "append `.copy()` of it, if it is what is there now that is meant"


def begins_list(node: ast.expr, state: State, name: str) -> TypeGuard[ast.List]:
    """Whether `node` makes a list that the function appends to under the `name`."""
    nodes = own_nodes(state.source.node) if isinstance(node, ast.List) else ()
    return any(appended(n)[0] == name for n in nodes if isinstance(n, ast.Expr | ast.AugAssign))


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


# -- making ----------------------------------------------------------------------------------------------------
def new_list(state: State, stem: str, node: ast.List) -> ListName | None:
    """The list that `node` makes, which grows later; None after a rejection."""
    state.need_types()
    before = state.whole.rejected
    items = [as_array(v) for v in in_order(state, node.elts, State.quantity)]
    if state.whole.rejected > before:
        return None
    span = state.source.span(node)
    place = next_place(span, state.whole.grown)
    known = state.whole.decisions.grown.get(place, Growth(len(items)))
    first = tuple(map(state.known, items[0].extents)) if items else None
    row = known.row if known.row is not None else first
    room, whole = capacity(known), state.whole
    whole.grown[place] = known
    if not all(is_known_at_entry(state, e) for e in row or ()):
        state.reject("LD134", "this list has elements whose shape is not known at entry", node, FIXED)
        return None
    if room is None:  # as far as is known yet
        whole.unbounded.append(span)
        room = ir.Const(len(items) + 1)
    elif known.appends is not None and is_short(room) and not state.whole.decisions.takes_known:
        message, hint = REFUSED_EXPRESSIONS[ast.List]
        state.reject("LD111", message, node, hint)
        return None
    view = new_array(state, stem, (room, *(row or ())), span)
    count = state.temporary("length", span)
    state.out.append(ir.Assign(count, ir.Const(len(items), loc=span), loc=span))
    whole.lists[view.array] = MadeList(place, node, state, len(whole.trips), tuple(whole.around))
    whole.grown[place] = Growth(len(items), first, {})
    if known.appends is not None and span not in whole.unbounded:
        whole.ranges[count.array] = (ir.Const(len(items), loc=span), plus(room, ONE))
    for k, (item, written) in enumerate(zip(items, node.elts, strict=True)):
        put(state, view, ir.Const(k, loc=span), item, written)
    return ListName(view.array, count.array)


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


def capacity(growth: Growth) -> ir.Expr | None:
    """How many elements a list has at most; None if nothing says that."""
    if growth.appends is None:
        return ir.Const(growth.first + 1)
    limits = [a.limit for a in growth.appends.values()]
    known = [m for m in limits if m is not None]
    return reduce(plus, known, ir.Const(growth.first)) if len(known) == len(limits) else None


def is_known_at_entry(state: State, expr: ir.Expr) -> bool:
    """Whether `expr` is one of arguments alone, so that it means the same when the function is parsed again."""
    arrays = {e.array for e in subexprs(expr) if isinstance(e, ir.Dim)}
    return state.is_fixed(expr) and all(state.arrays[a].role == "argument" for a in arrays)


# -- growing ---------------------------------------------------------------------------------------------------
def append(state: State, node: ast.Expr | ast.AugAssign) -> bool:
    """`out.append(v)`, `out += [v]`. False if `node` is something else."""
    name, items = appended(node)
    if name is None or list_called(state, name) is None:
        return False
    found, rejected = state.settle(name, node), state.whole.rejected
    if isinstance(found, ListName):
        grow(state, found, name, items, node)
    if state.whole.rejected > rejected and state.diagnostics:
        state.bindings[name] = Rejected(state.diagnostics[-1])
    return True


def grow(state: State, found: ListName, name: str, items: list[ast.expr], node: ast.stmt) -> None:
    """Append `items` to the list, as `node` says."""
    if not may_grow(state, found, name, node):
        return
    if any(isinstance(i, ast.Tuple | ast.List | ast.Dict) for i in items):
        what = f"`{name}` grows by several values at once, and it is not known how often"
        state.reject("LD134", what, node, "use a list for each of the values, or append an array of them")
        return
    since, place, rejected = state.whole.clock, len(state.out), state.whole.rejected
    values = [as_array(v) for v in in_order(state, items, State.quantity)]
    state.whole.note_altered(sorted(written_arrays(tuple(state.out[place:]))), since)
    if state.whole.rejected > rejected:
        return
    for value, item in zip(values, items, strict=True):
        if not has_row(state, found, value, item):
            return
        note_append(state, found, item, node)
        span = state.source.span(item)
        count = ir.Access(found.count, loc=span)
        at = position(state, found) or ir.Load(count, loc=span)
        put(state, state.all_of(found.array, span), at, value, item)
        state.out.append(ir.Accumulate("add", count, ir.Const(1, loc=span), loc=span))


def list_called(state: State, name: str) -> ListName | None:
    """The list that the local `name` stands for, if it has a value; None if it stands for something else."""
    binding = state.binding(name)
    meant = binding.meant if isinstance(binding, Unsure) else binding
    return meant if isinstance(meant, ListName) else None


def has_returned(state: State, made: MadeList) -> bool:
    """Whether the call that made the list, a comprehension perhaps, has returned."""
    return not any(made.owner is active for active in state.whole.active)


def may_grow(state: State, found: ListName, name: str, node: ast.AST) -> bool:
    """Whether the list may grow here; else a rejection."""
    made = state.whole.lists[found.array]
    if made.owner is not state and not has_returned(state, made):
        message = f"`{name}` grows here, and was made in another function"
        state.reject("LD134", message, node, FIXED)
        return False
    if any(found.array in s.iterated for s in state.whole.active):
        state.reject(
            "LD134", f"`{name}` grows in a loop that goes over it", node, "go over `range(len(...))` of before"
        )
        return False
    return True


def has_row(state: State, found: ListName, value: Array, node: ast.expr) -> bool:
    """Whether `value`, of `node`, is of the shape of what is in the list; else a rejection. Raises ParseAgain where the
    list was made for numbers, and gets arrays."""
    place = state.whole.lists[found.array].place
    growth, row = state.whole.grown[place], tuple(map(state.known, value.extents))
    room = state.all_of(found.array, state.source.span(node))
    if is_truth_value(state, value.element):
        state.reject("LD134", f"{named(node)} makes a list of truth values", node, TRUTHS)
        return False
    if growth.row is None:
        state.whole.grown[place] = growth = replace(growth, row=row)
        if len(row) != room.rank - 1:
            decided = state.whole.decisions.grown
            state.whole.decisions.grown = {**decided, place: Growth(growth.first, row)}
            raise ParseAgain
    if len(row) != room.rank - 1:
        hint = "use a list for the numbers, and one for the arrays"
        state.reject("LD134", f"{named(node)} makes a list of what differs in its axes", node, hint)
        return False
    return True


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


def is_exact_growth(growth: Growth) -> bool:
    return growth.appends is not None and all(a.is_exact for a in growth.appends.values())


def put(state: State, view: View, place: ir.Expr, item: Array, node: ast.expr) -> None:
    """Store `item`, the value of `node`, at the `place` in a list, which is kept in `view`."""
    span = state.source.span(node)
    made_of(state, view.array, of_kind(state, item.element))
    for size, wanted in zip(item.extents, view.extents[1:], strict=True):
        require_equal(state, size, wanted, "elements of a list differ in shape", span)
    note_shared(state, view.array, item, node)

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        return [ir.Assign(view.access((place, *subscripts)), fill(item.element, subscripts), loc=span)]

    state.out += nest(state, item.extents, make, span) if item.rank else make(())


def note_stored(state: State, array: str, value: ir.Expr, node: ast.AST) -> None:
    """An element of the list in `array` becomes `value`: it is of a kind that holds that, too."""
    if is_truth_value(state, value):
        state.reject("LD134", f"{named(node)} is a truth value in a list", node, TRUTHS)
    made_of(state, array, of_kind(state, value))


def of_kind(state: State, value: ir.Expr) -> ir.Expr:
    """Something of the kind of `value`: of a number that a loop counts, a small one, which floats hold as well."""
    match value:
        case ir.Load(access=ir.Access(array=cell, subscripts=())) if cell in state.whole.ranges:
            return ir.Const(1, loc=value.loc)
        case _:
            return value


def kind_after(op: ast.operator, value: ir.Expr) -> ir.Expr:
    """Something of the kind that an element of a list is of after `op` with `value`: it was one of the others."""
    match op:
        case ast.Div() | ast.Pow():
            return ir.Apply(Op.ADD, (value, ir.Const(0.0)))
        case ast.Add() | ast.Sub():
            return value
        case _:
            return ir.Apply(Op.MUL, (value, ir.Const(1)))


def note_shared(state: State, array: str, item: Array, node: ast.expr) -> None:
    """An array in a list is the array, not a copy: that nobody may tell them apart is seen to when all is known."""
    if not item.rank or (isinstance(item, ArrayValue) and item.memory is None):
        return
    if isinstance(item, View) and not is_held(state, item.array):
        return
    span = state.source.span(node)
    site = state.site("append", span)
    if site in state.whole.decisions.shared:
        state.reject("LD116", f"{named(node)}, in a list, is written to later", node, OWN)
        return
    event, read = state.whole.event(array), {e.access.array for e in loads(item.element)}
    state.whole.copies += [Copy(site, event, a) for a in sorted(read) if state.arrays[a].extents != ()]


def is_held(state: State, array: str) -> bool:
    """Whether the caller has `array`, or a name stands for it."""
    names = (b for s in state.whole.active for b in s.bindings.values())
    return state.arrays[array].role == "argument" or any(array in arrays_of(b) for b in names)


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
    inner = [child for loop in loops for child in ast.walk(loop)]
    has_jumps = any(isinstance(n, ast.Break | ast.Continue | ast.Return) for n in inner)
    return not has_jumps and all(isinstance(n, ast.For) and not n.orelse for n in loops)


def path_to(root: ast.AST, node: ast.AST) -> Iterator[ast.AST]:
    """What `node` is a part of, from below `root` down to itself; nothing if it is no part of that."""
    for child in ast.iter_child_nodes(root):
        if child is node:
            yield child
            return
        below = list(path_to(child, node))
        if below:
            yield child
            yield from below
            return
