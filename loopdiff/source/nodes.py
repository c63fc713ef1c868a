"""Syntax trees: what is inside, found several times as fast as by `ast.walk`, copies, places, and calls of a function
itself.

Each rewriting of a source looks through all of it: with the library's function, which asks every node for every field
and gives `Load()` and `Store()` as well, this was a sixth of the time of the front end.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T")
A = TypeVar("A", bound=ast.AST)
TEXTS = frozenset(
    ("arg", "asname", "attr", "conversion", "id", "is_async", "kind", "level", "module", "name", "rest", "simple")
)
# What names are read for, and which operator it is, are asked of the node that has it.
SIGNS = frozenset(("ctx", "op", "ops"))
LEAVES = (ast.Constant, ast.Global, ast.Nonlocal, ast.TypeIgnore)


class GrownList(ast.List):
    """A list that is written out and grows later, in whatever function, by whatever it is called."""


class NumberOrArray(ast.Name):
    """A name of which something is asked that NumPy asks of numbers, too: they are arrays without axes."""


# By which visitors go, `ast.unparse` among them.
GrownList.__name__ = ast.List.__name__
NumberOrArray.__name__ = ast.Name.__name__


class Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each class of nodes that hold nodes, found when the first one is met."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        is_leaf = issubclass(kind, LEAVES)
        found = self[kind] = () if is_leaf else tuple(f for f in kind._fields if f not in TEXTS and f not in SIGNS)
        return found


FIELDS = Fields()


def syntax_nodes(root: ast.AST) -> list[ast.AST]:
    """`root` and all that is in it, level by level as `ast.walk` has it, but for contexts and operators."""
    found = [root]
    for node in found:  # as `syntax_children` has them: this is asked for a million times while a program is read
        held = node.__dict__
        for name in FIELDS[node.__class__]:
            value = held.get(name)
            if isinstance(value, list):
                found += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def syntax_children(node: ast.AST) -> list[ast.AST]:
    """What stands in the fields of `node`, in their order, but for contexts and operators."""
    found: list[ast.AST] = []
    for name in FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def copied_tree(node: T) -> T:
    """A node and all that is in it once more, or a list of such, in a quarter of the time of `copy.deepcopy`.

    Shared are contexts and operators, which nobody changes, and values in constants, which may be modules.
    """
    if isinstance(node, list):
        return cast("T", [copied_tree(part) for part in cast("list[Any]", node)])
    if not isinstance(node, ast.AST):
        return node
    made = node.__class__.__new__(node.__class__)
    fields = made.__dict__
    for name, value in node.__dict__.items():
        if value.__class__ is list:
            fields[name] = [copied_tree(part) for part in value]
        elif isinstance(value, ast.AST) and name not in SIGNS:
            fields[name] = copied_tree(value)
        else:
            fields[name] = value
    return cast("T", made)


def direct_call(
    function: Any, args: Sequence[ast.expr], node: ast.AST, keywords: Sequence[ast.keyword] = ()
) -> ast.Call:
    """A call of `function` itself, whatever its name means there, in the place of `node`."""
    called = ast.copy_location(ast.Constant(function), node)
    return ast.copy_location(ast.Call(called, list(args), list(keywords)), node)


def in_place_of(made: A, node: ast.AST) -> A:
    """`made`, with what in it is in no place where `node` is."""
    for inner in syntax_nodes(made):
        if isinstance(inner, ast.expr | ast.stmt) and not hasattr(inner, "lineno"):
            ast.copy_location(inner, node)
    return made
