"""Loops over all places of an array by one name, `for ij in np.ndindex(A.shape)`: a loop for each axis."""

from __future__ import annotations

import ast

import numpy as np

from loopdiff.frontend.structures.known import axes_of_shape
from loopdiff.frontend.structures.scope import Scope, name_read, name_stored
from loopdiff.source.nodes import in_place_of, syntax_children


def by_axes(scope: Scope, node: ast.stmt) -> list[ast.stmt]:
    """The loop as one for each axis, where the text says how many there are; itself for other statements."""
    match node:
        case ast.For(
            target=ast.Name(id=name), iter=ast.Call(func=func, args=[shape], keywords=[]), body=body, orelse=[]
        ) if scope.value_outside(func) is np.ndindex and not any(map(leaves, body)):
            count = axes_of_shape(scope, shape)
        case _:
            return [node]
    if not count:
        return [node]
    sizes, places = ([scope.names.fresh(stem) for _ in range(count)] for stem in ("size", f"{name}_part"))
    ends = ast.Tuple([ast.Name(n, ast.Store()) for n in sizes], ast.Store())
    whole = ast.Tuple([ast.Name(n, ast.Load()) for n in places], ast.Load())
    made: list[ast.stmt] = [ast.Assign([name_stored(name, node)], whole), *body]
    counter = scope.name_for(range, node)
    for place, size in reversed(list(zip(places, sizes, strict=True))):
        over = ast.Call(counter, [name_read(size, node)], [])
        made = [ast.For(name_stored(place, node), over, made, [])]
    return [in_place_of(ast.Assign([ends], shape), node), *(in_place_of(stmt, node) for stmt in made)]


def leaves(node: ast.stmt) -> bool:
    """Whether a statement of a loop leaves that, and not a loop inside."""
    if isinstance(node, ast.Break):
        return True
    inner = node.orelse if isinstance(node, ast.For | ast.While) else syntax_children(node)
    return any(leaves(n) for n in inner if isinstance(n, ast.stmt))
