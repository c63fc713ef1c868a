"""Keys that leave dictionaries and sets, and dictionaries that get another name, where these are lists."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from loopdiff.numpy_functions import arranging, keyed
from loopdiff.source.dictionaries.parts import Rewriting, expression_of, load_of, statements_of
from loopdiff.source.dictionaries.tables import Table
from loopdiff.source.lists.uses import is_dead_after, parents_in
from loopdiff.source.nodes import syntax_nodes

CHAINED = (keyed.chained, keyed.chained_pairs, keyed.chained_triples)
OF_DICTIONARIES, OF_SETS = ("pop", "clear"), ("remove", "discard", "clear")


def losing_keys(function: ast.FunctionDef) -> frozenset[str]:
    """Names of dictionaries and sets that lose keys."""
    return frozenset(name for node in syntax_nodes(function) for name in loses(node))


def loses(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Del()):
            yield name
        case ast.Call(func=ast.Attribute(ast.Name(id=name), attr)) if attr in (*OF_DICTIONARIES, *OF_SETS):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name()):
            yield name
        case _:
            pass


def may_lose(scope: Rewriting, name: str) -> bool:
    """Whether a key may leave the dictionary here: no loop goes over it."""
    return scope.ahead is not None and name not in scope.inside and scope.tables[name].owners is None


def removed(scope: Rewriting, name: str, args: Sequence[ast.expr], node: ast.expr) -> ast.expr:
    """`d.pop(key)`, `d.pop(key, other)`: ahead."""
    table = scope.tables[name]
    if not may_lose(scope, name) or not scope.is_steady or name in scope.asked or scope.ahead is None:
        return scope.failed(node)
    key, *others = args
    parts = scope.held_key(table, key)
    other = scope.held("other", scope.part(others[0]), in_turn=True) if others else None
    place, given = scope.name("place"), scope.name("taken")
    at = scope.place_of(table, parts, node)
    if other is None:
        at = expression_of(f"{scope.function(keyed.place_there)}(PLACE)", node, PLACE=at)
        scope.ahead += [*statements_of(f"{place} = PLACE", node, PLACE=at), *leaving(scope, table, place, given, node)]
        return ast.copy_location(load_of(given), node)
    first, question = statements_of(f"{place} = PLACE\nif {place} >= 0:\n    pass\nelse:\n    {given} = OTHER", node,
                                    PLACE=at, OTHER=other)  # fmt: skip
    assert isinstance(question, ast.If)
    question.body = leaving(scope, table, place, given, node)
    scope.ahead += [first, question]
    return ast.copy_location(load_of(given), node)


def leaving(scope: Rewriting, table: Table, place: str, given: str, node: ast.AST) -> list[ast.stmt]:
    """The key in that place leaves the dictionary, and `given` is what it had."""
    lists = ", ".join((*table.keys, table.values))
    texts = [f"{scope.function(arranging.place_to_end)}({place}, {lists})", f"{given} = {table.values}.pop()"]
    texts += [f"{own}.pop()" for own in (*table.keys, table.links)]
    texts += [f"{scope.function(CHAINED[len(table.keys) - 1])}({table.heads}, {table.links}, {', '.join(table.keys)})"]
    return statements_of("\n".join(texts), node)


def discarded(scope: Rewriting, name: str, key: ast.expr, node: ast.stmt, may_miss: bool) -> list[ast.stmt] | None:
    """`del d[key]`, `s.remove(key)`, `s.discard(key)`, which `may_miss` it; None where that cannot be done."""
    table, ahead = scope.tables[name], list[ast.stmt]()
    with scope.before(ahead, node):
        if not may_lose(scope, name):
            return None
        place, given = scope.name("place"), scope.name("taken")
        at = scope.place_of(table, scope.held_key(table, key), node)
        if not may_miss:
            at = expression_of(f"{scope.function(keyed.place_there)}(PLACE)", node, PLACE=at)
    found = [*ahead, *statements_of(f"{place} = PLACE", node, PLACE=at)]
    body = leaving(scope, table, place, given, node)
    if not may_miss:
        return [*found, *body]
    (question,) = statements_of(f"if {place} >= 0:\n    pass", node)
    assert isinstance(question, ast.If)
    question.body = body
    return [*found, question]


def without_keys(scope: Rewriting, name: str, node: ast.stmt) -> list[ast.stmt] | None:
    """`d.clear()`."""
    table = scope.tables[name]
    if name in scope.inside:
        return None
    owners = () if table.owners is None else (table.owners,)
    texts = [f"{own}.clear()" for own in (*table.keys, table.links, *owners, table.values)]
    return statements_of("\n".join([*texts, f"{table.heads}[:] = -1"]), node)


def taking_over(scope: Rewriting, name: str, other: str, node: ast.stmt) -> list[ast.stmt] | None:
    """`d = e`: what is in `e` comes to `d`; nobody asks `e` before it is another dictionary."""
    table, given = scope.tables[name], scope.tables[other]
    alike = [(t.owners is None, t.missing and ast.dump(t.missing), t.is_set, len(t.keys)) for t in (table, given)]
    if alike[0] != alike[1] or {name, other} & {*scope.inside, *(own for own, _ in scope.there)}:
        return None
    lists = [*zip(table.keys, given.keys, strict=True), (table.links, given.links), (table.values, given.values)]
    lists += [] if table.owners is None or given.owners is None else [(table.owners, given.owners)]
    texts = [f"{table.heads}[:] = {given.heads}"]
    for own, its in lists:
        each = scope.name("each")
        texts += [f"{own}.clear()", f"for {each} in {its}:", f"    {own}.append({each})"]
    return statements_of("\n".join(texts), node)


def given_away(function: ast.FunctionDef) -> dict[str, list[str]]:
    """The other names that are assigned to names, where nobody asks those before they stand for something else."""
    found: dict[str, list[str]] = {}
    parents = parents_in(function)
    for node in syntax_nodes(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)) if name != other:
                if is_dead_after(node, other, parents):
                    found.setdefault(name, []).append(other)
            case _:
                pass
    return found
