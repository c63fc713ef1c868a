"""Calls that make structures, or one value of many: classes of records, `dict`, `sum`, methods of structures."""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import math
from inspect import signature
from itertools import pairwise
from typing import Any, cast

import numpy as np

from loopdiff.frontend.classes import is_plain_class, is_record_class
from loopdiff.frontend.structures.effects import require_settled
from loopdiff.frontend.structures.iterated import items_of, items_of_call, leaves_nothing, spread
from loopdiff.frontend.structures.known import static
from loopdiff.frontend.structures.methods import method_of
from loopdiff.frontend.structures.objects.ranges import kept_value
from loopdiff.frontend.structures.rewriting import (
    base_of,
    copied,
    display_of,
    element,
    expression,
    function_at,
    function_inside,
    hand_out,
    steadied,
)
from loopdiff.frontend.structures.scope import MOST_ITEMS, Scope, name_stored
from loopdiff.frontend.structures.scope import at as placed
from loopdiff.frontend.structures.signs import has_maker, is_plain_record, makes_more
from loopdiff.frontend.structures.trees import (
    Blank,
    Branch,
    Leaf,
    Static,
    Tree,
    described,
    dictionary_of,
    in_row,
    is_sequence,
    leaves,
    types_in,
)
from loopdiff.immutable import replace
from loopdiff.source.functions import MISSING, python_function
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.scopes import computes_defaults, parameters

CHANGING_METHODS = {
    "list": ("append", "extend", "insert", "pop", "clear", "reverse"),
    "dict": ("update", "setdefault", "pop", "clear"),
}
ALONE = "put it on a line of its own: `l.append(x)`, `last = l.pop()`"


def of_builtin(scope: Scope, node: ast.Call) -> Tree | None:
    """`tuple`, `list`, `dict`, `sum` of structures, classes of records, and methods of structures."""
    function = known_function(scope, node.func)
    match node:
        case ast.Call(func=ast.Attribute(value=base, attr=attr)) if isinstance(tree := base_of(scope, base), Branch):
            if method_of(scope, tree, attr) is not None or function_at(scope, node.func) is not None:
                return None
            found = method(scope, tree, attr, node)
            hand_out(scope, found.items if isinstance(found, Branch) and found.is_fresh else [found], node)
            return found
        case _:
            pass
    if function is dict and all(k.arg for k in node.keywords) and not node.args:
        return dictionary_of({k.arg: element(scope, k.value) for k in node.keywords})
    if function is dict and len(node.args) == 1 and all(k.arg for k in node.keywords):
        return dictionary(scope, node)
    if (function is tuple or function is list) and len(node.args) == 1 and not node.keywords:
        items = items_of(scope, node.args[0])
        return None if items is None else in_row("tuple" if function is tuple else "list", tuple(items))
    if any(function is f for f in (sorted, zip, enumerate, reversed)):
        items = items_of_call(scope, node)
        return None if items is None else in_row("list" if function is sorted else "tuple", tuple(items))
    if any(function is f for f in (sum, math.prod, max, min, any, all)) and len(node.args) == 1 and not node.keywords:
        return total(scope, function, node)
    if function is functools.reduce and 1 < len(node.args) < 4 and not node.keywords:
        return reduced(scope, node)
    if any(function is f for f in (functools.partial, np.split, np.array_split)) and node.args:
        return partly_given(scope, node) if function is functools.partial else split_up(scope, node, function)
    if function is dataclasses.replace and len(node.args) == 1:
        tree = base_of(scope, node.args[0])
        found = replaced(scope, tree, node) if isinstance(tree, Branch) else None
        hand_out(scope, found.items if isinstance(found, Branch) else (), node)
        return found
    return record_of(scope, function, node)


