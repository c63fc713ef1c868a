"""What lists are sorted by: functions that are given as `key`, as lists of what they give for each element."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence

from loopdiff.source.dictionaries.parts import expression_of, load_of
from loopdiff.source.lists.found import ValueOf
from loopdiff.source.nodes import copied_tree, syntax_nodes


def key_expressions(key: ast.expr, each: str, value_of: ValueOf) -> Sequence[ast.expr] | None:
    """What the function `key` gives for the element that is called `each`, place by place if it gives tuples; None if
    that does not show."""
    match key:
        case ast.Lambda(
            args=ast.arguments(
                posonlyargs=[], args=[ast.arg(arg=name)], vararg=None, kwonlyargs=[], kwarg=None, defaults=[]
            ),
            body=body,
        ):
            found = Renamed(name, each).visit(copied_tree(body))
            return found.elts if isinstance(found, ast.Tuple) else [found]
        case ast.Call(func=func, args=[_, *_] as places, keywords=[]) if value_of(func) is operator.itemgetter:
            return [expression_of(f"{each}[PLACE]", key, PLACE=place) for place in places]
        case ast.Name() | ast.Attribute():
            return [ast.copy_location(ast.Call(copied_tree(key), [load_of(each)], []), key)]
        case _:
            return None


class Renamed(ast.NodeTransformer):
    """Calls what a lambda calls `old` by the name `new`, which nothing in it is called by."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        if self.old in {a.arg for a in syntax_nodes(node.args) if isinstance(a, ast.arg)}:
            node.args = self.visit(node.args)  # defaults; in the body the name means something else
            return node
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name(self.new, node.ctx), node) if node.id == self.old else node
