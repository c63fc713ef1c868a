"""Assignments: names of structures are many variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from loopdiff.frontend.structures.known import static
from loopdiff.frontend.structures.rewriting import assignment, base_of, expression, rebuilt, steadied, with_base
from loopdiff.frontend.structures.scope import PLAIN, Scope, in_variables, name_stored, stored_names
from loopdiff.frontend.structures.trees import (
    Branch,
    Leaf,
    Static,
    Tree,
    described,
    dictionary_of,
    has_length,
    in_row,
    leaves,
    row_like,
)
from loopdiff.source.functions import MISSING

Pair = tuple[ast.expr, ast.expr]


def assign_tree(scope: Scope, targets: Sequence[ast.expr], tree: Tree, node: ast.stmt, is_fresh: bool = False) -> None:
    """`targets = ... = tree`; `is_fresh`: nobody else has the lists and dictionaries in it."""
    if len(targets) > 1:
        tree = steadied(scope, tree, (), node.value if isinstance(node, ast.Assign) else targets[0])
    pairs: list[Pair] = []
    held: dict[str, Tree] = {}
    for target in targets:
        take_apart(scope, target, tree, pairs, held)
    write(scope, pairs, node)
    for name, now in held.items():
        scope.hold(name, now, node)
    scope.owned -= stored_names(targets)
    if is_fresh and len(targets) == 1 and isinstance(targets[0], ast.Name):
        scope.owned.add(targets[0].id)


def take_apart(scope: Scope, target: ast.expr, tree: Tree, pairs: list[Pair], held: dict[str, Tree]) -> None:
    """Which variable gets which value, and what names hold afterwards."""
    match target, tree:
        case ast.Name(id=name), Leaf(expr=expr):
            pairs.append((target, expr))
            held[name] = tree
        case ast.Name(id=name), _:
            own = in_variables(scope, name, tree, target)
            pairs += pairs_of(own, tree)
            held[name] = own
        case ast.Tuple(elts=elts) | ast.List(elts=elts), Branch() if has_length(tree):
            items = tree.items if tree.kind != "dict" else tuple(map(Static, tree.keys))
            for inner, item in unpacked(scope, elts, items, target):
                take_apart(scope, inner, item, pairs, held)
        case ast.Tuple() | ast.List(), Leaf(expr=expr):
            pairs.append((rebuilt(scope, target), expr))
            held |= dict.fromkeys(stored_names([target]), PLAIN)
        case ast.Subscript() | ast.Attribute(), _:
            store_part(scope, target, tree, pairs, held)
        case _:
            scope.reject(f"`{ast.unparse(target)}` cannot hold {described(tree)}", target)


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


def store_part(
    scope: Scope, target: ast.Subscript | ast.Attribute, tree: Tree, pairs: list[Pair], held: dict[str, Tree]
) -> None:
    """`p["w"] = ...`: of a list or dictionary that nobody else has; of an array, its elements."""
    base = base_of(scope, target.value)
    if not isinstance(base, Branch):
        if not isinstance(tree, Leaf):
            scope.reject(f"`{ast.unparse(target)}` cannot hold {described(tree)}", target)
            return
        pairs.append((with_base(scope, target, expression(scope, target.value)), tree.expr))
        return
    name = target.value.id if isinstance(target.value, ast.Name) else ""
    key = static(scope, target.slice) if isinstance(target, ast.Subscript) else MISSING
    if name not in scope.owned or base.kind not in ("list", "dict") or key is MISSING:
        scope.reject_shared(f"`{ast.unparse(target.value)}`, {described(base)},", target)
        return
    key = key + len(base.items) if base.kind == "list" and isinstance(key, int) and key < 0 else key
    if base.kind == "list" and base.item(key) is None:
        scope.reject(f"`{ast.unparse(target.value)}`, {described(base)}, has no element {key!r}", target)
        return
    items = dict(zip(base.keys, base.items, strict=True)) | {key: tree}
    whole = dictionary_of(items) if base.kind == "dict" else row_like(base, tuple(items.values()))
    own = in_variables(scope, name, whole, target)
    assert isinstance(own, Branch)
    pairs += pairs_of(own.items[list(items).index(key)], tree)
    held[name] = own


def write(scope: Scope, pairs: Sequence[Pair], node: ast.stmt) -> None:
    """The assignments, all values before the first is stored; lambdas are on lines of their own, and left out if
    nothing calls them."""
    wanted = [(to, value) for to, value in pairs if not is_same(to, value)]
    if len(wanted) > 1:
        lambdas = [pair for pair in wanted if isinstance(pair[1], ast.Lambda)]
        scope.out += [ast.copy_location(ast.Assign([to], value), node) for to, value in lambdas]
        wanted = [pair for pair in wanted if pair not in lambdas]
    arrays = {to.id for to, value in wanted if isinstance(to, ast.Name) and is_array(scope, value)}
    scope.arrays = (scope.arrays - {to.id for to, _ in wanted if isinstance(to, ast.Name)}) | arrays
    targets, values = [to for to, _ in wanted], [value for _, value in wanted]
    if len(wanted) == 1:
        scope.out.append(ast.copy_location(ast.Assign(targets, values[0]), node))
    elif wanted:
        scope.out.append(assignment(targets, ast.copy_location(ast.Tuple(values, ast.Load()), node), node))


def is_array(scope: Scope, value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in scope.arrays


def is_same(to: ast.expr, value: ast.expr) -> bool:
    return isinstance(to, ast.Name) and isinstance(value, ast.Name) and to.id == value.id


def pairs_of(variables: Tree, tree: Tree) -> Iterator[Pair]:
    """What gives `variables`, whose leaves are names, the values of the leaves of `tree`."""
    for (_, to), (_, leaf) in zip(leaves(variables), leaves(tree), strict=True):
        assert isinstance(to.expr, ast.Name)
        yield name_stored(to.expr.id, to.expr), leaf.expr
