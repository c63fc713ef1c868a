"""What is read of lists: how many elements there are, and these, as an array.

Everything that reads a list asks here; whatever does not takes its name for no number, and refuses it: what arrays do
and lists do not, as `v + w`, is never meant.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import ONE, plus
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import ArrayValue, View
from loopdiff.frontend.arrays.views import steady
from loopdiff.frontend.parsing.bindings import ListName
from loopdiff.frontend.parsing.lists.growing import capacity, has_returned, is_exact_growth, list_called
from loopdiff.frontend.parsing.sites import Copy, Growth
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir


def list_in(state: State, node: ast.expr) -> ListName | None:
    """The list that the name `node` stands for; None for anything else."""
    if not isinstance(node, ast.Name) or list_called(state, node.id) is None:
        return None
    found = state.settle(node.id, node)
    return found if isinstance(found, ListName) else None


def is_list(state: State, node: ast.expr) -> bool:
    """Whether `node` is a list: under a name, or a part of such a one."""
    return list_in(state, root(node)) is not None


def root(node: ast.expr) -> ast.expr:
    """What `node`, if it is a slice, is one of."""
    return node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else node


def length_of(state: State, found: ListName, span: Span) -> ir.Expr:
    """How many elements the list has here: a formula of arguments where it does not grow any more, and always grows so
    often."""
    made = state.whole.lists[found.array]
    seen = state.whole.grown[made.place]
    known = state.whole.decisions.grown.get(made.place) or (seen if has_returned(state, made) else Growth(0))
    has_grown = known.appends is not None and known.appends.keys() == (seen.appends or {}).keys()
    is_inside = set(state.whole.around) & (made.grown_in - set(made.around))
    room = capacity(known) if has_grown and is_exact_growth(known) else None
    return ir.Load(ir.Access(found.count, loc=span), loc=span) if room is None or is_inside else room


def note_length(state: State, found: ListName) -> None:
    """Remember how long the list that a call has made may be, as far as is known yet: it may still grow."""
    place = state.whole.lists[found.array].place
    growth = state.whole.grown[place]
    room = capacity(growth)
    if room is not None and growth.appends is not None and place not in state.whole.decisions.grown:
        state.whole.ranges[found.count] = (ir.Const(growth.first), plus(room, ONE))


def elements_of(state: State, found: ListName, span: Span) -> View:
    """The elements that the list has now, in its memory."""
    whole = state.all_of(found.array, span)
    return steady(state, replace(whole, extents=(length_of(state, found, span), *whole.extents[1:])))


def elements_in(state: State, node: ast.expr) -> View | None:
    """The elements of the list that `node` is, under a name or a part of such a one; None for anything else."""
    found = list_in(state, root(node))
    if found is None:
        return None
    whole = elements_of(state, found, state.source.span(node))
    if not isinstance(node, ast.Subscript):
        return whole
    (name,) = state.fresh_names("items")
    state.bindings[name] = whole
    part = ast.Subscript(ast.copy_location(ast.Name(name, ast.Load()), node), node.slice, ast.Load())
    value = state.quantity(ast.copy_location(part, node))
    del state.bindings[name]
    return steady(state, value) if isinstance(value, View) else None


def elements_over_loop(state: State, node: ast.expr) -> View | None:
    """The same for a loop, in which the list may change: a part of it is a list of its own."""
    view = elements_in(state, node)
    if view is None or not isinstance(node, ast.Subscript):
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
