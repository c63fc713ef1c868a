"""Lists that are read where they are made, as `sorted(x)[k]` and `len([v for v in x if v > s])`: they get a name first,
and are what a list under a name is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from loopdiff.frontend.parsing.bindings import ListName, Value
from loopdiff.frontend.parsing.lists.reading import is_list
from loopdiff.frontend.parsing.state import State
from loopdiff.source.functions import MISSING

MAKING = (list, tuple, sorted)


def list_behind(node: ast.expr) -> ast.expr:
    """What the subscripts of `node`, if it has any, are taken of: a slice that has one is a list of its own."""
    while isinstance(node, ast.Subscript):
        node = node.value
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            break
    return node


def may_make(state: State, node: ast.expr) -> bool:
    """Whether `node` looks like what makes a list."""
    match node:
        case ast.ListComp():
            return True
        case ast.Subscript(slice=ast.Slice()):
            return is_list(state, node) or may_make(state, list_behind(node))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return may_make(state, left) or may_make(state, right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return isinstance(left, ast.List) or isinstance(right, ast.List)
        case ast.Call(func=ast.Attribute(value=base, attr="copy"), args=[], keywords=[]):
            return is_list(state, base)
        case ast.Call(func=ast.Attribute(attr="tolist"), args=[], keywords=[]):
            return True
        case ast.Call(func=ast.Name() | ast.Constant() as func):
            return any(state.outside(func) is made for made in MAKING)
        case _:
            return False


def is_made_whole(state: State, node: ast.expr) -> bool:
    """Whether `node` looks like what makes a list, or a slice of one, not an element."""
    is_part = isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice)
    return not is_part and may_make(state, node if not isinstance(node, ast.Subscript) else list_behind(node))


@contextmanager
def under_name(state: State, node: ast.expr) -> Iterator[ast.expr | None]:
    """`node` with a name in the place of the list that it makes, or takes a part of; `node` itself if there is no such
    list, None after a rejection."""
    base = list_behind(node)
    made = made_at(state, base) if may_make(state, base) else MISSING
    if not isinstance(made, ListName):
        yield None if made is None else node
        return
    (name,) = state.fresh_names("items")
    state.bindings[name] = made
    yield with_named_base(base, ast.copy_location(ast.Name(name, ast.Load()), base), node)
    state.bindings.pop(name, None)


def made_at(state: State, base: ast.expr) -> Value | None:
    """The list that `base` makes, perhaps of a part of another; None after a rejection, MISSING if it makes none."""
    if not isinstance(base, ast.Subscript):
        return state.whole.make_list(state, base)
    with under_name(state, base) as named:
        return None if named is None else state.whole.make_list(state, named)


def with_named_base(base: ast.expr, name: ast.Name, node: ast.expr) -> ast.expr:
    if node is base:
        return name
    assert isinstance(node, ast.Subscript)
    return ast.copy_location(ast.Subscript(with_named_base(base, name, node.value), node.slice, node.ctx), node)
