"""What is read of lists: how many elements there are, and these, as an array.

Everything that reads a list asks here; whatever does not takes its name for no number, and refuses it: what arrays do
and lists do not, as `v + w`, is never meant. Of a list of lists, `dp[i]` is a list, too.
"""

from __future__ import annotations

import ast

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import plus
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import ArrayValue, View, is_array
from loopdiff.frontend.arrays.views import steady
from loopdiff.frontend.parsing.bindings import AnyList, ListRow
from loopdiff.frontend.parsing.lists.lengths import Kinds, any_list_called, first_of, kinds_of, length_of
from loopdiff.frontend.parsing.sites import Copy
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import replace

ONE_INTEGER = "a list has one subscript here, an integer"


def kinds_in(state: State, node: ast.expr) -> Kinds:
    """The same of `node`: the name of a list, or a part of such a one; none of anything else."""
    match node:
        case ast.Name(id=name):
            found = any_list_called(state, name)
            return () if found is None else kinds_of(state, found)
        case ast.Subscript(value=base, slice=ast.Slice()):
            return kinds_in(state, base)
        case ast.Subscript(slice=ast.Tuple()):
            return ()
        case ast.Subscript(value=base):
            return kinds_in(state, base)[1:]
        case _:
            return ()


def is_list(state: State, node: ast.expr) -> bool:
    """Whether `node` is a list: under a name, or a part of such a one."""
    return bool(kinds_in(state, node))


def holds_numbers(state: State, node: ast.expr) -> bool:
    """Whether `node` is a list of numbers: not of lists, nor of arrays."""
    depth = len(kinds_in(state, node))
    while isinstance(node, ast.Subscript):
        node = node.value
    found = any_list_called(state, node.id) if isinstance(node, ast.Name) else None
    return depth == 1 and found is not None and is_of_numbers(state, found.array)


def is_of_numbers(state: State, array: str) -> bool:
    """Whether numbers, not arrays, are innermost in the list that is kept in `array`."""
    return state.rank(array) == 1 + len(state.whole.lists[array].kinds)


def list_in(state: State, node: ast.expr) -> AnyList | None:
    """The list that the name `node` stands for; None for anything else."""
    if not isinstance(node, ast.Name) or any_list_called(state, node.id) is None:
        return None
    found = state.settle(node.id, node)
    return found if isinstance(found, AnyList) else None


def elements_of(state: State, found: AnyList, span: Span) -> View:
    """The elements that the list has now, in its memory."""
    if isinstance(found, ListRow):
        return found.view
    whole = state.all_of(found.array, span)
    length, (first, *others) = length_of(state, found, span), whole.subscripts
    subscripts = (plus(first, first_of(found, span)), *others)
    return steady(state, replace(whole, subscripts=subscripts, extents=(length, *whole.extents[1:])))


def elements_in(state: State, node: ast.expr) -> View | None:
    """The elements of the list that `node` is, under a name or a part of such a one; None for anything else, and after
    a rejection."""
    if not is_list(state, node):
        return None
    if not isinstance(node, ast.Subscript):
        found = list_in(state, node)
        return None if found is None else elements_of(state, found, state.source.span(node))
    return part_in(state, node)


def part_in(state: State, node: ast.Subscript) -> View | None:
    """The array, or the elements of the list, that `node` takes of a list; None if it is a number, and after a
    rejection."""
    whole = elements_in(state, node.value)
    if whole is None:
        return None
    (name,) = state.fresh_names("items")
    state.bindings[name] = whole
    part = ast.Subscript(ast.copy_location(ast.Name(name, ast.Load()), node), node.slice, ast.Load())
    value = state.quantity(ast.copy_location(part, node))
    del state.bindings[name]
    if not is_array(value):
        return None
    if isinstance(value, View) and value.array == whole.array and value.rank == whole.rank - (not is_slice(node)):
        return steady(state, value)
    state.reject("LD134", ONE_INTEGER, node, f"make an array of it: `np.array({ast.unparse(node.value)})`")
    return None


def row_in(state: State, node: ast.expr) -> ListRow | None:
    """The list in a list that `node` is, as `dp[i]`; None after a rejection."""
    view = elements_in(state, node)
    return None if view is None else ListRow(view)


def is_row(state: State, node: ast.expr) -> bool:
    """Whether `node` is a list in a list, not a slice, which is a list of its own."""
    return isinstance(node, ast.Subscript) and not is_slice(node) and is_list(state, node)


def is_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


def elements_over_loop(state: State, node: ast.expr) -> View | None:
    """The same for a loop, in which the list may change: a slice of it is a list of its own, of the same arrays and
    lists, if it is one of these."""
    view = elements_in(state, node)
    if view is None or view.rank > 1 or not is_slice(node):
        return view
    span = state.source.span(node)
    site = state.site("slice", span)
    if site in state.whole.decisions.shared:
        return copied_view(state, view, "slice", span)
    state.whole.copies.append(Copy(site, state.whole.event(view.array), view.array))
    return view


def array_in(state: State, node: ast.expr) -> ArrayValue | None:
    """A new array of the elements that the list `node` has now; None for anything else."""
    view = elements_in(state, node)
    return None if view is None else ArrayValue(view.extents, replace(view.element, loc=state.source.span(node)))
