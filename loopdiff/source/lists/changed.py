"""Functions whose lists change as they do in Python, by means of lists that grow and shrink at their ends."""

from __future__ import annotations

import ast
from typing import Any

from loopdiff.immutable import replace
from loopdiff.source.columns import Columns
from loopdiff.source.dictionaries.tables import makings_in, value_in
from loopdiff.source.functions import SourceFunction
from loopdiff.source.lists.found import NUMBERS, lists_in
from loopdiff.source.lists.methods import ListStatements
from loopdiff.source.lists.uses import loses_bounds
from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import bound_within, words_in

PLAIN = {"len": len, "zip": zip}


def with_changing_lists(source: SourceFunction) -> SourceFunction:
    """`source` with its lists so, and those of functions inside it; itself where there are none, or something is done
    with one that cannot be done so."""
    if bound_within(source.node) & PLAIN.keys():
        return source
    node, words = Branching().visit(copied_tree(source.node)), {*words_in(source.node), *source.outer, *PLAIN}
    names, called = dict[str, str](), dict[str, Any]()
    functions = [n for n in syntax_nodes(node) if isinstance(n, ast.FunctionDef)]
    for function in reversed(functions):
        found = changed_in(function, source, words)
        if found is None:
            continue
        names, called = names | found[1], called | found[2]
        function.body = found[0].body
    if not called and not names:
        return source
    outer = {**PLAIN, **source.outer, **called}
    spoken = (*source.spoken, *names.items())
    node = ast.fix_missing_locations(node)
    return replace(source, node=node, outer=outer, lists=source.lists | names.keys(), spoken=spoken)


def changed_in(
    function: ast.FunctionDef, source: SourceFunction, words: set[str]
) -> tuple[ast.FunctionDef, dict[str, str], dict[str, Any]] | None:  # fmt: skip
    """`function` with its lists so, the names of these with those that reports have for them, and what functions it
    calls under which names; None where nothing is to be done, or cannot be done."""
    node = copied_tree(function)

    def value_of(name: ast.expr) -> Any:
        return value_in(source.outer, name)

    lists = lists_in(node, value_of)
    dictionaries = set(makings_in(list(syntax_nodes(node)), source.outer))
    if loses_bounds(lists):
        return None
    writing = ListStatements(lists, words, dictionaries)
    made = writing.visit(node)
    if writing.has_failed or not writing.changed:
        return None
    made = ast.fix_missing_locations(made)
    names = {name: name for name in writing.changed}
    for name in sorted(writing.changed):
        width = lists.found[name].width
        if width == NUMBERS:
            continue
        apart = Columns(name, width, made, set(writing.called), words)
        made = ast.fix_missing_locations(apart.visit(copied_tree(made)))
        if apart.is_left(made):
            return None
        del names[name]
        names |= dict.fromkeys(apart.parts, name)
    return made, names, writing.called


class Branching(ast.NodeTransformer):
    """Writes `v = a if c else b`, of lists, as branches, and `v, w = [], []` as two statements."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if (
                len(targets) == len(values)
                and all(isinstance(t, ast.Name) for t in targets)
                and all(isinstance(v, ast.Constant | ast.List) and is_constant(v) for v in values)
            ):
                pairs = zip(targets, values, strict=True)
                return [ast.copy_location(ast.Assign([t], v), node) for t, v in pairs]
            case ast.Assign(targets=[ast.Name() as target], value=ast.IfExp(test=test, body=body, orelse=orelse)) if (
                any(isinstance(n, ast.List | ast.ListComp) for n in syntax_nodes(node.value))
            ):
                ways = [ast.copy_location(ast.Assign([copied_tree(target)], v), node) for v in (body, orelse)]
                return ast.copy_location(ast.If(test, [ways[0]], [ways[1]]), node)
            case _:
                return node


def is_constant(node: ast.expr) -> bool:
    return not any(isinstance(n, ast.Name | ast.Call | ast.Starred) for n in syntax_nodes(node))
