"""What is put into a list: numbers, arrays, and lists of these, which are rows of the array of the list."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import TypeGuard

from loopdiff.frontend.arrays.broadcasting import require_equal
from loopdiff.frontend.arrays.element_types import is_truth_value
from loopdiff.frontend.arrays.nests import copied_view, made_of, nest
from loopdiff.frontend.arrays.values import Array, ArrayValue, View, as_array, fill
from loopdiff.frontend.parsing.bindings import ListName
from loopdiff.frontend.parsing.lists.lengths import Kinds, kinds_of, list_called
from loopdiff.frontend.parsing.lists.reading import elements_in, elements_of, is_slice, kinds_in
from loopdiff.frontend.parsing.order import in_order, kept
from loopdiff.frontend.parsing.sites import Copy
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.reach import arrays_of, arrays_of_all, others
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads
from loopdiff.source.functions import MISSING

TRUTHS = "write `int(...)` of it, or `... > 0`: a list holds either numbers or truth values"
OWN = "append `.copy()` of it, if it is what is there now that is meant"
Display = ast.List | ast.Tuple


@immutable
class Item:
    """What `node` puts into a list: a number, an array or the elements of a list, or the items of a list that is
    written out. `kinds`: which lists it consists of, the outermost first; none for numbers and arrays."""

    node: ast.expr
    value: Array | tuple[Item, ...]
    kinds: Kinds = ()

    @property
    def shape(self) -> tuple[ir.Expr, ...]:
        if isinstance(self.value, tuple):
            return (ir.Const(len(self.value)), *self.value[0].shape)
        return self.value.extents

    def leaves(self) -> Iterator[tuple[Array, ast.expr]]:
        if not isinstance(self.value, tuple):
            yield self.value, self.node
            return
        for item in self.value:
            yield from item.leaves()


def parse_items(state: State, nodes: Sequence[ast.expr]) -> list[Item] | None:
    """What `nodes` put into a list, evaluated from left to right; None after a rejection."""
    before, kinds = state.whole.rejected, dict[ast.expr, Kinds]()
    leaves = [leaf for node in nodes for leaf in leaves_of(node)]
    values = dict(zip(leaves, in_order(state, leaves, lambda s, n: leaf_value(s, n, kinds)), strict=True))

    def item_of(node: ast.expr) -> Item:
        if not is_written_out(node):
            return Item(node, values[node], kinds[node])
        parts = tuple(map(item_of, node.elts))
        if not parts or any(not are_alike(parts[0], p) for p in parts):
            what = "has lists that differ in length, or in what they hold, or are empty"
            state.reject("LD134", f"`{ast.unparse(node)}` {what}", node, "make an array of it: `np.array(...)`")
            return Item(node, as_array(ir.Const(0)))
        return Item(node, parts, (list if isinstance(node, ast.List) else tuple, *parts[0].kinds))

    found = list(map(item_of, nodes))
    return None if state.whole.rejected > before else found


def is_written_out(node: ast.expr) -> TypeGuard[Display]:
    return isinstance(node, Display) and not any(isinstance(e, ast.Starred) for e in node.elts)


def leaves_of(node: ast.expr) -> Iterator[ast.expr]:
    if is_written_out(node):
        for element in node.elts:
            yield from leaves_of(element)
    else:
        yield node


def are_alike(one: Item, other: Item) -> bool:
    """Whether both may be in one list, as far as is seen here: of equal shapes."""
    return one.kinds == other.kinds and len(one.shape) == len(other.shape)


def leaf_value(state: State, node: ast.expr, kinds: dict[ast.expr, Kinds]) -> Array:
    """The value of `node`, which is no list written out, and what `kinds` of lists it is made of."""
    kinds[node] = kinds_in(state, node)
    if kinds[node]:
        return elements_in(state, node) or as_array(ir.Const(0))
    state.whole.holding += 1
    made = state.whole.make_list(state, node)
    state.whole.holding -= 1
    if made is MISSING:
        return as_array(state.quantity(node))
    if not isinstance(made, ListName):
        return as_array(ir.Const(0))
    kinds[node] = kinds_of(state, made)
    return elements_of(state, made, state.source.span(node))


def kept_item(state: State, item: Item, written: Collection[str]) -> Item:
    """`item` as it is now, although the arrays `written` change before all of it is stored."""
    value = item.value
    if isinstance(value, tuple):
        return replace(item, value=tuple(kept_item(state, part, written) for part in value))
    if not value.rank:
        return replace(item, value=as_array(kept(state, as_array(value).element, written)))
    if isinstance(value, View) and is_own(item) and value.array in written:
        return replace(item, value=copied_view(state, value, "held", state.source.span(item.node)))
    return replace(item, value=as_array(kept(state, value, written)))


# -- storing ---------------------------------------------------------------------------------------------------
def put_item(state: State, view: View, places: tuple[ir.Expr, ...], item: Item) -> None:
    """Store `item` at the `places` in a list, which is kept in `view`."""
    span, different = state.source.span(item.node), "elements of a list differ in shape"
    if isinstance(item.value, tuple):
        require_equal(state, ir.Const(len(item.value), loc=span), view.extents[len(places)], different, span)
        for k, part in enumerate(item.value):
            put_item(state, view, (*places, ir.Const(k, loc=span)), part)
        return
    value = item.value
    made_of(state, view.array, of_kind(state, value.element))
    for size, wanted in zip(value.extents, view.extents[len(places) :], strict=True):
        require_equal(state, size, wanted, different, span)
    if not is_own(item):
        note_shared(state, view.array, value, item.node)

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        return [ir.Assign(view.access((*places, *subscripts)), fill(value.element, subscripts), loc=span)]

    state.out += nest(state, value.extents, make, span) if value.rank else make(())


def is_own(item: Item) -> bool:
    """Whether `item` is a slice of a list, which is a list of its own; its elements are numbers."""
    return is_slice(item.node) and bool(item.kinds) and len(item.shape) == 1


def note_stored(state: State, array: str, value: ir.Expr, node: ast.AST) -> None:
    """An element of the list in `array` becomes `value`: it is of a kind that holds that, too."""
    differs_in_truth(state, array, value, node)
    made_of(state, array, of_kind(state, value))


def holds_truth(state: State, item: Item) -> bool:
    """Whether the numbers in `item` are truth values."""
    return all(is_truth_value(state, value.element) for value, _ in item.leaves())


def differs_in_truth(state: State, array: str, value: ir.Expr, node: ast.AST) -> bool:
    """Whether `value`, that of `node`, is a truth value, and what the list in `array` holds is not, or the other way
    round: a rejection."""
    is_truth = is_truth_value(state, value)
    if is_truth == (array in state.whole.truths):
        return False
    what = "a truth value in a list of numbers" if is_truth else "in a list of truth values, and not seen to be one"
    state.reject("LD134", f"`{ast.unparse(node)}` is {what}", node, TRUTHS)
    return True


def of_kind(state: State, value: ir.Expr) -> ir.Expr:
    """Something of the kind of `value`: of a number that a loop counts, a small one, which floats hold as well."""
    match value:
        case ir.Load(access=ir.Access(array=cell, subscripts=())) if cell in state.whole.ranges:
            return ir.Const(1, loc=value.loc)
        case _:
            return value


def kind_after(state: State, op: ast.operator, value: ir.Expr) -> ir.Expr:
    """Something of the kind that an element of a list is of after `op` with `value`: it was one of the others."""
    match op:
        case ast.Div() | ast.Pow():
            return ir.Apply(Op.ADD, (value, ir.Const(0.0)))
        case ast.Add() | ast.Sub():
            return ir.Apply(Op.ADD, (value, ir.Const(0))) if is_truth_value(state, value) else value
        case _:
            return ir.Apply(Op.MUL, (value, ir.Const(1)))


def note_shared(state: State, array: str, item: Array, node: ast.expr) -> None:
    """An array in a list is the array, not a copy: that nobody may tell them apart is seen to when all is known."""
    if not item.rank or (isinstance(item, ArrayValue) and item.memory is None):
        return
    if isinstance(item, View) and (not is_held(state, item.array) or is_left(state, item.array, node)):
        return
    span = state.source.span(node)
    site = state.site("append", span)
    if site in state.whole.decisions.shared:
        state.reject("LD116", f"`{ast.unparse(node)}`, in a list, is written to later", node, OWN)
        return
    event, read = state.whole.event(array), {e.access.array for e in loads(item.element)}
    is_whole = isinstance(node, ast.Name) and list_called(state, node.id) is not None
    state.whole.copies += [Copy(site, event, a, is_whole, True) for a in sorted(read) if state.arrays[a].extents != ()]


def is_left(state: State, array: str, node: ast.expr) -> bool:
    """Whether a list that gets `array` under the name `node` has it for itself: nobody comes to it in another way."""
    if not isinstance(node, ast.Name) or not state.live.is_last(node) or array not in state.whole.births:
        return False
    shared = {array for c in state.whole.copies for array in (c.source, c.event.array)}
    return array not in shared | arrays_of_all(others(state, state.bindings, node.id))


def is_held(state: State, array: str) -> bool:
    """Whether the caller has `array`, or a name stands for it."""
    names = (b for s in state.whole.active for b in s.bindings.values())
    return state.arrays[array].role == "argument" or any(array in arrays_of(b) for b in names)
