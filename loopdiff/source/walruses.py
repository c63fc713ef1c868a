"""Assignments inside expressions, `:=`, as statements ahead of those that they stand in.

    if (s := x.sum()) > 0.0: ...            ->   s = x.sum(); if s > 0.0: ...
    while i < n and (v := x[i]) > 0.0:      ->   while True: if not i < n: break; v = x[i]; if not v > 0.0: break; ...
    [s for v in x if (s := f(v)) > 0.5]     ->   [f(v) for v in x if f(v) > 0.5]

Those that may not be evaluated, or not before what stands ahead of them, stay, and are refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, cast

from loopdiff.source.harmless import changes_nothing
from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import MISSING

# Methods that change nothing.
QUIET_METHODS = frozenset(
    ("sum", "mean", "std", "var", "min", "max", "prod", "any", "all", "dot", "copy", "ravel", "argmax", "argmin")
)
SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
WHOLE = (ast.Name, ast.Constant, ast.Dict, *SCOPES)
COMPUTED = (ast.Call, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Compare)  # what may read elements of arrays


class NotAhead(Exception):
    """What is assigned may not be computed ahead of the rest."""


def without_walruses(function: ast.FunctionDef, value_of: Callable[[ast.expr], Any]) -> ast.FunctionDef:
    """`function` with such assignments as statements; `value_of` says what names from outside mean."""
    if not has_walrus(function):
        return function
    found = Ahead(value_of, copied_tree(function)).made()
    return ast.fix_missing_locations(found)


def mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in syntax_nodes(node))


def has_walrus(node: ast.AST) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in syntax_nodes(node))


class Ahead(ast.NodeTransformer):
    """Writes statements ahead of those of `function`."""

    def __init__(self, value_of: Callable[[ast.expr], Any], function: ast.FunctionDef) -> None:
        self.value_of, self.function = value_of, function

    def made(self) -> ast.FunctionDef:
        self.generic_visit(self.function)
        return self.function

    # -- comprehensions --------------------------------------------------------------------------------------
    def visit_ListComp(self, node: ast.ListComp) -> ast.ListComp:
        return self.comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.GeneratorExp:
        return self.comprehension(node)

    def comprehension(self, node: Any) -> Any:
        """What the first condition assigns, if nothing else reads it, is computed where it is read."""
        self.generic_visit(node)
        tests = node.generators[0].ifs if len(node.generators) == 1 else []
        found = [n for test in tests[:1] for n in syntax_nodes(test) if isinstance(n, ast.NamedExpr)]
        if len(found) != 1 or sum(isinstance(n, ast.NamedExpr) for n in syntax_nodes(node)) != 1:
            return node
        name, value = found[0].target.id, found[0].value
        apart = (n for n in syntax_nodes(node) if n is not node and isinstance(n, SCOPES))
        if any(mentions(n, name) for n in (node.generators[0].iter, *apart)):  # names of its own, or one of before
            return node
        inside = sum(isinstance(n, ast.Name) and n.id == name for n in syntax_nodes(node))
        everywhere = sum(isinstance(n, ast.Name) and n.id == name for n in syntax_nodes(self.function))
        try:
            taken_out(tests[0], self.is_quiet)
        except NotAhead:
            return node
        if inside != everywhere or not self.is_quiet(value):
            return node
        return InPlace(name, value).visit(node)

    # -- statements ------------------------------------------------------------------------------------------
    def ahead(self, node: Any, field: str) -> Any:
        """`node` behind what its expression `field` assigns."""
        self.generic_visit(node)
        value = getattr(node, field)
        if value is None or not has_walrus(value):
            return node
        try:
            statements, made = taken_out(value, self.is_quiet)
        except NotAhead:
            return node
        setattr(node, field, made)
        return [*statements, node]

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self.ahead(node, "value")

    def visit_Return(self, node: ast.Return) -> Any:
        return self.ahead(node, "value")

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self.ahead(node, "value")

    def visit_For(self, node: ast.For) -> Any:
        return self.ahead(node, "iter")

    def visit_If(self, node: ast.If) -> Any:
        match node:
            case ast.If(test=ast.BoolOp(op=ast.And(), values=[first, *others]), orelse=[]) if any(
                map(has_walrus, others)
            ):
                rest = others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(ast.And(), others), others[0])
                inner = ast.copy_location(ast.If(rest, node.body, []), node)
                return self.visit(ast.copy_location(ast.If(first, [inner], []), node))
            case _:
                return self.ahead(node, "test")

    def visit_While(self, node: ast.While) -> Any:
        self.generic_visit(node)
        if not has_walrus(node.test) or node.orelse:
            return node
        body = list[ast.stmt]()
        is_and = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
        try:
            for test in cast(ast.BoolOp, node.test).values if is_and else [node.test]:
                statements, made = taken_out(test, self.is_quiet)
                negated = ast.copy_location(ast.UnaryOp(ast.Not(), made), test)
                leave = ast.copy_location(ast.Break(), test)
                body += [*statements, ast.copy_location(ast.If(negated, [leave], []), test)]
        except NotAhead:
            return node
        endless = ast.copy_location(ast.Constant(True), node.test)
        return ast.copy_location(ast.While(endless, [*body, *node.body], []), node)

    def is_quiet(self, node: ast.expr) -> bool:
        """Whether all that is called in `node` changes nothing, as far as one can see."""
        return all(self.changes_nothing(n) for n in syntax_nodes(node) if isinstance(n, ast.Call))

    def changes_nothing(self, call: ast.Call) -> bool:
        value = self.value_of(call.func) if isinstance(call.func, ast.Name | ast.Attribute) else MISSING
        is_method = isinstance(call.func, ast.Attribute) and call.func.attr in QUIET_METHODS
        return (is_method and not any(k.arg == "out" for k in call.keywords)) or changes_nothing(value, call)


class InPlace(ast.NodeTransformer):
    """Puts a value in the place of a name."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        return node.value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copied_tree(self.value) if node.id == self.name else node


