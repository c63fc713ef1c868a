"""Loops over several ranges at once, as `for i, j in np.ndindex(n, m)`: one loop inside another.

`itertools.product` and `combinations` of ranges, `np.ndindex` and `np.ndenumerate`. Loops that are left by `break`, or
have an `else`, stay as they are, and those whose variables get other values, or are read after them.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from loopdiff.source.nodes import copied_tree, syntax_children, syntax_nodes
from loopdiff.source.scopes import Block, evaluated_around, own_names

ValueOf = Callable[[ast.expr], Any]
SEVERAL = (np.ndindex, np.ndenumerate, itertools.product, itertools.combinations)
NO_NAMES: frozenset[str] = frozenset()


def with_nests(function: ast.FunctionDef, value_of: ValueOf) -> ast.FunctionDef:
    """`function` with loops in place of such; `value_of` says what names from outside mean."""
    range_name = ast.Name("range", ast.Load())
    if not any(over_several(n, value_of) for n in syntax_nodes(function)) or value_of(range_name) is not range:
        return function
    made = Nested(copied_tree(function), value_of).written()
    return ast.fix_missing_locations(made)


def over_several(node: ast.AST, value_of: ValueOf) -> Any:
    """Which of these functions the loop `node` goes over; None for others."""
    match node:
        case ast.For(iter=ast.Call(func=ast.Name() | ast.Attribute() as called, keywords=[]), orelse=[]):
            known = value_of(called)
            return next((f for f in SEVERAL if known is f), None)
        case _:
            return None


class Nested(ast.NodeTransformer):
    """Writes nests where loops over several ranges stand."""

    def __init__(self, function: ast.FunctionDef, value_of: ValueOf) -> None:
        self.function, self.value_of = function, value_of
        nodes = list(syntax_nodes(function))
        self.names = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.arg for n in nodes if isinstance(n, ast.arg)}
        self.read_after: set[str] = set()
        self.around: list[str] = []  # variables of the loops around
        self.before: list[ast.stmt] = []

    def written(self) -> ast.FunctionDef:
        made = self.visit(self.function)
        assert isinstance(made, ast.FunctionDef)
        return made

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        around = self.read_after, self.around
        shared = {n for s in syntax_nodes(node) if isinstance(s, ast.Nonlocal | ast.Global) for n in s.names}
        self.read_after = shared | {name for stmt in node.body for name in read_outside(stmt, NO_NAMES)}
        self.around = []
        self.generic_visit(node)
        self.read_after, self.around = around
        return node

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        own = [n.id for n in syntax_nodes(node.target) if isinstance(n, ast.Name)]
        self.around += own
        self.generic_visit(node)
        del self.around[len(self.around) - len(own) :]
        known = over_several(node, self.value_of)
        if known is None or any(map(has_break, node.body)) or not self.is_of_own(node):
            return node
        self.before = []
        found = self.nest_of(known, node.target, node.iter.args)  # type: ignore[attr-defined]
        if found is None:
            return node
        places, ranges, first = found
        made: list[ast.stmt] = [*first, *node.body]
        for place, over in reversed(list(zip(places, ranges, strict=True))):
            made = [ast.For(place, over, made, [])]
        return [ast.copy_location(s, node) for s in (*self.before, *made)]

    def is_of_own(self, node: ast.For) -> bool:
        """Whether only the loop `node` gives its variables values, and nothing reads them after it; likewise what it
        goes over."""
        given = {n.id for n in syntax_nodes(node.target) if isinstance(n, ast.Name)}
        over = {n.id for n in syntax_nodes(node.iter) if isinstance(n, ast.Name)}
        inside = (n for part in node.body for n in syntax_nodes(part))
        stored = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        parts = (n for n in syntax_nodes(node.target) if isinstance(n, ast.expr))
        is_plain = all(isinstance(n, ast.Name | ast.Tuple) for n in parts)
        is_array_kept = over_several(node, self.value_of) is not np.ndenumerate or over.isdisjoint(stored)
        return is_plain and is_array_kept and given.isdisjoint(stored | self.read_after | set(self.around))

    def nest_of(
        self, known: Any, target: ast.expr, args: Sequence[ast.expr]
    ) -> tuple[Sequence[ast.expr], Sequence[ast.expr], Sequence[ast.stmt]] | None:
        """The variables of the loops, what each goes over, the outermost first, and what the body begins with."""
        match target, args:
            case ast.Name(), _ if (count := axes_in(known, args)) is not None:
                places = ast.Tuple([ast.Name(self.fresh(f"{target.id}_part"), ast.Store()) for _ in range(count)])
                found = self.nest_of(known, places, args)
                whole = ast.Assign([target], ast.Tuple([as_read(p) for p in places.elts], ast.Load()))
                return found and (found[0], found[1], [whole, *found[2]])
            case ast.Tuple(elts=[ast.Tuple(elts=places), value]), [ast.Name() as array] if known is np.ndenumerate:
                index = ast.Tuple([as_read(p) for p in places], ast.Load())
                element = ast.Assign([value], ast.Subscript(array, index, ast.Load()))
                return places, self.over_shape(places, ast.Attribute(array, "shape", ast.Load())), [element]
            case ast.Tuple(elts=places), (
                [ast.Starred(value=ast.Attribute(attr="shape") as shape)] | [ast.Attribute(attr="shape") as shape]
            ) if known is np.ndindex:
                return places, self.over_shape(places, shape), []
            case ast.Tuple(elts=places), [ast.Tuple(elts=extents)] | [*extents] if known is np.ndindex:
                ranges = [self.held_range([e]) for e in extents if not isinstance(e, ast.Starred)]
                self.require_extents(ranges, extents)
            case ast.Tuple(elts=places), [*parts] if known is itertools.product:
                ranges = [self.held_range(bounds) for p in parts if (bounds := self.bounds_of(p)) is not None]
            case ast.Tuple(elts=places), [numbers, ast.Constant(value=int(count))] if (
                known is itertools.combinations and count == len(places)
            ):
                bounds = self.bounds_of(numbers)
                ranges = [] if bounds is None or len(bounds) > 2 else self.ascending(places, bounds)
            case _:
                return None
        return (places, ranges, []) if len(ranges) == len(places) else None

    def bounds_of(self, node: ast.expr) -> list[ast.expr] | None:
        """The bounds of a range; None for others."""
        match node:
            case ast.Call(func=ast.Name() as called, args=args, keywords=[]) if self.value_of(called) is range:
                return None if any(isinstance(a, ast.Starred) for a in args) else args
            case _:
                return None

    def ascending(self, places: Sequence[ast.expr], bounds: Sequence[ast.expr]) -> list[ast.expr]:
        """Ranges that each begin behind the place in the one around."""
        first = self.held_range(bounds)
        starts = [ast.BinOp(as_read(p), ast.Add(), ast.Constant(1)) for p in places[:-1]]
        return [first, *(range_of([start, copied_tree(first.args[-1])]) for start in starts)]

    def over_shape(self, places: Sequence[ast.expr], shape: ast.expr) -> list[ast.expr]:
        """Ranges of the extents of an array, which has as many axes as there are `places`."""
        names = [self.fresh("extent") for _ in places]
        self.before.append(ast.Assign([ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())], shape))
        return [range_of([ast.Name(n, ast.Load())]) for n in names]

    def held_range(self, bounds: Sequence[ast.expr]) -> ast.Call:
        """A range of `bounds` as they are before the loop."""
        return range_of([b if isinstance(b, ast.Constant) else self.held(b) for b in bounds])

    def require_extents(self, ranges: Sequence[ast.Call], extents: Sequence[ast.expr]) -> None:
        """Assert that the ends of `ranges` are not below zero where that is not known: `np.ndindex` takes no such."""
        for made, given in zip(ranges, extents, strict=False):
            if not self.is_size(given):
                test = ast.Compare(copied_tree(made.args[0]), [ast.GtE()], [ast.Constant(0)])
                said = ast.Constant("np.ndindex takes no extents below zero")
                self.before.append(ast.copy_location(ast.Assert(test, said), given))

    def is_size(self, node: ast.expr) -> bool:
        """Whether `node` is never below zero: a literal, or an extent of an array."""
        match node:
            case ast.Constant() | ast.Attribute(attr="size") | ast.Subscript(value=ast.Attribute(attr="shape")):
                return True
            case ast.Call(func=ast.Name() as called):
                return self.value_of(called) is len
            case _:
                return False

    def held(self, bound: ast.expr) -> ast.expr:
        name = self.fresh("bound")
        self.before.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], bound), bound))
        return ast.Name(name, ast.Load())

    def fresh(self, stem: str) -> str:
        name = next(n for n in (f"{stem}_{k}" for k in itertools.count(1)) if n not in self.names)
        self.names.add(name)
        return name


def axes_in(known: Any, args: Sequence[ast.expr]) -> int | None:
    """How many numbers each iteration has, where the program says so."""
    match args:
        case _ if known is np.ndenumerate:
            return None
        case [_, ast.Constant(value=int(count))] if known is itertools.combinations:
            return count
        case [ast.Tuple(elts=parts)] if known is np.ndindex:
            return len(parts)
        case [ast.Starred() | ast.Attribute(attr="shape")] | []:
            return None
        case _:
            return None if known is itertools.combinations else len(args)


def range_of(bounds: list[ast.expr]) -> ast.Call:
    return ast.Call(ast.Name("range", ast.Load()), bounds, [])


def as_read(place: ast.expr) -> ast.expr:
    read = copied_tree(place)
    for node in syntax_nodes(read):
        if isinstance(node, ast.Name):
            node.ctx = ast.Load()
    return read


def has_break(node: ast.AST) -> bool:
    """Whether `node` leaves the loop around it."""
    if isinstance(node, ast.For | ast.While):
        return any(map(has_break, node.orelse))
    return isinstance(node, ast.Break) or any(map(has_break, syntax_children(node)))


def read_outside(node: ast.AST, bound: frozenset[str]) -> Iterator[str]:
    """Names that `node` reads outside of loops and functions whose variables they are."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in bound:
        yield node.id
    if isinstance(node, ast.For):
        yield from read_outside(node.iter, bound)
        inner = bound | {n.id for n in syntax_nodes(node.target) if isinstance(n, ast.Name)}
        for part in (*node.body, node.target):
            yield from read_outside(part, inner)
        for part in node.orelse:
            yield from read_outside(part, bound)
        return
    for part in evaluated_around(node) if isinstance(node, Block) else ():  # defaults, where the function is made
        yield from read_outside(part, bound)
    inner = bound | own_names(node) if isinstance(node, Block) else bound
    for part in syntax_children(node):
        yield from read_outside(part, inner)
