"""What is done with dictionaries, in words that lists know: `e = d.copy()` is `e = {k: v for k, v in d.items()}`,
`d.get(k) is None` is `k not in d`, and in `sorted(set(x))` the set gets a name."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from loopdiff.immutable import replace
from loopdiff.source.dictionaries.removing import given_away
from loopdiff.source.dictionaries.tables import Outer, Table, tables_in, value_in
from loopdiff.source.functions import SourceFunction
from loopdiff.source.nodes import copied_tree, in_place_of, syntax_nodes
from loopdiff.source.scopes import fresh, words_in

MOST_COPIES = 4  # of copies
GOING_OVER = (enumerate, reversed, zip, list, tuple)


def with_plain_spellings(source: SourceFunction) -> SourceFunction:
    """`source` in such words; itself where it has none of the others."""
    if any(set_sorted_in(node, source.outer) is not None for node in syntax_nodes(source.node)):
        source = replace(source, node=Naming(source).visit(copied_tree(source.node)))
    for _ in range(MOST_COPIES):
        tables = tables_in(source.node, source.outer, given_away(source.node))
        spelling = Spelling(tables, source.outer, holds_none(source.node)) if tables else None
        made = None if spelling is None else spelling.visit(copied_tree(source.node))
        if spelling is None or not spelling.is_changed:
            break
        source = replace(source, node=made)
    return source


def holds_none(function: ast.FunctionDef) -> bool:
    """Whether None may be a value: it stands somewhere else than in questions for it."""
    asked = {
        id(part)
        for n in syntax_nodes(function)
        if isinstance(n, ast.Compare) and all(isinstance(op, ast.Is | ast.IsNot) for op in n.ops)
        for part in n.comparators
    }
    return any(isinstance(n, ast.Constant) and n.value is None and id(n) not in asked for n in syntax_nodes(function))


def set_sorted_in(node: ast.AST, outer: Outer) -> ast.Call | None:
    """What makes the set that `node` sorts where it is made."""
    match node:
        case ast.Call(func=called, args=[ast.Call(func=maker, args=[_], keywords=[]) as made]) if (
            value_in(outer, called) is sorted and value_in(outer, maker) is set
        ):
            return made
        case _:
            return None


class Naming(ast.NodeTransformer):
    """Gives names to sets that are sorted where they are made, which is the first that a statement does."""

    def __init__(self, source: SourceFunction) -> None:
        self.outer, self.words = source.outer, words_in(source.node)

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | list[ast.stmt]:
        ahead = self.named_in(node.value)
        return [*ahead, node] if ahead else node

    def visit_For(self, node: ast.For) -> ast.For | list[ast.stmt]:
        self.generic_visit(node)
        ahead = self.named_in(node.iter)
        return [*ahead, node] if ahead else node

    def named_in(self, node: ast.expr) -> list[ast.stmt]:
        """The same of sets that are sorted in `node`, also as what functions get that go over them in order: ahead of
        them only names are read."""
        own = self.named(node)
        if own is not None:
            return [own]
        if not isinstance(node, ast.Call) or not any(value_in(self.outer, node.func) is f for f in GOING_OVER):
            return []
        made: list[ast.stmt] = []
        for arg in node.args:
            ahead = self.named_in(arg)
            if not ahead and not isinstance(arg, ast.Name | ast.Constant):
                break
            made += ahead
        return made

    def named(self, node: ast.expr) -> ast.stmt | None:
        """What makes the set that `node` sorts, which stands there by its name from now on."""
        made = set_sorted_in(node, self.outer)
        if made is None or not isinstance(node, ast.Call):
            return None
        name = fresh(self.words, "distinct")
        node.args = [ast.copy_location(ast.Name(name, ast.Load()), made)]
        target = ast.copy_location(ast.Name(name, ast.Store()), made)
        return ast.copy_location(ast.Assign([target], made), made)


class Spelling(ast.NodeTransformer):
    """Writes what is done with dictionaries, which may hold None, in other words."""

    def __init__(self, tables: Mapping[str, Table], outer: Outer, has_none: bool) -> None:
        self.tables, self.outer, self.has_none, self.is_changed = tables, outer, has_none, False

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        name = self.copied(node.value) if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) else None
        if name is not None:
            made = ast.parse(f"{{key: value for key, value in {name}.items()}}", mode="eval").body
            for inner in syntax_nodes(made):
                ast.copy_location(inner, node.value)
            node.value, self.is_changed = made, True
        return node

    def copied(self, node: ast.expr) -> str | None:
        """The dictionary of numbers or arrays that `node` copies."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy"), args=[], keywords=[]):
                keeps = True
            case ast.Call(func=called, args=[ast.Name(id=name)], keywords=[]) if value_in(self.outer, called) is dict:
                keeps = False
            case _:
                return None
        table = self.tables.get(name)
        if table is None or table.is_set or table.owners is not None or (keeps and table.missing is not None):
            return None  # the copy of a `defaultdict` has its first value, too
        return name

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Attribute(value=ast.Name(id=name) as own, attr="get"), args=[key], keywords=[]),
                ops=[ast.Is() | ast.IsNot() as op],
                comparators=[ast.Constant(value=None)],
            ) if name in self.tables and not self.has_none:
                self.is_changed = True
                asked: ast.cmpop = ast.NotIn() if isinstance(op, ast.Is) else ast.In()
                return in_place_of(ast.copy_location(ast.Compare(key, [asked], [own]), node), node)
            case _:
                return node
