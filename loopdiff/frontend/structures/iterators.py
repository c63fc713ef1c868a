"""Iterators that are not gone through where they are made: they compute items when they are asked for, and give each
once, which a list does not."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from loopdiff.frontend.structures.rewriting import base_of
from loopdiff.frontend.structures.scope import Scope
from loopdiff.frontend.structures.trees import Branch
from loopdiff.source.nodes import syntax_children, syntax_nodes

ONCE = (zip, enumerate, reversed, map, filter, iter)
TAKING = (sum, min, max, any, all, list, tuple, sorted, dict, set, math.prod, functools.reduce)
VIEWS = ("keys", "values", "items")  # of a dictionary, which see what it becomes
TAKING_METHODS = ("extend", "update", "join")


def refuse_iterators(scope: Scope, node: ast.stmt) -> None:
    """Reject iterators that a statement keeps, and those whose items a loop may change before it comes to them."""
    for found in loose_in(scope, node):
        hint = "write a list: `[v * s for v in x]`, or `list(...)` around it"
        scope.reject(f"`{ast.unparse(found)}` gives its items when they are asked for", found, hint)
    if isinstance(node, ast.For):
        late = [n for n in syntax_nodes(node.iter) if isinstance(n, ast.GeneratorExp)]
        read = {n.id for g in late for n in syntax_nodes(g) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if read & changed_in(node.body):
            hint = "write a list, which is computed before the loop"
            scope.reject(f"`{ast.unparse(node.iter)}` reads what the loop changes", node.iter, hint)


def loose_in(scope: Scope, node: ast.stmt) -> Iterator[ast.expr]:
    """The iterators that a statement itself keeps."""
    match node:
        case ast.For(iter=over):
            yield from loose(scope, over, True)
        case ast.If(test=test) | ast.While(test=test):
            yield from loose(scope, test)
        case ast.Assign(
            targets=[ast.Name()], value=ast.Call(func=ast.Attribute(value=base, attr=attr), args=[]) as call
        ) if attr in VIEWS and isinstance(tree := base_of(scope, base), Branch) and tree.kind == "dict":
            yield call
        case ast.Assign(targets=targets, value=value):
            yield from loose(scope, value, all(isinstance(t, ast.Tuple | ast.List) for t in targets))
        case ast.AugAssign(value=value):
            yield from loose(scope, value, True)
        case ast.FunctionDef():
            pass
        case _:
            yield from loose(scope, node)


def loose(scope: Scope, node: ast.AST, is_taken: bool = False) -> Iterator[ast.expr]:
    """The iterators in an expression that nothing goes through. `is_taken`: all items of `node` are taken at once."""
    match node:
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            if isinstance(node, ast.GeneratorExp) and not is_taken:
                yield node
            for part in node.generators:
                yield from loose(scope, part.iter, True)
            values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            for value in values:
                yield from loose(scope, value)
        case ast.Call(func=func, args=args, keywords=keywords):
            function: Any = scope.value_outside(func) if isinstance(func, ast.Name | ast.Attribute) else None
            is_once = any(function is f for f in ONCE)
            if is_once and not is_taken:
                yield node
            takes = is_once or any(function is f for f in TAKING)
            takes |= isinstance(func, ast.Attribute) and func.attr in TAKING_METHODS
            for arg in args:
                yield from loose(scope, arg, takes)
            for keyword in keywords:
                yield from loose(scope, keyword.value)
        case ast.Starred(value=value):
            yield from loose(scope, value, True)
        case ast.Lambda():
            pass
        case _:
            for part in syntax_children(node):
                yield from loose(scope, part)


def changed_in(body: Sequence[ast.stmt]) -> set[str]:
    """Names that statements give another value, or what they stand for other elements."""
    nodes = [n for statement in body for n in syntax_nodes(statement)]
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    parts = (n.value for n in nodes if isinstance(n, ast.Subscript | ast.Attribute) and not isinstance(n.ctx, ast.Load))
    called = (n.func.value for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    return stored | {n.id for part in (*parts, *called) for n in syntax_nodes(part) if isinstance(n, ast.Name)}