def attribute_of(scope: Scope, node: ast.Call) -> Tree | None:
    """`getattr(r, "name", default)` of a record."""
    (base, key), default = node.args[:2], node.args[2:]
    tree, name = base_of(scope, base), static(scope, key)
    if not isinstance(tree, Branch) or tree.kind != "record" or not isinstance(name, str):
        return None
    if default and tree.item(name) is None and not hasattr(tree.type, name):
        return element(scope, default[0])
    return element(scope, ast.copy_location(ast.Attribute(base, name, ast.Load()), node))


def copy_of(scope: Scope, function: Any, node: ast.Call) -> Tree | None:
    """What `copy.copy` and `copy.deepcopy` make of a structure, or of an array."""
    tree, text = base_of(scope, node.args[0]), ast.unparse(node)
    if tree is None or isinstance(tree, Leaf):
        return Leaf(ast.copy_location(ast.UnaryOp(ast.UAdd(), expression(scope, node.args[0])), node))
    if not isinstance(tree, Branch):
        return tree
    require_settled(scope, [tree], node)
    if any(map(is_copied_otherwise, types_in(tree))):
        return scope.reject(f"`{text}` copies in a way of its own", node, "make another object of its parts")
    if function is copy.copy:
        found = replace(tree, is_fresh=True)
        hand_out(scope, found.items, node)
        return found
    arrays = [leaf for _, leaf in leaves(tree) if not isinstance(leaf.known, int)]
    if len(arrays) > 1:
        hint = "copy its parts: `P(p.x.copy(), p.v)`"
        return scope.reject(f"which parts of `{text}` are one array is not known before the loops run", node, hint)
    return anew(tree, node)


def is_copied_otherwise(kind: type[Any]) -> bool:
    """Whether the class `kind` says how its objects are copied."""
    own = ("__reduce__", "__reduce_ex__", "__getstate__")
    is_plain = all(getattr(kind, n, None) is getattr(object, n, None) for n in own)
    return not is_plain or any(hasattr(kind, n) for n in ("__copy__", "__deepcopy__", "__setstate__"))


def anew(tree: Tree, node: ast.AST) -> Tree:
    """`tree`, of which nobody else has anything: an array is copied."""
    match tree:
        case Branch(items=items):
            return replace(tree, items=tuple(anew(i, node) for i in items), is_fresh=True)
        case Leaf(expr=expr, known=known) if not isinstance(known, int):
            return Leaf(ast.copy_location(ast.UnaryOp(ast.UAdd(), expr), node), known)
        case _:
            return tree


def record_of(scope: Scope, function: Any, node: ast.Call) -> Tree | None:
    """The object that `function` makes, if it is a class whose objects hold their fields, or copies; or an attribute of
    one."""
    if function is getattr and len(node.args) in (2, 3) and not node.keywords:
        return attribute_of(scope, node)
    if (function is copy.copy or function is copy.deepcopy) and len(node.args) == 1 and not node.keywords:
        return copy_of(scope, function, node)
    if isinstance(function, Blank):
        names = tuple(str(k.arg) for k in node.keywords)
        items = tuple(element(scope, k.value) for k in node.keywords)
        return Branch("record", function.kind, names, items, is_fresh=True)
    is_record = isinstance(function, type) and is_record_class(function)
    return record(scope, function, node) if is_record and not has_maker(function) and not makes_more(function) else None


def known_function(scope: Scope, node: ast.expr) -> Any:
    """The function or class that `node` stands for; MISSING if that is open."""
    value = scope.value_outside(node)
    if isinstance(node, ast.Call | ast.Constant):
        return static(scope, node)
    tree = function_at(scope, node) if value is MISSING else None
    return tree.value if isinstance(tree, Static) else value


def dictionary(scope: Scope, node: ast.Call) -> Tree | None:
    """`dict(d, key=value)`, of a dictionary, or of pairs with known keys."""
    tree = element(scope, node.args[0])
    more = {k.arg: element(scope, k.value) for k in node.keywords}
    if isinstance(tree, Branch) and tree.kind == "dict":
        return dictionary_of({**dict(zip(tree.keys, tree.items, strict=True)), **more})
    pairs = items_of(scope, node.args[0])
    rows = [p.items for p in pairs or () if isinstance(p, Branch) and is_sequence(p) and len(p.items) == 2]
    keys = [k.value for k, _ in rows if isinstance(k, Static)]
    if pairs is None or len(keys) < len(pairs):
        return None
    return dictionary_of({**dict(zip(keys, (item for _, item in rows), strict=True)), **more})


