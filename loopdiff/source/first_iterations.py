"""Loops whose bodies ask whether it is the first iteration, as `if i == 0: first = x`: that iteration stands apart.

Each question is answered, so that names that the first iteration binds have their values in all others.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from typing import Any, cast

from loopdiff.immutable import immutable
from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import parameters

Comparison = type[ast.cmpop]
# Of `i op first`, and of `i op first + 1`: what is so in the first iteration; in all others it is the contrary.
AT_FIRST: dict[Comparison, bool] = {ast.Eq: True, ast.NotEq: False, ast.Gt: False, ast.LtE: True}
AT_SECOND: dict[Comparison, bool] = {ast.Lt: True, ast.GtE: False}
CHANGING = ("append", "extend", "insert", "pop", "remove", "clear")


@immutable
class Counted:
    """A loop over the integers from the constant `first`, by one, under `name`; `head` and `tail` are what the first
    iteration, and the others, go over."""

    name: str
    first: int
    head: ast.expr
    tail: ast.expr


def with_first_apart(node: ast.FunctionDef, outer: Mapping[str, Any], are_inside: bool) -> ast.FunctionDef:
    """`node` with the first iteration of loops that ask for it ahead of them; itself if there are none. `are_inside`:
    the others are part of it, as there are none without it, so that they have what it binds. `outer` are the values of
    names from outside."""
    own = vars(builtins)
    known = frozenset(name for name, value in outer.items() if name in own and value is own[name])
    given = frozenset(a.arg for a in parameters(node.args) if not is_stored(node.body, a.arg))
    apart = Apart(Steady(known, given), are_inside)
    found = apart.visit(copied_tree(node))
    return ast.fix_missing_locations(found) if apart.is_changed else node


@immutable
class Steady:
    """Names whose values stay: `known` those of functions that are Python's own, `given` those of arguments, which have
    as many elements all the time."""

    known: frozenset[str]
    given: frozenset[str]


class Apart(ast.NodeTransformer):
    """Takes loops into two."""

    def __init__(self, steady: Steady, are_inside: bool) -> None:
        self.is_changed, self.steady, self.are_inside = False, steady, are_inside

    def visit_For(self, node: ast.For) -> ast.For | list[ast.For]:
        self.generic_visit(node)
        loop = counted_loop(node, self.steady)
        if loop is None or node.orelse or leaves(node.body) or is_stored(node.body, loop.name):
            return node
        called = {
            n.func.id for n in syntax_nodes(node.iter) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        }
        if not called <= self.steady.known or any(
            isinstance(n, ast.FunctionDef | ast.Lambda) for n in syntax_nodes(node)
        ):
            return node
        if not any(answer(test, loop) is not None for test in tests_in(node.body)):
            return node
        self.is_changed = True
        first, others = (with_answers(node, loop, is_first) for is_first in (True, False))
        if not self.are_inside or leaves(first.body, ast.Continue):
            return [first, others]
        first.body.append(others)
        return first


def counted_loop(node: ast.For, steady: Steady) -> Counted | None:
    """The integers that the loop `node` counts, if it is one of `range` or of `enumerate` of a name."""
    match node.target, node.iter:
        case ast.Name(id=name), ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if 0 < len(args) < 3:
            lower, upper = (ast.Constant(0), args[0]) if len(args) == 1 else (args[0], args[1])
            if not (isinstance(lower, ast.Constant) and type(lower.value) is int) or not is_steady(upper, node, steady):
                return None
            second = ast.Constant(lower.value + 1)
            last = ast.Call(ast.Constant(cast(Any, min)), [second, upper], [])
            head = ast.Call(ast.Name("range", ast.Load()), [lower, last], [])
            return Counted(name, lower.value, head, ast.Call(ast.Name("range", ast.Load()), [second, upper], []))
        case (
            ast.Tuple(elts=[ast.Name(id=name), _]),
            ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name() as row], keywords=[]),
        ) if is_steady(row, node, steady) and (row.id in steady.given or not may_change_lists(node.body, steady.known)):
            head = ast.Subscript(row, ast.Slice(None, ast.Constant(1)), ast.Load())
            tail = ast.Subscript(row, ast.Slice(ast.Constant(1)), ast.Load())
            function = ast.Name("enumerate", ast.Load())
            return Counted(name, 0, ast.Call(function, [head], []), ast.Call(function, [tail, ast.Constant(1)], []))
        case _:
            return None


def is_steady(node: ast.expr, loop: ast.For, steady: Steady) -> bool:
    """Whether `node`, which is evaluated twice, is the same after an iteration of `loop`: made of numbers, names, and
    lengths and shapes of arrays."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name), attr="size"):
            return not is_stored(loop.body, name)
        case ast.Subscript(value=ast.Attribute(value=ast.Name() as inner, attr="shape"), slice=ast.Constant()):
            return is_steady(inner, loop, steady)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name) as inner], keywords=[]):
            is_long_as_before = name in steady.given or not may_change_lists(loop.body, steady.known)
            return is_long_as_before and is_steady(inner, loop, steady)
        case ast.BinOp(left=left, right=right):
            return is_steady(left, loop, steady) and is_steady(right, loop, steady)
        case _:
            return False


