"""Names that get several values at once, as `up, down = range(n), range(n - 1, -1, -1)`: one after the other, where
some of these are to be written where the names are read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from loopdiff.source.nodes import syntax_nodes


class InTurn(ast.NodeTransformer):
    """Writes `a, b = slice(1, n), slice(k)` as two assignments, of names that no value there reads, where one of the
    values `is_named`."""

    def __init__(self, is_named: Callable[[ast.expr], bool]) -> None:
        self.is_named = is_named

    def visit_Assign(self, node: ast.Assign) -> ast.AST | Sequence[ast.stmt]:
        match node:
            case ast.Assign([ast.Tuple(elts=targets)], ast.Tuple(elts=values)) if len(targets) == len(values):
                pass
            case _:
                return node
        names = {t.id for t in targets if isinstance(t, ast.Name)}
        read = {n.id for n in syntax_nodes(node.value) if isinstance(n, ast.Name)}
        if not any(map(self.is_named, values)) or len(names) < len(targets) or names & read:
            return node
        pairs = zip(targets, values, strict=True)
        return [ast.copy_location(ast.Assign([target], value), node) for target, value in pairs]
