"""Signs, in the text alone, that a function works with structures, or is given some."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.classes import OF_ROWS, OVERRIDDEN, is_plain_class, is_record_class
from loopdiff.frontend.survey import ARRAY_ATTRIBUTES
from loopdiff.numpy_functions import METHODS, is_of_numpy
from loopdiff.source.functions import SourceFunction, dotted_name, python_function
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.parameters import root_named
from loopdiff.source.records import is_differentiable
from loopdiff.source.scopes import parameters

CHANGING = ("at", "copyto", "fill", "fill_diagonal", "itemset", "partition", "put", "put_along_axis", "sort")
KNOWN = (
    str, bytes, Enum, np.dtype, type, type(None), FunctionType, BuiltinFunctionType, ModuleType, np.ufunc, type(np.sum),
)  # fmt: skip
VIEWS = ("items", "keys", "values", "get", "_replace")
FIELDS = frozenset((*ARRAY_ATTRIBUTES, *METHODS, *dir(np.ndarray))) - {"__class__"}


def is_known(value: Any) -> bool:
    """Whether `value` is part of the program rather than what it computes with."""
    return isinstance(value, KNOWN) or isinstance(getattr(value, "py_func", None), FunctionType)


def reads_data(source: SourceFunction, sources: Sources) -> bool:
    """Whether the function, or one that it calls, reads arrays from outside, or what may hold or become others."""
    pairs = ((one, name, value) for one in sources_reached(source, sources) for name, value in one.used.items())
    return any(is_data(value) or is_field_outside(one, name) for one, name, value in pairs)


def is_field_outside(source: SourceFunction, name: str) -> bool:
    """Whether `name` is that of a number or a text, or a tuple of such, which an object or class from outside has:
    it may be another at the next call."""
    owner, dot, _ = name.rpartition(".")
    if not dot or name not in source.outer:
        return False
    whole, value = source.outer.get(owner), source.outer[name]
    is_class = isinstance(whole, type) and is_record_class(whole)
    is_object = isinstance(whole, SimpleNamespace) or is_plain_dataclass(whole) or is_plain_class(type(whole))
    return (is_class or is_object) and (value is None or isinstance(value, str) or is_plain_constant(value))


def is_data(value: Any) -> bool:
    """Whether a value from outside is read at each call: an array, or a structure that is no tuple of numbers."""
    return (
        isinstance(value, np.ndarray | list | dict)
        or is_plain_dataclass(value)
        or is_plain_class(type(value))
        or has_constants(value)
        or (isinstance(value, tuple) and not is_plain_constant(value))
    )


def has_constants(value: Any) -> bool:
    """Whether `value` is a class whose objects have numbers, texts, tuples or arrays of the class, which may be others
    at the next call."""
    if not isinstance(value, type) or not is_record_class(value):
        return False
    own = ((name, v) for kind in value.__mro__[:-1] for name, v in vars(kind).items())
    return any(isinstance(v, int | float | str | tuple | np.ndarray) and not name.startswith("_") for name, v in own)


def is_plain_dataclass(value: Any) -> bool:
    """Whether `value` is no class, but a record of one that does nothing but hold its fields."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type) and is_plain_record(type(value))


def is_plain_constant(value: Any) -> bool:
    """Whether `value` is a number, or a tuple of such, in each other to any depth."""
    if type(value) is tuple:
        return all(map(is_plain_constant, value))
    return isinstance(value, int | float | complex | np.generic)


def makes_structures(source: SourceFunction, sources: Sources) -> bool:
    """Whether the function, or one that it calls, may make a structure that is no tuple of single values."""
    return any(is_made(one, node) for one in sources_reached(source, sources) for node in syntax_nodes(one.node))


def is_made(source: SourceFunction, node: ast.AST) -> bool:
    match node:
        case ast.List(ctx=ast.Load()) | ast.ListComp() | ast.Dict() | ast.DictComp():
            return True
        case ast.Return(value=ast.Tuple(elts=elts)):
            return any(isinstance(e, ast.Tuple | ast.Starred | ast.Call) for e in elts)
        case ast.Call(func=function):
            value = source.outer.get(dotted_name(function) or "")
            return value in (dict, list, sorted) or (isinstance(value, type) and is_record_class(value))
        case _:
            return False


def has_maker(kind: type) -> bool:
    """Whether `kind` is such a class, and a method of it makes its objects."""
    return is_plain_class(kind) and kind.__init__ is not object.__init__


def makes_more(kind: type[Any]) -> bool:
    """Whether objects of the dataclass `kind` get more than what they are given and what stands in its text."""
    if not dataclasses.is_dataclass(kind) or not is_plain_record(kind):
        return False
    has_more = any(not f.init or f.default_factory is not dataclasses.MISSING for f in dataclasses.fields(kind))
    return has_more or hasattr(kind, "__post_init__")


