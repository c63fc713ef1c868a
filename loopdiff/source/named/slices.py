"""Slices that are called so, as `part = slice(1, n)` and `inner = np.s_[1:-1, 1:-1]`: where their names are subscripts,
the slices stand, with names for their bounds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from loopdiff.source.named.in_turn import InTurn
from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import parameters, stores_alone, stores_among

ValueOf = Callable[[ast.expr], Any]
Parts = tuple[ast.expr, ...]  # of a subscript


def with_slices(function: ast.FunctionDef, value_of: ValueOf) -> ast.FunctionDef:
    """`function` without such; `value_of` says what names from outside mean."""
    if not any(slice_of(n, value_of) is not None for n in syntax_nodes(function)):
        return function
    function = InTurn(lambda node: slices_in(node, value_of) is not None).visit(copied_tree(function))
    nodes = list(syntax_nodes(function))
    stores, alone = stores_among(nodes), stores_alone(function)
    as_subscripts = {id(part) for n in nodes if (index := index_in(n)) is not None for part in parts_of(index)}
    names = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.arg for n in nodes if isinstance(n, ast.arg)}
    others = {
        n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in as_subscripts
    }
    fixed = frozenset(a.arg for a in parameters(function.args) if stores[a.arg] == 1)
    found: dict[str, Named] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if alone.get(name) == 1 and name not in others:
                parts = slices_in(value, value_of)
                if parts is not None:
                    found[name] = Named(name, parts, names, fixed)
            case _:
                pass
    made = Sliced(found, value_of).visit(copied_tree(function))
    assert isinstance(made, ast.FunctionDef)
    return ast.fix_missing_locations(made)


def index_in(node: ast.AST) -> ast.expr | None:
    """The subscripts in `x[index]` and `np.add.at(x, index, v)`."""
    match node:
        case ast.Subscript(slice=index):
            return index
        case ast.Call(func=ast.Attribute(value=ast.Attribute(), attr="at"), args=[_, index, *_]):
            return index
        case _:
            return None


def slice_of(node: ast.AST, value_of: ValueOf) -> ast.expr | None:
    """What `slice(...)` and `np.s_[...]` are; None for others."""
    match node:
        case ast.Call(func=ast.Name() as called, args=args, keywords=[]) if value_of(called) is slice:
            if not 1 <= len(args) <= 3 or any(isinstance(a, ast.Starred) for a in args):
                return None
            bounds = [None if isinstance(a, ast.Constant) and a.value is None else a for a in args]
            lower, upper, step = (None, *bounds, None) if len(bounds) == 1 else (*bounds, None)[:3]
            return ast.copy_location(ast.Slice(lower, upper, step), node)
        case ast.Subscript(value=ast.Attribute(attr="s_") as maker, slice=index) if value_of(maker) is np.s_:
            return index
        case _:
            return None


def slices_in(node: ast.expr, value_of: ValueOf) -> Parts | None:
    """The parts of the subscript that `node` is, some of them slices; None for what is none."""
    whole = slice_of(node, value_of)
    if whole is not None:
        return parts_of(whole)
    match node:
        case ast.Tuple(elts=elts) if any(slice_of(e, value_of) is not None for e in elts):
            return tuple(slice_of(e, value_of) or e for e in elts)
        case _:
            return None


def parts_of(index: ast.expr) -> Parts:
    return tuple(index.elts) if isinstance(index, ast.Tuple) else (index,)


class Named:
    """The `parts` of a subscript with a name, which have names for what they are computed from, clear of `names`, but
    for parameters that stay as they are, `fixed`."""

    def __init__(self, name: str, parts: Parts, names: set[str], fixed: frozenset[str]) -> None:
        self.name, self.names, self.fixed = name, names, fixed
        self.before: list[ast.stmt] = []
        self.parts = tuple(map(self.held_part, parts))

    def held_part(self, part: ast.expr) -> ast.expr:
        if not isinstance(part, ast.Slice):
            return self.held(part)
        bounds = [None if b is None else self.held(b) for b in (part.lower, part.upper, part.step)]
        return ast.copy_location(ast.Slice(*bounds), part)

    def held(self, bound: ast.expr) -> ast.expr:
        if isinstance(bound, ast.Constant) or isinstance(getattr(bound, "operand", None), ast.Constant):
            return bound
        if isinstance(bound, ast.Name) and bound.id in self.fixed:
            return bound
        own = next(n for n in named_after(self.name) if n not in self.names)
        self.names.add(own)
        self.before.append(ast.copy_location(ast.Assign([ast.Name(own, ast.Store())], bound), bound))
        return ast.copy_location(ast.Name(own, ast.Load()), bound)


def named_after(name: str) -> Iterator[str]:
    count = 1
    while True:
        yield f"{name}_bound_{count}"
        count += 1


class Sliced(ast.NodeTransformer):
    """Writes slices where they stand, by name or not, in subscripts."""

    def __init__(self, named: dict[str, Named], value_of: ValueOf) -> None:
        self.named, self.value_of = named, value_of

    def visit_Assign(self, node: ast.Assign) -> ast.AST | Sequence[ast.stmt]:
        match node.targets:
            case [ast.Name(id=name)] if name in self.named:
                made = [self.visit(copied_tree(statement)) for statement in self.named[name].before]
                return made or [ast.copy_location(ast.Pass(), node)]
            case _:
                self.generic_visit(node)
                return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.slice = self.index(node.slice)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if index_in(node) is not None:
            node.args[1] = self.index(node.args[1])
        self.generic_visit(node)
        return node

    def index(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Name(id=name) if name in self.named:
                parts = tuple(map(copied_tree, self.named[name].parts))
            case _:
                parts = tuple(map(self.part, parts_of(node)))
        is_whole = len(parts) == 1 and not isinstance(node, ast.Tuple)
        return parts[0] if is_whole else ast.copy_location(ast.Tuple(list(parts), ast.Load()), node)

    def part(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name) and node.id in self.named and len(self.named[node.id].parts) == 1:
            return copied_tree(self.named[node.id].parts[0])
        return slice_of(node, self.value_of) or node
