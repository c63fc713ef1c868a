"""`map` and `filter` as the comprehensions that they are short for, where all of their items are taken at once.

    sum(map(f, x))                      sum(f(item) for item in x)
    list(filter(f, x))           ->     [item for item in x if f(item)]
    for v in map(f, x): ...             for item in x: v = f(item); ...
    for v in filter(f, x): ...          for item in x: if f(item): v = item; ...
    for k, v in enumerate(map(f, x)):   for place, item in enumerate(x): k, v = place, f(item); ...
    np.array([*map(f, x)])              np.array([f(item) for item in x])
    a, b = map(f, (s, t))               item, item_1 = (s, t); a, b = f(item), f(item_1)

Elsewhere they stay what they are, iterators, which compute items when they are asked for and give each once.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any, TypeGuard

import numpy as np

from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.records import free_name
from loopdiff.source.scopes import computes_defaults, words_in

LAZY = ("sum", "min", "max", "any", "all", "math.prod")  # what takes the items one by one


def with_comprehensions(
    function: ast.FunctionDef, outer: Mapping[str, Any], bound: Collection[str]
) -> ast.FunctionDef:  # fmt: skip
    """`function` without calls of `map` and `filter`, and of `list` of these.

    `outer` are the values of names around it, `bound` the names that it gives a value.
    """
    names, known = words_in(function), ("map", "filter", "list", "zip", "enumerate")
    own = {n for n in known if n not in bound and outer.get(n) is getattr(builtins, n)}
    if names.isdisjoint(own & {"map", "filter"}):
        return function
    known_values = {n: outer.get(n, getattr(builtins, n, None)) for n in names.difference(bound)}
    found = Written(own, names, known_values).visit(copied_tree(function))
    assert isinstance(found, ast.FunctionDef)
    return ast.fix_missing_locations(found)


class Written(ast.NodeTransformer):
    """Writes out calls of the functions `own` of Python, with names for items that are not `taken`; `outer` are the
    values of names from outside."""

    def __init__(self, own: set[str], taken: set[str], outer: Mapping[str, Any]) -> None:
        self.own, self.taken, self.outer = own, taken, outer

    def visit_Call(self, node: ast.Call) -> ast.expr:
        inner = self.written(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if inner is not None and self.is_call(node, "list"):
            return self.at(node, listed(inner))
        if inner is not None and ast.unparse(node.func) in LAZY:
            node.args = [self.at(node.args[0], inner)]
            return node
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | list[ast.stmt]:
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=names) | ast.List(elts=names)], value=ast.Call(args=[function, over]) as call
            ) if self.is_call(call, "map") and is_fixed(function) and is_display(over) and not has_star([*names, over]):
                items = [free_name("item", self.taken) for _ in names]
                values = [self.visit(called(function, [ast.Name(i, ast.Load())])) for i in items]
                held = ast.Tuple([ast.Name(i, ast.Store()) for i in items], ast.Store())
                statements = (
                    ast.Assign([held], self.visit(over)),
                    ast.Assign(node.targets, ast.Tuple(values, ast.Load())),
                )
                return [self.at(node, s) for s in statements]
            case _:
                self.generic_visit(node)
                return node

    def visit_List(self, node: ast.List) -> ast.expr:
        match node.elts:
            case [ast.Starred(value=over)] if (inner := self.written(over)) is not None:
                return self.at(node, listed(inner))
            case _:
                self.generic_visit(node)
                return node

    def visit_For(self, node: ast.For) -> ast.For:
        while (inner := self.inside(node)) is not None:
            node.target, node.iter, node.body = inner
        self.generic_visit(node)
        return node

    def inside(self, node: ast.For) -> tuple[ast.expr, ast.expr, list[ast.stmt]] | None:
        """The target, what is gone through and the body of the loop without the outermost `filter`, or without the
        calls of `map` whose items it takes; None where there are none."""
        if self.is_filter(node.iter):
            function, over = node.iter.args
            item = ast.Name(free_name("item", self.taken), ast.Load())
            kept = ast.If(test_of(function, item), [ast.Assign([node.target], item), *node.body], [])
            return ast.Name(item.id, ast.Store()), over, [self.at(node.iter, kept)]
        if not self.has_calls(node.iter):
            return None
        item, target, over = self.each(node.iter)
        first = ast.Assign([node.target], item)
        return self.at(node.iter, target), self.at(node.iter, over), [self.at(node.iter, first), *node.body]

    def is_filter(self, node: ast.expr) -> TypeGuard[ast.Call]:
        match node:
            case ast.Call(args=[function, ast.expr() as over]) if self.is_call(node, "filter"):
                return not has_star([over]) and (is_fixed(function) or is_nothing(function))
            case _:
                return False

    def has_calls(self, node: ast.expr) -> bool:
        """Whether items of what a loop goes over are given by `map`, one for each of what that goes over."""
        if not isinstance(node, ast.Call) or has_star(node.args) or not node.args:
            return False
        if self.is_call(node, "map"):
            is_plain = len(node.args) > 1 and is_fixed(node.args[0]) and (len(node.args) == 2 or "zip" in self.own)
            return is_plain and self.are_in_order(node.args[1:])
        is_around = self.is_call(node, "zip") or self.is_call(node, "enumerate", allowed=("start",))
        return is_around and any(map(self.has_calls, node.args)) and self.are_in_order(node.args)

    def are_in_order(self, overs: Sequence[ast.expr]) -> bool:
        """Whether items may be read from all of `overs` before any is computed: none but the last computes one by a
        function that could change what those behind it read."""
        return all(map(self.is_quiet, overs[:-1]))

    def is_quiet(self, over: ast.expr) -> bool:
        """Whether all functions that `map` and `filter` call in `over` are Python's own, or NumPy's."""
        calls = [n for n in syntax_nodes(over) if isinstance(n, ast.Call)]
        given = [n.args[0] for n in calls if n.args and (self.is_call(n, "map") or self.is_call(n, "filter"))]
        inside = [n.func for f in given for n in syntax_nodes(f) if isinstance(n, ast.Call)]
        return all(map(self.is_known, [*inside, *(f for f in given if not isinstance(f, ast.Lambda | ast.Constant))]))

    def is_known(self, function: ast.expr) -> bool:
        match function:
            case ast.Name(id=name):
                return is_builtin(self.outer.get(name))
            case ast.Attribute(value=ast.Name(id=module), attr=attr):
                return is_builtin(getattr(self.outer.get(module), attr, None))
            case _:
                return False

    def each(self, node: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr]:
        """An item of `node`, the target that holds what it is computed from, and what that goes over."""
        if not self.has_calls(node) or not isinstance(node, ast.Call):
            name = free_name("item", self.taken)
            return ast.Name(name, ast.Load()), ast.Name(name, ast.Store()), node
        if self.is_call(node, "enumerate", allowed=("start",)):
            place, (item, target, over) = free_name("place", self.taken), self.each(node.args[0])
            pair = ast.Tuple([ast.Name(place, ast.Load()), item], ast.Load())
            targets = ast.Tuple([ast.Name(place, ast.Store()), target], ast.Store())
            return pair, targets, ast.Call(node.func, [over, *node.args[1:]], node.keywords)
        is_zip = self.is_call(node, "zip")
        items, targets, overs = zip(*map(self.each, node.args if is_zip else node.args[1:]), strict=True)
        item = ast.Tuple([*items], ast.Load()) if is_zip else called(node.args[0], items)
        if len(overs) == 1 and not is_zip:
            return item, targets[0], overs[0]
        return item, ast.Tuple([*targets], ast.Store()), called(ast.Name("zip", ast.Load()), overs)

    def is_call(self, node: ast.expr, name: str, allowed: Sequence[str] = ()) -> bool:
        """Whether `node` is a call of Python's own function `name`, by position but for names that are `allowed`."""
        match node:
            case ast.Call(func=ast.Name(id=found), keywords=keywords):
                return found == name and name in self.own and all(k.arg in allowed for k in keywords)
            case _:
                return False

    def written(self, node: ast.expr) -> ast.GeneratorExp | None:
        """What a call of `map` or `filter` is short for; None for others, and for functions that are computed."""
        if self.is_filter(node):
            return self.filtered(*node.args)
        if not isinstance(node, ast.Call) or not self.is_call(node, "map") or not self.has_calls(node):
            return None
        function, *overs = node.args
        inner = self.written(overs[0]) if len(overs) == 1 else None
        if inner is not None and inner.generators[0].ifs:
            return ast.GeneratorExp(self.visit(called(function, [inner.elt])), inner.generators)
        item, target, over = self.each(node)
        if is_plain(function, overs) and not any(map(self.has_calls, overs)):  # it has names for the items already
            names = [ast.Name(a.arg, ast.Store()) for a in function.args.args]
            item, target = function.body, names[0] if len(names) == 1 else ast.Tuple([*names], ast.Store())
        return generator(self.visit(item), target, self.visit(over))

    def filtered(self, function: ast.expr, over: ast.expr) -> ast.GeneratorExp | None:
        """What `filter` of these is short for; None where items would be computed twice, to be asked for and given."""
        match self.written(over):
            case None:
                item = ast.Name(free_name("item", self.taken), ast.Load())
                test = self.visit(test_of(function, item))
                return generator(item, ast.Name(item.id, ast.Store()), self.visit(over), test)
            case ast.GeneratorExp(elt=ast.Name() as item) as inner:
                inner.generators[0].ifs.append(self.visit(test_of(function, item)))
                return inner
            case _:
                return None

    def at(self, place: ast.AST, node: Any) -> Any:
        """`node` at the place of what it stands for."""
        for inner in syntax_nodes(node):
            if not hasattr(inner, "lineno") and isinstance(inner, ast.expr | ast.stmt):
                ast.copy_location(inner, place)
        return node


