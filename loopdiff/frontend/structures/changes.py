"""Changes of lists, dictionaries and records in place, where nobody else can have them."""

from __future__ import annotations

import ast
import dataclasses
import inspect

from loopdiff.frontend.classes import is_plain_class
from loopdiff.frontend.structures.effects import require_settled
from loopdiff.frontend.structures.iterated import items_of, spread
from loopdiff.frontend.structures.known import held_place, static
from loopdiff.frontend.structures.methods import keeps_values
from loopdiff.frontend.structures.records import CHANGING_METHODS
from loopdiff.frontend.structures.rewriting import base_of, element
from loopdiff.frontend.structures.scope import Place, Scope
from loopdiff.frontend.structures.trees import (
    Branch,
    Leaf,
    Static,
    Tree,
    described,
    dictionary_of,
    freshened,
    in_row,
    shared,
)
from loopdiff.immutable import immutable, replace
from loopdiff.source.functions import MISSING
from loopdiff.source.nodes import syntax_nodes


def part_to_store(scope: Scope, target: ast.Subscript | ast.Attribute, base: Branch) -> Place | None:
    """Where `target`, a part of `base`, is stored. None after a rejection."""
    what = f"`{ast.unparse(target.value)}`, {described(base)},"
    around, place = held_place(scope, target.value), held_place(scope, target)
    is_field = isinstance(target, ast.Attribute)
    is_open = not is_frozen(base.type) if is_field else base.kind in ("list", "dict")
    if around not in scope.owned or place is None or not is_open:
        scope.reject_shared(what, target)
        return None
    if is_field and keeps_values(base.type):
        scope.reject(f"{what} is changed, and keeps what its properties were", target, "make them `property`")
        return None
    is_new = base.kind != "dict" and base.item(place[1][-1]) is None
    if is_new and not (is_field and may_get(base.type, target.attr)):
        scope.reject(f"{what} has no element {place[1][-1]!r}", target)
        return None
    return place


def is_frozen(kind: type) -> bool:
    parameters = getattr(kind, "__dataclass_params__", None)
    return not is_plain_class(kind) if parameters is None else parameters.frozen


def may_get(kind: type, attr: str) -> bool:
    """Whether objects of the class `kind` may get an attribute that they had not, which nobody looks at."""
    has_room = is_plain_class(kind) or (dataclasses.is_dataclass(kind) and bool(kind.__dictoffset__))
    return has_room and not hasattr(inspect.getattr_static(kind, attr, None), "__set__")


def with_part(tree: Tree, path: tuple[object, ...], part: Tree) -> Tree:
    """`tree` with `part` at `path`."""
    if not path:
        return part
    assert isinstance(tree, Branch)
    inner = tree.item(path[0])
    made = part if inner is None else with_part(inner, path[1:], part)
    keys = tree.keys if inner is not None else (*tree.keys, path[0])
    found = dict(zip(tree.keys, tree.items, strict=True)) | {path[0]: made}
    return replace(tree, keys=keys, items=tuple(found[k] for k in keys))


def part_at(tree: Tree, path: tuple[object, ...]) -> Tree:
    """What stands at `path` in `tree`."""
    for key in path:
        assert isinstance(tree, Branch)
        (tree,) = (item for k, item in zip(tree.keys, tree.items, strict=True) if k == key)
    return tree


@immutable
class PlaceChange:
    """What a method does to the list or dictionary at `place`, which becomes `after`, and what it gives; nothing at no
    place."""

    place: Place | None
    after: Tree
    gives: Tree


