"""Lists and arrays in a list that become others: `dp[i] = [0.0] * n`. What is new is stored where the old was.

Names for what was there before would stand for the new: they mean nothing from here on, and who reads them is refused.
What has no name, as the first argument in `f(dp[0], g(dp))`, cannot be forgotten: only the function that has the list
replaces what is in it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from loopdiff.errors import Span
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import ArrayValue, View
from loopdiff.frontend.parsing.bindings import ListName, LocalFunction, Mixed, meaning_of
from loopdiff.frontend.parsing.lists.items import Item, kept_item, parse_items, put_item
from loopdiff.frontend.parsing.lists.lengths import Kinds
from loopdiff.frontend.parsing.lists.reading import holds_numbers, kinds_in, part_in
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.reach import arrays_of
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import written_arrays
from loopdiff.numpy_functions import is_of_numpy
from loopdiff.source.nodes import syntax_nodes

STORE = "store its elements in a loop"


def replace_items(state: State, target: ast.expr, value: ast.expr) -> bool:
    """`target = value` where lists and arrays in a list become others. False if it is something else."""
    match target, value:
        case ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=values) | ast.List(elts=values):
            return exchange_items(state, targets, values, state.source.span(value))
        case _:
            return replace_item(state, target, value)


def replace_item(state: State, target: ast.expr, value: ast.expr) -> bool:
    """`target = value` where `target` is a list or an array in a list. False if it is something else."""
    if not isinstance(target, ast.Subscript) or (around := kinds_around(state, target)) is None:
        return False
    since, first = state.whole.clock, len(state.out)
    before, items = state.whole.rejected, parse_items(state, [value])
    place, old = len(state.out), part_in(state, target)
    if items is None or old is None or state.whole.rejected > before:
        return True
    (item,) = items
    if may_replace(state, target, around, old, item):
        forget_parts(state, old, target)
        kept = kept_at(state, item, old, place)
        if isinstance(target.value, ast.Name):
            state.whole.note_altered(sorted(written_arrays(tuple(state.out[first:]))), since)
            state.whole.altered.append(replace(state.whole.event(old.array), is_item=True))
        put_item(state, old, (), kept)
    return True


def exchange_items(state: State, targets: list[ast.expr], values: list[ast.expr], span: Span) -> bool:
    """`rows[i], rows[k] = rows[k], rows[i]`: two lists or arrays in a list change places. False if it is something
    else. Of more than two, some might be in two places afterwards."""
    if list(map(ast.unparse, targets)) != list(map(ast.unparse, reversed(values))):
        return False
    if any(kinds_around(state, t) is None for t in targets if isinstance(t, ast.Subscript)):
        return False
    with held_subscripts(state, targets, values) as (targets, values):
        return exchange_held(state, targets, values, span)


def exchange_held(state: State, targets: list[ast.expr], values: list[ast.expr], span: Span) -> bool:
    """The same with names for subscripts that read elements."""
    places = [target for target in targets if isinstance(target, ast.Subscript) and not reads_elements(target)]
    around = [kinds for place in places if (kinds := kinds_around(state, place)) is not None]
    if not len(targets) == len(around) == 2:
        return False
    before, items = state.whole.rejected, parse_items(state, values)
    olds = [old for place in places if (old := part_in(state, place)) is not None]
    if items is None or len(olds) < 2 or state.whole.rejected > before:
        return True
    if all(may_replace(state, *new) for new in zip(places, around, olds, items, strict=True)):
        parts = [item.value for item in items if not isinstance(item.value, tuple)]
        held = [replace(item, value=copied_view(state, v, "held", span)) for item, v in zip(items, parts, strict=True)]
        for place, old, item in zip(places, olds, held, strict=True):
            forget_parts(state, old, place)
            put_item(state, old, (), item)
    return True


@contextmanager
def held_subscripts(
    state: State, targets: list[ast.expr], values: list[ast.expr]
) -> Iterator[tuple[list[ast.expr], list[ast.expr]]]:
    """Inside, `targets` and `values` have names for subscripts that read elements, but for those of the list itself and
    of what calls give: what changes places is none of these."""
    names: dict[str, str] = {}
    for target in targets:
        if isinstance(target, ast.Subscript) and reads_elements(target) and may_be_held(state, target):
            place, at = state.quantity(target.slice), state.source.span(target.slice)
            if not isinstance(place, View | ArrayValue):
                names[ast.unparse(target)] = own = state.fresh_names("held")[0]
                state.out.append(ir.Assign(state.define(own, at), place, loc=at))

    def with_name(node: ast.expr) -> ast.expr:
        own = names.get(ast.unparse(node))
        if own is None or not isinstance(node, ast.Subscript):
            return node
        return ast.copy_location(
            ast.Subscript(node.value, ast.copy_location(ast.Name(own, ast.Load()), node.slice), node.ctx), node
        )

    yield list(map(with_name, targets)), list(map(with_name, values))
    for own in names.values():
        state.bindings.pop(own, None)


def may_be_held(state: State, target: ast.Subscript) -> bool:
    own = {n.id for n in syntax_nodes(target.value) if isinstance(n, ast.Name)}
    parts = list(syntax_nodes(target.slice))
    is_plain = not any(isinstance(n, ast.Call | ast.NamedExpr) for n in parts)
    return is_plain and not any(isinstance(n, ast.Name) and n.id in own for n in parts)


def reads_elements(target: ast.Subscript) -> bool:
    """Whether which place `target` is depends on elements, which what is stored before may change, or on calls."""
    return any(isinstance(n, ast.Subscript | ast.Call | ast.NamedExpr) for n in syntax_nodes(target.slice))


def in_place(state: State, target: ast.Subscript) -> ast.Subscript:
    """`target` of an augmented assignment: of an array in a list, what is there, which changes and stays."""
    is_array = kinds_around(state, target) is not None and not kinds_in(state, target)
    return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target) if is_array else target


def kinds_around(state: State, target: ast.Subscript) -> Kinds | None:
    """Which lists `target`, a list or an array in a list, is in; None if it is something else."""
    if isinstance(target.slice, ast.Slice | ast.Tuple):
        return None
    around = kinds_in(state, target.value)
    return None if not around or around[0] is tuple or holds_numbers(state, target.value) else around


def may_replace(state: State, target: ast.expr, around: Kinds, old: View, item: Item) -> bool:
    """Whether `item` may take the place of `old`, which `target` is; else a rejection."""
    what = "an element of the list" if is_called_by_program(state) else f"`{ast.unparse(target)}`"
    if item.kinds != around[1:] or len(item.shape) != old.rank:
        state.reject("LD134", f"{what} becomes something else than it was", target, "use a name of its own for it")
        return False
    why = why_refused(state, old)
    if why is not None:
        state.reject("LD134", f"{what} is replaced{why}", target, STORE)
    return why is None


def why_refused(state: State, old: View) -> str | None:
    """Why `old`, a part of a list, cannot become another one here; None if it can."""
    bindings = [(around, b) for around in state.whole.active for b in around.bindings.values()]
    holders = [(around, b) for around, b in bindings if old.array in arrays_of(b)]
    if any(old.array in around.iterated for around in state.whole.active):
        return " in a loop that goes over it"
    if any(isinstance(b, LocalFunction) for _, b in holders):
        return ", and a function holds a part of the list"
    elsewhere = [(around, b) for around, b in holders if around is not state]
    if all(is_on_its_line(state, around) and isinstance(meaning_of(b), ListName) for around, b in elsewhere):
        return None
    if is_called_by_program(state):
        return " while a name, or a function that calls this one, may have it"
    return ", and the list is that of another function"


def is_on_its_line(state: State, around: State) -> bool:
    """Whether a statement of `around` is nothing but the call of a function of ours, which changes the places of a
    list: no expression there holds a part of the list, without a name, meanwhile."""
    return is_called_by_program(state) and state.whole.active[-2] is around


def is_called_by_program(state: State) -> bool:
    """Whether a function of ours is parsed, which the program calls, not another of ours."""
    is_ours = [is_of_numpy(s.source.home.file) for s in state.whole.active[-2:]]
    return is_ours == [False, True] and state.whole.active[-1] is state


def kept_at(state: State, item: Item, old: View, place: int) -> Item:
    """`item` as it is at `place` in the block being written: what follows there, and storing it in `old`, may change
    what it is made of."""
    written = {old.array, *written_arrays(tuple(state.out[place:]))}
    with state.block() as holding:
        found = kept_item(state, item, written)
    state.out[place:place] = holding
    return found


def forget_parts(state: State, old: View, node: ast.AST) -> None:
    """No name stands for a part of the list any more."""
    span = state.source.span(node)
    for around in state.whole.active:
        for name, binding in around.bindings.items():
            meant = meaning_of(binding)
            if not isinstance(meant, ListName) and old.array in arrays_of(meant):
                around.bindings[name] = Mixed(span)
