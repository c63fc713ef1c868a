"""Names for ranges, as `r = range(1, n)`: where they stand, the range stands, with names for its bounds. And how many
numbers are in a range, `len(r)`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, cast

from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import fresh, stores_alone

BOUNDS = ("start", "stop", "step")


def with_ranges(function: ast.FunctionDef, value_of: Callable[[ast.expr], Any]) -> ast.FunctionDef:
    """`function` without names that it binds to ranges alone; `value_of` says what names from outside mean."""
    nodes = list(syntax_nodes(function))
    names = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.arg for n in nodes if isinstance(n, ast.arg)}
    ranges: dict[str, list[ast.Call]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if is_range(value, value_of):
                ranges.setdefault(name, []).append(value)
            case _:
                pass
    counts = stores_alone(function)
    found = {name: bounds_of(name, values, names) for name, values in ranges.items() if counts.get(name) == len(values)}
    if not found and not any(isinstance(n, ast.Call) and is_length(n, value_of) for n in nodes):
        return function
    made = Spelt(found, value_of).visit(copied_tree(function))
    assert isinstance(made, ast.FunctionDef)
    return made


def is_range(node: ast.expr, value_of: Callable[[ast.expr], Any]) -> bool:
    match node:
        case ast.Call(func=ast.Name() as called, args=[_, *_] as args, keywords=[]) if len(args) <= 3:
            return value_of(called) is range and not any(isinstance(a, ast.Starred) for a in args)
        case _:
            return False


def is_length(node: ast.Call, value_of: Callable[[ast.expr], Any]) -> bool:
    """Whether `node` is `len(range(...))`."""
    return len(node.args) == 1 and is_range(node.args[0], value_of) and value_of(node.func) is len


def bounds_of(name: str, values: list[ast.Call], names: set[str]) -> ast.Call:
    """The range that is one of `values`, with names for those of its bounds that are not always the same constant."""
    bounds: list[ast.expr] = []
    for stem, given in zip(BOUNDS, zip(*map(in_full, values), strict=True), strict=True):
        own = fresh(names, f"{name}_{stem}")
        is_same = is_literal(given[0]) and len(set(map(ast.dump, given))) == 1
        bounds.append(given[0] if is_same else ast.copy_location(ast.Name(own, ast.Load()), given[0]))
    return ast.copy_location(ast.Call(values[0].func, bounds, []), values[0])


def in_full(value: ast.Call) -> list[ast.expr]:
    """The start, the end and the step of a range."""
    start, step = (ast.copy_location(ast.Constant(k), value) for k in (0, 1))
    bounds = [start, *value.args] if len(value.args) == 1 else value.args
    return [*bounds, step][:3]


def is_literal(node: ast.expr) -> bool:
    """Whether `node` is an integer written out, as `2` and `-2`."""
    match node:
        case ast.Constant(value=int()) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            return True
        case _:
            return False


def is_zero(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Constant) and n.value == 0 for n in syntax_nodes(node))


class Spelt(ast.NodeTransformer):
    """Writes `ranges` where their names stand, and formulas for how many numbers are in one."""

    def __init__(self, ranges: dict[str, ast.Call], value_of: Callable[[ast.expr], Any]) -> None:
        self.ranges, self.value_of = ranges, value_of

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if name in self.ranges:
                pairs = zip(self.ranges[name].args, in_full(value), strict=True)
                named = [(own, bound) for own, bound in pairs if isinstance(own, ast.Name) and own is not bound]
                stores: list[ast.expr] = [
                    ast.copy_location(ast.Name(own.id, ast.Store()), node.targets[0]) for own, _ in named
                ]
                read = [bound for _, bound in named]  # all before any is set: they may be bounds of the range before
                made: ast.stmt = ast.Assign(stores[:1], read[0]) if len(named) == 1 else ast.Pass()
                if len(named) > 1:
                    places, values = ast.Tuple(stores, ast.Store()), ast.Tuple(read, ast.Load())
                    made = ast.Assign([ast.copy_location(places, node)], ast.copy_location(values, node))
                return ast.copy_location(made, node)
            case _:
                return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.ranges or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(copied_tree(self.ranges[node.id]), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not is_length(node, self.value_of) or not isinstance(node.args[0], ast.Call):
            return node
        start, stop, step = in_full(node.args[0])
        calls = [n for bound in (start, stop) for n in syntax_nodes(bound) if isinstance(n, ast.Call)]
        is_plain = all(isinstance(n.func, ast.Constant) or self.value_of(n.func) is len for n in calls)
        if not is_literal(step) or is_zero(step) or not is_plain:  # the formula reads the end before the start
            counted = ast.copy_location(ast.Constant(cast(Any, numbers_in_range)), node)
            return ast.copy_location(ast.Call(counted, [start, stop, step], []), node)
        sign = "1" if isinstance(step, ast.Constant) else "-1"
        text, most = f"MAX((STOP - START + STEP - {sign}) // STEP, 0)", ast.Constant(cast(Any, max))
        found = ast.parse(text, mode="eval").body
        for inner in syntax_nodes(found):
            ast.copy_location(inner, node)
        ast.copy_location(most, node)
        return Given({"START": start, "STOP": stop, "STEP": step, "MAX": most}).visit(found)


def numbers_in_range(start: int, stop: int, step: int) -> int:
    assert step != 0, "the step of `range` is zero"
    return max((stop - start + step - (1 if step > 0 else -1)) // step, 0)


class Given(ast.NodeTransformer):
    """Writes expressions in the place of names."""

    def __init__(self, given: dict[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copied_tree(self.given[node.id])
