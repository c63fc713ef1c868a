"""Ranges that are kept, `self.steps = range(n)`, or given back, `return range(n - 1, -1, -1)`: structures of their
bounds, which loops over them put together again."""

from __future__ import annotations

import ast
from typing import cast

from loopdiff.frontend.structures.rewriting import element
from loopdiff.frontend.structures.scope import Scope
from loopdiff.frontend.structures.trees import Branch, Tree
from loopdiff.source.named.ranges import BOUNDS, in_full, is_range


def kept_value(scope: Scope, node: ast.expr) -> Tree:
    """The value of `node`, which something keeps."""
    return range_kept(scope, node) or element(scope, node)


def range_kept(scope: Scope, node: ast.expr) -> Branch | None:
    """The bounds of the range that `node` makes; None for others."""
    if not is_range(node, scope.value_outside):
        return None
    return Branch("record", range, BOUNDS, tuple(element(scope, bound) for bound in in_full(cast(ast.Call, node))))
