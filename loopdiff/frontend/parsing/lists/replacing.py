"""Lists and arrays in a list that become others: `dp[i] = [0.0] * n`. What is new is stored where the old was.

Names for what was there before would stand for the new: they mean nothing from here on, and who reads them is refused.
"""

from __future__ import annotations

import ast

from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.parsing.bindings import ArrayName, ListRow, LocalFunction, Mixed, Unsure
from loopdiff.frontend.parsing.lists.items import parse_items, put
from loopdiff.frontend.parsing.lists.lengths import any_list_called
from loopdiff.frontend.parsing.lists.reading import kinds_in, part_in
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.reach import arrays_of

STORE = "store its elements in a loop"


def replace_item(state: State, target: ast.expr, value: ast.expr) -> bool:
    """`target = value` where `target` is a list or an array in a list. False if it is something else."""
    if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Slice | ast.Tuple):
        return False
    around = kinds_in(state, target.value)
    if not around or around[0] is tuple or is_number(state, target, len(around)):
        return False
    before, items = state.whole.rejected, parse_items(state, [value])
    old = part_in(state, target)
    if items is None or old is None or state.whole.rejected > before:
        return True
    (item,), what, active = items, f"`{ast.unparse(target)}`", state.whole.active
    if item.kinds != around[1:] or len(item.shape) != old.rank:
        state.reject("LD134", f"{what} becomes something else than it was", target, "use a name of its own for it")
    elif any(old.array in s.iterated for s in active):
        state.reject("LD134", f"{what} is replaced in a loop that goes over it", target, STORE)
    elif any(isinstance(b, LocalFunction) and old.array in arrays_of(b) for s in active for b in s.bindings.values()):
        state.reject("LD134", f"{what} is replaced, and a function holds a part of the list", target, STORE)
    else:
        forget_parts(state, old, target)
        put(state, old, (), item)
    return True


def is_number(state: State, node: ast.expr, depth: int) -> bool:
    """Whether what `node` takes of a list, which is so many lists deep, is a number."""
    while isinstance(node, ast.Subscript):
        node = node.value
    found = any_list_called(state, node.id) if isinstance(node, ast.Name) else None
    if found is None:
        return True
    return depth == 1 and state.rank(found.array) == 1 + len(state.whole.lists[found.array].kinds)


def forget_parts(state: State, old: View, node: ast.AST) -> None:
    """No name stands for a part of the list any more."""
    span = state.source.span(node)
    for around in state.whole.active:
        for name, binding in around.bindings.items():
            meant = binding.meant if isinstance(binding, Unsure) else binding
            if isinstance(meant, ArrayName | View | ListRow) and meant.array == old.array:
                around.bindings[name] = Mixed(span)