def is_plain_record(kind: type) -> bool:
    """Whether a record does nothing but hold its fields: its special methods were generated."""
    if is_plain_class(kind):
        return True
    of_rows = OF_ROWS if issubclass(kind, tuple) else ()
    own = (getattr(kind, name, None) for name in ("__init__", "__new__", *OVERRIDDEN, *of_rows))
    return all(is_generated(function) for function in own if isinstance(function, FunctionType))


def is_generated(function: FunctionType) -> bool:
    """Whether Python wrote the function for a dataclass or a named tuple."""
    return function.__code__.co_filename == "<string>" or function.__module__ == "dataclasses"


def takes_structures(source: SourceFunction, sources: Sources) -> bool:
    """Whether some parameter, of the function or of what it calls, looks like a structure, or like a known value."""
    own = source.signature.parameters.values()
    if any(p.default is not p.empty and not isinstance(p.default, int | float | complex) for p in own):
        return True
    reached = list(sources_reached(source, sources))
    if any(asks_for_parts(value) for one in reached for value in one.used.values()):
        return True
    nodes = ((one, node) for one in reached for node in syntax_nodes(one.node))
    return any(is_taken(one, node) or has_shape(node) for one, node in nodes)


def asks_for_parts(value: Any) -> bool:
    """Whether `value` is a decorated function that is differentiated by parts of its arguments, `wrt="p[0]"`."""
    asked = (value.requested or ()) if is_differentiable(value) else ()
    return any(root_named(text) != text for text in asked)


def is_taken(source: SourceFunction, node: ast.AST) -> bool:
    names = {a.arg for a in parameters(source.node.args)}
    match node:
        case ast.Subscript(slice=ast.Constant(value=str())) | ast.Dict() | ast.DictComp() | ast.ListComp():
            return True
        case ast.keyword(arg=None):
            return True
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name not in source.outer:
            return attr not in FIELDS
        case ast.Attribute(value=ast.BinOp() | ast.UnaryOp(), attr=attr):
            return attr not in FIELDS
        case ast.Call(func=ast.Attribute(attr=attr)) if attr in VIEWS:
            return True
        case ast.Call(func=ast.Name(id=name)) if name in names or name == "super":
            return True
        case ast.Call(func=ast.Attribute() as function) if is_of_class(source.outer.get(dotted_name(function) or "")):
            return True
        case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over):
            return isinstance(target, ast.Tuple) and any(
                isinstance(n, ast.Name) and n.id in names for n in syntax_nodes(over)
            )
        case ast.Assign(targets=[ast.Tuple()], value=ast.Name(id=name)) if name in names:
            return True
        case ast.Starred(value=ast.Name(id=name)) if name in names:
            return True
        case ast.Compare(left=ast.Name(id=name), comparators=[ast.Constant(value=None | str())]) if name in names:
            return True
        case _:
            return False


def is_of_class(value: Any) -> bool:
    """Whether `value` is a method that gets its class."""
    return isinstance(value, MethodType) and isinstance(value.__self__, type)


def has_shape(node: ast.AST) -> bool:
    """Whether a shape is used as a tuple."""
    match node:
        case ast.Starred(value=value) | ast.Assign(targets=[ast.Name()], value=value):
            return is_shape(value)
        case ast.BinOp(left=left, right=right):
            return is_shape(left) or is_shape(right)
        case _:
            return False


def is_shape(node: ast.expr) -> bool:
    """Whether `node` is a shape, or a part of one."""
    match node:
        case ast.Attribute(attr="shape") | ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Slice()):
            return True
        case _:
            return False


def may_write(source: SourceFunction, sources: Sources) -> bool:
    """Whether the function, or one that it calls, may change an array that it is given. Those of NumPy do not."""
    own = [one for one in sources_reached(source, sources) if not is_of_numpy(one.home.file)]
    return any(is_write(one, node) for one in own for node in syntax_nodes(one.node))


def writes_parts(source: SourceFunction) -> bool:
    """Whether the text of the function itself changes arrays, but for those that names stand for."""
    inside = [
        n for n in syntax_nodes(source.node) if not (isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name))
    ]
    return any(is_write(source, node) for node in inside)


def is_write(source: SourceFunction, node: ast.AST) -> bool:
    match node:
        case ast.AugAssign() | ast.Subscript(ctx=ast.Store()) | ast.keyword(arg="out"):
            return True
        case ast.Call(func=function, args=args):
            value = source.outer.get(dotted_name(function) or "")
            name = function.attr if isinstance(function, ast.Attribute) else getattr(value, "__name__", "")
            return name in CHANGING or (isinstance(value, np.ufunc) and len(args) > value.nin)
        case _:
            return False


def sources_reached(source: SourceFunction, sources: Sources) -> Iterator[SourceFunction]:
    """The function, and those that are written out in it."""
    waiting, met = [source], {source.code}
    while waiting:
        one = waiting.pop()
        yield one
        for value in one.used.values():
            function = None if sources.rule_of(value) is not None else python_function(value)
            if function is None or function.__code__ in met:
                continue
            met.add(function.__code__)
            with suppress(UnsupportedLoopError):  # reported where it is called
                waiting.append(sources.of(function))
