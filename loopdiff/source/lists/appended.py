"""Lists that get an item on each way through a branch: they get it behind the branch, so that their length shows.

if c:                           if c:
    v.append(a)                     item = a
else:                   ->      else:
    v.append(b)                     item = b
                                v.append(item)
"""

from __future__ import annotations

import ast
from typing import Any

from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import fresh, words_in


def with_appends_last(function: ast.FunctionDef) -> ast.FunctionDef:
    """`function` with such branches; itself where there are none."""
    if not any(isinstance(n, ast.If) and appended_to(n) is not None for n in syntax_nodes(function)):
        return function
    found = Appending(words_in(function)).visit(copied_tree(function))
    assert isinstance(found, ast.FunctionDef)
    return ast.fix_missing_locations(found)


class Appending(ast.NodeTransformer):
    """Writes branches that end by an item for the same list in another way, with names that are not among `words`."""

    def __init__(self, words: set[str]) -> None:
        self.words = words

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        name = appended_to(node)
        if name is None:
            return node
        item = fresh(self.words, "item")
        for block in (node.body, node.orelse):
            last = item_of(block[-1], name)
            assert last is not None
            block[-1] = ast.copy_location(ast.Assign([ast.Name(item, ast.Store())], last), last)
        function = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
        call = ast.Call(function, [ast.Name(item, ast.Load())], [])
        return [node, ast.copy_location(ast.Expr(ast.copy_location(call, node)), node)]


def appended_to(node: ast.If) -> str | None:
    """The list that gets one value at the end of both ways; None if there is none."""
    match node.body[-1]:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            ends = [item_of(block[-1], name) if block else None for block in (node.body, node.orelse)]
            return None if None in ends else name
        case _:
            return None


def item_of(node: ast.stmt, name: str) -> ast.expr | None:
    """The value that `node` appends to the list `name`, if that may be an array."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="append"), args=[item])) if (
            own == name and isinstance(item, ast.Subscript | ast.Call | ast.BinOp)
        ):
            return item
        case _:
            return None
