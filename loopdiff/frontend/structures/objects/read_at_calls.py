"""What a program finds outside, or in the classes of objects, as it is at each call."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from loopdiff.frontend.structures.given import flattened, known_rank, outer_tree
from loopdiff.frontend.structures.scope import Outer, Scope
from loopdiff.frontend.structures.trees import Branch, Leaf, Path, Tree, with_leaves
from loopdiff.immutable import immutable, replace


@immutable
class OfClass(Outer):
    """What the class `function` has under the name `text`."""

    def whole(self) -> Callable[[], Any]:
        return lambda: getattr(self.function, self.text)


def function_of_class(scope: Scope, tree: Branch, attr: Any, node: ast.expr) -> Tree | None:
    """A function that makes no method, which the class of a record has under a name: `activation = np.tanh`."""
    found = inspect.getattr_static(tree.type, attr, None) if isinstance(attr, str) else None
    found = getattr(found, "__func__", found) if isinstance(found, staticmethod) else found
    is_function = isinstance(found, np.ufunc | BuiltinFunctionType)
    return tree_outside(scope, OfClass(tree.type, attr), node) if is_function else None


def tree_outside(scope: Scope, here: Outer, node: ast.expr) -> Tree:
    """An array, which becomes a parameter, or a number, a text or a structure, of which the arrays and floating numbers
    do; of what else there is another is another program."""
    now = here.reader()()
    if isinstance(now, np.ndarray):
        return Leaf(scope.parameter_for(here, node), known_rank(now))
    seen = scope.sources.seen
    scope.outside[here] = flattened((now,) if seen is None else seen.of((now,)))
    tree = outer_tree(scope.outside[here])

    def leaf_at(path: Path, leaf: Leaf) -> Leaf:
        if isinstance(leaf.known, int):
            return Leaf(ast.copy_location(ast.Constant(leaf.known), node), leaf.known)
        return Leaf(scope.parameter_for(replace(here, path=path), node), leaf.known)

    return with_leaves(tree if seen is None else seen.marked(tree), leaf_at)
