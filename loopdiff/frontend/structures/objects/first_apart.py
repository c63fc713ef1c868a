"""Loops before which part of an object is None, and something else from their first iteration on, as the velocity that
an optimiser keeps: that iteration stands apart, ahead of a loop for the rest."""

from __future__ import annotations

import ast
from collections.abc import Collection

from loopdiff.frontend.structures.rewriting import copied
from loopdiff.frontend.structures.scope import PLAIN, Scope, Torn, name_read, name_stored
from loopdiff.frontend.structures.trees import Branch, Static, Tree
from loopdiff.source.continued import without_continue
from loopdiff.source.nodes import copied_tree, in_place_of


def begins_with_none(scope: Scope, names: Collection[str]) -> bool:
    """Whether some of `names` hold what has None in it, or something else, depending on the way, which no flag says."""
    trees = (scope.held[name] for name in names if name not in scope.flags)
    return any(isinstance(tree, Torn) and has_none_once(tree.first, tree.second) for tree in trees)


def has_none_once(first: Tree, second: Tree) -> bool:
    """Whether one of two trees has None where the other has something else."""
    match first, second:
        case (Static(value=None), other) | (other, Static(value=None)):
            return not (isinstance(other, Static) and other.value is None)
        case Branch(), Branch() if first.keys == second.keys:
            return any(map(has_none_once, first.items, second.items))
        case _:
            return False


def first_apart(scope: Scope, node: ast.For) -> ast.If | None:
    """The loop over a range as one iteration and a loop for the rest; None for other loops, and such a rest."""
    match node.iter:
        case ast.Call(func=func, args=[last], keywords=[]):
            start: ast.expr = ast.copy_location(ast.Constant(0), node.iter)
        case ast.Call(func=func, args=[start, last], keywords=[]):
            pass
        case _:
            return None
    is_rest = any(node is rest for rest in scope.growing.rests)
    body = without_continue(node.body) or node.body  # an iteration that stands apart has no loop to go on with
    if scope.value_outside(func) is not range or node.orelse or is_rest or not scope.may_run_ahead:
        return None
    first, end = scope.names.fresh("first"), scope.names.fresh("end")
    for name, bound in ((first, start), (end, last)):
        scope.out.append(ast.copy_location(ast.Assign([name_stored(name, node)], copied_tree(bound)), node))
        scope.hold(name, PLAIN, node)
    second = ast.BinOp(name_read(first, node), ast.Add(), ast.Constant(1))
    over = in_place_of(ast.Call(func, [second, name_read(end, node)], []), node.iter)
    rest = copied(node, iter=over, body=[copied_tree(stmt) for stmt in body])
    scope.growing.rests.append(rest)
    begun = ast.copy_location(ast.Assign([copied_tree(node.target)], name_read(first, node)), node)
    test = in_place_of(ast.Compare(name_read(first, node), [ast.Lt()], [name_read(end, node)]), node.iter)
    return ast.copy_location(ast.If(test, [begun, *body, rest], []), node)
