"""Arrays behind stars: `f(*p)` of a function with three parameters is `f(p[0], p[1], p[2])`, `max(*v)` is `max(v)`, and
`a, b = zip(*rows)` are lists of what the rows have in each place."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from loopdiff.frontend.structures.calls import callee_of
from loopdiff.frontend.structures.rewriting import base_of, copied, expression
from loopdiff.frontend.structures.scope import Scope
from loopdiff.frontend.structures.trees import Leaf
from loopdiff.source.nodes import copied_tree, in_place_of, syntax_nodes

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
SIMPLE = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return


def with_stars_apart(scope: Scope, node: ast.stmt) -> ast.stmt:
    """`node` with such calls, after assertions that the arrays have as many elements; itself where there are none."""
    if not isinstance(node, SIMPLE) or not any(isinstance(n, ast.Starred) for n in syntax_nodes(node)):
        return node
    if any(isinstance(n, ast.NamedExpr) for n in syntax_nodes(node)):
        return node
    made = TakingApart(scope).visit(copied_tree(node))
    assert isinstance(made, ast.stmt)
    match made:
        case ast.Assign(
            targets=[ast.Tuple(elts=names)], value=ast.Call(func=func, args=[ast.Starred(value=rows)], keywords=how)
        ) if scope.value_outside(func) is zip and is_array(scope, rows) and all(k.arg == "strict" for k in how):
            are_plain = all(isinstance(n, ast.Name) for n in names)
            return copied(made, value=columns_of(scope, rows, len(names))) if are_plain else made
        case _:
            return made


def columns_of(scope: Scope, rows: ast.expr, count: int) -> ast.Tuple:
    """Lists of what `rows` of so many items have in each place, of which there is one at least."""
    names = [scope.names.fresh("column") for _ in range(count)]
    require_length(scope, rows, ast.Gt(), 0, f"there is something in `{ast.unparse(rows)}`")

    def column(name: str) -> ast.expr:
        target = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
        return ast.ListComp(ast.Name(name, ast.Load()), [ast.comprehension(target, copied_tree(rows), [], 0)])

    return in_place_of(ast.Tuple([column(n) for n in names], ast.Load()), rows)


def require_length(scope: Scope, row: ast.expr, op: ast.cmpop, count: int, message: str) -> None:
    """Write the assertion that `row` has so many elements."""
    length = ast.Call(scope.name_for(len, row), [expression(scope, row)], [])
    test = ast.Compare(length, [op], [ast.Constant(count)])
    scope.out.append(in_place_of(ast.Assert(test, ast.Constant(message)), row))


class TakingApart(ast.NodeTransformer):
    """Takes arrays behind stars apart in calls that are evaluated in any case."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.IfExp | ast.BoolOp | ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp):
            return node
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        stars = [a for a in node.args if isinstance(a, ast.Starred)]
        row = stars[0].value if len(stars) == 1 else None
        if row is None or any(isinstance(n, ast.Call) for n in syntax_nodes(row)) or not is_array(self.scope, row):
            return node
        text = ast.unparse(node)
        if any(self.scope.value_outside(node.func) is f for f in (max, min)) and len(node.args) == 1:
            require_length(self.scope, row, ast.Gt(), 1, f"`{text}` takes two values behind the star at least")
            return copied(node, args=[row])
        count = count_of(self.scope, node)
        if count is None or count < 1:
            return node
        require_length(self.scope, row, ast.Eq(), count, f"`{text}` takes {count} values behind the star")
        parts = [in_place_of(ast.Subscript(row, ast.Constant(k), ast.Load()), row) for k in range(count)]
        args = [part for a in node.args for part in (parts if a is stars[0] else [a])]
        return copied(node, args=args)


def is_array(scope: Scope, node: ast.expr) -> bool:
    """Whether `node` is one value, which has elements if Python takes it apart."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return False
    tree = base_of(scope, node)
    return tree is None or isinstance(tree, Leaf)


def count_of(scope: Scope, node: ast.Call) -> int | None:
    """How many values are left for the star in a call of a function that takes a number of them; None for others."""
    value, target = scope.value_outside(node.func), callee_of(scope, node.func)
    if target is not None:
        return left_of(list(target.source.signature.parameters.values())[len(target.first) :], node)
    if isinstance(value, np.ufunc):
        return value.nin - len(node.args) + 1
    if isinstance(value, type):
        with suppress(TypeError, ValueError):
            return left_of(list(inspect.signature(value).parameters.values()), node)
    return None


def left_of(parameters: Sequence[inspect.Parameter], node: ast.Call) -> int | None:
    """How many of the parameters the star has to give; None if it may give more or fewer."""
    named = {k.arg for k in node.keywords}
    taken = [p for p in parameters if p.kind in POSITIONAL and p.name not in named]
    is_open = any(p.kind is inspect.Parameter.VAR_POSITIONAL or p.default is not p.empty for p in parameters)
    return None if is_open or None in named else len(taken) - len(node.args) + 1
