"""Functions that make objects of dataclasses as their generated `__init__` does: with what makes the defaults of
fields, `field(default_factory=list)`, and what `__post_init__` does."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from enum import Enum
from typing import Any

from loopdiff.frontend.structures.methods import Bound
from loopdiff.frontend.structures.scope import Scope
from loopdiff.frontend.structures.trees import Blank
from loopdiff.immutable import replace
from loopdiff.source.functions import SourceFunction
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.scopes import fresh

NUMBERS = (bool, int, float, complex, str, type(None))


class Given(Enum):
    """What stands for the value of a field that a call does not give, and a function makes."""

    NOT = 0


def dataclass_maker(scope: Scope, kind: type[Any]) -> Bound:
    """The function that makes objects of such a class."""
    made, key = scope.sources.made, (kind, dataclass_maker)
    if key not in made:
        made[key] = making_of_fields(scope.source, kind)
    return Bound(made[key])


def making_of_fields(source: SourceFunction, kind: type[Any]) -> SourceFunction:
    """`dataclass_maker`, in the place of `source`."""
    fields = {f.name: f for f in dataclasses.fields(kind)}
    given = list(map(with_absence, list(inspect.signature(kind.__init__).parameters.values())[1:]))
    words = {*fields, *(p.name for p in given)}
    own, absent = fresh(words, "self"), fresh(words, "not_given")
    outer: dict[str, Any] = {absent: Given.NOT}
    body, values = list[ast.stmt](), list[ast.keyword]()
    for name, field in fields.items():
        made = default_of_field(field, fresh(words, f"made_{name}"), outer)
        if made is not None and field.init:
            test = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Name(absent, ast.Load())])
            body.append(ast.If(test, [ast.Assign([ast.Name(name, ast.Store())], made)], []))
        if field.init or made is not None:
            values.append(ast.keyword(name, ast.Name(name, ast.Load()) if field.init or made is None else made))
    blank: Any = Blank(kind)
    body.append(ast.Assign([ast.Name(own, ast.Store())], ast.Call(ast.Constant(blank), [], values)))
    if hasattr(kind, "__post_init__"):
        passed: list[ast.expr] = [ast.Name(p.name, ast.Load()) for p in given if p.name not in fields]
        after = ast.Attribute(ast.Name(own, ast.Load()), "__post_init__", ast.Load())
        body.append(ast.Expr(ast.Call(after, passed, [])))
    body.append(ast.Return(ast.Name(own, ast.Load())))
    node = ast.FunctionDef(kind.__name__, arguments_for(given), body, [], None, None)
    return replace(
        source, name=kind.__name__, node=placed(node, source.node), signature=inspect.Signature(given), outer=outer,
        owners=frozenset(), function=None, apart=None, hidden=frozenset(), lists=frozenset(), spoken=(),
    )  # fmt: skip


def placed(node: ast.FunctionDef, at: ast.AST) -> ast.FunctionDef:
    """`node` in the place of `at`, its parts in columns of their own: reads of names are told apart by these."""
    for place, inner in enumerate(syntax_nodes(node)):
        if isinstance(inner, ast.stmt | ast.expr | ast.arg | ast.keyword):
            ast.copy_location(inner, at)
            inner.col_offset += place
    return node


def with_absence(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter of `__init__`, whose default is that it is not given where it is no number and no text."""
    is_plain = parameter.default is parameter.empty or type(parameter.default) in NUMBERS
    return parameter if is_plain else parameter.replace(default=Given.NOT)


def default_of_field(field: dataclasses.Field[Any], name: str, outer: dict[str, Any]) -> ast.expr | None:
    """What a field gets that is not given, where its default is no number and no text; what it is made of has the
    `name` among values from `outer`. None if it needs to be given, or has one that is written out."""
    if field.default_factory is list or field.default_factory is dict:
        return ast.List([], ast.Load()) if field.default_factory is list else ast.Dict([], [])
    if field.default_factory is not dataclasses.MISSING:
        outer[name] = field.default_factory
        return ast.Call(ast.Name(name, ast.Load()), [], [])
    if field.default is dataclasses.MISSING or (field.init and type(field.default) in NUMBERS):
        return None
    if type(field.default) in NUMBERS:
        return ast.Constant(field.default)
    outer[name] = field.default
    return ast.Name(name, ast.Load())


def arguments_for(given: list[inspect.Parameter]) -> ast.arguments:
    """Parameters as they are written."""
    args = [[ast.arg(p.name) for p in given if (p.kind is p.KEYWORD_ONLY) is only] for only in (False, True)]
    known = {p.name: p.default for p in given if p.default is not p.empty}
    texts = {name: ast.Constant(value if type(value) in NUMBERS else 0) for name, value in known.items()}
    first = [texts[a.arg] for a in args[0] if a.arg in texts]
    return ast.arguments([], args[0], None, args[1], [texts.get(a.arg) for a in args[1]], None, list(first))