def may_change_lists(body: list[ast.stmt], known: frozenset[str]) -> bool:
    """Whether a list may be longer or shorter behind the statements, whatever it is called, or whoever they call but
    for the functions `known`."""
    for node in (n for stmt in body for n in syntax_nodes(stmt)):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in CHANGING:
                return True
            case ast.Call(func=ast.Name(id=name)) if name not in known:
                return True
            case ast.Subscript(ctx=ast.Del()) | ast.Subscript(slice=ast.Slice(), ctx=ast.Store()):
                return True
            case _:
                pass
    return False


def is_stored(body: list[ast.stmt], name: str) -> bool:
    nodes = (n for stmt in body for n in syntax_nodes(stmt))
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store | ast.Del) for n in nodes)


def leaves(body: list[ast.stmt], jump: type[ast.Break | ast.Continue] = ast.Break) -> bool:
    """Whether a `jump` among the statements leaves the loop around them, or its iteration."""
    for stmt in body:
        match stmt:
            case ast.Break() | ast.Continue() if isinstance(stmt, jump):
                return True
            case ast.For(orelse=inner) | ast.While(orelse=inner):
                if leaves(inner, jump):
                    return True
            case ast.If(body=inner, orelse=orelse):
                if leaves(inner, jump) or leaves(orelse, jump):
                    return True
            case ast.With(body=inner):
                if leaves(inner, jump):
                    return True
            case _:
                pass
    return False


def tests_in(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """The conditions of statements and expressions, those of loops inside among them."""
    yield from (n.test for stmt in body for n in syntax_nodes(stmt) if isinstance(n, ast.If | ast.IfExp))


def answer(test: ast.expr, loop: Counted) -> bool | None:
    """What the condition `test` is in the first iteration, if it is the contrary in all others."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=value)]) if (
            name == loop.name
        ):
            known = AT_FIRST if value == loop.first else AT_SECOND if value == loop.first + 1 else {}
            return known.get(type(op))
        case _:
            return None


def with_answers(node: ast.For, loop: Counted, is_first: bool) -> ast.For:
    """The loop of the first iteration, or of the others."""
    made = copied_tree(node)
    made.iter = ast.copy_location(copied_tree(loop.head if is_first else loop.tail), node.iter)
    for part in syntax_nodes(made.iter):
        ast.copy_location(part, node.iter)
    answered = Answered(loop, is_first)
    made.body = [answered.visit(stmt) for stmt in made.body]
    return made


class Answered(ast.NodeTransformer):
    """Answers the questions of a loop, in its first iteration or in the others."""

    def __init__(self, loop: Counted, is_first: bool) -> None:
        self.loop, self.is_first = loop, is_first

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        if (found := answer(node.test, self.loop)) is not None:
            node.test = ast.copy_location(ast.Constant(found == self.is_first), node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        found = answer(node.test, self.loop)
        return node if found is None else node.body if found == self.is_first else node.orelse
