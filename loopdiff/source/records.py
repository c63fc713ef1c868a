"""Names for the named tuples that derivatives give, in syntax trees: one name for each of their fields.

    v, g = f.value_and_grad(x, a)                   v, (g_x, g_a) = f.value_and_grad(x, a)
    x = x - v / g.x + g.a                           x = x - v / g_x + g_a

So a program keeps numbers and arrays only. That is done where a name stands for such a tuple wherever it is assigned,
and all that is done with it is to take fields out, by name or by place. Of other names the parser says what is wrong.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import bound_by, of_scope, parameters

RECORDS = {"grad": (None,), "value_and_grad": (1,), "jvp": (1,), "hvp": (1, 2)}  # places of the tuples; None: the whole
Field = str | int


class FieldTargets(ast.Tuple):
    """Targets for the `fields` of a named tuple, which copies of the node have too."""

    _fields = ("elts", "ctx", "fields")
    fields: list[Field]


def is_differentiable(value: Any) -> bool:
    """Whether `vectorize_grad` made `value`."""
    return hasattr(type(value), "derivative") and hasattr(type(value), "py_func")


def with_fields(function: ast.FunctionDef, outer: Mapping[str, Any]) -> ast.FunctionDef:
    """`function`, and the functions inside it, with names for the fields of named tuples in place of names for these.
    `outer` are the values of names from outside; what a parameter stands for may be a function with derivatives."""
    if not any(isinstance(n, ast.Attribute) and n.attr in RECORDS for n in syntax_nodes(function)):
        return function
    found = copied_tree(function)
    for node in [n for n in syntax_nodes(found) if isinstance(n, ast.FunctionDef)]:
        put_fields(node, outer)
    return found


def put_fields(function: ast.FunctionDef, outer: Mapping[str, Any]) -> None:
    """Put names for fields in the place of names for named tuples that `function` makes."""
    nodes = [node for statement in function.body for node in of_scope(statement)]
    given = {a.arg for a in parameters(function.args)}
    calls = [n for n in nodes if isinstance(n, ast.Assign) and is_derivative(n.value, outer, given)]
    made = Counter(t.id for call in calls for t in record_targets(call))
    stores = Counter(name for node in nodes for name in bound_by(node))
    inside = [node for statement in function.body for node in syntax_nodes(statement)]
    reads = Counter(n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    uses = [use for node in inside if (use := field_of(node)) is not None]
    counts = Counter(name for name, _ in uses)
    names = {n for n, k in made.items() if k == stores[n] and counts[n] == reads[n] and n not in given}
    taken = {n.id for n in inside if isinstance(n, ast.Name)} | given
    fields: dict[tuple[str, Field], str] = {}
    for name, attr in uses:
        if name in names and (name, attr) not in fields:
            fields[name, attr] = free_name(f"{name}_{attr}", taken)
    renaming = Renaming(names, fields)
    function.body = [s for statement in function.body if isinstance(s := renaming.visit(statement), ast.stmt)]


def is_derivative(node: ast.expr, outer: Mapping[str, Any], parameters: Collection[str]) -> bool:
    """Whether `node` is the call of a derivative, `f.grad(x)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr=attr)) if attr in RECORDS:
            text = ast.unparse(owner)
            return text in parameters or is_differentiable(outer.get(text))
        case _:
            return False


def record_targets(node: ast.Assign) -> Iterator[ast.Name]:
    """The names that `node` makes names for named tuples."""
    if len(node.targets) != 1:
        return
    (target,) = node.targets
    assert isinstance(node.value, ast.Call)
    assert isinstance(node.value.func, ast.Attribute)
    for place in RECORDS[node.value.func.attr]:
        part = target if place is None else part_at(target, place)
        if isinstance(part, ast.Name):
            yield part


def part_at(target: ast.expr, place: int) -> ast.expr | None:
    return target.elts[place] if isinstance(target, ast.Tuple | ast.List) and len(target.elts) > place else None


def field_of(node: ast.AST) -> tuple[str, Field] | None:
    """The name and the field in `g.x` and `g[0]`."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ast.Load()):
            return name, attr
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(place)), ctx=ast.Load()):
            return name, place
        case _:
            return None


def free_name(stem: str, taken: set[str]) -> str:
    name, count = stem, 0
    while name in taken:
        count += 1
        name = f"{stem}_{count}"
    taken.add(name)
    return name


class Renaming(ast.NodeTransformer):
    """Puts names for the `fields` of `names` in their places."""

    def __init__(self, names: set[str], fields: dict[tuple[str, Field], str]) -> None:
        self.names, self.fields = names, fields

    def visit(self, node: ast.AST) -> ast.AST:
        use = field_of(node)
        if use in self.fields:
            return ast.copy_location(ast.Name(self.fields[use], ast.Load()), node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in self.names:
            own = {attr: new for (name, attr), new in self.fields.items() if name == node.id}
            names = [ast.copy_location(ast.Name(new, ast.Store()), node) for new in own.values()]
            targets = FieldTargets(list(names), ast.Store())
            targets.fields = list(own)
            return ast.copy_location(targets, node)
        return self.generic_visit(node)
