"""Conditional expressions of arrays, which stand for either or differ in shape, as statements with branches."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from loopdiff.frontend.arrays.broadcasting import are_equal_here
from loopdiff.frontend.arrays.functions import is_written_out_at
from loopdiff.frontend.arrays.integers import distance
from loopdiff.frontend.arrays.values import ArrayValue, View, as_array
from loopdiff.frontend.parsing.bindings import Varying, VaryingUsed
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.snapshots import Snapshot, tried
from loopdiff.ir import nodes as ir
from loopdiff.source.nodes import syntax_nodes


def chooses(state: State, node: ast.IfExp) -> bool:
    """Whether `node` is one of two arrays, so that a name for it is a name for either."""
    if state.types is None:
        return False
    found = tried(state, node)
    return isinstance(found, ArrayValue) and found.memory is not None


def differs(state: State, node: ast.IfExp) -> bool:
    """Whether `node` is one of two arrays that may differ in shape, or of an array and a number."""
    if state.types is None or isinstance(tried(state, node.test), ir.Const):
        return False
    found = [tried(state, part) for part in (node.body, node.orelse)]
    if not any(isinstance(one, View | ArrayValue) for one in found):
        return False
    a, b = (as_array(one).extents for one in found)
    pairs = zip(a, b, strict=False)
    return len(a) != len(b) or not all(distance(m, n) == 0 or are_equal_here(state, m, n) for m, n in pairs)


def differs_for_sure(state: State, node: ast.IfExp) -> bool:
    """The same where it does not depend on which of several arrays a name stands for."""
    before = Snapshot.of(state)
    try:
        return differs(state, node)
    except VaryingUsed:
        before.restore(state)
        return False


def in_branches(state: State, node: ast.stmt) -> ast.If | None:
    """`node`, if it names what a condition chooses and no one expression is, or stores one of two arrays that differ in
    shape, as an `if` statement that does either."""
    match node:
        case ast.Assign(targets=[ast.Name() as target], value=ast.IfExp() as value):
            return as_branches(target, value) if chooses(state, value) or differs(state, value) else None
        case ast.Assign(targets=[ast.Subscript()], value=ast.IfExp() as value):
            pass
        case ast.AugAssign(target=ast.Subscript(), value=ast.IfExp() as value) if not is_writing(state, value):
            pass
        case _:
            return None
    if not differs(state, value):
        return None
    then, orelse = (with_value(node, part) for part in (value.body, value.orelse))
    return ast.copy_location(ast.If(value.test, [then], [orelse]), node)


def is_writing(state: State, node: ast.expr) -> bool:
    """Whether `node` calls a function of Python, which may change what is read beside it."""
    return any(is_written_out_at(state, n) for n in syntax_nodes(node))


def with_named_choices(
    state: State, node: ast.stmt, parse: Callable[[State, ast.stmt], None]
) -> tuple[ast.stmt, list[str]]:
    """`node`, in which new names stand for those of its first operands that are one of two arrays, which differ in
    shape or which somebody could tell from a copy, and these names: they are bound before, in branches that `parse`
    parses."""
    match node:
        case ast.AugAssign(target=ast.Name()) | ast.Assign() | ast.Return() | ast.Expr():
            pass
        case _:
            return node, []
    if node.value is None or not any(isinstance(n, ast.IfExp) for n in syntax_nodes(node.value)):
        return node, []
    sites = {(s.line, s.column) for s in state.whole.decisions.shared if s.name == "choice"}
    is_own, whole = isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp), node.value
    names: list[str] = []

    def is_ahead(part: ast.IfExp) -> bool:
        """Whether what differs in shape may come before the operands beside it, which it does not change."""
        return not is_own and (part is whole or not is_writing(state, part)) and differs_for_sure(state, part)

    def named(part: ast.expr) -> ast.expr:
        span = state.source.span(part)
        match part:
            case ast.IfExp() if (span.line, span.column) in sites or is_ahead(part):
                names.extend(state.fresh_names("chosen"))
                target = ast.copy_location(ast.Name(names[-1], ast.Store()), part)
                parse(state, as_branches(target, part))
                return ast.copy_location(ast.Name(names[-1], ast.Load()), part)
            case ast.Tuple(elts=parts, ctx=ctx) | ast.List(elts=parts, ctx=ctx):
                return ast.copy_location(type(part)(each_named(parts), ctx), part)
            case ast.Call(func=ast.Attribute(value=base, attr=attr, ctx=ctx) as func, args=parts, keywords=keywords):
                base, *parts = each_named([base, *parts])
                method = ast.copy_location(ast.Attribute(base, attr, ctx), func)
                return ast.copy_location(ast.Call(method, parts, keywords), part)
            case ast.Call(func=func, args=parts, keywords=keywords):
                return ast.copy_location(ast.Call(func, each_named(parts), keywords), part)
            case ast.BinOp(left=left, op=op, right=right):
                left, right = each_named([left, right])
                return ast.copy_location(ast.BinOp(left, op, right), part)
            case _:
                return part

    def each_named(parts: list[ast.expr]) -> list[ast.expr]:
        """Those before one that calls a function of Python, which may change what follows."""
        calls = [k for k, p in enumerate(parts) if is_writing(state, p)]
        count = calls[0] + 1 if calls else len(parts)
        return [*map(named, parts[:count]), *parts[count:]]

    value = named(node.value)
    return (with_value(node, value), names) if names else (node, [])


def with_named_items(
    state: State, node: ast.stmt, parse: Callable[[State, ast.stmt], None]
) -> tuple[ast.stmt, list[str]]:
    """`node`, if it makes a list of what depends on which of several arrays a name stands for, with names for its
    items, which `parse` binds before: there is one list, whichever array that is."""
    match node:
        case ast.Assign(targets=[ast.Name()], value=ast.List(elts=[_, *_] as items)) if not any(
            isinstance(e, ast.Starred | ast.Name | ast.List | ast.Tuple) for e in items
        ):
            pass
        case _:
            return node, []
    varying = {name for name, b in state.bindings.items() if isinstance(b, Varying)}
    if not any(isinstance(n, ast.Name) and n.id in varying for item in items for n in syntax_nodes(item)):
        return node, []
    names = [state.fresh_names("item")[0] for _ in items]
    for name, item in zip(names, items, strict=True):
        parse(state, ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), item)], item), item))
    held: list[ast.expr] = [ast.copy_location(ast.Name(n, ast.Load()), i) for n, i in zip(names, items, strict=True)]
    return with_value(node, ast.copy_location(ast.List(held, ast.Load()), node.value)), names


def with_value(node: ast.Assign | ast.AugAssign | ast.Return | ast.Expr, value: ast.expr) -> ast.stmt:
    """`node` of another value."""
    fields: dict[str, Any] = {**dict(ast.iter_fields(node)), "value": value}
    return ast.copy_location(type(node)(**fields), node)


def as_branches(target: ast.Name, value: ast.IfExp) -> ast.If:
    """`target = a if c else b` as an `if` statement."""
    then, orelse = (ast.copy_location(ast.Assign([target], v), v) for v in (value.body, value.orelse))
    return ast.copy_location(ast.If(value.test, [then], [orelse]), value)
