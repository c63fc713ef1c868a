"""The syntax tree of a generated function, and which of its variables need no place in memory."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import FunctionType
from typing import Any

from numba.core.errors import UnsupportedError

from loopdiff.backends.load import text_of
from loopdiff.source.nodes import syntax_nodes

BINARY: dict[type[ast.operator], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], Any] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
UNARY: dict[type[ast.unaryop], Any] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
FOLDED = (ast.Add, ast.Sub, ast.Mult)


class Unknown(UnsupportedError):
    """A construct that only Numba's own passes know. They are asked next."""

    def __init__(self, what: str, node: ast.AST | None = None) -> None:
        super().__init__(f"{what}, line {getattr(node, 'lineno', '?')}")


@lru_cache(maxsize=16)
def definitions(text: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """The functions that a module defines, by their names and the lines that they begin in, decorators included."""
    functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return {(f.name, line): f for f in functions for line in (f.lineno, *(d.lineno for d in f.decorator_list))}


def tree_of(function: FunctionType) -> ast.FunctionDef:
    """The definition of `function` in its text, which others may hold as well."""
    try:
        return definitions(text_of(function.__code__.co_filename))[function.__name__, function.__code__.co_firstlineno]
    except (OSError, SyntaxError, ValueError, KeyError) as error:
        raise Unknown(f"no source of {function.__name__}") from error


def names_set(body: list[ast.stmt]) -> Iterator[ast.Name]:
    """The variables that statements, and those inside of them, set."""
    for stmt in body:
        match stmt:
            case ast.For(target=target, body=inner):
                yield from (target,) if isinstance(target, ast.Name) else ()
                yield from names_set(inner)
            case ast.If(body=then, orelse=orelse):
                yield from names_set(then)
                yield from names_set(orelse)
            case _:
                yield from (n for n in syntax_nodes(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


class Contents:
    """The kinds of nodes that are inside of statements: each is looked at once, however many loops are around."""

    def __init__(self) -> None:
        self.found: dict[int, frozenset[type[ast.AST]]] = {}

    def of(self, body: list[ast.stmt]) -> frozenset[type[ast.AST]]:
        return frozenset[type[ast.AST]]().union(*map(self.of_statement, body))

    def of_statement(self, stmt: ast.stmt) -> frozenset[type[ast.AST]]:
        if id(stmt) not in self.found:
            match stmt:
                case ast.For(iter=over, body=body):
                    kinds = self.of(body) | {ast.For, *map(type, syntax_nodes(over))}
                case ast.If(test=test, body=body, orelse=orelse):
                    kinds = self.of([*body, *orelse]) | {ast.If, *map(type, syntax_nodes(test))}
                case _:
                    kinds = frozenset(map(type, syntax_nodes(stmt)))
            self.found[id(stmt)] = kinds
        return self.found[id(stmt)]


def constant_of(node: ast.expr) -> Any:
    """The number that `node` is, as Python folds it; Ellipsis where it is none."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            found = constant_of(inner)
            return found if found is ... or isinstance(found, bool) else -found
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, FOLDED):
            last = constant_of(right)  # the short side of most sums
            first = constant_of(left) if type(last) is int else ...
            return BINARY[type(op)](first, last) if type(first) is int else ...
        case _:
            return ...


@dataclass(slots=True)
class Uses:
    """Where names are set and read, as positions in the text and in the nest of its suites."""

    suites: dict[str, tuple[int, ...]] = field(default_factory=dict)
    several: set[str] = field(default_factory=set)
    here: tuple[int, ...] = ()
    number: int = 0

    def suite(self, body: list[ast.stmt], *targets: str) -> None:
        """The statements of a suite; `targets` are set at its beginning."""
        self.number += 1
        outer, self.here = self.here, (*self.here, self.number)
        for name in targets:
            self.set(name)
        for stmt in body:
            self.statement(stmt)
        self.here = outer

    def statement(self, stmt: ast.stmt) -> None:
        match stmt:
            case ast.For(target=ast.Name(id=index), iter=found, body=body):
                self.read(found)
                self.suite(body, index)
            case ast.If(test=test, body=body, orelse=orelse):
                self.read(test)
                self.suite(body)
                self.suite(orelse)
            case ast.Assign(targets=targets, value=value):
                self.read(value)
                for target in targets:
                    self.read(target)
            case ast.AugAssign(target=target, value=value):
                self.read(value)
                if isinstance(target, ast.Name):
                    self.several.add(target.id)
                self.read(target)
            case _:
                self.read(stmt)

    def read(self, tree: ast.AST) -> None:
        for node in syntax_nodes(tree):
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Store):
                    self.set(node.id)
                elif self.suites.get(node.id) != self.here[: len(self.suites.get(node.id, ()))]:
                    self.several.add(node.id)

    def set(self, name: str) -> None:
        if name in self.suites:
            self.several.add(name)
        self.suites.setdefault(name, self.here)


def set_once(tree: ast.FunctionDef) -> frozenset[str]:
    """Variables that one statement sets, and that are read only after it, in its suite and those inside."""
    uses = Uses()
    uses.suite(tree.body)
    params = {a.arg for a in tree.args.args}
    return frozenset(uses.suites) - uses.several - params
