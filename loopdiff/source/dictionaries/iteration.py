"""What loops and comprehensions over dictionaries bind, and go over, where these are lists."""

from __future__ import annotations

import ast

from loopdiff.immutable import immutable, replace
from loopdiff.numpy_functions import keyed
from loopdiff.source.dictionaries.parts import Rewriting, Round, expression_of, load_of
from loopdiff.source.dictionaries.tables import Table

VIEWS = ("keys", "values", "items")


@immutable
class View:
    """The `keys`, `values` or `items` of a dictionary, or copies of them; the keys may be `sorted`."""

    name: str
    part: str
    is_copied: bool = False
    is_sorted: bool = False


def dictionary_view(scope: Rewriting, node: ast.expr) -> View | None:
    """Which part of which dictionary `node` stands for."""
    match node:
        case ast.Name(id=name) if name in scope.tables:
            return View(name, "keys")
        case ast.Call(func=ast.Attribute(ast.Name(id=name), attr), args=[], keywords=[]) if name in scope.tables:
            return View(name, attr) if attr in VIEWS else None
        case ast.Call(func=called, args=[inner], keywords=[]):
            made, view = scope.value(called), dictionary_view(scope, inner)
            if view is None or view.is_copied:
                return None
            if made is sorted and view.part != "values" and len(scope.tables[view.name].keys) == 1:
                return replace(view, is_copied=True, is_sorted=True)
            return replace(view, is_copied=True) if made is list or made is tuple else None
        case _:
            return None


def gone_through(scope: Rewriting, target: ast.expr, over: ast.expr) -> Round:
    """What a loop over `over` binds, and goes over."""
    match target, over:
        case ast.Tuple(elts=[index, inner]), ast.Call(func=called, args=[own, *start], keywords=starts) if (
            scope.value(called) is enumerate and dictionary_view(scope, own) is not None
        ):
            found = gone_through(scope, inner, own)
            both = ast.copy_location(ast.Tuple([index, found.target], ast.Store()), target)
            return replace(
                found, target=both, over=ast.copy_location(ast.Call(called, [found.over, *start], starts), over)
            )
        case _:
            view = dictionary_view(scope, over)
    if view is None:
        return Round(target, over, {})
    if scope.tables[view.name].is_set and not (view.is_sorted and view.part == "keys"):
        return scope.failed(Round(target, over, {}))
    found = in_order(scope, view, target, over) if view.is_sorted else in_lists(scope, view, target, over)
    keys = names_of_key(view, target)
    return replace(found, there=((view.name, keys),) if keys else ())


def names_of_key(view: View, target: ast.expr) -> tuple[str, ...]:
    """The names of what a loop binds to keys; none where that cannot be seen."""
    match target:
        case ast.Tuple(elts=[ast.Name() | ast.Tuple() as key, _]) if view.part == "items":
            return names_of_key(replace(view, part="keys"), key)
        case ast.Name(id=name) if view.part == "keys":
            return (name,)
        case ast.Tuple(elts=elts) if view.part == "keys" and all(isinstance(e, ast.Name) for e in elts):
            return tuple(e.id for e in elts if isinstance(e, ast.Name))
        case _:
            return ()


def in_lists(scope: Rewriting, view: View, target: ast.expr, over: ast.expr) -> Round:
    """Over one list, or several at once."""
    table = scope.tables[view.name]
    if table.owners is not None and view.part != "keys":
        return over_lists(scope, view, target, over)
    columns = list(table.keys) if view.part == "keys" else [table.values]
    columns = [*table.keys, table.values] if view.part == "items" else columns
    lists = [expression_of(f"{c}[:]" if view.is_copied else c, over) for c in columns]
    inside = () if view.is_copied else (view.name,)
    if len(lists) == 1:
        return Round(target, lists[0], {}, inside)
    targets, named = apart(scope, table, view.part, target)
    zipped = ast.copy_location(ast.Call(load_of(scope.function(zip)), lists, []), over)
    return Round(ast.copy_location(ast.Tuple(targets, ast.Store()), target), zipped, named, inside)


def over_lists(scope: Rewriting, view: View, target: ast.expr, over: ast.expr) -> Round:
    """Over lists, and the keys that they belong to."""
    table, place = scope.tables[view.name], scope.name("place")
    items = scope.items_at(table, load_of(place), over)
    keys = [f"{k}[{place}]" for k in table.keys]
    key = expression_of(keys[0] if len(keys) == 1 else f"({', '.join(keys)})", over)
    match target:
        case ast.Name(id=value) if view.part == "values":
            named = {value: items}
        case ast.Tuple(elts=[ast.Name(id=name), ast.Name(id=value)]) if view.part == "items":
            named = {name: key, value: items}
        case ast.Tuple(elts=[ast.Tuple(elts=names), ast.Name(id=value)]) if len(names) == len(keys):
            parts = zip(names, keys, strict=True)
            named = {n.id: expression_of(k, over) for n, k in parts if isinstance(n, ast.Name)} | {value: items}
        case _:
            return scope.failed(Round(target, over, {}))
    numbers = expression_of(f"{scope.function(range)}({scope.function(len)}({table.keys[0]}))", over)
    return Round(ast.copy_location(ast.Name(place, ast.Store()), target), numbers, named, (view.name,))


def in_order(scope: Rewriting, view: View, target: ast.expr, over: ast.expr) -> Round:
    """Over the keys in ascending order, all of which differ, and the values that belong to them."""
    table = scope.tables[view.name]
    keys = expression_of(f"{scope.function(sorted)}({table.keys[0]})", over)
    if view.part == "keys":
        return Round(target, keys, {})
    match target:
        case ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]):
            found = scope.place_of(table, [load_of(key)], over)
            place = expression_of(f"{scope.function(keyed.place_there)}(PLACE)", over, PLACE=found)
            with scope.before(None):  # in the loop
                place = scope.value_in(table, place, over, may_fail=False)
            return Round(ast.copy_location(ast.Name(key, ast.Store()), target), keys, {value: place})
        case _:
            return scope.failed(Round(target, over, {}))


def apart(scope: Rewriting, table: Table, part: str, target: ast.expr) -> tuple[list[ast.expr], dict[str, ast.expr]]:
    """One target for each list, and what names of several stand for."""
    match target:
        case ast.Tuple(elts=[key, value]) if part == "items" and len(table.keys) > 1:
            keys, named = apart(scope, table, "keys", key)
            return [*keys, value], named
        case ast.Tuple(elts=elts) if len(elts) == (2 if part == "items" else len(table.keys)):
            return list(elts), {}
        case ast.Name(id=name):
            names = [scope.name(f"{name}_{k}") for k in range(len(table.keys) + (part == "items"))]
            key = f"({', '.join(names[: len(table.keys)])})"
            whole = f"({key}, {names[-1]})" if part == "items" else key
            return [ast.Name(n, ast.Store()) for n in names], {name: expression_of(whole, target)}
        case _:
            return scope.failed([target]), {}
