"""Which of the objects, lists and dictionaries that a function is given it may change, by its text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from loopdiff.frontend.structures.methods import callee, method_of
from loopdiff.frontend.structures.records import CHANGING_METHODS
from loopdiff.frontend.structures.scope import Scope
from loopdiff.frontend.structures.trees import Branch, Tree, is_sequence
from loopdiff.immutable import immutable
from loopdiff.source.functions import MISSING, SourceFunction, dotted_name, python_function
from loopdiff.source.nodes import syntax_nodes

Trees = Mapping[str, Tree]


@immutable
class Part:
    """What a name stands for that a loop gives it: a part of what the parameter `of` has, like `tree`."""

    of: str
    tree: Tree


def changed_by(scope: Scope, source: SourceFunction, given: Trees, met: tuple[ast.AST, ...] = ()) -> set[str]:
    """Which of the parameters the function may change that have what is `given`."""
    if not given or source.node in met:
        return set()
    return changed_among(scope, [source.node], source.outer, given, (*met, source.node))


def changed_among(
    scope: Scope, nodes: Iterable[ast.AST], outer: Mapping[str, Any], given: Trees, met: tuple[ast.AST, ...] = ()
) -> set[str]:
    """Which of the names in `given`, that stand for these, statements may change."""
    inside = [n for node in nodes for n in syntax_nodes(node)] if given else []
    known = {name: Part(name, tree) for name, tree in given.items()}
    for node in inside:
        if isinstance(node, ast.For):
            known |= {n: part for n, part in gone_through(node.target, node.iter, known) if n not in given}
    return {name for node in inside for name in changed_at(scope, node, outer, known, met)}


def gone_through(target: ast.expr, over: ast.expr, known: Mapping[str, Part]) -> Iterator[tuple[str, Part]]:
    """Names that a loop gives parts of what is known."""
    match target, over:
        case ast.Tuple(elts=[_, inner]), ast.Call(func=ast.Name(id="enumerate"), args=[inside, *_]):
            yield from gone_through(inner, inside, known)
        case ast.Tuple(elts=elts), ast.Call(func=ast.Name(id="zip"), args=args):
            for inner, inside in zip(elts, args, strict=False):
                yield from gone_through(inner, inside, known)
        case _, ast.Call(func=ast.Name(id="reversed" | "list" | "tuple" | "sorted"), args=[inside]):
            yield from gone_through(target, inside, known)
        case _, ast.Call(func=ast.Attribute(value=inside, attr="values"), args=[]):
            yield from gone_through(target, inside, known)
        case ast.Tuple(elts=[_, inner]), ast.Call(func=ast.Attribute(value=inside, attr="items"), args=[]):
            yield from gone_through(inner, inside, known)
        case _, ast.Subscript(value=inside, slice=ast.Slice()):
            yield from gone_through(target, inside, known)
        case ast.Name(id=name), _ if (part := part_named(over, known)) is not None:
            if isinstance(part.tree, Branch) and part.tree.items:
                yield name, Part(part.of, part.tree.items[0])
        case _:
            pass


def part_named(node: ast.expr, known: Mapping[str, Part]) -> Part | None:
    """What `node` stands for that is, or is a part of, what is known; of elements of lists, one of them."""
    match node:
        case ast.Name(id=name):
            return known.get(name)
        case ast.Attribute(value=base, attr=attr):
            key: Any = attr
        case ast.Subscript(value=base, slice=ast.Constant(value=key)):
            pass
        case ast.Subscript(value=base):
            key = MISSING
        case _:
            return None
    part = part_named(base, known)
    if part is None or not isinstance(part.tree, Branch):
        return None
    found = None if key is MISSING else part.tree.item(key)
    if found is None and is_sequence(part.tree) and part.tree.items and not isinstance(node, ast.Attribute):
        found = part.tree.items[0]
    return None if found is None else Part(part.of, found)


def root_named(node: ast.expr, known: Mapping[str, Part]) -> str | None:
    """The parameter that `node` is a part of."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return known[node.id].of if isinstance(node, ast.Name) and node.id in known else None


def changed_at(
    scope: Scope, node: ast.AST, outer: Mapping[str, Any], known: Mapping[str, Part], met: tuple[ast.AST, ...]
) -> Iterator[str]:
    match node:
        case ast.Attribute(value=base) | ast.Subscript(value=base) if not isinstance(node.ctx, ast.Load):
            part, root = part_named(base, known), root_named(base, known)
            if root is not None and (part is None or isinstance(part.tree, Branch)):  # of an array, elements
                yield root
        case ast.AugAssign(target=ast.Name(id=name)) if name in known and isinstance(known[name].tree, Branch):
            yield known[name].of
        case ast.Call(func=ast.Name(id="setattr"), args=[base, _, _]) if (root := root_named(base, known)) is not None:
            yield root
        case ast.Call(func=func, args=args, keywords=named):
            part = part_named(func.value, known) if isinstance(func, ast.Attribute) else None
            if part is not None and isinstance(part.tree, Branch):
                assert isinstance(func, ast.Attribute)
                yield from changed_by_method(scope, func.attr, part, met)
            given = [(None, a) for a in args] + [(k.arg, k.value) for k in named]
            yield from changed_by_function(scope, function_of(scope, func, outer, part), given, known, met)
        case _:
            pass


def changed_by_method(scope: Scope, attr: str, part: Part, met: tuple[ast.AST, ...]) -> Iterator[str]:
    """The parameter whose `part` the method changes."""
    assert isinstance(part.tree, Branch)
    if attr in CHANGING_METHODS.get(part.tree.kind, ()):
        yield part.of
        return
    method = method_of(scope, part.tree, attr)
    names = [] if method is None or not method.first else list(method.source.signature.parameters)[:1]
    if method is not None and names and changed_by(scope, method.source, {names[0]: part.tree}, met):
        yield part.of


def function_of(
    scope: Scope, func: ast.expr, outer: Mapping[str, Any], part: Part | None
) -> tuple[SourceFunction, int] | None:
    """The function that is called, and how many parameters it has before those that are written."""
    if part is not None and isinstance(func, ast.Attribute):
        method = method_of(scope, part.tree, func.attr)
        return None if method is None else (method.source, len(method.first))
    value = outer.get(dotted_name(func) or "", MISSING)
    function = None if value is MISSING else python_function(value)
    found = callee(scope, function)
    return None if found is None else (found.source, 0)


def changed_by_function(
    scope: Scope,
    function: tuple[SourceFunction, int] | None,
    given: list[tuple[str | None, ast.expr]],
    known: Mapping[str, Part],
    met: tuple[ast.AST, ...],
) -> Iterator[str]:
    """Parameters whose parts the function changes that is given them."""
    parts = [(name, part_named(a, known)) for name, a in given]
    if function is None or all(part is None for _, part in parts):
        return
    source, first = function
    names = list(source.signature.parameters)[first:]
    of = {n: part for n, (name, part) in zip(names, parts, strict=False) if name is None and part is not None}
    of |= {name: part for name, part in parts if name is not None and part is not None}
    trees = {name: part.tree for name, part in of.items() if isinstance(part.tree, Branch)}
    yield from (of[name].of for name in changed_by(scope, source, trees, met))