def taken_out(node: ast.expr, is_quiet: Callable[[ast.expr], bool]) -> tuple[list[ast.stmt], ast.expr]:
    """The assignments in `node` as statements ahead of it, and what is left. Raises NotAhead."""
    taking = TakingOut(is_quiet)
    left = taking.without(node)
    return taking.statements, left


class TakingOut:
    """Goes through an expression in the order in which Python evaluates it: `before` is what it did so far."""

    def __init__(self, is_quiet: Callable[[ast.expr], bool]) -> None:
        self.is_quiet, self.statements, self.before = is_quiet, list[ast.stmt](), list[ast.expr]()

    def without(self, part: ast.AST) -> Any:
        """`part` without its assignments."""
        match part:
            case ast.NamedExpr(target=target, value=value):
                before = [*self.before]
                made = self.without(value)
                self.require_ahead(target.id, made, before)
                self.statements.append(ast.copy_location(ast.Assign([target], made), part))
                read = ast.copy_location(ast.Name(target.id, ast.Load()), part)
                self.before = [*before, read]
                return read
            case ast.BoolOp(values=[first, *others]):
                return changed(part, values=[self.without(first), *map(self.left, others)])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return changed(part, test=self.without(test), body=self.left(body), orelse=self.left(orelse))
            case ast.Compare(left=first, comparators=[second, *others]):
                both = self.without(first), self.without(second)
                made = changed(part, left=both[0], comparators=[both[1], *map(self.left, others)])
                self.before.append(made)
                return made
            case ast.expr() if isinstance(part, WHOLE):
                return self.left(part)
            case ast.expr() | ast.keyword():
                made = changed(part, **{name: self.inside(child) for name, child in ast.iter_fields(part)})
                self.before.extend([made] if isinstance(made, COMPUTED) else [])
                return made
            case _:
                return part

    def inside(self, child: Any) -> Any:
        if isinstance(child, list):
            return [self.without(part) for part in cast(list[ast.AST], child)]
        return self.without(child) if isinstance(child, ast.AST) else child

    def left(self, part: ast.expr) -> ast.expr:
        """`part`, which is not evaluated for sure, or in an order of its own."""
        if has_walrus(part):
            raise NotAhead
        self.before.append(part)
        return part

    def require_ahead(self, name: str, value: ast.expr, before: list[ast.expr]) -> None:
        """NotAhead, unless `name = value` may be computed ahead of what Python evaluates `before` it."""
        parts = [n for part in before for n in syntax_nodes(part)]
        is_read = any(mentions(part, name) for part in before)
        reads_elements = any(isinstance(n, COMPUTED) for n in parts)
        if is_read or not all(map(self.is_quiet, before)) or (reads_elements and not self.is_quiet(value)):
            raise NotAhead


def changed(node: Any, **fields: Any) -> Any:
    """`node` with other `fields`, in the same place."""
    return ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), **fields}), node)
