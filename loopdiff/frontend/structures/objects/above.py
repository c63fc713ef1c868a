"""Methods that are not called by their names: of the classes that a class is derived from, `super().step(h)` in a
method is `self.step(h)`, which is looked for behind the class in which that stands; and of properties that get
a value."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType
from typing import Any

from loopdiff.frontend.structures.known import static
from loopdiff.frontend.structures.rewriting import base_of
from loopdiff.frontend.structures.scope import Scope
from loopdiff.frontend.structures.trees import Branch
from loopdiff.immutable import replace
from loopdiff.source.functions import MISSING, SourceFunction
from loopdiff.source.nodes import copied_tree


class Above(str):
    """The attribute `name` of what comes behind the class `owner`; as a text it is no attribute of objects."""

    owner: type[Any]
    name: str

    def __new__(cls, owner: type[Any], name: str) -> Above:
        made = super().__new__(cls, f"super().{name}")
        made.owner, made.name = owner, name
        return made


class Setter(str):
    """What a property does that gets a value; as a text it is no attribute of objects."""

    name: str

    def __new__(cls, name: str) -> Setter:
        made = super().__new__(cls, f"{name}.setter")
        made.name = name
        return made


def spelt(scope: Scope, node: ast.stmt) -> ast.stmt:
    """`setattr(r, "name", value)` as `r.name = value`; and that as a call of what the property of this name does."""
    match node:
        case ast.Expr(value=ast.Call(func=func, args=[base, key, value], keywords=[])) if scope.value_outside(
            func
        ) is setattr and isinstance(name := static(scope, key), str):
            target = ast.copy_location(ast.Attribute(base, name, ast.Store()), node)
            return spelt(scope, ast.copy_location(ast.Assign([target], value), node))
        case ast.Assign(targets=[ast.Attribute(value=base, attr=attr) as target], value=value):
            tree = base_of(scope, base)
            found = inspect.getattr_static(tree.type, attr, None) if isinstance(tree, Branch) else None
            if not isinstance(found, property) or found.fset is None:
                return node
            called = ast.copy_location(ast.Attribute(base, Setter(attr), ast.Load()), target)
            return ast.copy_location(ast.Expr(ast.copy_location(ast.Call(called, [value], []), node)), node)
        case _:
            return node


def found_in(kind: type[Any], attr: str) -> Any:
    """What the class `kind` has under `attr`, as it is written there; None if it has nothing."""
    if isinstance(attr, Setter):
        return inspect.getattr_static(kind, attr.name).fset
    if not isinstance(attr, Above):
        return inspect.getattr_static(kind, attr, None)
    order = kind.__mro__
    behind = order[order.index(attr.owner) + 1 :] if attr.owner in order else ()
    return next((vars(c)[attr.name] for c in behind if attr.name in vars(c)), None)


def nothing(self: Any) -> None:
    """What makes objects of a class that is derived from no other: it does nothing with `self`."""


def with_above(source: SourceFunction) -> SourceFunction:
    """The method `source` with such attributes; itself where it has no `super()`."""
    owner = class_around(source.function)
    names = [a.arg for a in (*source.node.args.posonlyargs, *source.node.args.args)]
    if owner is None or not names:
        return source
    node = Writing(owner, names[0], source).visit(copied_tree(source.node))
    return replace(source, node=node)


def class_around(function: Any) -> type[Any] | None:
    """The class in which a method stands that asks for `super()`; None for others."""
    names = function.__code__.co_freevars if isinstance(function, FunctionType) else ()
    if "__class__" not in names or function.__closure__ is None:
        return None
    try:
        found = function.__closure__[names.index("__class__")].cell_contents
    except ValueError:  # the class is not made yet
        return None
    return found if isinstance(found, type) else None


class Writing(ast.NodeTransformer):
    """Writes `super().name` as the attribute of the object `own`, but for what functions inside do."""

    def __init__(self, owner: type[Any], own: str, source: SourceFunction) -> None:
        self.owner, self.own, self.source = owner, own, source

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        match node.value:
            case ast.Call(func=ast.Name(id="super"), args=[], keywords=[]):
                pass
            case ast.Call(func=ast.Name(id="super"), args=[ast.Name(id=of), ast.Name(id=self.own)], keywords=[]) if (
                self.source.outer.get(of) is self.owner
            ):
                pass
            case _:
                return node
        if not isinstance(node.ctx, ast.Load) or self.source.outer.get("super", MISSING) not in (super, MISSING):
            return node
        base = ast.copy_location(ast.Name(self.own, ast.Load()), node.value)
        return ast.copy_location(ast.Attribute(base, Above(self.owner, node.attr), ast.Load()), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self.generic_visit(node) if node.name == self.source.node.name else node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node
