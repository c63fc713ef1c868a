"""Lists and arrays in a list that become others: `dp[i] = [0.0] * n`. What is new is stored where the old was.

Names for what was there before would stand for the new: they mean nothing from here on, and who reads them is refused.
What has no name, as the first argument in `f(dp[0], g(dp))`, cannot be forgotten: only the function that has the list
replaces what is in it.
"""

from __future__ import annotations

import ast

from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.parsing.bindings import ListName, LocalFunction, Mixed, meaning_of
from loopdiff.frontend.parsing.lists.items import Item, kept_item, parse_items, put
from loopdiff.frontend.parsing.lists.reading import holds_numbers, kinds_in, part_in
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.reach import arrays_of
from loopdiff.ir.walk import written_arrays

STORE = "store its elements in a loop"


def replace_item(state: State, target: ast.expr, value: ast.expr) -> bool:
    """`target = value` where `target` is a list or an array in a list. False if it is something else."""
    if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Slice | ast.Tuple):
        return False
    around = kinds_in(state, target.value)
    if not around or around[0] is tuple or holds_numbers(state, target.value):
        return False
    before, items = state.whole.rejected, parse_items(state, [value])
    place, old = len(state.out), part_in(state, target)
    if items is None or old is None or state.whole.rejected > before:
        return True
    (item,), what = items, f"`{ast.unparse(target)}`"
    if item.kinds != around[1:] or len(item.shape) != old.rank:
        state.reject("LD134", f"{what} becomes something else than it was", target, "use a name of its own for it")
    elif (why := why_refused(state, old)) is not None:
        state.reject("LD134", f"{what} is replaced{why}", target, STORE)
    else:
        forget_parts(state, old, target)
        put(state, old, (), kept_at(state, item, old, place))
    return True


def why_refused(state: State, old: View) -> str | None:
    """Why `old`, a part of a list, cannot become another one here; None if it can."""
    bindings = [(around, b) for around in state.whole.active for b in around.bindings.values()]
    holders = [(around, b) for around, b in bindings if old.array in arrays_of(b)]
    if any(old.array in around.iterated for around in state.whole.active):
        return " in a loop that goes over it"
    if any(isinstance(b, LocalFunction) for _, b in holders):
        return ", and a function holds a part of the list"
    return ", and the list is that of another function" if any(around is not state for around, _ in holders) else None


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
