"""Names for ranges, as `r = range(1, n)`: where they stand, the range stands, with names for its bounds."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any

BOUNDS = (("stop",), ("start", "stop"), ("start", "stop", "step"))


def with_ranges(function: ast.FunctionDef, value_of: Callable[[ast.expr], Any]) -> ast.FunctionDef:
    """`function` without names that it binds once, to ranges; `value_of` says what names from outside mean."""
    nodes = list(ast.walk(function))
    names = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.arg for n in nodes if isinstance(n, ast.arg)}
    stores = Counter(n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    stores += Counter(n.arg for n in nodes if isinstance(n, ast.arg))
    ranges: dict[str, ast.Call] = {}
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name() as called, args=args, keywords=[]) as value
            ) if stores[name] == 1 and value_of(called) is range and not any(isinstance(a, ast.Starred) for a in args):
                ranges[name] = value
            case _:
                pass
    found = {name: bounds_of(name, value, names) for name, value in ranges.items() if 0 < len(value.args) <= 3}
    if not found:
        return function
    made = Spelt(found).visit(deepcopy(function))
    assert isinstance(made, ast.FunctionDef)
    return made


def bounds_of(name: str, value: ast.Call, names: set[str]) -> ast.Call:
    """The range `value` with names for those of its bounds that are no constants."""
    bounds: list[ast.expr] = []
    for stem, bound in zip(BOUNDS[len(value.args) - 1], value.args, strict=True):
        own = f"{name}_{stem}"
        while own in names:
            own += "_"
        is_constant = isinstance(bound, ast.Constant) or isinstance(getattr(bound, "operand", None), ast.Constant)
        bounds.append(bound if is_constant else ast.copy_location(ast.Name(own, ast.Load()), bound))
    return ast.copy_location(ast.Call(value.func, bounds, []), value)


class Spelt(ast.NodeTransformer):
    """Writes `ranges` where their names stand."""

    def __init__(self, ranges: dict[str, ast.Call]) -> None:
        self.ranges = ranges

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=args)) if name in self.ranges:
                pairs = zip(self.ranges[name].args, args, strict=True)
                named = [(own, bound) for own, bound in pairs if isinstance(own, ast.Name) and own is not bound]
                stores = [ast.copy_location(ast.Name(own.id, ast.Store()), node.targets[0]) for own, _ in named]
                made = [ast.Assign([s], bound) for s, (_, bound) in zip(stores, named, strict=True)]
                return [ast.copy_location(m, node) for m in made] or ast.copy_location(ast.Pass(), node)
            case _:
                return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.ranges or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(deepcopy(self.ranges[node.id]), node)