def changed(scope: Scope, node: ast.expr) -> PlaceChange | None:
    """What a call of a method changes in place; None for others."""
    match node:
        case ast.Call(func=ast.Attribute(value=base, attr=attr)) if isinstance(tree := base_of(scope, base), Branch):
            pass
        case _:
            return None
    if attr not in CHANGING_METHODS.get(tree.kind, ()):
        return None
    place, nothing = held_place(scope, base), Leaf(ast.copy_location(ast.Constant(0), node))
    if place is None or place not in scope.owned:
        scope.reject_shared(f"`{ast.unparse(base)}`", node)
        if tree.origin is not None:
            scope.growing.said[scope.diagnostics[-1]] = {tree.origin}
        return PlaceChange(None, tree, nothing)
    start = len(place[1])
    inside = {path[start:] for name, path in scope.owned if name == place[0] and path[:start] == place[1]}
    own = freshened(tree, inside)
    assert isinstance(own, Branch)
    found = (of_list if tree.kind == "list" else of_dictionary)(scope, own, attr, node)
    if found is None:
        scope.reject(f"what `{ast.unparse(node)}` makes of {described(tree)} is not known before the loops run", node)
        return PlaceChange(None, tree, nothing)
    after, gives = replace(found[0], origin=tree.origin), found[1]
    return PlaceChange(place, after if place in scope.owned else handed_out(after, place, node), gives)


def handed_out(after: Branch, place: Place, call: ast.Call) -> Tree:
    """What is at `place` `after` a method that was given parts of what the same name holds, or all of that."""
    given = [n for a in (*call.args, *(k.value for k in call.keywords)) for n in syntax_nodes(a)]
    parts = {id(n.value) for n in given if isinstance(n, ast.Subscript)}
    names = [n for n in given if isinstance(n, ast.Name) and n.id == place[0]]
    is_own = not place[1] and all(id(n) in parts for n in names)
    return replace(after, items=tuple(map(shared, after.items))) if is_own else shared(after)


def of_list(scope: Scope, tree: Branch, attr: str, node: ast.Call) -> tuple[Branch, Tree] | None:
    items, none = tree.items, Static(None)
    match attr, node:
        case "append", ast.Call(args=[added], keywords=[]):
            return in_row("list", (*items, element(scope, added))), none
        case "extend", ast.Call(args=[added], keywords=[]):
            more = items_of(scope, added)
            return None if more is None else (in_row("list", (*items, *more)), none)
        case "insert", ast.Call(args=[index, added], keywords=[]):
            at = static(scope, index)
            if isinstance(at, int):
                return in_row("list", (*items[:at], element(scope, added), *items[at:])), none
        case "pop", ast.Call(args=args, keywords=[]):
            at = static(scope, args[0]) if args else -1
            if isinstance(at, int) and -len(items) <= at < len(items):
                at %= len(items)
                return in_row("list", (*items[:at], *items[at + 1 :])), items[at]
        case "clear", ast.Call(args=[]):
            return in_row("list", ()), none
        case "reverse", ast.Call(args=[]):
            return in_row("list", items[::-1]), none
        case _:
            pass
    return None


def of_dictionary(scope: Scope, tree: Branch, attr: str, node: ast.Call) -> tuple[Branch, Tree] | None:
    items, none = dict(zip(tree.keys, tree.items, strict=True)), Static(None)
    match attr, node:
        case "update", ast.Call(args=args, keywords=keywords) if len(args) <= 1 and all(k.arg for k in keywords):
            other = element(scope, args[0]) if args else dictionary_of({})
            if isinstance(other, Branch) and other.kind == "dict":
                more = dict(zip(other.keys, other.items, strict=True))
                return dictionary_of({**items, **more, **{k.arg: element(scope, k.value) for k in keywords}}), none
        case "setdefault" | "pop", ast.Call(args=[key, *default], keywords=[]):
            at, (given, *_) = static(scope, key), (*spread(scope, default), none)
            if at is not MISSING and tree.item(at) is not None:
                require_settled(scope, [given], node)
                rest = items if attr == "setdefault" else {k: item for k, item in items.items() if k != at}
                return dictionary_of(rest), items[at]
            if at is not MISSING and (attr == "setdefault" or default):
                return dictionary_of({**items, at: given} if attr == "setdefault" else items), given
        case "clear", ast.Call(args=[]):
            return dictionary_of({}), none
        case _:
            pass
    return None
