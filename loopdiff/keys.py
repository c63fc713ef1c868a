"""Keys of what is compiled: a text of everything that it depends on.

A key covers loopdiff's own source, the text of the function, the values of the names it uses, argument types,
options, versions and the processor. The text of functions that it calls counts in the same way. A function that uses a
value whose content has no stable text has no key.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from loopdiff.errors import UnsupportedLoopError
from loopdiff.installation import installation
from loopdiff.rules import Rule, has_text, key_of, name_rule, rule_for
from loopdiff.source import SourceFunction, plain_function, python_function, source_of


class UnstableError(Exception):
    """A value without a text that means the same in every process."""


def function_key(source: SourceFunction) -> str | None:
    """A key of the function's text and of all it refers to; None if that has no stable text."""
    try:
        parts = [installation(), *function_parts(source, [])]
    except UnstableError:
        return None
    return digest_of(parts)


def digest_of(parts: list[str]) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=20).hexdigest()


def function_parts(source: SourceFunction, met: list[FunctionType]) -> Iterator[str]:
    """Text, place (reports quote it) and the values of the names that the function may use.

    `met`: functions it may call that parts were given for.
    """
    yield from (source.file, str(source.first_line), str(source.node.col_offset), source.text)
    for name, value in sorted(outer_values(source).items()):
        yield name
        yield from value_parts(value, met)


def outer_values(source: SourceFunction) -> dict[str, Any]:
    """Values of the names from outside in the function's text; of `settings.SCALE` the whole, not `settings`.

    Decorators are not part of the function, defaults are arguments of its calls, and what it binds is its own.
    """
    nodes = [node for stmt in source.node.body for node in ast.walk(stmt)]
    arguments = source.node.args
    bound = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    found: dict[str, Any] = {}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in owners and root_of(node) not in bound:
            try:
                found[ast.unparse(node)] = outer_value(node, source.namespace)
            except (KeyError, AttributeError):  # a local name, or something the front end refuses
                continue
    return found


def root_of(node: Any) -> str:
    """The first of dotted names; empty where there is none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def outer_value(node: Any, namespace: Mapping[str, Any]) -> Any:
    """What a name, or a dotted name, stands for. Raises KeyError or AttributeError if it stands for nothing."""
    name = getattr(node, "id", None)
    return namespace[name] if name is not None else getattr(outer_value(node.value, namespace), node.attr)


def value_parts(value: Any, met: list[FunctionType]) -> Iterator[str]:
    """A text that determines `value`, as far as a loop nest can use it. Raises UnstableError if there is none."""
    found = rule_for(value)
    if found is not None:
        yield from rule_parts(found)
        return
    function = python_function(value)
    if function is not None:
        yield from helper_parts(function, met)
        return
    match value:
        case None | bool() | int() | float() | complex() | str() | np.generic():
            yield f"{type(value).__name__} {value!r}"
        case tuple():
            yield f"tuple {len(value)}"
            for item in value:
                yield from value_parts(item, met)
        case ModuleType() | type():
            yield f"named {getattr(value, '__module__', '')} {value.__name__}"
        case np.ufunc() | np.dtype():
            yield repr(value)
        case _ if hasattr(value, "argtypes") or hasattr(value, "native_name"):  # an address of this process
            raise UnstableError(type(value).__name__)
        case _ if callable(value):  # the front end knows functions by value: its version says which
            yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
        case _:
            raise UnstableError(type(value).__name__)


def rule_parts(rule: Rule) -> Iterator[str]:
    """The key of `rule`, which from now on stands for the text of all its functions, and of their rules."""
    group: list[Rule] = []
    collect(rule, group)
    for one in group:
        if not has_text(one):
            reached: list[Rule] = []
            collect(one, reached)
            name_rule(one, digest_of([part for other in reached for part in own_parts(other)]))
    yield key_of(rule)


def collect(rule: Rule, met: list[Rule]) -> None:
    """`rule` and those of its partials."""
    if rule not in met:
        met.append(rule)
        for name in sorted(rule.partials):
            collect(rule.partial(name), met)


def own_parts(rule: Rule) -> Iterator[str]:
    functions = (rule.function, *rule.derived.values(), *(() if rule.shape is None else (rule.shape,)))
    groups = map(sorted, (rule.constant, rule.overwrites, rule.outputs, rule.derived, rule.partials))
    yield repr((rule.params, rule.active, *groups, rule.result))
    met: list[FunctionType] = []
    for function in functions:
        yield from helper_parts(plain_function(function), met)


def helper_parts(function: FunctionType, met: list[FunctionType]) -> Iterator[str]:
    """Parts of a function that may be called: its own, and its defaults."""
    if function in met:
        yield f"again {met.index(function)}"
        return
    met.append(function)
    try:
        source = source_of(function)
    except UnsupportedLoopError as error:
        raise UnstableError(function.__qualname__) from error
    yield from function_parts(source, met)
    for name, parameter in source.signature.parameters.items():
        if parameter.default is not parameter.empty:
            yield name
            yield from value_parts(parameter.default, met)