def total(scope: Scope, function: Any, node: ast.Call) -> Tree | None:
    """`sum(...)` and the like over items that are known: the operation between them."""
    owned, over = set(scope.owned), node.args[0]
    items = items_of(scope, over)
    if items is None:
        return None
    if isinstance(over, ast.GeneratorExp) and leaves_nothing(over, in_row("list", tuple(items))):
        scope.owned = owned
    values = [display_of(scope, i, node) for i in items]
    if function is sum or function is math.prod:
        op = ast.Add() if function is sum else ast.Mult()
        found: ast.expr = ast.copy_location(ast.Constant(0 if function is sum else 1), node)
        for value in values:
            found = ast.copy_location(ast.BinOp(found, op, value), node)
        return Leaf(found)
    if function is any or function is all:
        of_each: list[ast.expr] = [ast.copy_location(ast.Constant(function is all), node), *values]
        return Leaf(ast.copy_location(ast.BoolOp(ast.Or() if function is any else ast.And(), of_each), node))
    if not values:
        return scope.reject(f"`{ast.unparse(node)}` is of no values", node)
    return Leaf(values[0] if len(values) == 1 else copied(node, args=values))


def split_up(scope: Scope, node: ast.Call, function: Any) -> Tree | None:
    """`np.split(x, 3)`, or at places that are written out: the parts of an array, which are views. None where it is not
    known how many there are."""
    given = dict(zip(("ary", "indices_or_sections", "axis"), node.args, strict=False))
    given |= {str(k.arg): k.value for k in node.keywords}
    axis = static(scope, given["axis"]) if "axis" in given else 0
    if set(given) - {"axis"} != {"ary", "indices_or_sections"} or type(axis) is not int or not scope.may_run_ahead:
        return None
    at = given["indices_or_sections"]
    count, row, is_even = static(scope, at), scope.tree_of(at), function is np.split
    whole = scope.names.fresh("whole")
    extent = f"{whole}.shape[{axis}]"
    if type(count) is int and 0 < count <= MOST_ITEMS:
        size, more = f"{extent} // {count}", f"{extent} % {count}"
        longer = ("" if is_even else f" + ({k} if {k} < {more} else {more})" for k in range(count + 1))
        bounds = [f"{k} * ({size}){rest}" for k, rest in enumerate(longer)]
    elif isinstance(row, Branch) and is_sequence(row):
        places = steadied(scope, row, (), at)
        assert isinstance(places, Branch)
        is_even, bounds = False, ["", *(ast.unparse(display_of(scope, i, node)) for i in places.items), ""]
    else:
        return None
    scope.out.append(ast.copy_location(ast.Assign([name_stored(whole, node)], expression(scope, given["ary"])), node))
    if is_even:
        test = placed(ast.parse(f"{extent} % {count} == 0", mode="eval").body, node)
        message = ast.Constant("array split does not result in an equal division")
        scope.out.append(ast.copy_location(ast.Assert(test, ast.copy_location(message, node)), node))
    before, after = ":, " * axis, ", :" * (-1 - axis)
    front = before if axis >= 0 else "..., "
    texts = [f"{whole}[{front}{a}:{b}{after}]" for a, b in pairwise(bounds)]
    return in_row("list", tuple(Leaf(placed(ast.parse(text, mode="eval").body, node)) for text in texts))


