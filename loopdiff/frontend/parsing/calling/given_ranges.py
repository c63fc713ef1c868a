"""Ranges that are given to functions, `smooth(x, range(1, n))`: their bounds are, and the function makes the range."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping

from loopdiff.frontend.parsing.calling.arguments import Callee
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import replace
from loopdiff.source.dictionaries.tables import value_in
from loopdiff.source.named.ranges import in_full, is_range, with_range_parameters
from loopdiff.source.scopes import bound_within

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def with_given_ranges(state: State, callee: Callee, node: ast.Call) -> tuple[Callee, ast.Call]:
    """`callee` and the call `node` of it with three numbers for each range that it is given; as they are where it is
    given none, or gives such a parameter another value."""
    parameters = callee.source.signature.parameters
    places = [name for name, p in parameters.items() if p.kind in POSITIONAL]
    given = dict(zip(places, node.args, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg in parameters}
    found = {str(name) for name, value in given.items() if is_range(value, state.outside)}
    if not found or any(isinstance(a, ast.Starred) for a in node.args) or "range" in bound_within(callee.source.node):
        return callee, node
    outer = {**callee.source.outer, "range": range}
    made, names = with_range_parameters(callee.source.node, found, lambda name: value_in(outer, name))
    signature = inspect.Signature([p for q in parameters.values() for p in bounds_for(q, names)])
    source = replace(callee.source, node=made, outer=outer, signature=signature)
    args = [part for name, value in zip(places, node.args, strict=False) for part in parts_of_range(name, value, names)]
    args += node.args[len(places) :]
    keywords = [
        ast.keyword(own, part)
        for k in node.keywords
        for own, part in zip(names.get(str(k.arg), [k.arg]), parts_of_range(str(k.arg), k.value, names), strict=True)
    ]
    return replace(callee, source=source), ast.copy_location(ast.Call(node.func, args, keywords), node)


def bounds_for(parameter: inspect.Parameter, names: Mapping[str, list[str]]) -> list[inspect.Parameter]:
    return [parameter.replace(name=own) for own in names.get(parameter.name, [parameter.name])]


def parts_of_range(name: str, value: ast.expr, names: Mapping[str, list[str]]) -> list[ast.expr]:
    """The bounds of a range that is given for the parameter `name`, or what else is given."""
    return in_full(value) if name in names and isinstance(value, ast.Call) else [value]
