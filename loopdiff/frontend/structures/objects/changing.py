"""Calls of methods and functions that change objects, lists and dictionaries which they are given: where nobody else
has these, the call gives them back as they are afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from loopdiff.frontend.structures.bindings import store_at
from loopdiff.frontend.structures.calls import callee_of, keeps_nothing, run_ahead, without_structures
from loopdiff.frontend.structures.known import held_place
from loopdiff.frontend.structures.methods import Bound
from loopdiff.frontend.structures.objects.changes_in import changed_by
from loopdiff.frontend.structures.objects.making import handing, names_stored
from loopdiff.frontend.structures.rewriting import base_of, copied, function_at
from loopdiff.frontend.structures.scope import Place, Scope
from loopdiff.frontend.structures.trees import Branch, Path, Static, Taken, Tree, holds_structures
from loopdiff.immutable import immutable, replace
from loopdiff.source.functions import dotted_name


@immutable
class Given:
    """What a call gives for a parameter: what stands at `place`, which nobody else has, `tree`."""

    place: Place
    tree: Branch


def changing_call(scope: Scope, node: ast.Call, is_used: bool = True) -> Tree | None:
    """What a call gives, if that `is_used`, that changes what it is given; None for other calls, and where it may not
    run ahead."""
    key = ~id(node)  # beside what is known of the call as one that changes nothing
    if key not in scope.ahead:
        if not scope.may_run_ahead or id(node) not in scope.leading:
            return None
        scope.ahead[key] = node, changed_ahead(scope, node, is_used)
    return scope.ahead[key][1]


def changed_ahead(scope: Scope, node: ast.Call, is_used: bool) -> Tree | None:
    target = callee_of(scope, node.func)
    given = changed_given(scope, target, node)
    return called_with(scope, target, node, given, is_used) if target is not None and given else None


def changed_given(scope: Scope, target: Bound | None, node: ast.Call) -> dict[str, Given]:
    """What the call gives that it may change."""
    if target is None or target.local is not None:
        return {}
    given = dict(given_places(scope, target, node))
    changed = changed_by(scope, target.source, {name: of.tree for name, of in given.items()})
    kept = changed - names_stored(target.source.node)  # a parameter that gets something else is not what was given
    return {name: of for name, of in given.items() if name in kept}


def changes_objects(scope: Scope, node: ast.Call) -> bool:
    """Whether the call may change what it is given, where nobody else has that; nothing is written for it."""
    is_plain = isinstance(node.func, ast.Name) or dotted_name(node.func) is not None
    return is_plain and bool(changed_given(scope, callee_of(scope, node.func), node))


def given_places(scope: Scope, target: Bound, node: ast.Call) -> Iterator[tuple[str, Given]]:
    """Parameters that get what stands in a place, as far as nobody else has that."""
    for name, part in written_for(scope, target, node):
        is_place = isinstance(part, ast.Name | ast.Attribute | ast.Subscript)
        tree = base_of(scope, part) if is_place else None
        place = held_place(scope, part) if isinstance(tree, Branch) and holds_structures(tree) else None
        if place is not None and place in scope.owned:
            assert isinstance(tree, Branch)
            yield name, Given(place, tree)


def written_for(scope: Scope, target: Bound, node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Parameters, and what is written for them, the object of a method first, which is all where stars stand for
    several; none where these may give the object, too."""
    names = list(target.source.signature.parameters)
    stars = [a.value for a in node.args if isinstance(a, ast.Starred)] + [k.value for k in node.keywords if not k.arg]
    others = [a for a in node.args if not isinstance(a, ast.Starred)] + [k.value for k in node.keywords if k.arg]
    if stars and any(may_hold_structures(scope, part, part in stars) for part in (*stars, *others)):
        return
    if target.first and isinstance(target.first[0], Branch) and names:
        is_method = isinstance(node.func, ast.Attribute) and function_at(scope, node.func) is None
        yield names[0], node.func.value if is_method else node.func  # type: ignore[attr-defined]
    if stars:
        return
    yield from zip(names[len(target.first) :], node.args, strict=False)
    yield from ((k.arg, k.value) for k in node.keywords if k.arg is not None)


def may_hold_structures(scope: Scope, node: ast.expr, is_behind_star: bool) -> bool:
    """Whether an argument may be a structure, or, behind stars, hold one."""
    if not isinstance(node, ast.Name | ast.Constant):
        return True
    tree = base_of(scope, node)
    inside = tree.items if isinstance(tree, Branch) and is_behind_star else (tree,)
    return any(isinstance(item, Branch) for item in inside)


def called_with(scope: Scope, target: Bound, node: ast.Call, given: Mapping[str, Given], is_used: bool) -> Tree | None:
    """What the call gives, after which what is `given` stands in its places as it is then."""
    own, owned = {name: owned_in(scope, of.place) for name, of in given.items()}, set(scope.owned)
    written = {id(part): name for name, part in written_for(scope, target, node) if name in given}

    def taken(part: ast.expr) -> ast.expr:
        name = written.get(id(part))
        if name is None:
            return part
        of, path = given[name].place
        return ast.copy_location(ast.Constant(Taken(of, path, own[name])), part)  # type: ignore[arg-type]

    call = copied(
        node,
        args=[taken(a) for a in node.args],
        keywords=[copied(k, value=taken(k.value)) for k in node.keywords],
    )
    found = without_structures(scope, call, replace(target, source=handing(scope, target.source, own, is_used)))
    made, result = (None, None) if found is None else found
    if made is None or result is None:
        return None
    places = [of.place for of in given.values()]
    others = [part for name, part in written_for(scope, target, node) if name not in given]
    if keeps_nothing(call, target, result) and all(is_apart(scope, part, places) for part in others):
        scope.owned = owned
    if not all(place in scope.owned for place in places) or any(map(is_inside, pairs_among(places))):
        scope.reject_shared(f"what `{ast.unparse(node)}` is given", node)
        return Static(None)
    after = run_ahead(scope, made, result, node)
    assert isinstance(after, Branch)
    for place, tree in zip(places, after.items[1:], strict=True):
        store_at(scope, place, tree, node)
    return after.items[0]


def is_apart(scope: Scope, part: ast.expr, places: list[Place]) -> bool:
    """Whether nothing of what an argument is stands in one of `places`, nor one of these in it."""
    is_place = isinstance(part, ast.Name | ast.Attribute | ast.Subscript)
    tree = base_of(scope, part) if is_place else None
    if isinstance(part, ast.Constant) or (is_place and not isinstance(tree, Branch)):
        return True
    place = held_place(scope, part) if is_place else None
    return place is not None and not any(is_inside((place, p)) or is_inside((p, place)) for p in places)


def owned_in(scope: Scope, place: Place) -> frozenset[Path]:
    """Where the structures are in what stands at `place` that nobody else has."""
    name, at = place
    return frozenset(path[len(at) :] for of, path in scope.owned if of == name and path[: len(at)] == at)


def pairs_among(places: list[Place]) -> Iterator[tuple[Place, Place]]:
    return ((a, b) for a in places for b in places if a is not b)


def is_inside(pair: tuple[Place, Place]) -> bool:
    """Whether the first of two places is in the second, or is that."""
    (name, path), (other, around) = pair
    return name == other and path[: len(around)] == around
