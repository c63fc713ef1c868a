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
MOST_COUNTS = 4  # of branches for so many values behind a star
SIMPLE = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return


def with_stars_apart(scope: Scope, node: ast.stmt) -> ast.stmt:
    """`node` with such calls, after assertions that the arrays have as many elements; itself where there are none."""
    if not isinstance(node, SIMPLE) or not any(isinstance(n, ast.Starred) for n in syntax_nodes(node)):
        return node
    if any(isinstance(n, ast.NamedExpr) for n in syntax_nodes(node)):
        return node
    if isinstance(node, ast.Assign) and (chosen := by_count(scope, node)) is not None:
        return chosen
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


def by_count(scope: Scope, node: ast.Assign) -> ast.If | None:
    """`p = Particle(*x)` where some of the parameters have defaults: a branch for each number of values that there may
    be; None for others."""
    match node:
        case ast.Assign(targets=[ast.Name() as target], value=ast.Call() as call):
            row, counts = row_behind(scope, call), range(0)
            target_of = callee_of(scope, call.func)
        case _:
            return None
    if row is not None and target_of is not None:
        counts = counts_left(list(target_of.source.signature.parameters.values())[len(target_of.first) :], call)
    if row is None or not 1 < len(counts) <= MOST_COUNTS:
        return None

    def with_values(count: int) -> ast.stmt:
        value = taking(call, row, count)
        return ast.copy_location(ast.Assign([target], value), node)

    *fewer, most = counts
    says = f"`{ast.unparse(call)}` takes {counts[0]} to {most} values behind the star"
    check = ast.Assert(ast.Compare(length_of_row(scope, row), [ast.Eq()], [ast.Constant(most)]), ast.Constant(says))
    rest: list[ast.stmt] = [in_place_of(check, row), with_values(most)]
    for count in reversed(fewer):
        test = in_place_of(ast.Compare(length_of_row(scope, row), [ast.Eq()], [ast.Constant(count)]), row)
        rest = [ast.copy_location(ast.If(test, [with_values(count)], rest), node)]
    (chosen,) = rest
    return chosen if isinstance(chosen, ast.If) else None


def row_behind(scope: Scope, call: ast.Call) -> ast.expr | None:
    """The array behind the only star of a call; None for others."""
    stars = [a for a in call.args if isinstance(a, ast.Starred)]
    row = stars[0].value if len(stars) == 1 else None
    if row is None or any(isinstance(n, ast.Call) for n in syntax_nodes(row)) or not is_array(scope, row):
        return None
    return row


def taking(call: ast.Call, row: ast.expr, count: int) -> ast.Call:
    """`call` with so many elements of `row` in the place of the star."""
    parts = [in_place_of(ast.Subscript(copied_tree(row), ast.Constant(k), ast.Load()), row) for k in range(count)]
    return copied(call, args=[p for a in call.args for p in (parts if isinstance(a, ast.Starred) else [a])])


def length_of_row(scope: Scope, row: ast.expr) -> ast.expr:
    return ast.Call(scope.name_for(len, row), [copied_tree(row)], [])


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
        row = row_behind(self.scope, node)
        if row is None:
            return node
        text = ast.unparse(node)
        if any(self.scope.value_outside(node.func) is f for f in (max, min)) and len(node.args) == 1:
            require_length(self.scope, row, ast.Gt(), 1, f"`{text}` takes two values behind the star at least")
            return copied(node, args=[row])
        count = count_of(self.scope, node)
        if count is None or count < 1:
            return node
        require_length(self.scope, row, ast.Eq(), count, f"`{text}` takes {count} values behind the star")
        return taking(node, row, count)


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
    counts = counts_left(parameters, node)
    return counts[0] if len(counts) == 1 else None


def counts_left(parameters: Sequence[inspect.Parameter], node: ast.Call) -> range:
    """How many of the parameters the star may give; none where that has no end."""
    named = {k.arg for k in node.keywords}
    taken = [p for p in parameters if p.kind in POSITIONAL and p.name not in named]
    if None in named or any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return range(0)
    first = sum(p.default is p.empty for p in taken)
    given = len(node.args) - 1
    return range(max(first - given, 0), len(taken) - given + 1)
