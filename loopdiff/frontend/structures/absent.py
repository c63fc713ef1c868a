"""Names that hold None until they hold a number: beside their variable a flag says whether there is one.

Where a name that may hold None is read as a number it is checked (LD332): Python would raise there, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from loopdiff.frontend.structures.scope import PLAIN, Scope, Torn, name_read, name_stored
from loopdiff.frontend.structures.trees import Leaf, Static, Tree
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.scopes import of_scope

Facts = frozenset[str]  # names that hold no None
NOTHING: Facts = frozenset()


def names_with_none(node: ast.FunctionDef) -> Iterator[str]:
    """Names that get None from some assignments and something else from others, and nothing from loops and the like."""
    assigned, none, stored = list[str](), set[str](), list[str]()
    for inner in (n for stmt in node.body for n in of_scope(stmt)):
        match inner:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    assigned += stored_in(target)
                    none |= set(given_none(target, value))
                    if is_or_none(value) and isinstance(target, ast.Name):  # as two assignments
                        assigned, stored, none = [*assigned, target.id], [*stored, target.id], {*none, target.id}
            case ast.AugAssign(target=ast.Name(id=name)):
                assigned.append(name)
            case ast.Name(id=name, ctx=ast.Store()):
                stored.append(name)
            case _:
                pass
    yield from (n for n in sorted(none) if assigned.count(n) == stored.count(n) > 1)


def stored_in(target: ast.expr) -> list[str]:
    return [n.id for n in syntax_nodes(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def given_none(target: ast.expr, value: ast.expr) -> Iterator[str]:
    match target, value:
        case ast.Name(id=name), ast.Constant(value=None):
            yield name
        case ast.Tuple(elts=targets), ast.Tuple(elts=values):
            for one, other in zip(targets, values, strict=False):
                yield from given_none(one, other)
        case _:
            pass


def is_or_none(value: ast.expr) -> bool:
    """Whether `value` is None or something else, as a condition says: `x[0] if hit else None`."""
    match value:
        case ast.IfExp(body=first, orelse=second):
            return sum(isinstance(part, ast.Constant) and part.value is None for part in (first, second)) == 1
        case _:
            return False


def by_branches(scope: Scope, node: ast.stmt) -> ast.stmt:
    """`r = x[0] if hit else None` as an `if` statement; itself for other statements."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.IfExp(test, body, orelse) as value) if (
            name in scope.flags and is_or_none(value)
        ):
            first, second = (ast.copy_location(ast.Assign([target], part), node) for part in (body, orelse))
            return ast.copy_location(ast.If(test, [first], [second]), node)
        case _:
            return node


def may_be_none(scope: Scope, name: str) -> bool:
    """Whether `name` holds None or a number, which only its flag tells."""
    match scope.held.get(name) if name in scope.flags else None:
        case Torn(Static(value=None), Leaf()) | Torn(Leaf(), Static(value=None)):
            return True
        case _:
            return False


def note_none(scope: Scope, name: str, tree: Tree, node: ast.AST) -> None:
    """Write the flag of `name`, which got `tree`, and some number in the place of None."""
    flag = scope.flags.get(name)
    if flag is None:
        return
    is_none = isinstance(tree, Static) and tree.value is None
    for target, given in ((flag, is_none), *([(name, 0)] if is_none else [])):
        value = ast.copy_location(ast.Constant(given), node)
        made = ast.copy_location(ast.Assign([name_stored(target, node)], value), node)
        scope.fills[id(made)] = made, flag
        scope.out.append(made)


def require_number(scope: Scope, node: ast.Name) -> None:
    """Check that a name which may hold None holds a number where it is read."""
    if not may_be_none(scope, node.id):
        return
    if not scope.may_run_ahead:
        scope.reject(f"`{node.id}` may be None here", node, "ask before: `if x is None`")
        return
    flag = ast.copy_location(ast.UnaryOp(ast.Not(), name_read(scope.flags[node.id], node)), node)
    message = ast.copy_location(ast.Constant(f"`{node.id}` is None"), node)
    scope.out.append(ast.copy_location(ast.Assert(flag, message), node))


def test_of_none(scope: Scope, node: ast.expr) -> ast.expr | None:
    """`x is None` of a name that may hold it: its flag. None for other expressions."""
    match node:
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(None)]):
            if not may_be_none(scope, name):
                return None
            flag = name_read(scope.flags[name], node)
            return flag if isinstance(op, ast.Is) else ast.copy_location(ast.UnaryOp(ast.Not(), flag), node)
        case _:
            return None


def facts(node: ast.expr) -> tuple[Facts, Facts]:
    """Names that hold no None where `node` is true, and where it is false."""
    match node:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(None)]):
            return NOTHING, frozenset({name})
        case ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot()], comparators=[ast.Constant(None)]):
            return frozenset({name}), NOTHING
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yes, no = facts(operand)
            return no, yes
        case ast.BoolOp(op=op, values=values):
            found = [facts(value) for value in values]
            is_and = isinstance(op, ast.And)
            return (NOTHING.union(*(yes for yes, _ in found)), NOTHING) if is_and else (
                NOTHING, NOTHING.union(*(no for _, no in found))
            )  # fmt: skip
        case _:
            return NOTHING, NOTHING


def learn(scope: Scope, names: Facts) -> None:
    """From here on `names` hold no None."""
    scope.held |= {name: PLAIN for name in names if may_be_none(scope, name)}


@contextmanager
def knowing(scope: Scope, names: Facts) -> Iterator[None]:
    """Inside, `names` hold no None."""
    before = scope.held
    scope.held = dict(before)
    learn(scope, names)
    try:
        yield
    finally:
        scope.held = before
