"""Dictionaries of lists, whose items are copied where they are read: nobody may tell these from the lists."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from loopdiff.source.dictionaries.parts import Rewriting
from loopdiff.source.dictionaries.tables import Table
from loopdiff.source.nodes import syntax_children, syntax_nodes

CHANGING = ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse")
Loop = ast.For | ast.While


def lists_of(table: Table) -> tuple[str, ...]:
    """The lists that a dictionary is."""
    return (*table.keys, table.links, *(() if table.owners is None else (table.owners,)), table.values, *table.more)


def dictionary_of_list(node: ast.expr, tables: Mapping[str, Table]) -> str | None:
    """The dictionary whose list `node` is, as `d[key]` or `d.setdefault(key, [])`."""
    match node:
        case (
            ast.Subscript(value=ast.Name(id=name))
            | ast.Call(func=ast.Attribute(ast.Name(id=name), "setdefault"), args=[_, _], keywords=[])
        ) if name in tables and tables[name].owners is not None:
            return name
        case _:
            return None


def grows_in(nodes: Sequence[ast.stmt], name: str) -> bool:
    """Whether lists of that dictionary may change in `nodes`."""
    return any(is_change(node, (name,)) for stmt in nodes for node in syntax_nodes(stmt))


def is_change(node: ast.AST, names: Collection[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=own)))):
            return own in names
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(ast.Name(id=own))))):
            return own in names
        case ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr=attr)):
            return own in names and attr in CHANGING
        case ast.Subscript(value=ast.Name(id=own), ctx=ast.Store()):
            return own in names
        case _:
            return False


def kept_list(function: ast.FunctionDef, scope: Rewriting) -> ast.AST | None:
    """A list that is copied where more is done than to look into it, at once or, under names, while they stay as they
    are; None if there is none."""
    lists = {name for t in scope.tables.values() if t.owners for name in (t.values, t.owners, *t.more)}
    parents = {child: node for node in syntax_nodes(function) for child in syntax_children(node)}
    waiting: list[ast.AST] = [n for n in syntax_nodes(function) if is_copy_of(n, lists)]
    names: set[str] = set()
    while waiting:
        node = waiting.pop()
        match parents[node]:
            case ast.Call(func=func) as call if node is not func and (is_own(scope, func) or scope.is_harmless(call)):
                pass
            case ast.Subscript(ctx=ast.Load()) | ast.For() | ast.comprehension() | ast.If() | ast.IfExp():
                pass
            case ast.UnaryOp(op=ast.Not()):
                pass
            case ast.Assign(targets=[ast.Name(id=name)]) as stmt if stays(function, parents, stmt, lists):
                more = [] if name in names else [n for n in syntax_nodes(function) if is_read(n, name)]
                names.add(name)
                waiting += more
            case ast.Assign(targets=[ast.Name(id=name)]) as stmt if is_used_at_once(function, parents, stmt, lists):
                waiting += [n for n in syntax_nodes(function) if is_read(n, name)]
            case _:
                return node
    return next((n for n in syntax_nodes(function) if is_augmented(n, names)), None)


def is_copy_of(node: ast.AST, lists: Collection[str]) -> bool:
    """Whether `node` is a comprehension over one of `lists` and what it belongs to."""
    match node:
        case ast.ListComp(
            generators=[
                ast.comprehension(
                    iter=ast.Call(
                        args=[ast.Name(id=owners) | ast.Call(args=[ast.Name(id=owners), _]), ast.Name(id=own)]
                    )
                )
            ]
        ):
            return owners in lists and own in lists
        case _:
            return False


def is_read(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def is_used_at_once(
    function: ast.FunctionDef, parents: Mapping[ast.AST, ast.AST], stmt: ast.Assign, lists: Collection[str]
) -> bool:
    """Whether only the statement behind `stmt`, or its head, reads the name, and none of `lists` changes before."""
    name = next(t.id for t in stmt.targets if isinstance(t, ast.Name))
    block = next(b for b in blocks_of(parents[stmt]) if stmt in b)
    behind = block[block.index(stmt) + 1 :]
    reads = [n for n in syntax_nodes(function) if is_read(n, name)]
    until = next((k for k, other in enumerate(behind) if any(n in reads for n in syntax_nodes(other))), 0)
    between, user = behind[:until], behind[until : until + 1]
    inside = {n for part in user for n in syntax_nodes(part)}
    in_blocks = {n for part in user for b in blocks_of(part) for other in b for n in syntax_nodes(other)}
    are_held = all(isinstance(other, ast.Assign | ast.If) for other in between)
    if any(isinstance(n, ast.While) for n in user) or any(
        is_change(n, lists) for o in between for n in syntax_nodes(o)
    ):
        return False
    if any(isinstance(n, ast.For) for n in user) and any(is_change(n, lists) for n in in_blocks):
        return False
    return are_held and all(n in inside - in_blocks for n in reads)


def blocks_of(node: ast.AST) -> list[list[ast.stmt]]:
    return [b for field in ("body", "orelse") if isinstance(b := getattr(node, field, None), list)]


def is_own(scope: Rewriting, func: ast.expr) -> bool:
    return isinstance(func, ast.Name) and func.id in scope.called


def is_augmented(node: ast.AST, names: Collection[str]) -> bool:
    """Whether `node` changes what one of `names` stands for."""
    is_added = isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in names
    return is_added or is_change(node, names)


def stays(
    function: ast.FunctionDef, parents: Mapping[ast.AST, ast.AST], stmt: ast.stmt, items: Collection[str]
) -> bool:
    """Whether none of the lists `items` changes after `stmt`, or in a loop around."""
    outermost: ast.AST = stmt
    around: list[ast.AST] = [stmt]
    while (outermost := parents[outermost]) is not function:
        around.append(outermost)
    loops = [node for node in around if isinstance(node, Loop)]
    later = list(after(function, stmt))
    nodes = (n for part in (*loops, *later) for n in syntax_nodes(part))
    return not any(is_change(n, items) for n in nodes)


def after(function: ast.FunctionDef, stmt: ast.stmt) -> Iterator[ast.AST]:
    """Statements of the text that come after `stmt`."""
    nodes = [n for n in syntax_nodes(function) if isinstance(n, ast.stmt)]
    inside = set(syntax_nodes(stmt))
    order = {node: k for k, node in enumerate(in_text(function))}
    yield from (n for n in nodes if order[n] > order[stmt] and n not in inside)


def in_text(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and what is in it, in the order of the text."""
    yield node
    for child in syntax_children(node):
        yield from in_text(child)
