"""Names that may be read before they have a value, as `J` after a loop that a `break` may leave before it binds `J`:
beside each a variable says whether it has one, so that Python's error is one here as well."""

from __future__ import annotations

import ast

from loopdiff.frontend.liveness import bound_names, open_at_entry
from loopdiff.immutable import replace
from loopdiff.source.functions import SourceFunction
from loopdiff.source.nodes import copied_tree, in_place_of, syntax_nodes
from loopdiff.source.scopes import fresh, own_names, words_in


def with_names_told(source: SourceFunction) -> SourceFunction:
    """`source` with such variables; itself where all names have values when they are read."""
    names = names_open(source.node)
    if not names:
        return source
    words = {*words_in(source.node), *source.outer}
    flags = {name: fresh(words, f"has_{name}") for name in sorted(names)}
    node = Telling(flags).visit(copied_tree(source.node))
    first = node.body[0]
    node.body = [*(assigned(flag, False, first) for flag in flags.values()), *node.body]
    return replace(source, node=ast.fix_missing_locations(node), told=tuple(flags.items()))


def with_none_first(source: SourceFunction) -> SourceFunction:
    """`source` with None for such names, before they have other values; itself where there are none."""
    names = names_open(source.node)
    if not names:
        return source
    node = copied_tree(source.node)
    node.body = [*(assigned(name, None, node.body[0]) for name in sorted(names)), *node.body]
    return replace(source, node=ast.fix_missing_locations(node))


def names_open(function: ast.FunctionDef) -> set[str]:
    """Names of `function` that may be read before they are bound, but for those that functions inside it mention."""
    deleted = {n.id for n in syntax_nodes(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
    given = {a.arg for a in syntax_nodes(function.args) if isinstance(a, ast.arg)}
    return set((open_at_entry(function) & own_names(function)) - deleted - given)


def assigned(name: str, value: object, node: ast.AST) -> ast.stmt:
    return in_place_of(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), node)  # type: ignore[arg-type]


class Telling(ast.NodeTransformer):
    """Puts what says that a name has a value behind each statement that binds it."""

    def __init__(self, flags: dict[str, str]) -> None:
        self.flags, self.is_inside = flags, False

    def told(self, targets: list[ast.expr], node: ast.stmt) -> list[ast.stmt]:
        names = dict.fromkeys(name for target in targets for name in bound_names(target) if name in self.flags)
        return [assigned(self.flags[name], True, node) for name in names]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        return [node, *self.told(node.targets, node)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        return [node, *(self.told([node.target], node) if node.value is not None else [])]

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        node.body = [*self.told([node.target], node), *node.body]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        is_outermost, self.is_inside = not self.is_inside, True
        if is_outermost:
            self.generic_visit(node)
        return node
