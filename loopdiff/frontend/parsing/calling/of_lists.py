"""Calls of functions that go through lists: under a name, in a list, or made where the call stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from loopdiff.frontend.arrays.values import Quantity, View
from loopdiff.frontend.parsing.lists.making import makes_list
from loopdiff.frontend.parsing.lists.read_at_once import list_behind, may_make, under_name
from loopdiff.frontend.parsing.lists.reading import elements_in, is_list
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.totals import made_of_rows, summands
from loopdiff.ir import nodes as ir
from loopdiff.source.harmless import changes_nothing
from loopdiff.source.nodes import direct_call, syntax_nodes

READING = (len, sum, max, min, any, all)


def gives_list(state: State, node: ast.Call, place: int) -> bool:
    """Whether the argument at `place` is a list: under a name, or one that can be made first."""
    arg, before = node.args[place], node.args[:place]
    if is_list(state, arg):
        return True
    is_first = all(isinstance(a, ast.Name | ast.Constant) for a in before) or all(
        changes_nothing(state.outside(call.func), call) for a in (*before, arg) for call in calls_in(a)
    )
    return is_first and is_made_there(state, arg)


def calls_in(node: ast.expr) -> list[ast.Call]:
    return [n for n in syntax_nodes(node) if isinstance(n, ast.Call)]


def is_made_there(state: State, node: ast.expr) -> bool:
    """Whether `node` is what makes a list, a part of such, or consists of lists one behind the other."""
    parts = summands(node)
    if len(parts) > 1:
        return all(makes_list(state, part) for part in parts)
    return isinstance(node, ast.ListComp) or may_make(state, list_behind(node))


def of_lists(state: State, node: ast.Call, callee: object) -> Quantity | None:
    """The value of `node`, which gives lists to a function of NumPy: arrays of what is in them. None if it gives none
    after all."""
    args, views, before = list(node.args), list[View](), state.whole.rejected
    with ExitStack() as names:
        for k, arg in enumerate(node.args):
            if not gives_list(state, node, k):
                continue
            named = names.enter_context(under_name(state, arg))
            if named is not None and not is_list(state, named):
                args[k] = named  # an element of a list
                continue
            view = None if named is None else elements_in(state, named)
            if view is None:
                assert state.whole.rejected > before or state.is_rejected(arg)
                return ir.Const(0, loc=state.source.span(node))
            (own,) = state.fresh_names("items")
            views.append(view)
            args[k] = array_named(names.enter_context(bound(state, own, view)), arg)
        if args == node.args:
            return None
        takes_one = len(args) == 1 or (len(args) == 2 and (callee is np.stack or callee is np.concatenate))
        made_at_once = made_of_rows(node, callee, args[0], views[0].rank - 1) if takes_one and views else None
        call = ast.Call(node.func, args, node.keywords) if made_at_once is None else made_at_once
        return state.quantity(ast.fix_missing_locations(ast.copy_location(call, node)))


@contextmanager
def bound(state: State, name: str, view: View) -> Iterator[str]:
    state.bindings[name] = view
    yield name
    state.bindings.pop(name, None)


def array_named(name: str, node: ast.expr) -> ast.expr:
    """`np.array(name)` in the place of `node`."""
    return direct_call(np.array, [ast.copy_location(ast.Name(name, ast.Load()), node)], node)


def of_made(state: State, node: ast.Call, callee: object) -> Quantity | None:
    """The value of `len(sorted(x))`, `sum(list(v)[:2])` and the like; None for other calls."""
    if not any(callee is f for f in READING) or not node.args or not is_made_there(state, node.args[0]):
        return None
    if isinstance(node.args[0], ast.ListComp) and any(callee is f for f in (sum, max, min)):
        return None  # without a list
    with under_name(state, node.args[0]) as named:
        if named is None:
            return ir.Const(0, loc=state.source.span(node))
        if named is node.args[0]:
            return None
        return state.quantity(ast.copy_location(ast.Call(node.func, [named, *node.args[1:]], node.keywords), node))
