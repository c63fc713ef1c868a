"""Bodies of loops without `continue`: what would have been left out stands under the condition that it is not."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from loopdiff.source.nodes import syntax_children, syntax_nodes

MOST_GROWN = 4  # times as many nodes as before
MOST_ENDS = 64  # branches in which the last statement is written out before their nodes are counted


def without_continue(nodes: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    """`nodes`, the body of a loop; None where they would become too many: what follows a branch that goes on, in some
    cases only, stands in it several times."""
    if ends_of(nodes) > MOST_ENDS:
        return None
    made = continued(list(nodes))
    before, after = (sum(1 for node in block for _ in syntax_nodes(node)) for block in (nodes, made))
    return made if after <= MOST_GROWN * before else None


def ends_of(nodes: Sequence[ast.stmt]) -> int:
    """In how many branches stands what follows `nodes`, as far as it takes to see that they are too many."""
    ends = 1
    for node in nodes:
        if isinstance(node, ast.Continue):
            return 0
        if isinstance(node, ast.If) and has_continue(node):
            ends *= ends_of(node.body) + ends_of(node.orelse)
        if ends == 0 or ends > MOST_ENDS:
            break
    return ends


def continued(nodes: list[ast.stmt]) -> list[ast.stmt]:
    for k, node in enumerate(nodes):
        match node:
            case ast.Continue():
                return nodes[:k]
            case ast.If(test=test, body=body, orelse=orelse) if has_continue(node):
                rest = nodes[k + 1 :]
                then, other = continued([*body, *rest]), continued([*orelse, *rest])
                empty: list[ast.stmt] = [ast.copy_location(ast.Pass(), node)]
                return [*nodes[:k], ast.copy_location(ast.If(test, then or empty, other), node)]
            case _:
                pass
    return nodes


def has_continue(node: ast.AST) -> bool:
    """Whether the loop around `node` goes on from somewhere in it."""
    if isinstance(node, ast.For | ast.While):
        return any(map(has_continue, node.orelse))
    return isinstance(node, ast.Continue) or any(map(has_continue, syntax_children(node)))
