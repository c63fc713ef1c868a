"""Assignments: names of structures are many variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loopdiff.frontend.structures.absent import note_none
from loopdiff.frontend.structures.changes import part_at, part_to_store, with_part
from loopdiff.frontend.structures.iterated import is_call_of
from loopdiff.frontend.structures.known import held_place
from loopdiff.frontend.structures.rewriting import (
    assignment,
    base_of,
    display_of,
    expression,
    rebuilt,
    steadied,
    with_base,
)
from loopdiff.frontend.structures.scope import PLAIN, Place, Scope, in_variables, name_stored, stored_names
from loopdiff.frontend.structures.trees import (
    Branch,
    Leaf,
    Path,
    Static,
    Tree,
    described,
    fresh_paths,
    has_length,
    in_row,
    is_sequence,
    leaves,
    shared,
)
from loopdiff.source.nodes import GrownList
from loopdiff.source.records import Field, FieldTargets

Pair = tuple[ast.expr, ast.expr]


@dataclass(slots=True)
class Assigned:
    """What one statement assigns: which variable gets which value, what names hold afterwards, and where the parts of
    names are that get something."""

    pairs: list[Pair] = field(default_factory=list)
    held: dict[str, Tree] = field(default_factory=dict)
    parts: list[tuple[Place, Tree]] = field(default_factory=list)


def assign_tree(scope: Scope, targets: Sequence[ast.expr], tree: Tree, node: ast.AST) -> None:
    """`targets = ... = tree`."""
    if len(targets) > 1:
        tree = shared(steadied(scope, tree, (), node.value if isinstance(node, ast.Assign) else targets[0]))
    found = Assigned()
    for target in targets:
        take_apart(scope, target, tree, found)
    settle(scope, found, node)


def store_at(scope: Scope, place: Place, tree: Tree, node: ast.AST) -> None:
    """`tree` as what stands at `place`."""
    refuse_coming(scope, place, tree, node)
    found = Assigned()
    give(scope, place, tree, found, node)
    settle(scope, found, node)


def places_behind(scope: Scope, node: ast.expr) -> Iterator[tuple[Place, tuple[Any, ...]]]:
    """The lists, and dictionaries of whose values, that a loop over `node` goes over, with their keys in that order."""
    if is_call_of(scope, node, zip, enumerate, reversed):
        is_reversed = is_call_of(scope, node, reversed)
        for place, keys in (found for part in node.args for found in places_behind(scope, part)):  # type: ignore[attr-defined]
            yield place, keys[::-1] if is_reversed else keys
        return
    is_starred, is_view = isinstance(node, ast.Starred), False
    match node:
        case ast.Starred(value=base):
            node = base
        case ast.Call(func=ast.Attribute(value=base, attr="items" | "values"), args=[]):
            node, is_view = base, True
        case _:
            pass
    with scope.in_place():
        tree = base_of(scope, node) if isinstance(node, ast.Name | ast.Subscript | ast.Attribute) else None
        place = held_place(scope, node) if isinstance(tree, Branch) else None
    if place is None or not isinstance(tree, Branch) or (tree.kind == "dict" and not is_view):
        return
    inside = zip(tree.keys, tree.items, strict=True) if is_starred else ()
    yield from (((place[0], (*place[1], k)), item.keys) for k, item in inside if isinstance(item, Branch))
    yield from () if is_starred else ((place, tree.keys),)


def refuse_coming(scope: Scope, place: Place, tree: Tree, node: ast.AST) -> None:
    """Reject that something gets to `place` that a loop around, which is written out, has seen already, and meets
    later."""
    name, path = place
    for (own, inner), keys in scope.coming:
        if own != name:
            continue
        before, after = at_path(scope.held.get(name), inner), at_path(tree, inner[len(path) :])
        if path[: len(inner)] == inner and len(path) > len(inner):
            is_met = path[len(inner)] in keys
        elif inner[: len(path)] == path and isinstance(before, Branch) and isinstance(after, Branch):
            is_met = before.keys == after.keys and any(before.item(k) != after.item(k) for k in keys)
        else:
            is_met = False
        if is_met:
            is_dictionary = isinstance(before, Branch) and before.kind == "dict"
            hint = f"go over a copy: `dict({own})`" if is_dictionary else (
                f"go over a copy, as `{own}[:]`, or over the places: `for k in range(len({own}))`"
            )  # fmt: skip
            scope.reject(f"an item of `{own}` is replaced in a loop that gets to it later", node, hint)


def at_path(tree: Any, path: Path) -> Any:
    """What stands at `path` in a tree."""
    for key in path:
        tree = tree.item(key) if isinstance(tree, Branch) else None
    return tree


def settle(scope: Scope, found: Assigned, node: ast.AST) -> None:
    """Write the assignments; names then hold what they got."""
    write(scope, found.pairs, node)
    for name, now in found.held.items():
        scope.hold(name, now, node)
        note_none(scope, name, now, node)
    for (name, path), _ in found.parts:
        scope.disown(name, path)
    scope.owned |= {(name, (*path, *inner)) for (name, path), tree in found.parts for inner in fresh_paths(tree)}


def give(scope: Scope, place: Place, tree: Tree, found: Assigned, target: ast.AST) -> None:
    """Note that what stands at `place`, of a structure or a name, becomes `tree`."""
    name, path = place
    before = found.held.get(name, scope.held.get(name))
    whole = with_part(before, path, tree) if path and isinstance(before, Branch) else tree
    found.held[name] = in_variables(scope, name, whole, target)
    found.pairs += pairs_of(part_at(found.held[name], path), tree)
    found.parts.append((place, tree))


def take_apart(scope: Scope, target: ast.expr, tree: Tree, found: Assigned) -> None:
    """Which variable gets which value, and what names hold afterwards."""
    match target, tree:
        case ast.Name(id=name), Leaf(expr=expr):
            found.pairs.append((target, expr))
            found.held[name] = tree
            found.parts.append(((name, ()), tree))
        case ast.Name(id=name), _:
            found.held.pop(name, None)
            give(scope, (name, ()), tree, found, target)
        case FieldTargets(elts=elts, fields=fields), Branch(kind="record"):
            for inner, key in zip(elts, fields, strict=True):
                item = field_of(tree, key)
                if item is None:
                    scope.reject(f"{described(tree)} has no field `{key}`", target)
                else:
                    take_apart(scope, inner, item, found)
        case ast.Tuple(elts=elts) | ast.List(elts=elts), Branch() if has_length(tree):
            items = tree.items if tree.kind != "dict" else tuple(map(Static, tree.keys))
            for inner, item in unpacked(scope, elts, items, target):
                take_apart(scope, inner, item, found)
        case ast.Tuple() | ast.List(), Leaf(expr=expr):
            found.pairs.append((rebuilt(scope, target), expr))
            for name in stored_names([target]):
                found.held[name] = PLAIN
                found.parts.append(((name, ()), PLAIN))
        case ast.Subscript() | ast.Attribute(), _:
            store_part(scope, target, tree, found)
        case _:
            scope.reject(f"`{ast.unparse(target)}` cannot hold {described(tree)}", target)


def field_of(tree: Branch, key: Field) -> Tree | None:
    """A field of a record, by its name or, of a named tuple, by its place."""
    if not isinstance(key, int):
        return tree.item(key)
    is_there = issubclass(tree.type, tuple) and -len(tree.items) <= key < len(tree.items)
    return tree.items[key] if is_there else None


def unpacked(
    scope: Scope, elts: Sequence[ast.expr], items: Sequence[Tree], target: ast.expr
) -> Iterator[tuple[ast.expr, Tree]]:
    """Targets and what they get, with at most one behind a star."""
    star = next((k for k, e in enumerate(elts) if isinstance(e, ast.Starred)), None)
    rest = len(items) - len(elts) + 1
    if (star is None and len(elts) != len(items)) or (star is not None and rest < 0):
        scope.reject(f"`{ast.unparse(target)}` gets {len(items)} values", target)
    elif star is None:
        yield from zip(elts, items, strict=True)
    else:
        behind = elts[star]
        assert isinstance(behind, ast.Starred)
        yield from zip(elts[:star], items, strict=False)
        yield behind.value, in_row("list", tuple(items[star : star + rest]))
        yield from zip(elts[star + 1 :], items[star + rest :], strict=True)


def store_part(scope: Scope, target: ast.Subscript | ast.Attribute, tree: Tree, found: Assigned) -> None:
    """`p["w"] = ...`: of a list, dictionary or record that nobody else has; of an array, its elements."""
    base = base_of(scope, target.value)
    if isinstance(base, Branch):
        place = part_to_store(scope, target, base)
        if place is not None:
            refuse_coming(scope, place, tree, target)
            give(scope, place, tree, found, target)
    elif isinstance(tree, Leaf) or (isinstance(target, ast.Subscript) and is_sequence(tree)):
        place = with_base(scope, target, expression(scope, target.value))
        found.pairs.append((place, display_of(scope, tree, target)))
    else:
        scope.reject(f"`{ast.unparse(target)}` cannot hold {described(tree)}", target)


def write(scope: Scope, pairs: Sequence[Pair], node: ast.AST) -> None:
    """The assignments, all values before the first is stored; lists that grow are on lines of their own, and so are
    lambdas, which are left out if nothing calls them. What the program calls `x = x` stays: `x` may have no value."""
    own = set(scope.variables.values())
    wanted = [(to, value) for to, value in pairs if not (is_same(to, value) and ast.unparse(to) in own)]
    if len(wanted) > 1:
        lists = [pair for pair in wanted if isinstance(pair[1], GrownList) and not pair[1].elts]
        lambdas = [pair for pair in wanted if isinstance(pair[1], ast.Lambda)]
        scope.out += [ast.copy_location(ast.Assign([to], value), node) for to, value in (*lists, *lambdas)]
        wanted = [pair for pair in wanted if pair not in lambdas and pair not in lists]
    targets, values = [to for to, _ in wanted], [value for _, value in wanted]
    if len(wanted) == 1:
        scope.out.append(ast.copy_location(ast.Assign(targets, values[0]), node))
    elif wanted:
        scope.out.append(assignment(targets, ast.copy_location(ast.Tuple(values, ast.Load()), node), node))


def is_same(to: ast.expr, value: ast.expr) -> bool:
    return isinstance(to, ast.Name) and isinstance(value, ast.Name) and to.id == value.id


def pairs_of(variables: Tree, tree: Tree) -> Iterator[Pair]:
    """What gives `variables`, whose leaves are names, the values of the leaves of `tree`."""
    for (_, to), (_, leaf) in zip(leaves(variables), leaves(tree), strict=True):
        assert isinstance(to.expr, ast.Name)
        yield name_stored(to.expr.id, to.expr), leaf.expr
