"""What keys may be: numbers that Python has a hash for, the one of equal numbers, and tuples of as many as a dictionary
has places for."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from loopdiff.source.dictionaries.iteration import dictionary_view
from loopdiff.source.dictionaries.parts import Rewriting
from loopdiff.source.dictionaries.tables import Outer, keys_of, makings_in, value_in
from loopdiff.source.named.results import pairs
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.scopes import bound_by

WORDS = frozenset(("float16", "float32", "half", "single", "longdouble", "complex64", "f2", "f4", "c8"))
NARROW = (np.float16, np.float32, np.longdouble, np.complex64)
ARRAYS = (  # give an array, without axes perhaps, and never a number
    np.array, np.asarray, np.asanyarray, np.copy, np.squeeze, np.reshape, np.where, np.select, np.full, np.zeros,
    np.ones, np.empty, np.full_like, np.zeros_like, np.ones_like, np.empty_like, np.broadcast_to
)  # fmt: skip
Values = Mapping[str, Sequence[ast.expr]]


def other_key(function: ast.FunctionDef, scope: Rewriting) -> ast.AST | None:
    """A key that is not what it is taken for, or what may make such; None if there is none."""
    nodes = [node for node in syntax_nodes(function) if node is not function]
    narrow = next((node for node in nodes if is_narrow(node, scope.outer)), None)
    makings, values = makings_in(nodes, scope.outer), values_of_names(nodes)
    tuples = widths_of_names(nodes, values, scope)
    for name, table in scope.tables.items():
        for key in keys_of(nodes, name, makings[name]):
            parts = key.elts if isinstance(key, ast.Tuple) else [key]
            if any(may_be_array(part, scope.outer, values) for part in parts):
                return key
            if isinstance(key, ast.Name) and len(table.keys) > 1 and tuples.get(key.id) != len(table.keys):
                return key
    return narrow


def values_of_names(nodes: Sequence[ast.AST]) -> Values:
    """What `nodes` assign to names, as far as it is one expression for one name."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                given = [pair for target in targets for pair in pairs(target, value)]
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                given = list(pairs(target, value))
            case _:
                continue
        for name, expr in given:
            found.setdefault(name.id, []).append(expr)
    return found


def may_be_array(node: ast.expr, outer: Outer, values: Values, behind: tuple[str, ...] = ()) -> bool:
    """Whether `node` may be an array without axes, which is no key: a number for us."""
    match node:
        case ast.Name(id=name) if name not in behind:
            return any(may_be_array(v, outer, values, (*behind, name)) for v in values.get(name, ()))
        case ast.IfExp(body=first, orelse=second):
            return any(may_be_array(v, outer, values, behind) for v in (first, second))
        case ast.Call(func=ast.Attribute(attr="reshape" | "squeeze")):
            return True
        case ast.Call(func=called):
            return any(value_in(outer, called) is made for made in ARRAYS)
        case ast.Subscript(slice=index):
            return any(isinstance(n, ast.Constant) and n.value is ... for n in syntax_nodes(index))
        case _:
            return False


def widths_of_names(nodes: Sequence[ast.AST], values: Values, scope: Rewriting) -> dict[str, int]:
    """How many numbers the tuples have that names stand for, wherever they get a value, and nothing else."""
    found: dict[str, list[int]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                given = [value]
            case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over):
                name, given = gone_to(scope, target, over, values)
            case _:
                continue
        widths = {width_of_display(scope, value) for value in given}
        if len(widths) == 1:
            found.setdefault(name, []).append(widths.pop())
    bound = Counter(name for node in nodes for name in bound_by(node))
    bound += Counter(node.arg for node in nodes if isinstance(node, ast.arg))
    known = {name: len(value) for name, value in scope.outer.items() if isinstance(value, tuple) and not bound[name]}
    return known | {
        name: widths[0] for name, widths in found.items() if len(widths) == bound[name] and len(set(widths)) == 1
    }


def gone_to(
    scope: Rewriting, target: ast.expr, over: ast.expr, values: Values
) -> tuple[str, Sequence[ast.expr]]:  # fmt: skip
    """The name that a loop binds to tuples, and what shows these: displays, or the dictionary whose keys they are."""
    match target, over:
        case ast.Tuple(elts=[_, inner]), ast.Call(func=called, args=[own]) if scope.value(called) is enumerate:
            return gone_to(scope, inner, own, values)
        case ast.Name(id=name), _ if (view := dictionary_view(scope, over)) is not None:
            return name, [ast.Name(view.name, ast.Load())] if view.part == "keys" else []
        case ast.Name(id=name), ast.Name(id=own):
            return name, [item for value in values.get(own, ()) for item in items_of(value)]
        case ast.Name(id=name), _:
            return name, items_of(over)
        case ast.Tuple(elts=[ast.Name(id=name), _]), _:
            view = dictionary_view(scope, over)
            return name, [ast.Name(view.name, ast.Load())] if view is not None and view.part == "items" else []
        case _:
            return "", []


def items_of(node: ast.expr) -> list[ast.expr]:
    """What is in a list that shows what it holds; an expression that shows nothing for another."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return items
        case ast.ListComp(elt=item):
            return [item]
        case _:
            return [node]


def width_of_display(scope: Rewriting, node: ast.expr) -> int:
    """How many items the tuple `node` has, or the keys of the dictionary; 0 where that does not show."""
    match node:
        case ast.Tuple(elts=items) if not any(isinstance(item, ast.Starred) for item in items):
            return len(items)
        case ast.Name(id=name) if name in scope.tables:
            return len(scope.tables[name].keys)
        case _:
            return 0


def is_narrow(node: ast.AST, outer: Outer) -> bool:
    """Whether `node` names a type of numbers that Python finds by other hashes than equal numbers of its own, or a
    function that does."""
    match node:
        case ast.Constant(value=str() as word):
            return word in WORDS
        case ast.Call():
            return any(isinstance(a, ast.Constant) and names_narrow(a.value) for a in types_in(node, outer))
        case ast.Attribute(attr=word) | ast.Name(id=word):
            value = value_in(outer, node)
            return word in WORDS or names_narrow(value) or (isinstance(value, FunctionType) and makes_narrow(value))
        case _:
            return False


def types_in(node: ast.Call, outer: Outer) -> list[ast.expr]:
    """The arguments of a call that may be types."""
    found = [k.value for k in node.keywords if k.arg == "dtype"]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
        return found + node.args
    is_numpys = str(getattr(value_in(outer, node.func), "__module__", "")).split(".")[0] == "numpy"
    return found + node.args[1:] if is_numpys else found


def names_narrow(value: Any) -> bool:
    """Whether `value` is such a type, or stands for one where a type is asked for."""
    if not isinstance(value, str | type | np.dtype):
        return False
    try:
        return np.dtype(value).type in NARROW
    except TypeError:
        return False


def makes_narrow(function: FunctionType, known: frozenset[CodeType] = frozenset()) -> bool:
    """Whether a function, or one that it calls by a name from outside, names such a type."""
    codes = [function.__code__]
    for code in codes:
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
    names = {name for code in codes for name in code.co_names}
    texts = {c for code in codes for c in code.co_consts if isinstance(c, str)}
    if function.__code__ in known:
        return False
    if (names | texts) & WORDS:
        return True
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    return any(
        makes_narrow(v, known | {function.__code__}) if isinstance(v, FunctionType) else names_narrow(v) for v in values
    )
