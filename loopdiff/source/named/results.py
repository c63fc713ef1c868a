"""Fields of what functions of `np.linalg` give, by their places: `np.linalg.eigh(A).eigenvalues` is the first."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from loopdiff.source.nodes import copied_tree, syntax_nodes

Fields = tuple[str, ...]
FIELDS: Mapping[Any, Fields] = {
    np.linalg.eigh: ("eigenvalues", "eigenvectors"),
    np.linalg.svd: ("U", "S", "Vh"),
    np.linalg.qr: ("Q", "R"),
    np.linalg.slogdet: ("sign", "logabsdet"),
}
HARMLESS = {"a", "A", "UPLO", "full_matrices"}  # parameters that leave the number of results as it is
NAMES = frozenset(name for fields in FIELDS.values() for name in fields)


def with_places(function: ast.FunctionDef, value_of: Callable[[ast.expr], Any]) -> ast.FunctionDef:
    """`function` with subscripts in place of such fields; `value_of` says what names from outside mean."""
    if not any(isinstance(n, ast.Attribute) and n.attr in NAMES for n in syntax_nodes(function)):
        return function
    found = copied_tree(function)
    Placed(fields_of_names(found, value_of), value_of).visit(found)
    return found


def fields_of_call(node: ast.expr, value_of: Callable[[ast.expr], Any]) -> Fields | None:
    """The fields of what a call gives, if it calls one of these functions."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return None
    called = value_of(node.func)
    if len(node.args) > (1 if called is np.linalg.qr else 2) or not {k.arg for k in node.keywords} <= HARMLESS:
        return None
    return next((fields for known, fields in FIELDS.items() if called is known), None)


def fields_of_names(function: ast.FunctionDef, value_of: Callable[[ast.expr], Any]) -> dict[str, Fields]:
    """The fields of what names hold that hold nothing else."""
    held: dict[str, set[Fields | None]] = defaultdict(set)
    plain: set[int] = set()
    assigned = [node for node in syntax_nodes(function) if isinstance(node, ast.Assign)]
    for target, value in (pair for node in assigned for t in node.targets for pair in pairs(t, node.value)):
        held[target.id].add(fields_of_call(value, value_of))
        plain.add(id(target))
    for node in syntax_nodes(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in plain:
            held[node.id].add(None)
        elif isinstance(node, ast.arg):
            held[node.arg].add(None)
    single = {name: next(iter(kinds)) for name, kinds in held.items() if len(kinds) == 1}
    return {name: fields for name, fields in single.items() if fields is not None}


def pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.Name, ast.expr]]:
    """Names with the expressions that they are assigned."""
    match target, value:
        case ast.Name(), _:
            yield target, value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for part, of_part in zip(targets, values, strict=True):
                yield from pairs(part, of_part)
        case _:
            pass


class Placed(ast.NodeTransformer):
    """Puts subscripts in the place of fields."""

    def __init__(self, names: Mapping[str, Fields], value_of: Callable[[ast.expr], Any]) -> None:
        self.names, self.value_of = names, value_of

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        base = node.value
        fields = self.names.get(base.id) if isinstance(base, ast.Name) else fields_of_call(base, self.value_of)
        self.generic_visit(node)
        if fields is None or node.attr not in fields:
            return node
        place = ast.copy_location(ast.Constant(fields.index(node.attr)), node)
        return ast.copy_location(ast.Subscript(node.value, place, node.ctx), node)