def is_builtin(value: Any) -> bool:
    """Whether `value` is a function that changes nothing: written in C, or of NumPy's that go element by element."""
    return isinstance(value, BuiltinFunctionType | np.ufunc) or any(value is t for t in (float, int, bool, complex))


def is_fixed(function: ast.expr) -> bool:
    """Whether it is the same function for each item, whenever it is looked at."""
    return isinstance(function, ast.Name | ast.Attribute | ast.Lambda) and not computes_defaults(function)


def is_plain(function: ast.expr, over: Sequence[ast.expr]) -> TypeGuard[ast.Lambda]:
    """Whether `function` is a lambda of an item each of `over`, whose names are not read there."""
    if not isinstance(function, ast.Lambda):
        return False
    spec, names = function.args, {n.id for o in over for n in syntax_nodes(o) if isinstance(n, ast.Name)}
    is_by_place = not (spec.defaults or spec.vararg or spec.kwonlyargs or spec.kwarg or spec.posonlyargs)
    return is_by_place and len(spec.args) == len(over) and names.isdisjoint(a.arg for a in spec.args)


def is_display(over: ast.expr) -> bool:
    """Whether all items are there before the first one is asked for."""
    return isinstance(over, ast.Tuple | ast.List) and not has_star(over.elts)


def has_star(nodes: Sequence[ast.expr]) -> bool:
    return any(isinstance(n, ast.Starred) for n in nodes)


def test_of(function: ast.expr, item: ast.expr) -> ast.expr:
    """Whether `filter` keeps an item."""
    return item if is_nothing(function) else called(function, [item])


def is_nothing(function: ast.expr) -> bool:
    return isinstance(function, ast.Constant) and function.value is None


def called(function: ast.expr, values: Sequence[ast.expr]) -> ast.expr:
    return ast.Call(function, [*values], [])


def generator(element: ast.expr, target: ast.expr, over: ast.expr, *tests: ast.expr) -> ast.GeneratorExp:
    return ast.GeneratorExp(element, [ast.comprehension(target, over, [*tests], 0)])


def listed(found: ast.GeneratorExp) -> ast.ListComp:
    return ast.ListComp(found.elt, found.generators)
