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

Parse = Callable[[State, ast.stmt], None]


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


def with_named_choices(state: State, node: ast.stmt, parse: Parse) -> tuple[ast.stmt, list[str]]:
    """`node`, in which new names stand for those of its first operands that are one of two arrays, which differ in
    shape or which somebody could tell from a copy, and these names: they are bound before, in branches that `parse`
    parses."""
    field = first_evaluated(node)
    whole: ast.expr | None = None if field is None else getattr(node, field)
    if field is None or whole is None or not any(isinstance(n, ast.IfExp) for n in syntax_nodes(whole)):
        return node, []
    own = whole if isinstance(node, ast.Assign) and isinstance(whole, ast.IfExp) else None
    naming = Naming(state, parse, whole, own)
    value = naming.named(whole)
    return (with_field(node, field, value), naming.names) if naming.names else (node, [])


class Naming:
    """Gives `names` to operands in `whole`, the expression of a statement, but for `own`, which has one."""

    def __init__(self, state: State, parse: Parse, whole: ast.expr, own: ast.expr | None) -> None:
        self.state, self.parse, self.whole, self.own = state, parse, whole, own
        self.names: list[str] = []
        self.sites = {(s.line, s.column) for s in state.whole.decisions.shared if s.name == "choice"}

    def is_chosen(self, part: ast.IfExp) -> bool:
        """Whether `part` is to have a name. What differs in shape may come before the operands beside it, which it does
        not change."""
        span = self.state.source.span(part)
        if (span.line, span.column) in self.sites:
            return True
        is_ahead = part is self.whole or not is_writing(self.state, part)
        return self.own is None and is_ahead and differs_for_sure(self.state, part)

    def named(self, part: ast.expr, is_first: bool = True) -> ast.expr:
        """`part` with names; `is_first`: nothing is read ahead of it that a call in it may change."""
        match part:
            case ast.IfExp() if self.is_chosen(part):
                target = self.target("chosen", part)
                self.parse(self.state, as_branches(target, part))
                return ast.copy_location(ast.Name(target.id, ast.Load()), part)
            case ast.Tuple(elts=parts, ctx=ctx) | ast.List(elts=parts, ctx=ctx):
                return ast.copy_location(type(part)(self.each_named(parts, is_first), ctx), part)
            case ast.Call(func=ast.Attribute(value=base, attr=attr, ctx=ctx) as func, args=parts, keywords=keywords):
                base, *parts = self.each_named([base, *parts], is_first)
                method = ast.copy_location(ast.Attribute(base, attr, ctx), func)
                return ast.copy_location(ast.Call(method, parts, keywords), part)
            case ast.Call(func=func, args=parts, keywords=keywords):
                return ast.copy_location(ast.Call(func, self.each_named(parts, is_first), keywords), part)
            case ast.BinOp(left=left, op=op, right=right):
                left, right = self.each_named([left, right], is_first)
                return ast.copy_location(ast.BinOp(left, op, right), part)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                left, right = self.each_named([left, right], is_first)
                return ast.copy_location(ast.Compare(left, [op], [right]), part)
            case ast.UnaryOp(op=op, operand=operand):
                return ast.copy_location(ast.UnaryOp(op, self.named(operand, is_first)), part)
            case ast.Subscript(value=base, slice=place, ctx=ctx):
                return ast.copy_location(ast.Subscript(self.named(base, is_first), place, ctx), part)
            case _:
                return part

    def each_named(self, parts: list[ast.expr], is_first: bool) -> list[ast.expr]:
        """Those before one that calls a function of Python, which may change what follows; and what follows, where that
        is so chosen, behind names for all before, if these are all."""
        calls = [k for k, p in enumerate(parts) if is_writing(self.state, p)]
        count = calls[0] + 1 if calls else len(parts)
        found, rest = list[ast.expr](), parts[count:]
        for part in parts[:count]:
            found.append(self.named(part, is_first and all(isinstance(p, ast.Constant) for p in found)))
        inside = (n for p in rest for n in syntax_nodes(p))
        if not is_first or not any(isinstance(n, ast.IfExp) and differs_for_sure(self.state, n) for n in inside):
            return [*found, *rest]
        return [*map(self.held, found), *self.each_named(rest, is_first)]

    def held(self, part: ast.expr) -> ast.expr:
        """A name for what `part` is now."""
        if isinstance(part, ast.Name | ast.Constant | ast.Starred):
            return part
        target = self.target("held", part)
        self.parse(self.state, ast.copy_location(ast.Assign([target], part), part))
        return ast.copy_location(ast.Name(target.id, ast.Load()), part)

    def target(self, stem: str, part: ast.expr) -> ast.Name:
        self.names.extend(self.state.fresh_names(stem))
        return ast.copy_location(ast.Name(self.names[-1], ast.Store()), part)


def first_evaluated(node: ast.stmt) -> str | None:
    """The field of what a statement evaluates first, once, where there is such."""
    match node:
        case ast.AugAssign(target=ast.Name()) | ast.Assign() | ast.Return() | ast.Expr():
            return "value"
        case ast.For():
            return "iter"
        case ast.If():
            return "test"
        case _:
            return None


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
    return with_field(node, "value", value)


def with_field(node: ast.stmt, field: str, value: ast.expr) -> ast.stmt:
    fields: dict[str, Any] = {**dict(ast.iter_fields(node)), field: value}
    return ast.copy_location(type(node)(**fields), node)


def as_branches(target: ast.Name, value: ast.IfExp) -> ast.If:
    """`target = a if c else b` as an `if` statement."""
    then, orelse = (ast.copy_location(ast.Assign([target], v), v) for v in (value.body, value.orelse))
    return ast.copy_location(ast.If(value.test, [then], [orelse]), value)
