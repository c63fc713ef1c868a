"""Queues, `collections.deque`, which are lists here: what Python does with lists alone, nobody may do with one."""

from __future__ import annotations

import ast
import collections
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

from loopdiff.source.nodes import syntax_children, syntax_nodes
from loopdiff.source.scopes import MISSING

ValueOf = Callable[[ast.expr], Any]
IN_PLACE = ("heappush", "heappop", "heapify", "heappushpop", "heapreplace")


def misuses_queues(function: ast.FunctionDef, value_of: ValueOf) -> bool:
    """Whether `function` does something with a queue that Python does with lists alone, or that nobody sees here."""
    names, uses = names_of_queues(function, value_of), Uses(function, value_of)
    return any(
        isinstance(n, ast.Name) and n.id in names and uses.are_lists(n, names) for n in syntax_nodes(function)
    ) or any(
        isinstance(n, ast.Return) and n.value is not None and is_queue(n.value, value_of)
        for n in syntax_nodes(function)
    )


def is_queue(node: ast.AST, value_of: ValueOf) -> bool:
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute() as func):
            return value_of(func) is collections.deque
        case _:
            return False


def names_of_queues(function: ast.FunctionDef, value_of: ValueOf) -> set[str]:
    """Names that get a queue, also from each other."""
    pairs = [pair for node in syntax_nodes(function) for pair in given_by(node)]
    names = {name for name, value in pairs if is_queue(value, value_of)}
    while more := {n for n, value in pairs if isinstance(value, ast.Name) and value.id in names} - names:
        names |= more
    return names


def given_by(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that the statement `node` gives something, with that."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from paired(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from paired(target, value)
        case _:
            pass


def paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values):
            for inner, given in zip(targets, values, strict=False):
                yield from paired(inner, given)
        case _:
            pass


class Uses:
    """What `function` does with names."""

    def __init__(self, function: ast.FunctionDef, value_of: ValueOf, depth: int = 0) -> None:
        self.parents: Mapping[ast.AST, ast.AST] = {
            child: node for node in syntax_nodes(function) for child in syntax_children(node)
        }
        self.inner = {n.name: n for n in syntax_nodes(function) if isinstance(n, ast.FunctionDef) and n is not function}
        self.value_of, self.depth = value_of, depth

    def are_lists(self, node: ast.Name, names: set[str]) -> bool:
        """Whether what `node`, one of `names`, stands for has to be a list there."""
        match parent := self.parents[node]:
            case ast.Subscript(value=own, slice=place):
                return own is node and isinstance(place, ast.Slice)
            case ast.Attribute(attr="sort"):
                return True
            case ast.Attribute(attr="pop"):
                call = self.parents[parent]
                return isinstance(call, ast.Call) and call.func is parent and bool(call.args)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                other = right if left is node else left
                return isinstance(other, ast.List | ast.ListComp) or not self.is_same(other, names)
            case ast.Compare(left=left, comparators=[right]) if not isinstance(parent.ops[0], ast.In | ast.NotIn):
                return not self.is_same(right if left is node else left, names)
            case ast.Call(args=args) if node in args:
                return self.takes_lists(parent, args.index(node))
            case ast.Return():
                return True  # nobody knows what those do who get it
            case _:
                return False

    def is_same(self, node: ast.expr, names: set[str]) -> bool:
        return (isinstance(node, ast.Name) and node.id in names) or is_queue(node, self.value_of)

    def takes_lists(self, call: ast.Call, place: int) -> bool:
        """Whether what `call` calls does that with what it gets in that place."""
        value = self.value_of(call.func) if isinstance(call.func, ast.Name | ast.Attribute) else MISSING
        if getattr(value, "__module__", "") in ("_heapq", "heapq"):
            return getattr(value, "__name__", "") in IN_PLACE
        if isinstance(call.func, ast.Name) and call.func.id in self.inner:
            return self.has_lists(self.inner[call.func.id], place, self.value_of)
        if self.depth > 3 or not isinstance(value, FunctionType):
            return False
        try:
            (called,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
        except (OSError, SyntaxError, ValueError):
            return False
        names = value.__globals__
        of = lambda n: names.get(n.id, MISSING) if isinstance(n, ast.Name) else MISSING  # noqa: E731
        return isinstance(called, ast.FunctionDef) and self.has_lists(called, place, of)

    def has_lists(self, function: ast.FunctionDef, place: int, value_of: ValueOf) -> bool:
        parameters = [*function.args.posonlyargs, *function.args.args]
        if self.depth > 3 or place >= len(parameters):
            return False
        name, uses = parameters[place].arg, Uses(function, value_of, self.depth + 1)
        loads = [n for n in syntax_nodes(function) if isinstance(n, ast.Name) and n.id == name]
        return any(uses.are_lists(n, {name}) for n in loads)
