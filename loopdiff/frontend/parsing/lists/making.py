"""What makes lists of a length that is not known before: comprehensions, `[v] * n`, `list(x)`, `sorted(x)`.

They become functions inside the function that append in the loops which Python would run.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from loopdiff.frontend.arrays.values import ArrayValue, View, is_array
from loopdiff.frontend.parsing.bindings import ListName, Value
from loopdiff.frontend.parsing.lists.growing import new_list
from loopdiff.frontend.parsing.lists.lengths import note_length
from loopdiff.frontend.parsing.lists.read_at_once import is_made_whole
from loopdiff.frontend.parsing.lists.reading import holds_numbers, is_list, kinds_in
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.totals import Filling, called_inside, in_loops, summands
from loopdiff.frontend.parsing.ways.snapshots import tried
from loopdiff.numpy_functions.arranging import descending
from loopdiff.source.functions import MISSING
from loopdiff.source.nodes import GrownList, syntax_nodes


def make_list(state: State, node: ast.expr) -> Value | None:
    """The list that `node` makes; None after a rejection, MISSING if it makes none."""
    match node:
        case GrownList():
            return new_list(state, "items", node)
        case ast.ListComp(elt=item, generators=parts) if not any(p.is_async for p in parts):
            return gathered(state, item, parts, node)
        case (
            ast.BinOp(left=ast.List(elts=[_, *_] as items), op=ast.Mult(), right=count)
            | ast.BinOp(left=count, op=ast.Mult(), right=ast.List(elts=[_, *_] as items))
        ) if is_number(state, count) and not any(isinstance(i, ast.Starred) for i in items):
            return repeated(state, items, count, node)
        case ast.BinOp(op=ast.Add()) if all(makes_list(state, part) for part in summands(node)):
            return one_behind_the_other(state, summands(node), node)
        case ast.Call(func=ast.Name() | ast.Constant() as func, args=[over], keywords=[]) if not has_star(over):
            if any(state.outside(func) is made for made in (list, tuple)):  # nobody changes a tuple
                return elements(state, over, node)
            if state.outside(func) is sorted and may_be_sorted(state, over):
                return elements(state, of_numpy(np.sort, over), node)
        case ast.Call(
            func=ast.Name() | ast.Constant() as func,
            args=[over],
            keywords=[ast.keyword(arg="reverse", value=ast.Constant(value=bool(is_last)))],
        ) if not has_star(over) and state.outside(func) is sorted and may_be_sorted(state, over):
            return elements(state, of_numpy(descending if is_last else np.sort, over), node)
        case ast.Call(func=ast.Attribute(value=base, attr="tolist"), args=[], keywords=[]) if has_one_axis(state, base):
            return elements(state, base, node)
        case ast.Call(func=ast.Attribute(value=base, attr="copy"), args=[], keywords=[]) if is_list(state, base):
            return elements(state, base, node)
        case ast.Subscript(slice=ast.Slice()) if is_list(state, node):
            return elements(state, node, node)
        case _:
            pass
    return cast(Any, MISSING)


def has_star(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


def may_be_sorted(state: State, node: ast.expr) -> bool:
    """Whether `node` is no list of lists or of arrays, which Python sorts as wholes, or not at all."""
    return holds_numbers(state, node) if is_list(state, node) else has_one_axis(state, of_numpy(np.sort, node))


def is_number(state: State, node: ast.expr) -> bool:
    """Whether `node` is no array: a list beside one is another."""
    if isinstance(node, ast.List | ast.Tuple | ast.ListComp) or is_list(state, node):
        return False
    state.need_types()
    return not is_array(tried(state, node))


def has_one_axis(state: State, node: ast.expr) -> bool:
    if is_list(state, node):
        return False
    state.need_types()
    value = tried(state, node)
    return isinstance(value, View | ArrayValue) and value.rank == 1


def of_numpy(function: Any, *args: ast.expr) -> ast.Call:
    return ast.copy_location(ast.Call(ast.copy_location(ast.Constant(function), args[0]), [*args], []), args[0])


def elements(state: State, over: ast.expr, node: ast.expr) -> Value | None:
    (each,) = state.fresh_names("each")
    part = ast.comprehension(ast.Name(each, ast.Store()), over, [], 0)
    return gathered(state, ast.Name(each, ast.Load()), [part], node)


def gathered(state: State, item: ast.expr, parts: list[ast.comprehension], node: ast.expr) -> Value | None:
    """`[item for ...]`."""
    items, own = state.fresh_names("items", "list_of")
    fill = Filling({"ITEM": item})
    loops = in_loops(parts, [p.iter for p in parts], fill.statements(f"{items}.append(ITEM)"))
    body = [*fill.statements(f"{items} = []"), *loops, *fill.statements(f"return {items}")]
    return made_inside(state, own, (), body, [], node)


def repeated(state: State, elements: list[ast.expr], count: ast.expr, node: ast.expr) -> Value | None:
    """`[a, b] * count`: the same `elements`, so often. Constants are what they are in each iteration."""
    items, own, upto = state.fresh_names("items", "list_of", "upto")
    each = state.fresh_names(*places("one", len(elements)))
    is_first = isinstance(cast(ast.BinOp, node).left, ast.List)
    known = {one: e for one, e in zip(each, elements, strict=True) if isinstance(e, ast.Constant)}
    computed = [(one, e) for one, e in zip(each, elements, strict=True) if one not in known]
    pairs = [*computed, (upto, count)] if is_first else [(upto, count), *computed]
    names, given = tuple(name for name, _ in pairs), [value for _, value in pairs]
    appends = "\n".join(f"    {items}.append({one})" for one in each)
    text = f"{items} = []\nfor _ in COUNTED({upto}):\n{appends}\nreturn {items}"
    body = Filling({"COUNTED": ast.Constant(cast(Any, range)), **known}).statements(text)
    return made_inside(state, own, names, body, given, node)


def makes_list(state: State, node: ast.expr) -> bool:
    """Whether `node` is a list that can stand before or behind another one: beside an array it would be one."""
    match node:
        case ast.List(elts=items):
            return not any(isinstance(i, ast.Starred) for i in items)
        case (
            ast.BinOp(left=ast.List(), op=ast.Mult(), right=count)
            | ast.BinOp(left=count, op=ast.Mult(), right=ast.List())
        ):
            return is_number(state, count)
        case ast.Call(func=ast.Name() as func):
            return any(state.outside(func) is made for made in (list, tuple, sorted))
        case ast.Subscript() if is_made_whole(state, node):
            return True
        case _:
            return isinstance(node, ast.ListComp) or kinds_in(state, node)[:1] == (list,)


def one_behind_the_other(state: State, lists: list[ast.expr], node: ast.expr) -> Value | None:
    """`a + b + ...` of `lists`. Python evaluates them all, with the items of displays, and then looks into them."""
    items, own = state.fresh_names("items", "list_of")
    each = iter(state.fresh_names(*places("each", len(lists))))  # of their own types
    holding = Holding(state.fresh_names(*places("part", sum(1 for part in lists for _ in syntax_nodes(part)))))
    adding = [f"{items} = []"]
    for part in lists:
        if isinstance(part, ast.List):
            adding += [f"{items}.append({holding.text(item)})" for item in part.elts]
        else:
            one = next(each)
            adding += [f"for {one} in {holding.text(part)}:", f"    {items}.append({one})"]
    text = "\n".join([*holding.before, *adding, f"return {items}"])
    return made_inside(state, own, (), Filling(holding.given).statements(text), [], node)


class Holding:
    """Gives names to values, in order; displays of values are displays of names."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.before, self.given = iter(names), list[str](), dict[str, ast.expr]()

    def text(self, value: ast.expr) -> str:
        if isinstance(value, ast.List | ast.Tuple) and not any(isinstance(e, ast.Starred) for e in value.elts):
            inner = ", ".join(map(self.text, value.elts))
            return f"[{inner}]" if isinstance(value, ast.List) else f"({inner},)"
        if isinstance(value, ast.Constant):
            return ast.unparse(value)
        name = next(self.names)
        self.given[f"VALUE_{name}"] = value
        self.before.append(f"{name} = VALUE_{name}")
        return name


def places(stem: str, count: int) -> list[str]:
    return [f"{stem}_{k}" for k in range(1, count + 1)]


def made_inside(
    state: State, name: str, parameters: Sequence[str], body: list[ast.stmt], given: list[ast.expr], node: ast.expr
) -> Value | None:
    """The list that a function inside makes; None after a rejection."""
    before = state.whole.rejected
    found = called_inside(state, name, parameters, body, given, node)
    if state.whole.rejected > before:
        return None
    if isinstance(found, ListName):
        note_length(state, found)
    return found
