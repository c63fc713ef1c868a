"""Parameters of a function, their kinds, and texts that name them."""

from __future__ import annotations

import ast
import inspect
from typing import Any, Final

BY_POSITION: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
STARS: Final = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def takes_any_number(signature: inspect.Signature) -> bool:
    """Whether there is a `*rest` or `**options`."""
    return any(p.kind in STARS for p in signature.parameters.values())


def is_method(signature: inspect.Signature) -> bool:
    """Whether the function takes the instance that it is called on: its first parameter is `self`."""
    return next(iter(signature.parameters), "") == "self"


def place_named(text: str) -> tuple[str, tuple[Any, ...]] | None:
    """The parameter that `text` starts with, and the keys and attributes that follow: `params["w"][0]`, `model.layers`.
    None for a text that is no such thing."""
    try:
        node: ast.expr = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    path: list[Any] = []
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner, attr=name):
                path.insert(0, name)
            case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
                path.insert(0, key)
            case ast.Subscript(value=inner, slice=ast.UnaryOp(ast.USub(), ast.Constant(value=int(place)))):
                path.insert(0, -place)
            case _:
                return None
        node = inner
    return node.id, tuple(path)


def root_named(text: str) -> str:
    """The parameter that `text` starts with; `text` itself if it starts with none."""
    found = place_named(text)
    return text if found is None else found[0]