def reduced(scope: Scope, node: ast.Call) -> Tree | None:
    """`functools.reduce` over items that are known: calls of the function in each other."""
    items = None if computes_defaults(node.args[0]) else items_of(scope, node.args[1])
    if items is None:
        return None
    given = (*(element(scope, a) for a in node.args[2:]), *items)
    if not given:
        return scope.reject(f"`{ast.unparse(node)}` is of no values", node)
    if not isinstance(scope.value_outside(node.args[0]), np.ufunc):  # others may change what items are read from
        names = {n.id for a in node.args[1:] for n in syntax_nodes(a) if isinstance(n, ast.Name)}
        row = steadied(scope, in_row("tuple", given), names, node)
        assert isinstance(row, Branch)
        given = row.items
    values = [display_of(scope, item, node) for item in given]
    found = values[0]
    for value in values[1:]:
        found = ast.copy_location(ast.Call(node.args[0], [found, value], []), node)
    return element(scope, found)


def partly_given(scope: Scope, node: ast.Call) -> Tree | None:
    """`functools.partial(f, x, k=y)` of a function from outside, or a lambda: a lambda of the rest, which has what is
    given as it is now. None for others."""
    names, given, named = names_of(scope, node.args[0]), node.args[1:], [k.arg for k in node.keywords]
    is_plain = not any(isinstance(a, ast.Starred) for a in given) and None not in named and scope.may_run_ahead
    if names is None or not is_plain or len(given) > len(names) or not {*named} <= {*list(names)[len(given) :]}:
        return None
    inside = {n.id for part in (*given, *node.keywords) for n in syntax_nodes(part) if isinstance(n, ast.Name)}
    values = tuple(element(scope, part) for part in (*given, *(k.value for k in node.keywords)))
    row = steadied(scope, in_row("tuple", values), inside, node)
    assert isinstance(row, Branch)
    held = [display_of(scope, item, node) for item in row.items]
    left = list(names)[len(given) :]
    first = next((k for k, name in enumerate(left) if name in named), len(left))
    by_place, by_name = ([ast.arg(n) for n in part if n not in named] for part in (left[:first], left[first:]))
    defaults = [d for a in by_place if (d := names[a.arg]) is not None]
    arguments = ast.arguments([], by_place, None, by_name, [names[a.arg] for a in by_name], None, defaults)
    keywords = [ast.keyword(k, v) for k, v in zip(named, held[len(given) :], strict=True)]
    keywords += [ast.keyword(a.arg, ast.Name(a.arg, ast.Load())) for a in by_name]
    places = [*held[: len(given)], *(ast.Name(a.arg, ast.Load()) for a in by_place)]
    made = ast.Lambda(arguments, ast.Call(node.args[0], places, keywords))
    for inner in syntax_nodes(made):
        if not hasattr(inner, "lineno"):
            ast.copy_location(inner, node)
    return function_inside(scope, made)


def names_of(scope: Scope, node: ast.expr) -> dict[str, ast.expr | None] | None:
    """Parameters of a lambda, or of a function from outside, and their defaults, which are numbers, texts and the like;
    None for others."""
    value = scope.value_outside(node)
    if isinstance(value, np.ufunc):
        return {scope.names.fresh(f"x{k}"): None for k in range(value.nin)}
    if isinstance(node, ast.Lambda):
        spec, count = node.args, len(node.args.args)
        is_plain = count == len(parameters(spec)) and not spec.defaults and spec.vararg is None and spec.kwarg is None
        return {a.arg: None for a in spec.args} if is_plain else None
    function = None if value is MISSING or scope.sources.rule_of(value) is not None else python_function(value)
    found = () if function is None else signature(function).parameters.values()
    is_plain = all(p.kind is p.POSITIONAL_OR_KEYWORD for p in found)
    if not found or not is_plain or not all(p.default is p.empty or is_simple(p.default) for p in found):
        return None
    return {p.name: None if p.default is p.empty else scope.name_for(p.default, node) for p in found}


def is_simple(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float, complex, str)


