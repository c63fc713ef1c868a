"""Which parameter of a function each value of a call is for."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence

from loopdiff.frontend.structures.trees import Branch, Tree, dictionary_of, in_row
from loopdiff.source.parameters import STARS

Spread = Callable[[Sequence[ast.expr]], tuple[Tree, ...]]


def parameters_given(
    signature: inspect.Signature, node: ast.Call, spread: Spread, element: Callable[[ast.expr], Tree]
) -> dict[str, Tree] | None:
    """What `node` gives for each parameter that it gives something for, in the order in which Python evaluates it.

    What goes behind stars becomes a tuple, or a dictionary. None for a call that does not fit.
    """
    values = spread(node.args)
    named: dict[str, Tree] = {}
    for keyword in node.keywords:
        tree = element(keyword.value)
        if keyword.arg is not None:
            named[keyword.arg] = tree
        elif isinstance(tree, Branch) and tree.kind == "dict" and all(isinstance(k, str) for k in tree.keys):
            named |= dict(zip(tree.keys, tree.items, strict=True))
        else:
            return None
    try:
        bound = signature.bind(*values, **named).arguments
    except TypeError:
        return None
    given = {name: together(signature.parameters[name].kind, value) for name, value in bound.items()}
    stars = {n: p.kind for n, p in signature.parameters.items() if p.kind in STARS and n not in given}
    given |= {n: together(kind, () if kind is inspect.Parameter.VAR_POSITIONAL else {}) for n, kind in stars.items()}
    order = {id(tree): k for k, tree in enumerate((*values, *named.values()))}
    return dict(sorted(given.items(), key=lambda pair: order.get(id(pair[1]), len(order))))


def together(kind: object, value: Tree | tuple[Tree, ...] | Mapping[str, Tree]) -> Tree:
    """The value of a parameter."""
    if kind is inspect.Parameter.VAR_POSITIONAL and isinstance(value, tuple):
        return in_row("tuple", value)
    if isinstance(value, Mapping):
        return dictionary_of(value)
    assert not isinstance(value, tuple)
    return value


def written_defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The defaults as they are written."""
    positional = [*arguments.posonlyargs, *arguments.args]
    first = len(positional) - len(arguments.defaults)
    yield from ((a.arg, d) for a, d in zip(positional[first:], arguments.defaults, strict=True))
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    yield from ((a.arg, d) for a, d in pairs if d is not None)
