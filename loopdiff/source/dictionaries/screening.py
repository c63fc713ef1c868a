"""Which functions may have their dictionaries as lists: those in which nobody sees when a dictionary is asked.

Whatever asks one evaluates it where it stands, in the order of the program, and by the dictionary that there is then.
The rewriting moves questions ahead of statements, and changes lists in place: what could tell is refused as a whole.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from loopdiff.source.dictionaries.iteration import VIEWS
from loopdiff.source.dictionaries.tables import Table, making
from loopdiff.source.functions import MISSING, dotted_name
from loopdiff.source.nodes import syntax_nodes

FRESH = (np.zeros, np.ones, np.full, np.empty, float, int, list)  # make something, and ask nobody


def what_tells(function: ast.FunctionDef, tables: Mapping[str, Table], outer: Mapping[str, Any]) -> ast.AST | None:
    """What in `function` could tell lists from its dictionaries, the `tables`; the function where nothing alone does,
    None if nobody can tell."""

    def mentions(*nodes: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in tables for node in nodes for n in syntax_nodes(node))

    def adds(*nodes: ast.AST) -> bool:
        names = (n.id for node in nodes for n in syntax_nodes(node) if isinstance(n, ast.Name))
        return any(name in tables and tables[name].missing is not None for name in names)

    def is_fresh(node: ast.AST) -> bool:
        """Whether `node` asks no dictionary, and calls nothing but what makes arrays, numbers and lists."""
        calls = [n for n in syntax_nodes(node) if isinstance(n, ast.Call)]
        made = [outer.get(dotted_name(c.func) or "", MISSING) for c in calls]
        known = all(any(m is f for f in FRESH) for m in made)
        return known and not mentions(node) and not any(isinstance(n, ast.NamedExpr) for n in syntax_nodes(node))

    def tells(node: ast.AST) -> bool:
        match node:
            case ast.FunctionDef() | ast.Lambda() | ast.ClassDef() if node is not function:
                return mentions(node)  # it asks when it is called
            case ast.Compare(comparators=[_, *later]) if later:
                return mentions(*later)  # asked only where what is before holds
            case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple(elts=values)):
                made = [v for v in values if making(v, outer) is not None]
                return bool(made) and not all(is_fresh(v) for v in values if v not in made)
            case ast.AugAssign(target=ast.Subscript(slice=key)):
                return adds(key)  # before the value is evaluated
            case ast.Call(func=ast.Attribute(attr="setdefault"), args=[_, value]):
                return not is_fresh(value)
            case _:
                return False

    nodes = list(syntax_nodes(function))
    at_once = {id(n.value) for n in nodes if isinstance(n, ast.keyword) and n.arg == "key"}  # of max, min and sorted
    missing = [t.missing for t in tables.values() if t.missing is not None]
    if has_old_views(nodes, tables, lambda made: making(made, outer) is not None):
        return function
    doing = next((m for m in missing if not is_fresh(m)), None)
    return doing or next((n for n in nodes if id(n) not in at_once and tells(n)), None)


def has_old_views(nodes: list[ast.AST], tables: Mapping[str, Table], makes: Callable[[ast.expr], bool]) -> bool:
    """Whether a name may stand for the keys or values of a dictionary whose name gets another one."""
    made: dict[str, int] = {}
    viewed: set[str] = set()
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in tables and makes(value):
                made[name] = made.get(name, 0) + 1
            case ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr))) if attr in VIEWS:
                viewed.add(name)
            case _:
                pass
    return any(made.get(name, 0) > 1 for name in viewed)