def method(scope: Scope, tree: Branch, attr: str, node: ast.Call) -> Tree:
    """A method of a structure."""
    if attr == "_replace" and tree.kind == "record" and not node.args:
        return replaced(scope, tree, node)
    if attr in CHANGING_METHODS.get(tree.kind, ()):
        return scope.reject(f"`{ast.unparse(node)}` changes {described(tree)} inside a line", node, ALONE)
    if attr == "copy" and tree.kind in ("list", "dict") and not node.args:
        return replace(tree, is_fresh=True)
    if attr == "get" and tree.kind == "dict" and node.args:
        key = static(scope, node.args[0])
        found = MISSING if key is MISSING else tree.item(key)
        if found is None:
            return element(scope, node.args[1]) if len(node.args) > 1 else Static(None)
        if found is not MISSING:
            require_settled(scope, [tree, *(element(scope, a) for a in node.args[1:])], node)
            return found
    if attr == "_asdict" and tree.kind == "record" and not node.args:
        return dictionary_of(dict(zip(tree.keys, tree.items, strict=True)))
    if attr in ("items", "keys", "values") and (items := items_of_call(scope, node)) is not None:
        return in_row("list", tuple(items))
    return scope.reject(f"`{attr}` of {described(tree)} is not followed", node)


def replaced(scope: Scope, tree: Branch, node: ast.Call) -> Tree:
    """A record with other values of some fields."""
    if makes_more(tree.type):
        message = f"`{tree.type.__name__}` does more than hold its fields"
        return scope.reject(message, node, "pass what it makes as an argument")
    given = {str(k.arg): element(scope, k.value) for k in node.keywords}
    if not given.keys() <= set(tree.keys):
        return scope.reject(f"{described(tree)} has not all of these fields", node)
    require_settled(scope, [tree, *(given.values() if len(given) > 1 else ())], node)
    items = tuple(given.get(k, item) for k, item in zip(tree.keys, tree.items, strict=True))
    return replace(tree, items=items, is_fresh=True)


def record(scope: Scope, kind: type[Any], node: ast.Call) -> Tree:
    """A dataclass, or a named tuple, of the arguments; or an object without attributes."""
    if is_plain_class(kind):
        is_empty = not node.args and not node.keywords
        message = f"`{kind.__name__}` has no method that takes arguments when it is made"
        return (
            Branch("record", kind, (), (), is_fresh=True)
            if is_empty
            else scope.reject(message, node, "give it an `__init__`")
        )
    if not is_plain_record(kind):
        message = f"`{kind.__name__}` does more than hold its fields"
        return scope.reject(message, node, "pass what it makes as an argument")
    is_tuple, made = issubclass(kind, tuple), cast(Any, kind)
    fields: tuple[str, ...] = made._fields if is_tuple else tuple(f.name for f in dataclasses.fields(kind))
    defaults = made._field_defaults if is_tuple else {
        f.name: f.default for f in dataclasses.fields(kind) if f.default is not dataclasses.MISSING
    }  # fmt: skip
    given = dict(zip(fields, spread(scope, node.args), strict=False))
    given |= {str(k.arg): kept_value(scope, k.value) for k in node.keywords}
    if list(given) != [name for name in fields if name in given]:
        require_settled(scope, given.values(), node)
    given = {**{n: default_of(scope, v, node) for n, v in defaults.items()}, **given}
    if given.keys() != set(fields) or len(node.args) > len(fields):
        return scope.reject(f"`{ast.unparse(node)}` does not give each field of `{kind.__name__}` once", node)
    return Branch("record", kind, fields, tuple(given[name] for name in fields), is_fresh=True)


def default_of(scope: Scope, value: Any, node: ast.AST) -> Tree:
    """The default `value` of a field: a number is what it would be if it were written out."""
    if type(value) is tuple:
        return in_row("tuple", tuple(default_of(scope, v, node) for v in value))
    is_number = type(value) in (bool, int, float, complex)
    return element(scope, ast.copy_location(ast.Constant(value), node)) if is_number else Static(value)
