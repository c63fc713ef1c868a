"""Names for ranges, as `r = range(1, n)`: where they stand, the range stands, with names for its bounds. And how many
numbers are in a range, `len(r)`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, cast

from loopdiff.source.named.in_turn import InTurn
from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import fresh, parameters, stores_alone, stores_among, words_in

BOUNDS = ("start", "stop", "step")


def with_ranges(function: ast.FunctionDef, value_of: Callable[[ast.expr], Any]) -> ast.FunctionDef:
    """`function` without names that it binds to ranges alone; `value_of` says what names from outside mean."""
    if any(isinstance(n, ast.Tuple | ast.IfExp) and is_range(first_of(n), value_of) for n in syntax_nodes(function)):
        function = RangesApart(value_of, words_in(function)).visit(copied_tree(function))
    nodes = list(syntax_nodes(function))
    names = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.arg for n in nodes if isinstance(n, ast.arg)}
    ranges: dict[str, list[ast.Call]] = {}
    stores: Counter[str] = Counter()
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if is_range(value, value_of):
                values = [value]
            case ast.For(target=ast.Name(id=name), iter=ast.Tuple(elts=elts) | ast.List(elts=elts)) if elts and all(
                is_range(e, value_of) for e in elts
            ):
                values = [e for e in elts if isinstance(e, ast.Call)]
            case _:
                continue
        ranges.setdefault(name, []).extend(values)
        stores[name] += 1
    counts = stores_alone(function)
    found = {
        name: bounds_of(name, values, names) for name, values in ranges.items() if counts.get(name) == stores[name]
    }
    if not found and not any(isinstance(n, ast.Call) and is_length(n, value_of) for n in nodes):
        return function
    made = Spelt(found, value_of).visit(copied_tree(function))
    assert isinstance(made, ast.FunctionDef)
    return made


def first_of(node: ast.Tuple | ast.IfExp) -> ast.expr | None:
    return node.body if isinstance(node, ast.IfExp) else next(iter(node.elts), None)


def with_range_parameters(
    function: ast.FunctionDef, given: set[str], value_of: Callable[[ast.expr], Any]
) -> tuple[ast.FunctionDef, dict[str, list[str]]]:
    """`function` with parameters for the bounds of the ranges that are `given` for parameters, and the names of these:
    those that it gives nothing else."""
    stores, words = stores_among(syntax_nodes(function)), words_in(function)
    names = {name: [fresh(words, f"{name}_{stem}") for stem in BOUNDS] for name in given if stores[name] == 1}
    made = copied_tree(function)
    ranges: dict[str, ast.Call] = {}
    for parameter in parameters(made.args):
        if parameter.arg in names:
            bounds = [ast.copy_location(ast.Name(own, ast.Load()), parameter) for own in names[parameter.arg]]
            called = ast.copy_location(ast.Name("range", ast.Load()), parameter)
            ranges[parameter.arg] = ast.copy_location(ast.Call(called, list(bounds), []), parameter)
    made.body = [Spelt(ranges, value_of).visit(stmt) for stmt in made.body]
    for group in (made.args.posonlyargs, made.args.args, made.args.kwonlyargs):
        group[:] = [
            ast.copy_location(ast.arg(own), parameter)
            for parameter in group
            for own in names.get(parameter.arg, [parameter.arg])
        ]
    return made, names


def is_range(node: ast.expr | None, value_of: Callable[[ast.expr], Any]) -> bool:
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


def tuple_of(parts: Sequence[ast.expr], context: ast.expr_context) -> ast.expr:
    """The one of `parts`, or a tuple of them."""
    return parts[0] if len(parts) == 1 else ast.Tuple(list(parts), context)


def is_literal(node: ast.expr) -> bool:
    """Whether `node` is an integer written out, as `2` and `-2`."""
    match node:
        case ast.Constant(value=int()) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            return True
        case _:
            return False


def is_zero(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Constant) and n.value == 0 for n in syntax_nodes(node))


class RangesApart(InTurn):
    """Writes `up, down = range(n), range(k)` as two assignments, and `r = range(n) if c else range(k)` as a branch of
    two, also where a loop goes over that without a name."""

    def __init__(self, value_of: Callable[[ast.expr], Any], words: set[str]) -> None:
        super().__init__(lambda node: is_range(node, value_of))
        self.words = words

    def visit_Assign(self, node: ast.Assign) -> ast.AST | Sequence[ast.stmt]:
        match node:
            case ast.Assign([ast.Name() as target], ast.IfExp() as value) if self.is_one_of_two(value):
                return self.branch(target, value)
            case _:
                return super().visit_Assign(node)

    def visit_For(self, node: ast.For) -> ast.AST | Sequence[ast.stmt]:
        self.generic_visit(node)
        if not isinstance(node.iter, ast.IfExp) or not self.is_one_of_two(node.iter):
            return node
        target = ast.copy_location(ast.Name(fresh(self.words, "numbers"), ast.Store()), node.iter)
        made = self.branch(target, node.iter)
        node.iter = ast.copy_location(ast.Name(target.id, ast.Load()), node.iter)
        return [made, node]

    def is_one_of_two(self, node: ast.IfExp) -> bool:
        return self.is_named(node.body) and self.is_named(node.orelse)

    def branch(self, target: ast.Name, value: ast.IfExp) -> ast.If:
        ways = [ast.copy_location(ast.Assign([copied_tree(target)], way), value) for way in (value.body, value.orelse)]
        return ast.copy_location(ast.If(value.test, [ways[0]], [ways[1]]), value)


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

    def visit_For(self, node: ast.For) -> ast.stmt:
        target, own = node.target, None
        if isinstance(target, ast.Name) and isinstance(node.iter, ast.Tuple | ast.List):
            own = self.ranges.get(target.id)
        self.generic_visit(node)
        if own is None or not isinstance(node.iter, ast.Tuple | ast.List):
            return node
        named = [k for k, bound in enumerate(own.args) if isinstance(bound, ast.Name)]
        stores = [ast.copy_location(ast.Name(own.args[k].id, ast.Store()), target) for k in named]  # type: ignore[attr-defined]
        rows = [ast.copy_location(tuple_of([in_full(e)[k] for k in named], ast.Load()), e) for e in node.iter.elts]  # type: ignore[arg-type]
        node.target, node.iter.elts = ast.copy_location(tuple_of(stores, ast.Store()), target), rows
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
