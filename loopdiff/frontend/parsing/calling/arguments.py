"""Arguments of a call, evaluated in order and matched with the parameters of the function."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from loopdiff.frontend.parsing.bindings import Value
from loopdiff.frontend.parsing.meanings import argument_of
from loopdiff.frontend.parsing.order import in_order
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import immutable
from loopdiff.source.functions import SourceFunction
from loopdiff.source.parameters import STARS


@immutable
class Callee:
    """A function that is written out; `around`: for one defined inside another, the state of that."""

    source: SourceFunction
    key: object
    around: State | None


def arguments_of(
    state: State, name: str, signature: inspect.Signature, default: Callable[[Any, ast.Call], Value], node: ast.Call
) -> dict[str, Value] | None:
    """What the parameters of the function `name` get, by name; None after a rejection.

    `default` gives the value of a parameter for which there is no argument.
    """
    star = next((p for p in signature.parameters.values() if p.kind in STARS), None)
    if star is not None:
        message = f"`{STARS[star.kind]}{star.name}` of `{name}` takes any number of arguments"
        state.reject("LD117", message, node, f"give `{name}` one parameter for each argument")
        return None
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        state.reject("LD110", f"`{name}` is called with `*` or `**`", node, "write the arguments one by one")
        return None
    values = in_order(state, [*node.args, *(k.value for k in node.keywords)], argument_of)
    for argument, value in zip((*node.args, *(k.value for k in node.keywords)), values, strict=True):
        if isinstance(value, tuple):
            state.reject("LD110", f"`{ast.unparse(argument)}` is no single value", argument, "unpack it first")
    owned = [state.owned(v, a) for v, a in zip(values, (*node.args, *(k.value for k in node.keywords)), strict=True)]
    if not all(owned) or any(v is None or isinstance(v, tuple) for v in values):
        return None
    named = zip((str(k.arg) for k in node.keywords), values[len(node.args) :], strict=True)
    try:
        bound = signature.bind(*values[: len(node.args)], **dict(named))
    except TypeError as error:
        hint = f"its signature is `{name}{text_of(signature)}`"
        state.reject("LD110", f"`{name}` cannot be called like this: {error}", node, hint)
        return None
    given = bound.arguments
    return {n: given[n] if n in given else default(p.default, node) for n, p in signature.parameters.items()}


def text_of(signature: inspect.Signature) -> str:
    """`signature` without defaults, whose values are not what was written."""
    empty = inspect.Parameter.empty
    parameters = [p.replace(default=empty, annotation=empty) for p in signature.parameters.values()]
    return str(inspect.Signature(parameters))
