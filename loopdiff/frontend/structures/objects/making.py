"""Functions made of others: of the method that makes an object, one that returns it; of a function that changes what it
is given, one that returns that, too."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loopdiff.frontend.structures.methods import Bound, callee
from loopdiff.frontend.structures.scope import Scope, name_read, name_stored
from loopdiff.frontend.structures.trees import Blank, Path, Taken
from loopdiff.immutable import replace
from loopdiff.source.functions import SourceFunction
from loopdiff.source.nodes import copied_tree, in_place_of, syntax_nodes
from loopdiff.source.scopes import fresh, words_in


def object_maker(scope: Scope, kind: type[Any]) -> Bound | None:
    """The function that makes objects of the class `kind`; None if its text cannot be read, or does something else with
    the object than to give it attributes."""
    found = callee(scope, kind.__init__)
    own = None if found is None else own_name(found.source.node)
    if found is None or own is None:
        return None
    made, key = scope.sources.made, (found.source.node, kind)
    if key not in made:
        made[key] = making(found.source, own, kind)
    return replace(found, source=made[key])


def own_name(node: ast.FunctionDef) -> str | None:
    """What a method calls its object, if that is one name for nothing else."""
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    return None if not names or names[0] in names_stored(node) else names[0]


def names_stored(node: ast.FunctionDef) -> set[str]:
    """Names that the function, or one inside, gives a value or none."""
    inside = [n for stmt in node.body for n in syntax_nodes(stmt)]
    names = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return names | {n.name for n in inside if isinstance(n, ast.FunctionDef)}


def making(source: SourceFunction, own: str, kind: type[Any]) -> SourceFunction:
    """The method `source`, which calls its object `own`, as a function without it, which returns it."""
    node = copied_tree(source.node)
    assert isinstance(node, ast.FunctionDef)
    (node.args.posonlyargs or node.args.args).pop(0)
    first = ast.Assign([name_stored(own, node)], ast.Constant(Blank(kind)))  # type: ignore[arg-type]

    def returning(one: ast.Return) -> list[ast.stmt]:
        return [ast.copy_location(ast.Return(name_read(own, one)), one)]

    node.body = [first, *with_returns(node.body, returning), ast.Return(name_read(own, node))]
    signature = inspect.Signature(list(source.signature.parameters.values())[1:])
    return replace(source, name=kind.__name__, node=in_place_of(node, node), signature=signature)


def handing(scope: Scope, source: SourceFunction, own: Mapping[str, frozenset[Path]], is_used: bool) -> SourceFunction:
    """`source` as a function that has for its own what it is given for the parameters in `own`, and the structures at
    these paths in it; it returns that after its result, which is nothing where it is one of these and not used."""
    made, key = scope.sources.made, (source.node, tuple(own.items()), is_used)
    if key not in made:
        made[key] = handed(source, own, is_used)
    return made[key]


def handed(source: SourceFunction, own: Mapping[str, frozenset[Path]], is_used: bool) -> SourceFunction:
    node = copied_tree(source.node)
    assert isinstance(node, ast.FunctionDef)
    name = fresh(words_in(node), "result")

    def returning(one: ast.Return) -> list[ast.stmt]:
        result: ast.expr = ast.Constant(None) if one.value is None else name_read(name, one)
        if not is_used and isinstance(one.value, ast.Name) and one.value.id in own:
            one = ast.copy_location(ast.Return(None), one)
            result = ast.Constant(None)
        first = [] if one.value is None else [ast.copy_location(ast.Assign([name_stored(name, one)], one.value), one)]
        row = ast.Tuple([result, *(name_read(n, one) for n in own)], ast.Load())
        return [*first, ast.copy_location(ast.Return(row), one)]

    parts = {n: ast.Constant(Taken(n, (), at)) for n, at in own.items()}  # type: ignore[arg-type]
    taken = [ast.Assign([name_stored(n, node)], part) for n, part in parts.items()]
    node.body = [*taken, *with_returns(node.body, returning), *returning(ast.copy_location(ast.Return(None), node))]
    return replace(source, node=in_place_of(node, node))


def with_returns(nodes: Sequence[ast.stmt], made: Callable[[ast.Return], list[ast.stmt]]) -> list[ast.stmt]:
    """The body of a function with what is `made` of each `return`."""
    writing = Returns(made)
    found = [writing.visit(node) for node in nodes]
    return [stmt for part in found for stmt in (part if isinstance(part, list) else [part])]


class Returns(ast.NodeTransformer):
    """Puts what is `made` of the `return` statements of a function in their place."""

    def __init__(self, made: Callable[[ast.Return], list[ast.stmt]]) -> None:
        self.made = made

    def visit_Return(self, node: ast.Return) -> Any:
        return self.made(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node
