"""Blocks of `with np.errstate(...)` as what is in them: compiled code warns of no infinities and NaN anyway.

Those that ask for an exception, or for a function to be called, stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from loopdiff.source.nodes import copied_tree, syntax_nodes

KINDS = frozenset({"all", "divide", "over", "under", "invalid"})
SILENT = frozenset({"ignore", "warn"})


def without_error_states(function: ast.FunctionDef, value_of: Callable[[ast.expr], Any]) -> ast.FunctionDef:
    """`function` without such blocks; `value_of` says what names from outside mean."""
    if not any(isinstance(n, ast.With) for n in syntax_nodes(function)):
        return function
    found = Opened(value_of).visit(copied_tree(function))
    assert isinstance(found, ast.FunctionDef)
    return found


class Opened(ast.NodeTransformer):
    def __init__(self, value_of: Callable[[ast.expr], Any]) -> None:
        self.value_of = value_of

    def visit_With(self, node: ast.With) -> ast.With | list[ast.stmt]:
        self.generic_visit(node)
        return node.body if all(map(self.is_silent, node.items)) else node

    def is_silent(self, item: ast.withitem) -> bool:
        """Whether `item` only says which floating-point errors are warned of."""
        match item:
            case ast.withitem(ast.Call(ast.Name() | ast.Attribute() as called, [], [*keywords]), None):
                return self.value_of(called) is np.errstate and all(map(is_no_exception, keywords))
            case _:
                return False


def is_no_exception(keyword: ast.keyword) -> bool:
    return keyword.arg in KINDS and isinstance(keyword.value, ast.Constant) and keyword.value.value in SILENT
