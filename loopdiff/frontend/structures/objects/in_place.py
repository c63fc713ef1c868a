"""Augmented assignments to what objects do themselves: `a += b` as `a.__iadd__(b)`, where that gives back `a`, and
`r.p += b` of a property as what Python does with it, one after the other."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping

from loopdiff.frontend.structures.methods import OPERATORS, callee
from loopdiff.frontend.structures.objects.making import names_stored, own_name
from loopdiff.frontend.structures.rewriting import base_of, copied
from loopdiff.frontend.structures.scope import Scope, name_read, name_stored
from loopdiff.frontend.structures.trees import Branch, Tree
from loopdiff.source.functions import SourceFunction
from loopdiff.source.scopes import of_scope


def augmented(scope: Scope, node: ast.stmt) -> list[ast.stmt]:
    """The statement as others that mean the same."""
    if not isinstance(node, ast.AugAssign):
        return [node]
    target, said = copied(node.target, ctx=ast.Load()), scope.said()
    with scope.in_place():  # a look: the statement itself says what is wrong, and what changes
        base = base_of(scope, target.value) if isinstance(target, ast.Attribute) else None
        tree = base_of(scope, target)
    scope.take_back(said)
    if isinstance(target, ast.Attribute) and has_setter(base, target.attr):
        name = scope.names.fresh("value")
        first = ast.Assign([name_stored(name, node)], target)
        last = ast.Assign([node.target], name_read(name, node))
        changed = copied(node, target=name_stored(name, node))
        return [ast.copy_location(first, node), changed, ast.copy_location(last, node)]
    return [by_method(scope, node, tree)]


def by_method(scope: Scope, node: ast.AugAssign, tree: Tree | None) -> ast.stmt:
    """The statement as a call, where its target is `tree`, an object whose operator gives it back."""
    attr = f"__i{OPERATORS.get(type(node.op))}__"
    if not isinstance(tree, Branch) or tree.kind != "record":
        return node
    method = inspect.getattr_static(tree.type, attr, None)
    found = None if method is None else callee(scope, method)
    if found is None or not gives_itself(found.source):
        return node
    target = copied(node.target, ctx=ast.Load())
    call = ast.Call(ast.copy_location(ast.Attribute(target, attr, ast.Load()), target), [node.value], [])
    return ast.copy_location(ast.Expr(ast.copy_location(call, node)), node)


class ByMethods(ast.NodeTransformer):
    """Writes augmented assignments to names of objects so; `known` says what the names stand for."""

    def __init__(self, scope: Scope, known: Mapping[str, Tree]) -> None:
        self.scope, self.known = scope, known

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        tree = self.known.get(node.target.id) if isinstance(node.target, ast.Name) else None
        return by_method(self.scope, node, tree)


def has_setter(tree: object, attr: str) -> bool:
    """Whether `attr` of a structure is a property that gets values."""
    found = inspect.getattr_static(tree.type, attr, None) if isinstance(tree, Branch) else None
    return isinstance(found, property) and found.fset is not None


def gives_itself(source: SourceFunction) -> bool:
    """Whether a method gives back the object that it is of, on all ways."""
    own, body = own_name(source.node), source.node.body
    if own is None or own in names_stored(source.node) or not isinstance(body[-1], ast.Return):
        return False
    ends = [n for stmt in body for n in of_scope(stmt) if isinstance(n, ast.Return)]
    return all(isinstance(end.value, ast.Name) and end.value.id == own for end in ends)
