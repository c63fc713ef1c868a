"""What may change something when it is computed: it is computed once, where it stands, or the program is refused."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from loopdiff.frontend.structures.scope import Apart, Scope
from loopdiff.frontend.structures.signs import CHANGING, may_write
from loopdiff.frontend.structures.trees import Tree, leaves
from loopdiff.source.functions import MISSING, python_function
from loopdiff.source.nodes import syntax_nodes


class OutOfTurn(Exception):
    """The call `node`, which gives a structure and may change what is read before it, stands behind something else."""

    def __init__(self, node: ast.AST) -> None:
        super().__init__()
        self.node = node


def has_effects(scope: Scope, node: ast.expr) -> bool:
    """Whether computing `node` may change an array."""
    return any(isinstance(n, ast.Call) and changes(scope, n) for n in syntax_nodes(node))


def changes(scope: Scope, node: ast.Call) -> bool:
    match node.func:
        case ast.Constant(value=Apart(source=source)):
            return may_write(source, scope.sources)
        case ast.Attribute(attr=attr) if attr in CHANGING:
            return True
        case function:
            value = scope.value_outside(function)
    if value is MISSING:
        return isinstance(node.func, ast.Name)
    if scope.sources.rule_of(value) is not None or any(k.arg == "out" for k in node.keywords):
        return True
    called = python_function(value)
    return (
        called is not None and called in scope.sources.known and may_write(scope.sources.known[called], scope.sources)
    )


def require_settled(scope: Scope, trees: Iterable[Tree], node: ast.AST) -> None:
    """Reject elements that may change something where not all of them are taken, once and in their order."""
    if any(has_effects(scope, leaf.expr) for tree in trees for _, leaf in leaves(tree)):
        hint = "assign each to a name on a line of its own"
        scope.reject(f"`{ast.unparse(node)}` has elements that may change an array", node, hint)
