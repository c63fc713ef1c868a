"""Methods, properties and operators of records: the functions that they are."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from inspect import signature
from types import FunctionType
from typing import Any

import numpy as np

from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.structures.objects.above import Above, found_in, nothing, with_above
from loopdiff.frontend.structures.scope import Local, Scope
from loopdiff.frontend.structures.signs import is_generated
from loopdiff.frontend.structures.trees import Branch, Static, Tree
from loopdiff.immutable import immutable
from loopdiff.source.functions import MISSING, SourceFunction, is_of_library
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.parameters import is_method

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.MatMult: "matmul", ast.Pow: "pow",
    ast.USub: "neg",
}  # fmt: skip


@immutable
class Bound:
    """A function that is called, `local` if it is one inside; `first` is what it is given before what is written."""

    source: SourceFunction
    local: Local | None = None
    first: tuple[Tree, ...] = ()


def method_of(scope: Scope, tree: Tree | None, attr: str) -> Bound | None:
    """The method, property or operator `attr` of a record, bound to it, or of a class; None if it has none that is
    written in Python."""
    if isinstance(tree, Static) and isinstance(tree.value, type):
        return method_of_class(scope, tree.value, attr)
    if not isinstance(tree, Branch) or tree.kind != "record":
        return None
    match found_in(tree.type, attr):
        case object.__init__ if isinstance(attr, Above):
            return Bound(scope.sources.of(nothing), None, (tree,))
        case staticmethod(__func__=function):
            return callee(scope, function)
        case classmethod(__func__=function):
            return callee(scope, function, Static(tree.type))
        case property(fget=function) | functools.cached_property(func=function) | (FunctionType() as function):
            return callee(scope, function, tree)
        case decorated if isinstance(function := getattr(decorated, "py_func", None), FunctionType):
            return callee(scope, function, *((tree,) if is_method(signature(function)) else ()))
        case _:
            return None


def method_of_class(scope: Scope, kind: type[Any], attr: str) -> Bound | None:
    """What `cls.attr` is, where that is called: methods are given their object there."""
    match found_in(kind, attr):
        case staticmethod(__func__=function):
            return callee(scope, function)
        case classmethod(__func__=function):
            return callee(scope, function, Static(kind))
        case FunctionType() as function:
            return callee(scope, function)
        case decorated if isinstance(function := getattr(decorated, "py_func", None), FunctionType):
            return callee(scope, function)
        case _:
            return None


def callee(scope: Scope, function: Any, *first: Tree) -> Bound | None:
    """`function`, which may be decorated, if its text can be read."""
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType) or is_generated(function) or is_of_library(function):
        return None
    try:
        source = scope.sources.of(function)
        made, key = scope.sources.made, (source.node, with_above)
        if key not in made:
            made[key] = with_above(source)
        return Bound(made[key], None, first)
    except UnsupportedLoopError:  # reported where it is called
        return None


def methods_of(tree: Tree) -> Iterator[FunctionType]:
    """All that the classes of records in `tree` have for methods, properties and operators."""
    if not isinstance(tree, Branch):
        return
    for item in tree.items:
        yield from methods_of(item)
    for kind in tree.type.__mro__ if tree.kind == "record" else ():
        for found in vars(kind).values():
            yield from functions_of(found)


def functions_of(member: Any) -> Iterator[FunctionType]:
    """The function that a member of a class is, or is made of."""
    inner = (getattr(member, name, None) for name in ("__func__", "fget", "func", "py_func"))
    yield from (f for f in (member, *inner) if isinstance(f, FunctionType))


def constants_of(tree: Tree) -> Iterator[tuple[str, Any]]:
    """Numbers and texts, and tuples of such, that the classes of records in `tree` have, by name."""
    if not isinstance(tree, Branch):
        return
    for item in tree.items:
        yield from constants_of(item)
    for kind in tree.type.__mro__[:-1] if tree.kind == "record" else ():
        own = ((name, value) for name, value in sorted(vars(kind).items()) if not name.startswith("__"))
        yield from ((name, value) for name, value in own if is_constant(value))


def is_property(tree: Branch, attr: str) -> bool:
    return isinstance(found_in(tree.type, attr), property | functools.cached_property)


def keeps_values(kind: type[Any]) -> bool:
    """Whether objects of the class have properties that are computed once, and stay when the object changes."""
    return any(isinstance(v, functools.cached_property) for c in kind.__mro__ for v in vars(c).values())


def class_constant(tree: Branch, attr: str) -> Any:
    """A number, a text or an array that the class of a record has, None, or a tuple of these; MISSING for others."""
    found = found_in(tree.type, attr)
    is_there = found is not None or any(attr in vars(c) for c in tree.type.__mro__)
    return found if is_there and (is_constant(found) or isinstance(found, np.ndarray)) else MISSING


def is_constant(value: Any) -> bool:
    is_tuple = type(value) is tuple and all(map(is_constant, value))
    return is_tuple or value is None or isinstance(value, int | float | str)


def has_own_method(tree: Branch, op: ast.operator) -> bool:
    """Whether a structure has something else to do for `a += b` than `a = a + b`."""
    return tree.kind == "list" or hasattr(tree.type, f"__i{OPERATORS.get(type(op))}__")


def has_records(scope: Scope, node: ast.AST) -> bool:
    """Whether some name in `node` holds a record, or something with one in it."""
    return any(is_record(scope.held.get(n.id)) for n in syntax_nodes(node) if isinstance(n, ast.Name))


def is_record(tree: object) -> bool:
    return isinstance(tree, Branch) and (tree.kind == "record" or any(map(is_record, tree.items)))
